import { createHash } from 'node:crypto'
import type { InferenceEngine, LoadedModel } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { ConfiguredAdapters, type ConfiguredNames } from './configured-adapters.ts'
import { errors } from './errors.ts'
import { runDirectoryState } from './run-directory.ts'
import type { ServedModel } from './served-model.ts'
import type { Settings } from './settings.ts'

export type LoaderContext = Pick<
  PluginContext<Settings>,
  'config' | 'keep' | 'log' | 'projectRoot' | 'signal' | 'background'
>

/** How long a generation waits for a model at boot, when everything else waits with it. */
const BOOT_WAIT_MS = 1_000
/** How long it waits when an older instance serves meanwhile. */
const RELOAD_WAIT_MS = 60_000

/**
 * Loads the served model when something first wants it: routes that are about to serve, or a call. A process that only
 * lists or starts something else never loads any weights.
 */
export class ModelLoader {
  readonly #ctx: LoaderContext
  readonly #engine: InferenceEngine
  readonly #served: ServedModel
  readonly #replaces: boolean
  readonly #adapters: ConfiguredAdapters
  #names: ConfiguredNames = new Set()
  #loading: Promise<void> | undefined
  #serving: Promise<void> | undefined

  /** `replaces`: whether an older instance serves until this one is ready. */
  constructor(ctx: LoaderContext, engine: InferenceEngine, served: ServedModel, replaces: boolean) {
    this.#ctx = ctx
    this.#engine = engine
    this.#served = served
    this.#replaces = replaces
    this.#adapters = new ConfiguredAdapters(ctx.config.adapters, ctx.projectRoot)
  }

  /** Starts to load, unless that has been done. */
  begin(): void {
    if (this.#loading !== undefined) return
    const loading = this.#load()
    this.#loading = loading
    this.#ctx.background('load the model', async signal => void (await first(loading, signal)))
  }

  /**
   * Resolves when the generation may begin to serve. At boot that is soon, whatever becomes of the model: the routes
   * answer 503 with the reason. On a reload it is when the model is ready; throws `MSV_MODEL_FAILED` when it cannot
   * be, so that the older instance goes on. Without anything that serves it, the model is not waited for.
   */
  beforeServing(): Promise<void> {
    if (this.#loading === undefined) return Promise.resolve()
    this.#serving ??= this.#waitToServe(this.#loading)
    return this.#serving
  }

  /** Told when this instance has begun to serve: now nothing needs what only its predecessor's settings named. */
  serving(): void {
    const { state } = this.#served
    if (state.status !== 'ready') return
    this.#adapters.removeOthers(state.model, this.#names).catch((error: unknown) => {
      this.#ctx.log.error('adapters of earlier settings could not be removed', { error })
    })
  }

  /** Resolves when what has been begun is over: to false when nothing has, or the signal is aborted before. */
  async begun(signal: AbortSignal): Promise<boolean> {
    return this.#loading !== undefined && (await first(this.#loading, signal))
  }

  /** Loads, and resolves when the model is ready or has failed. Rejects with the signal's reason when that comes first. */
  async settled(signal: AbortSignal): Promise<void> {
    this.begin()
    if (!(await first(this.#loading, signal))) throw signal.reason
  }

  async #waitToServe(loading: Promise<void>): Promise<void> {
    await first(loading, this.#ctx.signal, this.#replaces ? RELOAD_WAIT_MS : BOOT_WAIT_MS)
    const { state } = this.#served
    if (!this.#replaces || state.status !== 'failed') return
    throw errors.create('MSV_MODEL_FAILED', this.#served.describe(), { cause: state.error })
  }

  /** Never rejects: a failure is the model's state. */
  async #load(): Promise<void> {
    const served = this.#served
    const { log, signal } = this.#ctx
    try {
      const startedAt = performance.now()
      served.state = { status: 'loading', fraction: 0, step: 'reading the run directory' }
      const { fingerprint, modifiedAt } = await runDirectoryState(served.directory)
      const { model, names, opened } = await this.#acquire(fingerprint)
      served.state = { status: 'loading', fraction: 1, step: 'adding the adapters' }
      await this.#adapters.add(model, names)
      this.#names = names
      served.state = { status: 'ready', model, modifiedAt }
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(2)
      log.info(opened ? `${served.describe()}, loaded in ${seconds} s` : `${served.describe()}, kept from before`)
    } catch (cause) {
      // A unit that is disposed while it loads has nobody left to tell.
      if (signal.aborted) return
      const error = cause instanceof Error ? cause : new Error(String(cause))
      served.state = { status: 'failed', error }
      log.error(served.describe(), { error })
    }
  }

  /** The weights, kept across reloads for as long as the engine, the files and the settings that shape them stay. */
  async #acquire(
    fingerprint: string
  ): Promise<{ readonly model: LoadedModel; readonly names: ConfiguredNames; readonly opened: boolean }> {
    const { config, log } = this.#ctx
    const { name, directory } = this.#served
    const { device, quantization, slots, context } = config
    const engine = this.#engine
    const parts = [engine.name, engine.instance, directory, fingerprint, device, quantization, slots, context]
    const key = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
    let opened = false
    const open = (): Promise<LoadedModel> => {
      opened = true
      log.info(`loading model '${name}' from ${directory}`, { engine: engine.name, device })
      return engine.load({
        runDirectory: directory,
        slots,
        ...(device === undefined ? {} : { device: device === 'best' ? 'auto' : device }),
        ...(quantization === undefined ? {} : { quantization }),
        ...(context === undefined ? {} : { maxContext: context }),
        onProgress: this.#progressReporter()
      })
    }
    const model = await this.#ctx.keep(`model ${key}`, open, loaded => loaded.close())
    const noNames = (): ConfiguredNames => new Set()
    const names = await this.#ctx.keep(`adapters ${key}`, noNames, () => undefined)
    return { model, names, opened }
  }

  /** Shows every step to clients and readiness checks; logs each step once. */
  #progressReporter(): (fraction: number, step: string) => void {
    const served = this.#served
    let last: string | undefined
    return (fraction, step) => {
      if (served.state.status === 'loading') served.state = { status: 'loading', fraction, step }
      if (step === last) return
      last = step
      this.#ctx.log.info(`model '${served.name}': ${step}`, { percent: Math.floor(fraction * 100) })
    }
  }
}

/** True when the work settled first; false when the signal was aborted or the time was over before that. */
function first(work: Promise<void> | undefined, signal: AbortSignal, milliseconds?: number): Promise<boolean> {
  return new Promise(resolve => {
    const timer = milliseconds === undefined ? undefined : setTimeout(finish, milliseconds, false)
    const onAbort = () => finish(false)
    function finish(done: boolean): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      resolve(done)
    }
    if (signal.aborted) finish(false)
    else signal.addEventListener('abort', onAbort)
    void Promise.resolve(work).then(() => finish(true))
  })
}
