/**
 * How a hook's taps run:
 * - `series`: one after the other, results ignored;
 * - `parallel`: all at once, results ignored;
 * - `waterfall`: each receives what the one before returned in place of the first argument;
 * - `bail`: one after the other until one returns something other than undefined.
 */
export type HookMode = 'series' | 'parallel' | 'waterfall' | 'bail'

export interface Hook<A extends readonly unknown[] = readonly unknown[], R = void> {
  readonly kind: 'hook'
  readonly id: string
  readonly mode: HookMode
  /** Effect of a throwing tap: fails the call, or is reported and skipped. Default `fail`. */
  readonly onError: 'fail' | 'skip'
  readonly '~args'?: A
  readonly '~result'?: R
}

export interface HookOptions {
  readonly onError?: 'fail' | 'skip'
}

/** `A` is the tuple of arguments; `R` what a `waterfall` or `bail` tap returns. */
export function hook<A extends readonly unknown[], R = void>(
  id: string,
  mode: HookMode = 'series',
  options: HookOptions = {}
): Hook<A, R> {
  return { kind: 'hook', id, mode, onError: options.onError ?? 'fail' }
}

export interface TapOptions {
  /** Lower runs first; default 0; equal order runs in plugin order. */
  readonly order?: number
  /**
   * Dotted paths into the first argument and the values they must have. The kernel checks it before the tap is called,
   * so an isolated plugin is not woken for calls that it does not want.
   */
  readonly filter?: Readonly<Record<string, string | number | boolean | readonly (string | number | boolean)[]>>
  readonly label?: string
}

export type Tap<A extends readonly unknown[], R> = (...args: A) => R | undefined | void | Promise<R | undefined | void>
