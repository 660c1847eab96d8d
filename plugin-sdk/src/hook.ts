/**
 * Execution mode of a hook's taps:
 * - `series`: one after the other; results are ignored.
 * - `parallel`: concurrently; results are ignored.
 * - `waterfall`: one after the other; each receives the previous result as its first argument.
 * - `bail`: one after the other, until one returns a value other than undefined.
 */
export type HookMode = 'series' | 'parallel' | 'waterfall' | 'bail'

/** Capability of taps: observe, refuse by throwing, change the first argument, or answer with a result. */
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
  readonly '~args'?: A
  readonly '~result'?: R
}

export interface HookOptions<A extends readonly unknown[] = readonly unknown[]> {
  readonly onError?: 'fail' | 'skip'
  /** Sentence that says when the hook is triggered. Shown by `svc plugins hooks`. */
  readonly summary?: string
  /** Descriptions of all fields of the first argument. */
  readonly payload?: Readonly<Record<keyof A[0] & string, string>>
}

/** Declares a hook. `A`: tuple of arguments; `R`: result of a `waterfall` or `bail` tap. */
export function hook<A extends readonly unknown[], R = void>(
  id: string,
  mode: HookMode = 'series',
  options: HookOptions<A> = {}
): Hook<A, R> {
  const { onError = 'fail', summary = '', payload = {} } = options
  return { kind: 'hook', id, mode, onError, summary, payload }
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

export type Tap<A extends readonly unknown[], R> = (...args: A) => R | undefined | void | Promise<R | undefined | void>
