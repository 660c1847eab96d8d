import type { ErrorSpec } from './errors.ts'
import { describeExposure, type Exposed } from './exposure.ts'
import type { Logger } from './logger.ts'
import { type JsonSchema, type Schema, type SchemaLike, toJsonSchema } from './schema.ts'

export type Effect = 'read' | 'write' | 'destructive'
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The caller: created by the surface, checked against an operation's `scopes`. */
export interface Principal {
  /** `local` for a caller on this machine without a token. */
  readonly id: string
  readonly role: string
  readonly scopes: readonly string[]
}

export interface HttpExposure {
  readonly method: HttpMethod
  /** `:name` segments are taken from the input by that name; the rest is the query (GET, DELETE) or the body. */
  readonly path: string
  /** Status of success; default 200. */
  readonly status?: number
  /** Field of the output that is the body; default the whole output. */
  readonly answer?: string
}

export interface RpcExposure {
  /** Default: the id. */
  readonly name?: string
  /** Further names of the same method, with the same schemas. */
  readonly aliases?: readonly (string | RpcAlias)[]
}

/** A name that peers of another protocol or version use. */
export interface RpcAlias {
  readonly name: string
  /** `refuse` (the default) or `ignore`: handling of params that the input schema does not name. */
  readonly unknownParams?: 'refuse' | 'ignore'
}

export interface CliExposure {
  /** Words after the program's name, for example `plugins list`. */
  readonly command: string
  /** Input fields given by position, in order. The last may be an array. */
  readonly args?: readonly string[]
  /** Input field to a one-letter alias. */
  readonly aliases?: Readonly<Record<string, string>>
  /** How the output is shown to people; without it as a tree. Always data, since no plugin code runs in a client. */
  readonly view?: CliView
  readonly hidden?: boolean
}

/**
 * `text`: an output field printed as it is. `markdown`: an output field printed without the marks of Markdown. `rows`
 * and `columns`: an array field printed as a table, and `note` a text field printed below it, unless it is empty.
 * `fields`: output fields printed as a table of names and values; a dot leads into an object. `answer`: an output field
 * printed instead of the whole output, also with `--json`.
 */
export interface CliView {
  readonly answer?: string
  readonly text?: string
  readonly markdown?: string
  readonly rows?: string
  readonly columns?: readonly string[]
  readonly fields?: readonly string[]
  readonly note?: string
}

export interface McpExposure {
  readonly name?: string
  readonly title?: string
  /** Further names that are answered but not listed. */
  readonly aliases?: readonly string[]
  /**
   * `plain` (the default): the output is the result, and an error is a text. `tool-result`: both use the envelope `{
   * success, data?, error?, remediation?, meta? }`, with the error's hint as remediation.
   */
  readonly result?: 'plain' | 'tool-result'
  /** Field of the output that becomes `meta` of the envelope instead of a part of `data`. */
  readonly meta?: string
  /** Field of the output that is `data` of the envelope; default the whole output. */
  readonly answer?: string
  /** Part of the product in the registry, for example `ai`; and the tier, default `core`. */
  readonly lane?: 'ai' | 'data' | 'interop' | 'app' | 'platform' | 'workflow'
  readonly tier?: string
  /** Whether a caller with the gateway's read role may use it. Default false. */
  readonly readRole?: boolean
}

/** Where an operation appears. Absent surfaces do not show it. */
export interface Exposure {
  readonly http?: HttpExposure
  /** `true` names the tool after the id, dots as underscores. */
  readonly mcp?: boolean | McpExposure
  /** `true` names the method after the id; a string is its name. */
  readonly rpc?: boolean | string | RpcExposure
  readonly cli?: CliExposure
  /** Exposures of further surfaces, each made by its {@link ExposureKind}. */
  readonly also?: readonly Exposed<any>[]
}

type Errors = Readonly<Record<string, ErrorSpec>>

export interface OperationDefinition<Id extends string, A, AI, O, OI, E extends Errors, Ev> {
  readonly id: Id
  /** One line, shown in help and tool lists. */
  readonly summary: string
  readonly description?: string
  readonly input: SchemaLike<A, AI>
  readonly output: SchemaLike<O, OI>
  /** Schema of the events that a running call emits: SSE, MCP progress, JSON-RPC notifications, CLI lines. */
  readonly events?: SchemaLike<Ev>
  readonly errors?: E
  /** Default `write`: an undeclared effect is not assumed harmless. */
  readonly effect?: Effect
  readonly idempotent?: boolean
  /** Milliseconds after which the call is aborted; default 60,000; 0 for none. */
  readonly timeoutMs?: number
  /** Maximum of concurrent calls; further ones wait. Default unlimited. */
  readonly concurrency?: number
  /** Scopes that the principal must hold. */
  readonly scopes?: readonly string[]
  readonly expose?: Exposure
}

