import { kernelHooks, operationEnded, operationStarting } from '@svc/contracts'
import {
  type DeclaredHook,
  type Hook,
  isSvcError,
  isThenable,
  MAX_TIMER_MS,
  matchesFilter,
  type PluginManifest,
  type Tap,
  type TapOptions
} from '@svc/plugin-sdk'
import { copyPlain, replacementCheck } from '@svc/plugin-sdk/check'
import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook } from '#tapable'
import { kernelErrors } from './errors.ts'

export interface RegisteredTap {
  readonly hook: Pick<Hook, 'id' | 'mode' | 'onError'>
  readonly plugin: string
  readonly tap: Tap<readonly unknown[], unknown>
  readonly options: TapOptions
}

/** Tap with the unit that registered it, which counts running taps so that it is not disposed before they end. */
export interface OwnedTap extends RegisteredTap {
  readonly unit: { enter(): void; exit(): void }
}

/** Hooks by id, as declared by the triggering plugins. */
export type DeclaredHooks = ReadonlyMap<string, Declared>

type Declared = Pick<DeclaredHook, 'mode' | 'onError' | 'timeoutMs' | 'schema'>
type Args = readonly unknown[]

export interface TapHost {
  /** Logs an error of a tap. */
  report(plugin: string, hookId: string, error: unknown): void
  /** Time limit of a tap in milliseconds, if its hook declares none. */
  readonly timeoutMs: number
}

/** Arguments of one trigger. */
interface Trigger {
  readonly args: Args
  /** True for a plugin whose taps are skipped. */
  readonly skips?: ((plugin: string) => boolean) | undefined
  /** Returns arguments for one tap. Default: a copy of `args`, for arguments without getters. */
  readonly copy?: (() => Args) | undefined
}

/** Runs a hook. Returns its result, or a promise if a tap returned one. Throws if a tap of a `fail` hook fails. */
export type Run = (args: Args, options?: Omit<Trigger, 'args'>) => unknown

/** Hooks of one generation. tapable cannot remove a tap, so each generation builds a new set. */
export class HookSet {
  readonly #runs = new Map<string, Run>()
  /** Stored in a field, as is `operationEnded`, since every call of an operation reads them. */
  readonly operationStarting: Run | undefined
  readonly operationEnded: Run | undefined

  /** A tap may be compiled against another version of a hook's declaration. That of the triggering plugin applies. */
  constructor(taps: readonly OwnedTap[], declared: DeclaredHooks, host: TapHost) {
    const byHook = new Map<string, OwnedTap[]>()
    for (const tap of taps) byHook.set(tap.hook.id, [...(byHook.get(tap.hook.id) ?? []), tap])
    for (const [id, group] of byHook) {
      const ordered = group.toSorted((a, b) => (a.options.order ?? 0) - (b.options.order ?? 0))
      this.#runs.set(id, build(declared.get(id) ?? (group[0] as OwnedTap).hook, ordered, host))
    }
    this.operationStarting = this.#runs.get(operationStarting.id)
    this.operationEnded = this.#runs.get(operationEnded.id)
  }

  has(id: string): boolean {
    return this.#runs.has(id)
  }

  /** Triggers a hook. Resolves to its result if it is a waterfall or bail hook. Undefined if the hook has no taps. */
  trigger(id: string, args: Args): Promise<unknown> | undefined {
    const run = this.#runs.get(id)
    if (run === undefined) return undefined
    return new Promise(resolve => resolve(run(args)))
  }
}

/** Callback of a tap, with its failure or its return value. */
type Done = (failure: Failure | null | undefined, value?: unknown) => void

/** Wrapper for an error of a tap. tapable would treat a falsy error as success. */
interface Failure {
  readonly error: unknown
}

interface AsyncHook {
  callAsync(trigger: Trigger, done: Done): void
}

function build(hook: Declared, taps: readonly OwnedTap[], host: TapHost): Run {
  const { mode } = hook
  const guarded = taps.map(tap => ({ name: tap.plugin, run: guard(tap, hook, host) }))
  // All arguments are passed as one object: tapable needs a fixed arity, which only the caller of the hook knows.
  if (mode === 'waterfall') {
    const series = new AsyncSeriesWaterfallHook<[Trigger]>(['trigger'])
    for (const { name, run } of guarded) {
      series.tapAsync(name, (trigger, done) => {
        const changed = (value: unknown): Trigger => ({ ...trigger, args: [value, ...trigger.args.slice(1)] })
        run(trigger, (failure, value) => (done as Done)(failure, value === undefined ? trigger : changed(value)))
      })
    }
    return runner(series as unknown as AsyncHook, trigger => (trigger as Trigger).args[0])
  }
  const all =
    mode === 'parallel'
      ? new AsyncParallelHook<[Trigger]>(['trigger'])
      : mode === 'bail'
        ? new AsyncSeriesBailHook<[Trigger], unknown>(['trigger'])
        : new AsyncSeriesHook<[Trigger]>(['trigger'])
  for (const { name, run } of guarded) {
    all.tapAsync(name, (trigger, then) => {
      const done = then as Done
      // After a synchronous failure, tapable would not call the other parallel taps. So the failure is deferred.
      run(trigger, (failure, value) => (failure === null ? done(null, value) : queueMicrotask(() => done(failure))))
    })
  }
  return runner(all as unknown as AsyncHook, value => value)
}

