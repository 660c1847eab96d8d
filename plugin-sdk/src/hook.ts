import { defined } from './defined.ts'
import { type JsonSchema, type SchemaLike, toJsonSchema } from './schema.ts'

/**
 * Execution mode of a hook's taps:
 * - `series`: one after the other; results are ignored.
 * - `parallel`: concurrently; results are ignored.
 * - `waterfall`: one after the other; each receives the previous result as its first argument.
 * - `bail`: one after the other, until one returns a value other than undefined.
 */
export type HookMode = 'series' | 'parallel' | 'waterfall' | 'bail'

/**
 * Capability of taps: observe, refuse by throwing, change the first argument, or answer with a result. Only a `change` hook
 * passes its arguments to taps as they are; taps of other hooks receive copies.
 */
export type HookKind = 'observe' | 'refuse' | 'change' | 'answer'

export interface Hook<A extends readonly unknown[] = readonly unknown[], R = void> {
  readonly kind: 'hook'
  readonly id: string
  readonly mode: HookMode
  /** `fail` (default): an error of a tap is thrown to the caller. `skip`: it is logged and the tap is skipped. */
  readonly onError: 'fail' | 'skip'
  /** Sentence that says when the hook is triggered. */
  readonly summary: string
  /** Descriptions of the fields of the first argument. */
  readonly payload: Readonly<Record<string, string>>
  /** Time limit of each tap in milliseconds; 0: none. Default: `kernel.tap_timeout_ms`. */
  readonly timeoutMs?: number
  /** Schema of the value that a tap of a `change` hook returns. */
  readonly schema?: JsonSchema
  readonly '~args'?: A
  readonly '~result'?: R
}

export interface HookOptions<A extends readonly unknown[] = readonly unknown[]> {
  readonly onError?: 'fail' | 'skip'
  /** Sentence that says when the hook is triggered. Shown by `svc plugins hooks`. */
  readonly summary?: string
  /** Descriptions of all fields of the first argument. */
  readonly payload?: Readonly<Record<keyof A[0] & string, string>>
  /**
   * Time limit of each tap in milliseconds; 0: none, for hooks whose taps do long work. Default: `kernel.tap_timeout_ms`.
   */
  readonly timeoutMs?: number
  /** Schema of the value that a tap of a `waterfall` hook returns. Another value is an error of the tap. */
  readonly schema?: SchemaLike
}

/** Declares a hook. `A`: tuple of arguments; `R`: result of a `waterfall` or `bail` tap. */
export function hook<A extends readonly unknown[], R = void>(
  id: string,
  mode: HookMode = 'series',
  options: HookOptions<A> = {}
): Hook<A, R> {
  const { onError = 'fail', summary = '', payload = {}, timeoutMs, schema } = options
  const limits = defined({ timeoutMs, schema: schema && toJsonSchema(schema) })
  return { kind: 'hook', id, mode, onError, summary, payload, ...limits }
}

/** Returns the capability of a hook's taps. */
export function hookKind({ mode, onError }: Pick<Hook, 'mode' | 'onError'>): HookKind {
  if (mode === 'waterfall') return 'change'
  if (mode === 'bail') return 'answer'
  return onError === 'fail' ? 'refuse' : 'observe'
}

export interface TapOptions {
  /** Order of taps: lower numbers run first, equal ones in plugin order. Default 0. */
  readonly order?: number
  /**
   * Required values at dotted paths of the first argument. The kernel checks the filter before it calls the tap, so an
   * isolated plugin does not receive other events.
   */
  readonly filter?: Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>
  readonly label?: string
}

/** True if a value matches the filter of a tap. */
export function matchesFilter(value: unknown, filter: NonNullable<TapOptions['filter']>): boolean {
  return Object.entries(filter).every(([path, wanted]) => {
    const actual = path
      .split('.')
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], value)
    return Array.isArray(wanted) ? wanted.includes(actual as string) : actual === wanted
  })
}

export type Tap<A extends readonly unknown[], R> = (...args: A) => R | undefined | void | Promise<R | undefined | void>
