import timers from 'node:timers'
import promises from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Guards } from './guards.ts'

type Callable = (...given: unknown[]) => unknown
type SleepOptions = { readonly signal?: AbortSignal } | undefined

/** What stands in place of `node:timers` and `node:timers/promises`, and of the global functions. */
export interface GuardedTimers {
  readonly callbacks: Readonly<Record<string, unknown>>
  readonly promises: Readonly<Record<string, unknown>>
}

export function guardTimers(guards: Guards): GuardedTimers {
  const sleeping = guardSleeps(guards)
  const releases = new Map<unknown, () => void>()
  const release = (handle: unknown): void => {
    releases.get(handle)?.()
    releases.delete(handle)
  }
  const arm = (name: string, real: Callable, clear: Callable, label: (delay: unknown) => string): Callable => {
    const repeats = name === 'setInterval'
    const guarded = (callback: unknown, ...rest: unknown[]): unknown => {
      const tracked = guards.enter(name)
      // Node says what is wrong with it.
      if (typeof callback !== 'function') return real(callback, ...rest)
      const handle = real(
        (...given: unknown[]) => {
          if (!repeats) release(handle)
          guards.call(callback, handle, given)
        },
        ...rest
      ) as { readonly _destroyed?: boolean }
      const resource = {
        label: () => label(rest[0] ?? 1),
        isOpen: () => handle._destroyed !== true,
        close: () => clear(handle),
        once: !repeats
      }
      if (tracked) releases.set(handle, guards.track(resource, guarded))
      return handle
    }
    return guarded
  }
  const disarm =
    (clear: Callable): Callable =>
    handle => {
      const byId = typeof handle === 'number' || typeof handle === 'string'
      release(byId ? [...releases.keys()].find(each => Number(each) === Number(handle)) : handle)
      clear(handle)
    }
  const clearTimeout = timers.clearTimeout as Callable
  const clearImmediate = timers.clearImmediate as Callable
  const setTimeout = arm('setTimeout', timers.setTimeout as Callable, clearTimeout, ms => `timeout of ${ms} ms`)
  const setImmediate = arm('setImmediate', timers.setImmediate as Callable, clearImmediate, () => 'immediate')
  return {
    callbacks: {
      setTimeout: Object.assign(setTimeout, { [promisify.custom]: sleeping.setTimeout }),
      setInterval: arm('setInterval', timers.setInterval as Callable, clearTimeout, ms => `interval of ${ms} ms`),
      setImmediate: Object.assign(setImmediate, { [promisify.custom]: sleeping.setImmediate }),
      clearTimeout: disarm(clearTimeout),
      clearInterval: disarm(clearTimeout),
      clearImmediate: disarm(clearImmediate)
    },
    promises: sleeping
  }
}

/** Sleeps end on disposal by rejecting with an `AbortError` whose cause has the code `LDR_CLOSED`. */
function guardSleeps(guards: Guards): Record<string, unknown> {
  const begin = (label: string, options: SleepOptions, above: unknown) => {
    const controller = new AbortController()
    const close = (): void => controller.abort(guards.closedError(label))
    const release = guards.track({ label: () => label, close, once: true }, above)
    const signals = options?.signal === undefined ? [] : [options.signal]
    return { options: { ...options, signal: AbortSignal.any([controller.signal, ...signals]) }, release }
  }
  const setTimeout = <A>(ms?: number, value?: A, given?: SleepOptions): Promise<A> => {
    if (!guards.enter('setTimeout')) return promises.setTimeout(ms, value, given)
    const { options, release } = begin(`sleep of ${ms} ms`, given, setTimeout)
    return promises.setTimeout(ms, value as A, options).finally(release)
  }
  const setImmediate = <A>(value?: A, given?: SleepOptions): Promise<A> => {
    if (!guards.enter('setImmediate')) return promises.setImmediate(value, given)
    const { options, release } = begin('sleep until the next turn', given, setImmediate)
    return promises.setImmediate(value as A, options).finally(release)
  }
  async function* setInterval<A>(ms?: number, value?: A, given?: SleepOptions): AsyncGenerator<A> {
    if (!guards.enter('setInterval')) return yield* promises.setInterval(ms, value as A, given)
    const { options, release } = begin(`interval of ${ms} ms`, given, setInterval)
    try {
      yield* promises.setInterval(ms, value as A, options)
    } finally {
      release()
    }
  }
  const scheduler = {
    wait: (ms: number, given?: SleepOptions) => setTimeout(ms, undefined, given),
    yield: () => setImmediate()
  }
  return { setTimeout, setImmediate, setInterval, scheduler }
}