/** Converts a tapable hook to a {@link Run}, which returns no promise if all taps are synchronous. */
function runner(hook: AsyncHook, unwrap: (result: unknown) => unknown): Run {
  return (args, options) => {
    let result: (() => unknown) | undefined
    let resolve: ((read: () => unknown) => void) | undefined
    hook.callAsync({ args, skips: options?.skips, copy: options?.copy }, (failure, value) => {
      result = () => {
        if (failure) throw failure.error
        return unwrap(value)
      }
      resolve?.(result)
    })
    if (result !== undefined) return (result as () => unknown)()
    return new Promise<() => unknown>(ready => {
      resolve = ready
    }).then(read => read())
  }
}

/**
 * Wraps a tap: applies its filter and time limit, and handles its errors. Taps of hooks that must not change their
 * arguments receive copies.
 */
function guard(tap: OwnedTap, hook: Declared, host: TapHost): (trigger: Trigger, done: Done) => void {
  const { plugin, unit, options } = tap
  const [fatal, changes] = [hook.onError === 'fail', hook.mode === 'waterfall']
  const limitMs = Math.min(hook.timeoutMs ?? host.timeoutMs, MAX_TIMER_MS)
  const problemOf = replacementCheck(hook.schema)
  const handle = ({ error }: Failure): Failure | null => {
    // An error with a status below 500 refuses the call: its caller receives it. Other errors are logged.
    if (!fatal || !isSvcError(error) || error.status >= 500) host.report(plugin, tap.hook.id, error)
    if (!fatal) return null
    return { error: isSvcError(error) ? error : tapError('OPR_FAILED', tap, 'failed; see its log', error) }
  }
  return ({ args, skips, copy }, done) => {
    if (skips?.(plugin) || (options.filter !== undefined && !matchesFilter(args[0], options.filter))) {
      done(null)
      return
    }
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const end = (value: unknown, thrown?: Failure): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      unit.exit()
      const isChanged = changes && thrown === undefined && value !== undefined
      const problem = isChanged ? problemOf(value, args[0]) : undefined
      const failure = problem === undefined ? thrown : { error: new TypeError(`the tap returned ${problem}`) }
      if (failure === undefined) done(null, value)
      else done(handle(failure))
    }
    unit.enter()
    let pending: unknown
    try {
      pending = tap.tap(...(changes ? args : (copy?.() ?? args.map(value => copyPlain(value)))))
    } catch (error) {
      end(undefined, { error })
      return
    }
    if (!isThenable(pending)) {
      end(pending)
      return
    }
    pending.then(end, (error: unknown) => end(undefined, { error }))
    if (limitMs === 0) return
    const late = (): Error => tapError('KRN_TAP_TIMEOUT', tap, `did not finish within ${limitMs} ms`)
    timer = setTimeout(() => end(undefined, { error: late() }), limitMs)
    if (!fatal) timer.unref()
  }
}

function tapError(code: 'OPR_FAILED' | 'KRN_TAP_TIMEOUT', tap: OwnedTap, how: string, cause?: unknown): Error {
  const { plugin, options } = tap
  const name = options.label === undefined ? 'the tap' : `the tap "${options.label}"`
  const hint = `svc plugins disable ${plugin} removes the tap`
  const message = `${name} of plugin ${plugin} on the hook ${tap.hook.id} ${how}`
  return kernelErrors.create(code, message, { plugin, hint, cause })
}

/** Returns the ids of tapped hooks that no plugin declares. Such taps never run. */
export function undeclaredHooks(taps: readonly RegisteredTap[], manifests: readonly PluginManifest[]): string[] {
  const declared = new Set<string>([...kernelHooks, ...manifests.flatMap(({ hooks }) => hooks)].map(({ id }) => id))
  return [...new Set(taps.map(tap => tap.hook.id))].filter(id => !declared.has(id))
}
