import { kernelHooks, type OperationStart, operationEnded, operationStarting } from '@svc/contracts'
import { type Hook, isSvcError, type PluginManifest, type Tap, type TapOptions } from '@svc/plugin-sdk'
import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook } from '#tapable'
import { isThenable } from './call.ts'

export interface RegisteredTap {
  readonly hook: Pick<Hook, 'id' | 'mode' | 'onError'>
  readonly plugin: string
  readonly tap: Tap<readonly unknown[], unknown>
  readonly options: TapOptions
}

/** Counter of running work, so that a unit is not disposed while its tap runs. */
interface Owner {
  enter(): void
  exit(): void
}

/** Tap with the unit that registered it. */
export interface OwnedTap extends RegisteredTap {
  readonly unit: Owner
}

/** Hook types by id, as declared by the triggering plugins. */
export type DeclaredHooks = ReadonlyMap<string, Pick<Hook, 'mode' | 'onError'>>

type Args = readonly unknown[]
type ReportHookError = (plugin: string, hookId: string, error: unknown) => void
/** Runs a hook. Returns its result, or a promise if a tap returned one. Rethrows errors of the taps. */
export type Run = (args: Args) => unknown

/** Hooks of one generation. tapable cannot remove a tap, so each generation builds a new set. */
export class HookSet {
  readonly #runs = new Map<string, Run>()
  /** Stored in a field, as is `operationEnded`, since every call of an operation reads them. */
  readonly operationStarting: Run | undefined
  readonly operationEnded: Run | undefined

  /** A tap may be compiled against another version of a hook's declaration. That of the triggering plugin applies. */
  constructor(taps: readonly OwnedTap[], declared: DeclaredHooks, report: ReportHookError) {
    const byHook = new Map<string, OwnedTap[]>()
    for (const tap of taps) {
      const group = byHook.get(tap.hook.id)
      if (group === undefined) byHook.set(tap.hook.id, [tap])
      else group.push(tap)
    }
    for (const [id, group] of byHook) {
      const ordered = group.toSorted((a, b) => (a.options.order ?? 0) - (b.options.order ?? 0))
      const { mode, onError } = declared.get(id) ?? (group[0] as OwnedTap).hook
      this.#runs.set(id, build(mode, onError === 'fail', ordered, report))
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
type Done = (failure: Failure | null, value?: unknown) => void

/** Wrapper for an error of a tap. tapable would treat a falsy error as success. */
class Failure {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

interface AsyncHook {
  callAsync(args: Args, done: Done): void
}

function build(mode: Hook['mode'], fatal: boolean, taps: readonly OwnedTap[], report: ReportHookError): Run {
  const guarded = taps.map(tap => ({ name: tap.plugin, run: guard(tap, fatal, report) }))
  // All arguments are passed as one array: tapable needs a fixed arity, which only the caller of the hook knows.
  if (mode === 'waterfall') {
    const hook = new AsyncSeriesWaterfallHook<[Args]>(['args'])
    for (const { name, run } of guarded) {
      hook.tapAsync(name, (args, done) => {
        run(args, (failure, value) => (done as Done)(failure, value === undefined ? args : [value, ...args.slice(1)]))
      })
    }
    return runner(hook as unknown as AsyncHook, args => (args as Args)[0])
  }
  const hook =
    mode === 'parallel'
      ? new AsyncParallelHook<[Args]>(['args'])
      : mode === 'bail'
        ? new AsyncSeriesBailHook<[Args], unknown>(['args'])
        : new AsyncSeriesHook<[Args]>(['args'])
  for (const { name, run } of guarded) {
    hook.tapAsync(name, (args, then) => {
      const done = then as Done
      // After a synchronous failure, tapable would not call the other parallel taps. So the failure is deferred.
      run(args, (failure, value) => (failure === null ? done(null, value) : queueMicrotask(() => done(failure))))
    })
  }
  return runner(hook as unknown as AsyncHook, value => value)
}

/** Converts a tapable hook to a {@link Run}, which returns no promise if all taps are synchronous. */
function runner(hook: AsyncHook, unwrap: (result: unknown) => unknown): Run {
  return args => {
    let isOver = false
    let failed: Failure | null = null
    let result: unknown
    let over: (() => void) | undefined
    hook.callAsync(args, (failure, value) => {
      isOver = true
      failed = failure ?? null
      result = value
      over?.()
    })
    const outcome = (): unknown => {
      if (failed !== null) throw (failed as Failure).error
      return unwrap(result)
    }
    if (isOver) return outcome()
    return new Promise<void>(resolve => {
      over = resolve
    }).then(outcome)
  }
}

function guard(tap: OwnedTap, fatal: boolean, report: ReportHookError): (args: Args, done: Done) => void {
  const filter = Object.entries(tap.options.filter ?? {})
  const { hook, plugin, unit } = tap
  const ofCalls = hook.id === operationStarting.id || hook.id === operationEnded.id
  const failure = (error: unknown): Failure | null => {
    // An error with a status below 500 refuses the call: its caller receives it. Other errors are logged.
    const isRefusal = fatal && isSvcError(error) && error.status < 500
    if (!isRefusal) report(plugin, hook.id, error)
    return fatal ? new Failure(error) : null
  }
  return (args, done) => {
    // A tap does not receive calls of the plugin that registered it: otherwise a tap that calls an operation would
    // recurse.
    const isOwn = ofCalls && (args[0] as OperationStart).caller === plugin
    if (isOwn || !filter.every(([path, wanted]) => matches(pick(args[0], path), wanted))) {
      done(null)
      return
    }
    unit.enter()
    let value: unknown
    let failed: Failure | null = null
    try {
      value = tap.tap(...args)
      if (isThenable(value)) {
        value.then(
          late => {
            unit.exit()
            done(null, late)
          },
          (error: unknown) => {
            unit.exit()
            done(failure(error))
          }
        )
        return
      }
    } catch (error) {
      failed = failure(error)
    }
    unit.exit()
    done(failed, value)
  }
}

function pick(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], value)
}

function matches(actual: unknown, wanted: NonNullable<TapOptions['filter']>[string]): boolean {
  return Array.isArray(wanted) ? wanted.includes(actual as string) : actual === wanted
}

/** Returns the ids of tapped hooks that no plugin declares. Such taps never run. */
export function undeclaredHooks(taps: readonly RegisteredTap[], manifests: readonly PluginManifest[]): string[] {
  const hooks = [...kernelHooks, ...manifests.flatMap(manifest => manifest.hooks)]
  const declared = new Set<string>(hooks.map(({ id }) => id))
  return [...new Set(taps.map(tap => tap.hook.id))].filter(id => !declared.has(id))
}
