import type { Hook, PluginManifest, Tap, TapOptions } from '@svc/plugin-sdk'
import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook } from 'tapable'

export interface RegisteredTap {
  readonly hook: Pick<Hook, 'id' | 'mode' | 'onError'>
  readonly plugin: string
  readonly tap: Tap<readonly unknown[], unknown>
  readonly options: TapOptions
}

type Args = readonly unknown[]
type Report = (plugin: string, hookId: string, error: unknown) => void
type Run = (args: Args) => Promise<unknown>

/** Hooks of one generation. tapable cannot remove a tap, so a set is built once and dropped whole. */
export class HookSet {
  readonly #runs = new Map<string, Run>()

  constructor(taps: readonly RegisteredTap[], report: Report) {
    const byHook = new Map<string, RegisteredTap[]>()
    for (const tap of taps) byHook.set(tap.hook.id, [...(byHook.get(tap.hook.id) ?? []), tap])
    for (const [id, group] of byHook) {
      this.#runs.set(
        id,
        build(
          group.toSorted((a, b) => (a.options.order ?? 0) - (b.options.order ?? 0)),
          report
        )
      )
    }
  }

  /** Resolves to the waterfall's or bail's result. A hook without taps costs a map look-up. */
  trigger(id: string, args: Args): Promise<unknown> | undefined {
    return this.#runs.get(id)?.(args)
  }
}

function build(taps: readonly RegisteredTap[], report: Report): Run {
  const mode = taps[0]?.hook.mode ?? 'series'
  const guarded = taps.map(tap => ({ name: tap.plugin, run: guard(tap, report) }))
  // The argument list travels as one value: a hook's arity is known to its caller alone.
  if (mode === 'waterfall') {
    const hook = new AsyncSeriesWaterfallHook<[Args]>(['args'])
    for (const { name, run } of guarded) {
      hook.tapPromise(name, async args => {
        const value = await run(args)
        return value === undefined ? args : [value, ...args.slice(1)]
      })
    }
    return async args => (await hook.promise(args))[0]
  }
  const hook =
    mode === 'parallel'
      ? new AsyncParallelHook<[Args]>(['args'])
      : mode === 'bail'
        ? new AsyncSeriesBailHook<[Args], unknown>(['args'])
        : new AsyncSeriesHook<[Args]>(['args'])
  for (const { name, run } of guarded) hook.tapPromise(name, run as (args: Args) => Promise<void>)
  return async args => (await hook.promise(args)) as unknown
}

function guard(tap: RegisteredTap, report: Report): (args: Args) => Promise<unknown> {
  const filter = Object.entries(tap.options.filter ?? {})
  return async args => {
    if (!filter.every(([path, wanted]) => matches(pick(args[0], path), wanted))) return undefined
    try {
      return await tap.tap(...args)
    } catch (error) {
      report(tap.plugin, tap.hook.id, error)
      if (tap.hook.onError === 'fail') throw error
      return undefined
    }
  }
}

function pick(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], value)
}

function matches(actual: unknown, wanted: NonNullable<TapOptions['filter']>[string]): boolean {
  return Array.isArray(wanted) ? wanted.includes(actual as string) : actual === wanted
}

/** A tap on a hook that no plugin declares never runs: worth a warning. */
export function undeclaredHooks(taps: readonly RegisteredTap[], manifests: readonly PluginManifest[]): string[] {
  const declared = new Set(manifests.flatMap(manifest => manifest.hooks.map(hook => hook.id)))
  return [...new Set(taps.map(tap => tap.hook.id))].filter(id => !declared.has(id) && !id.startsWith('kernel.'))
}
