/**
 * How a hook's taps run:
 * - `series`: one after the other, results ignored;
 * - `parallel`: all concurrently, results ignored; - `waterfall`: each receives the previous result as the first argument; - `bail`: one after the other until one returns a value other than undefined.
 */
export type HookMode = 'series' | 'parallel' | 'waterfall' | 'bail'

/** Rights of taps: watch, refuse by a throw, replace the first argument, or return the answer. */
export type HookKind = 'observe' | 'refuse' | 'change' | 'answer'

export interface Hook<A extends readonly unknown[] = readonly unknown[], R = void> {
  readonly kind: 'hook'
  readonly id: string
  readonly mode: HookMode
  /** Effect of a throwing tap: fails the caller, or is reported and skipped. Default `fail`. */
  readonly onError: 'fail' | 'skip'
  /** When it is triggered. */
  readonly summary: string
  /** Fields of the first argument, with a description each. */
  readonly payload: Readonly<Record<string, string>>
  readonly '~args'?: A
  readonly '~result'?: R
}

export interface HookOptions<A extends readonly unknown[] = readonly unknown[]> {
  readonly onError?: 'fail' | 'skip'
  /** When it is triggered, in one sentence. Shown by `svc plugins hooks`. */
  readonly summary?: string
  /** Describes every field of the first argument. */
  readonly payload?: Readonly<Record<keyof A[0] & string, string>>
}

/** `A` is the tuple of arguments; `R` what a `waterfall` or `bail` tap returns. */
export function hook<A extends readonly unknown[], R = void>(
  id: string,
  mode: HookMode = 'series',
  options: HookOptions<A> = {}
): Hook<A, R> {
  const { onError = 'fail', summary = '', payload = {} } = options
  return { kind: 'hook', id, mode, onError, summary, payload }
}

/** Returns what taps of a hook may do. */
export function hookKind({ mode, onError }: Pick<Hook, 'mode' | 'onError'>): HookKind {
  if (mode === 'waterfall') return 'change'
  if (mode === 'bail') return 'answer'
  return onError === 'fail' ? 'refuse' : 'observe'
}

export interface TapOptions {
  /** Lower runs first; default 0; equal order runs in plugin order. */
  readonly order?: number
  /**
   * Dotted paths into the first argument and the values they must have. The kernel checks it before the tap is called,
   * so an isolated plugin does not receive other calls.
   */
  readonly filter?: Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>
  readonly label?: string
}

export type Tap<A extends readonly unknown[], R> = (...args: A) => R | undefined | void | Promise<R | undefined | void>