/** An operation as data, for manifests and surfaces. */
export interface OperationDescriptor {
  readonly id: string
  readonly summary: string
  readonly description?: string
  readonly input: JsonSchema
  readonly output: JsonSchema
  readonly events?: JsonSchema
  readonly errors: Errors
  readonly effect: Effect
  readonly idempotent: boolean
  readonly timeoutMs: number
  readonly concurrency: number
  readonly scopes: readonly string[]
  /** By surface; values of further surfaces are read with {@link ExposureKind.of}. */
  readonly expose: Omit<Exposure, 'also'>
  /** Names that it occupies on the surfaces. Two operations with one name are a conflict. */
  readonly claims: readonly string[]
  /** Where a user finds it, one line for each surface. */
  readonly shown: readonly string[]
}

export interface Operation<
  Id extends string = string,
  A = any,
  AI = any,
  O = any,
  OI = any,
  E extends Errors = any,
  Ev = any
> extends OperationDescriptor {
  readonly kind: 'operation'
  readonly id: Id
  readonly input: Schema<A, AI>
  readonly output: Schema<O, OI>
  readonly errors: E
  readonly '~events'?: Ev
}

const DEFAULT_TIMEOUT_MS = 60_000

/** Declares one operation for every surface. The handler is given to {@link PluginContext.implement}. */
export function defineOperation<
  const Id extends string,
  A,
  AI,
  O,
  OI,
  // biome-ignore lint/complexity/noBannedTypes: an operation without errors has no codes to fail with
  const E extends Errors = {},
  Ev = never
>(definition: OperationDefinition<Id, A, AI, O, OI, E, Ev>): Operation<Id, A, AI, O, OI, E, Ev> {
  const effect = definition.effect ?? 'write'
  return {
    kind: 'operation',
    id: definition.id,
    summary: definition.summary,
    ...(definition.description === undefined ? {} : { description: definition.description }),
    input: toJsonSchema(definition.input) as Schema<A, AI>,
    output: toJsonSchema(definition.output) as Schema<O, OI>,
    ...(definition.events === undefined ? {} : { events: toJsonSchema(definition.events) }),
    errors: definition.errors ?? ({} as E),
    effect,
    idempotent: definition.idempotent ?? effect === 'read',
    timeoutMs: definition.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    concurrency: definition.concurrency ?? 0,
    scopes: definition.scopes ?? [],
    ...describeExposure(definition.id, definition.expose ?? {})
  }
}

export type InputOf<Op> = Op extends Operation<string, infer A, any, any, any, any, any> ? A : never
export type CallerInputOf<Op> = Op extends Operation<string, any, infer AI, any, any, any, any> ? AI : never
export type OutputOf<Op> = Op extends Operation<string, any, any, infer O, any, any, any> ? O : never
export type ErrorsOf<Op> = Op extends Operation<string, any, any, any, any, infer E, any> ? E : never
export type EventOf<Op> = Op extends Operation<string, any, any, any, any, any, infer Ev> ? Ev : never

/** One call of an operation, as its handler sees it. */
export interface Call<E extends Errors = Errors, Ev = unknown> {
  /** Aborted when the caller disconnects, the deadline passes or the unit is disposed. */
  readonly signal: AbortSignal
  readonly principal: Principal
  /** 32 hex digits, W3C trace context. */
  readonly traceId: string
  /** 16 hex digits: this call in its trace. */
  readonly spanId: string
  readonly requestId: string
  /** `http`, `mcp`, `rpc`, `cli`, `internal`, or the name of another surface. */
  readonly surface: string
  /** Milliseconds since the epoch; Infinity without a timeout. */
  readonly deadline: number
  /** The plugin's log; its lines carry the operation, the trace id and the request id. */
  readonly log: Logger
  /** Ends the call with a declared error. */
  fail<C extends keyof E & string>(code: C, message?: string, data?: unknown): never
  /** Sends one event to the caller; dropped if the surface cannot carry it. */
  emit(event: Ev): void
  progress(done: number, total?: number, message?: string): void
}

export type Handler<Op> = (
  input: InputOf<Op>,
  call: Call<ErrorsOf<Op>, EventOf<Op>>
) => OutputOf<Op> | Promise<OutputOf<Op>>
