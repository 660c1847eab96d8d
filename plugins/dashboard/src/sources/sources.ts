import type { KernelPort } from '@svc/contracts'
import { type Call, type JsonSchema, Semaphore, traceparentOf } from '@svc/plugin-sdk'
import { renderProblems, Validator } from '@svc/plugin-sdk/check'
import type { Entry } from '../registry/entries.ts'
import { principalMayCall, SURFACE } from '../session/roles.ts'
import { shownError } from '../stream/frames.ts'

/** Operation of a plugin that returns a list for the console. */
type Source = Entry<{ readonly operation: string }>

export interface FailedSource {
  readonly operation: string
  readonly plugin: string
  readonly code: string
  readonly message: string
}

export interface Collected<A> {
  readonly items: readonly (A & { readonly source: string; readonly plugin: string })[]
  readonly failed: readonly FailedSource[]
}

/** Which list the sources return, and what its items are. */
export interface ListKind {
  /** Field of the output. */
  readonly list: string
  readonly item: JsonSchema
  /** Further items of one source are left out. */
  readonly maxItems: number
}

/** Sources that are called at the same time. */
const MAX_CALLS = 4
const TIMEOUT_MS = 10_000

/** Calls operations that plugins contribute for a list, and merges their answers. */
export class Sources {
  readonly #kernel: KernelPort
  readonly #readOnly: boolean
  readonly #validator = new Validator()

  constructor(kernel: KernelPort, readOnly: boolean) {
    this.#kernel = kernel
    this.#readOnly = readOnly
  }

  /** Returns whether the caller may call an operation of the serving generation. */
  mayCall({ principal }: Pick<Call, 'principal'>, operation: string): boolean {
    const entry = this.#kernel.current.operations.get(operation)
    return entry !== undefined && principalMayCall(principal, this.#readOnly, entry.descriptor)
  }

  /** Collects the items of all sources that the caller may call. A source that fails is listed with its reason. */
  async collect<A extends object>(
    sources: readonly Source[],
    input: Readonly<Record<string, unknown>>,
    kind: ListKind,
    call: Call
  ): Promise<Collected<A>> {
    const slots = new Semaphore(MAX_CALLS)
    const answers = await Promise.all(
      sources
        .filter(({ item }) => this.mayCall(call, item.operation))
        .map(async ({ item: { operation }, unit: { name: plugin } }) => {
          await slots.acquire()
          try {
            const output = await this.#invoke(operation, input, call)
            const { items, problem } = this.#check(operation, output, kind)
            const failed = problem === null ? [] : [{ operation, plugin, code: 'DSH_ENTRY_BROKEN', message: problem }]
            return { items: (items as A[]).map(item => ({ ...item, source: operation, plugin })), failed }
          } catch (error) {
            const { code, message } = shownError(error)
            return { items: [], failed: [{ operation, plugin, code, message }] }
          } finally {
            slots.release()
          }
        })
    )
    return { items: answers.flatMap(({ items }) => items), failed: answers.flatMap(({ failed }) => failed) }
  }

  #invoke(operation: string, input: Readonly<Record<string, unknown>>, call: Call): Promise<unknown> {
    const { principal, requestId, signal, traceId, spanId } = call
    return this.#kernel.invoke(
      operation,
      { ...input },
      {
        surface: SURFACE,
        principal,
        requestId,
        signal,
        traceparent: traceparentOf(traceId, spanId),
        timeoutMs: TIMEOUT_MS
      }
    )
  }

  /** Returns the valid items of an output, and the first problem of the others. */
  #check(
    operation: string,
    output: unknown,
    { list, item, maxItems }: ListKind
  ): { readonly items: readonly unknown[]; readonly problem: string | null } {
    const found = (output as Readonly<Record<string, unknown>> | null)?.[list]
    if (!Array.isArray(found)) return { items: [], problem: `the output of ${operation} has no list ${list}` }
    const validate = this.#validator.compile(item)
    let problem: string | null = null
    const items = found.slice(0, maxItems).filter((each, index) => {
      if (validate(each)) return true
      const problems = renderProblems(this.#validator.explain(item, each, validate.errors))
      problem ??= `${operation} returned an invalid ${list}[${index}]: ${problems}`
      return false
    })
    return { items, problem }
  }
}
