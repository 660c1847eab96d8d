import { defined } from './defined.ts'
import type { ErrorSpec } from './errors.ts'
import { describeExposure, type Exposed } from './exposure.ts'
import type { Logger } from './logger.ts'
import { type JsonSchema, type Schema, type SchemaLike, toJsonSchema } from './schema.ts'

export type Effect = 'read' | 'write' | 'destructive'
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Caller of an operation. The surface creates it, and the kernel checks it against the operation's `scopes`. */
export interface Principal {
  /** Id of the caller. `local` for a caller on this machine without a token. */
  readonly id: string
  readonly role: string
  readonly scopes: readonly string[]
}

export interface HttpExposure {
  readonly method: HttpMethod
  /** Path. A segment `:name` is the input field `name`. Other fields are in the query (GET, DELETE) or in the body. */
  readonly path: string
  /** Status of a successful response; default 200. */
  readonly status?: number
  /** Output field to send as the body. Default: the whole output. */
  readonly answer?: string
}

export interface RpcExposure {
  /** Method name. Default: the id of the operation. */
  readonly name?: string
  /** Additional names of the method, with the same schemas. */
  readonly aliases?: readonly (string | RpcAlias)[]
}

/** Name that peers with another protocol or version use. */
export interface RpcAlias {
  readonly name: string
  /** Handling of params that the input schema does not declare: `refuse` (default) or `ignore`. */
  readonly unknownParams?: 'refuse' | 'ignore'
}

/** Global flags of `svc` whose names a command may use for its options. */
export type OwnFlag = 'profile' | 'log-level'

export interface CliExposure {
  /** Words after `svc`, such as `plugins list`. */
  readonly command: string
  /** Input fields that are positional arguments, in order. The last may be an array. */
  readonly args?: readonly string[]
  /** One-letter aliases by input field. */
  readonly aliases?: Readonly<Record<string, string>>
  /** Input fields with the name of a global flag. After the words of the command, the flag sets the field. */
  readonly ownFlags?: readonly OwnFlag[]
  /** View of the output. Default: indented JSON. It is data, since no plugin code runs in a client. */
  readonly view?: CliView
  readonly hidden?: boolean
}

/**
 * View of an operation's output on the command line:
 * - `text`: output field to print unchanged.
 * - `markdown`: output field to print without Markdown syntax.
 * - `rows` and `columns`: array field to print as a table. `note`: text field to print below it, unless it is empty.
 * - `fields`: output fields to print as a table of names and values, without absent ones. Dotted paths select fields of nested
 *   objects.
 * - `stream`: text field of each event to print as a line; with `--json`, each event is a line of JSON on standard output. The
 *   result is not printed.
 * - `events`: false if events are not printed, such as those that repeat the progress.
 * - `answer`: output field to use instead of the whole output, even with `--json`.
 * - `success`: boolean output field. If it is false, the result is printed and the exit code is 1.
 */
export interface CliView {
  readonly answer?: string
  readonly success?: string
  readonly text?: string
  readonly markdown?: string
  readonly rows?: string
  readonly columns?: readonly string[]
  readonly fields?: readonly string[]
  readonly note?: string
  readonly stream?: string
  readonly events?: false
}

export interface McpExposure {
  readonly name?: string
  readonly title?: string
  /** Additional tool names, which can be called but are not listed. */
  readonly aliases?: readonly string[]
  /**
   * `plain` (default): the result is the output, an error is its message. `tool-result`: both are wrapped in
   * `{ success, data?, error?, remediation?, meta? }`, with the error's hint as `remediation`.
   */
  readonly result?: 'plain' | 'tool-result'
  /** Output field to send as `meta` of the wrapper instead of in `data`. */
  readonly meta?: string
  /** Output field to send as `data` of the wrapper. Default: the whole output. */
  readonly answer?: string
  /** Product area in the tool registry, such as `ai`. `tier`: default `core`. */
  readonly lane?: 'ai' | 'data' | 'interop' | 'app' | 'platform' | 'workflow'
  readonly tier?: string
  /** True if callers with the gateway's read role may use the tool. Default false. */
  readonly readRole?: boolean
  /**
   * Toolsets that the tool belongs to. A client receives only the tools of its toolsets. Default: `default`, which
   * clients receive unless they choose others, and the name of the plugin.
   */
  readonly toolsets?: readonly string[]
  /** When a model should use the tool, and how it differs from similar tools; appended to the tool's description. */
  readonly use?: string
}

/** Topics after whose changes an operation's output may differ, for clients that show it while it changes. */
export interface Watch {
  /** Topics that plugins announce with {@link PluginContext.changed}. */
  readonly on: readonly string[]
  /**
   * `snapshot` (default): the whole output is sent again. `delta`: the output is a {@link Delta}, and the next call gets
   * the last cursor as `since`; see {@link deltaOperation}.
   */
  readonly mode?: 'snapshot' | 'delta'
  /** Minimum time between two calls in milliseconds; default 250. */
  readonly minMs?: number
}

