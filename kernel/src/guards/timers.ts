import timers from 'node:timers'
import promises from 'node:timers/promises'
import { promisify } from 'node:util'
import { LinkedSignal } from '@svc/plugin-sdk'
import type { Guards } from './guards.ts'

type Callable = (...given: unknown[]) => unknown
type SleepOptions = { readonly signal?: AbortSignal } | undefined

/** Replacements of `node:timers`, `node:timers/promises` and the global functions. */
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
      // Node throws its usual error for an invalid callback.
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

/**
 * Wraps `node:timers/promises`. After disposal, pending sleeps never settle, so that the plugin's code stops there and
 * is garbage-collected. An unhandled rejection would end the process.
 */
function guardSleeps(guards: Guards): Record<string, unknown> {
  const begin = (label: string, options: SleepOptions, above: unknown) => {
    const controller = new AbortController()
    const ended = linked(controller.signal, options)
    const release = guards.track({ label: () => label, close: () => controller.abort(), once: true }, above)
    const settle = async <A>(sleep: Promise<A>): Promise<A> => {
      try {
        return await sleep
      } catch (error) {
        return controller.signal.aborted ? forever() : Promise.reject(error)
      } finally {
        ended.close()
        release()
      }
    }
    return { options: { ...options, signal: ended.signal }, settle }
  }
  const setTimeout = <A>(ms?: number, value?: A, given?: SleepOptions): Promise<A> => {
    if (!guards.enter('setTimeout')) return promises.setTimeout(ms, value, given)
    const { options, settle } = begin(`sleep of ${ms} ms`, given, setTimeout)
    return settle(promises.setTimeout(ms, value as A, options))
  }
  const setImmediate = <A>(value?: A, given?: SleepOptions): Promise<A> => {
    if (!guards.enter('setImmediate')) return promises.setImmediate(value, given)
    const { options, settle } = begin('sleep until the next turn', given, setImmediate)
    return settle(promises.setImmediate(value as A, options))
  }
  const scheduler = {
    wait: (ms: number, given?: SleepOptions) => setTimeout(ms, undefined, given),
    yield: () => setImmediate()
  }
  const setInterval = <A>(ms?: number, value?: A, given?: SleepOptions): AsyncIterable<A> =>
    guardIterable(guards, 'setInterval', `interval of ${ms} ms`, given, options =>
      promises.setInterval(ms, value as A, options)
    )
  return { setTimeout, setImmediate, setInterval, scheduler }
}

/** Wraps an async iterable that accepts a signal. It counts as an open resource from its first step to its last. */
export async function* guardIterable<A>(
  guards: Guards,
  action: string,
  label: string,
  given: SleepOptions,
  open: (options: SleepOptions) => AsyncIterable<A>
): AsyncGenerator<A> {
  if (!guards.enter(action)) return yield* open(given)
  const controller = new AbortController()
  const ended = linked(controller.signal, given)
  const release = guards.track({ label: () => label, close: () => controller.abort() }, guardIterable)
  try {
    yield* open({ ...given, signal: ended.signal })
  } catch (error) {
    ended.close()
    if (controller.signal.aborted) await forever()
    throw error
  } finally {
    ended.close()
    release()
  }
}

/** Joins the signal of a disposal with that of the plugin, which may outlive many sleeps. */
function linked(disposed: AbortSignal, given: SleepOptions): LinkedSignal {
  const ended = new LinkedSignal().with(disposed)
  return given?.signal === undefined ? ended : ended.with(given.signal)
}

function forever(): Promise<never> {
  return new Promise(() => {})
}