/** Surfaces on which an operation is available. */
export interface Exposure {
  readonly http?: HttpExposure
  /** `true`: the tool name is the id with dots replaced by underscores. */
  readonly mcp?: boolean | McpExposure
  /** `true`: the method name is the id. A string is the method name. */
  readonly rpc?: boolean | string | RpcExposure
  readonly cli?: CliExposure
  /** Exposures on other surfaces, created by their {@link ExposureKind}. */
  readonly also?: readonly Exposed<any>[]
}

type Errors = Readonly<Record<string, ErrorSpec>>

export interface OperationDefinition<Id extends string, A, AI, O, OI, E extends Errors, Ev> {
  readonly id: Id
  /** Summary in one line, shown in help and tool lists. */
  readonly summary: string
  readonly description?: string
  readonly input: SchemaLike<A, AI>
  readonly output: SchemaLike<O, OI>
  /** Schema of the events that a running call emits: SSE, MCP progress, JSON-RPC notifications, CLI lines. */
  readonly events?: SchemaLike<Ev>
  readonly errors?: E
  /** Effect of a call. Default `write`, since an undeclared effect may be harmful. */
  readonly effect?: Effect
  readonly idempotent?: boolean
  /** Timeout in milliseconds; default 60,000; 0 disables it. */
  readonly timeoutMs?: number
  /** Maximum number of concurrent calls; further calls wait. Default: unlimited. */
  readonly concurrency?: number
  /** Scopes that the caller must have. */
  readonly scopes?: readonly string[]
  /**
   * Taps of `kernel.operation-starting` that do not receive calls of this operation, so that no tap can lock out management.
   * `true`: all taps. A string: input field with names of plugins, whose taps are skipped. Applies only to plugins that
   * use the service `kernel.admin`.
   */
  readonly untapped?: true | string
  /** Only for operations with the effect `read`. */
  readonly watch?: Watch
  readonly expose?: Exposure
}

/** Operation as data, for manifests and surfaces. */
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
  /** See {@link OperationDefinition.untapped}. */
  readonly untapped?: true | string
  readonly watch?: Watch
  /** Exposures by surface. Read those of other surfaces with {@link ExposureKind.of}. */
  readonly expose: Omit<Exposure, 'also'>
  /** Names that the operation claims on surfaces. Two operations with the same name conflict. */
  readonly claims: readonly string[]
  /** Text that says where a user finds the operation, one line for each surface. */
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

/** Declares an operation for all surfaces. {@link PluginContext.implement} sets its handler. */
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
    ...defined({ untapped: definition.untapped, watch: definition.watch }),
    ...describeExposure(definition.id, definition.expose ?? {})
  }
}

export type InputOf<Op> = Op extends Operation<string, infer A, any, any, any, any, any> ? A : never
export type CallerInputOf<Op> = Op extends Operation<string, any, infer AI, any, any, any, any> ? AI : never
export type OutputOf<Op> = Op extends Operation<string, any, any, infer O, any, any, any> ? O : never
export type ErrorsOf<Op> = Op extends Operation<string, any, any, any, any, infer E, any> ? E : never
export type EventOf<Op> = Op extends Operation<string, any, any, any, any, any, infer Ev> ? Ev : never

/** Call context that a handler receives. */
export interface Call<E extends Errors = Errors, Ev = unknown> {
  /** Aborted when the caller disconnects, the deadline passes or the unit is disposed. */
  readonly signal: AbortSignal
  readonly principal: Principal
  /** Trace id of the W3C trace context: 32 hex digits. */
  readonly traceId: string
  /** Span id of this call in its trace: 16 hex digits. */
  readonly spanId: string
  /** Whether the details of the trace are recorded, such as database statements. Absent: false. */
  readonly sampled?: boolean
  readonly requestId: string
  /** Surface of the call: `http`, `mcp`, `rpc`, `cli`, `internal`, or the name of another surface. */
  readonly surface: string
  /** Deadline in milliseconds since the epoch; Infinity without a timeout. */
  readonly deadline: number
  /** Log of the plugin. Its lines include the operation, the trace id and the request id. */
  readonly log: Logger
  /** Throws a declared error, which ends the call. */
  fail<C extends keyof E & string>(code: C, message?: string, data?: unknown): never
  /** Sends an event to the caller. Ignored if the surface does not support events. */
  emit(event: Ev): void
  progress(done: number, total?: number, message?: string): void
}

export type Handler<Op> = (
  input: InputOf<Op>,
  call: Call<ErrorsOf<Op>, EventOf<Op>>
) => OutputOf<Op> | Promise<OutputOf<Op>>
