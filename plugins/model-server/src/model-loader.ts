import { createHash } from 'node:crypto'
import type { InferenceEngine, LoadedModel, NamedAdapter } from '@svc/contracts'
import { type Disposer, defined, isSvcError, type PluginContext, raceAbort } from '@svc/plugin-sdk'
import { readModelFiles } from './catalogue/model-files.ts'
import { ConfiguredAdapters } from './configured-adapters.ts'
import { durationMs } from './duration.ts'
import { errors } from './errors.ts'
import { KeptWeights, type Loaded, type ModelUse, type WeightsWatcher } from './kept-weights.ts'
import { type MemoryBudget, memoryOf } from './memory-budget.ts'
import { runDirectoryState } from './run-directory.ts'
import { type KnownModel, remembered, type ServedModel } from './served-model.ts'
import type { Settings } from './settings.ts'
import type { ServedWeights } from './wire-services.ts'

export type LoaderContext = Pick<
  PluginContext<Settings>,
  'config' | 'keep' | 'effect' | 'log' | 'projectRoot' | 'signal' | 'background'
>

/** Time that the first generation waits for the model at boot. Short, because everything else waits too. */
const BOOT_WAIT_MS = 1_000
/** Time that a generation waits for the model on a reload. Long, because the older instance still serves. */
const RELOAD_WAIT_MS = 60_000

export interface LoaderOptions {
  /** True if an older instance serves until this one is ready. */
  readonly replaces?: boolean
  /** True for a model that the first request for it loads, and that is loaded again after a failure. */
  readonly onDemand?: boolean
  /** Folders of the adapters that belong to the model, by name. */
  readonly adapters: Readonly<Record<string, string>>
  readonly budget: MemoryBudget
}

/**
 * Loads a served model on first use: when routes are about to serve, or by a call. Processes that do neither never
 * load weights. The next use of an unloaded model loads it again.
 */
export class ModelLoader implements ServedWeights {
  readonly #ctx: LoaderContext
  readonly #engine: InferenceEngine
  readonly #served: ServedModel
  readonly #replaces: boolean
  readonly #onDemand: boolean
  readonly #adapters: ConfiguredAdapters
  readonly #budget: MemoryBudget
  #keeping: Promise<KeptWeights> | undefined
  /** End what this loader has registered with the weights. */
  readonly #ends: Disposer[] = []
  /** Memory that the model needed after its last load, in bytes. */
  #needed: number | undefined
  #weights: KeptWeights | undefined
  #loading: Promise<void> | undefined
  #serving: Promise<void> | undefined
  /** True if the settings of this instance apply. False during a reload, which may still be rejected. */
  #inCharge: boolean

  constructor(ctx: LoaderContext, engine: InferenceEngine, served: ServedModel, options: LoaderOptions) {
    const { replaces = false, onDemand = false, adapters, budget } = options
    this.#ctx = ctx
    this.#engine = engine
    this.#served = served
    this.#replaces = replaces
    this.#onDemand = onDemand
    this.#inCharge = !replaces
    this.#adapters = new ConfiguredAdapters(adapters, ctx.projectRoot)
    this.#budget = budget
  }

  /** Starts the first load, once. */
  begin(): void {
    if (this.#loading !== undefined) return
    const loading = this.#load()
    this.#loading = loading
    this.#ctx.background('load the model', async signal => {
      if (!(await first(loading, signal))) return
      const { state } = this.#served
      if (!this.#ctx.config.must_load || this.#replaces || state.status !== 'failed') return
      const error = this.#served.fatal(state.error)
      // Thrown outside of the background work, which only logs errors, so that the plugin's policy for uncaught errors
      // applies.
      setImmediate(() => {
        throw error
      })
    })
  }

  /**
   * Resolves when the generation may begin to serve.
   *
   * - At boot: soon, even if the load fails. The routes then return 503 with the reason.
   * - On a reload: when the model is ready. Throws `MSV_MODEL_FAILED` if the load fails, so that the older instance
   *   stays.
   * - Immediately, if nothing serves the model.
   */
  beforeServing(): Promise<void> {
    if (this.#loading === undefined) return Promise.resolve()
    this.#serving ??= this.#waitToServe(this.#loading)
    return this.#serving
  }

  /** Called when this instance has begun to serve. Removes adapters that only the predecessor's settings named. */
  serving(): void {
    this.#inCharge = true
    this.stayAsConfigured()
    if (this.#served.state.status !== 'ready') return
    this.#removeOthers().catch((error: unknown) => {
      this.#ctx.log.error('cannot remove adapters of earlier settings', { error })
    })
  }

  /** Resolves when the first load has ended; to false if none has begun or the signal is aborted. */
  async begun(signal: AbortSignal): Promise<boolean> {
    return this.#loading !== undefined && (await first(this.#loading, signal))
  }

  /**
   * Starts the first load if necessary. Resolves when it has ended or failed; rejects with the reason of the signal.
   */
  async settled(signal: AbortSignal): Promise<void> {
    if (this.#onDemand) {
      if (this.#served.known === undefined) (await this.#useOnDemand(signal)).release()
      return
    }
    this.begin()
    if (!(await first(this.#loading, signal))) throw signal.reason
  }

  /** Uses the model, after its first load. Throws `MSV_MODEL_FAILED`, or the reason of the signal. */
  async use(signal: AbortSignal, keepMs?: number): Promise<ModelUse> {
    if (this.#onDemand) return this.#useOnDemand(signal, keepMs)
    if (this.#served.state.status !== 'ready') await this.settled(signal)
    const weights = this.#weights
    // The first load failed. A retry needs other settings or files, and so a reload.
    if (weights === undefined || this.#served.known === undefined) throw this.#served.notReady()
    try {
      return await weights.use(() => this.#open(weights), signal, keepMs)
    } catch (error) {
      signal.throwIfAborted()
      throw isSvcError(error, 'MSV_MEMORY') ? error : this.#served.failure(error)
    }
  }

  async unload(): Promise<void> {
    await this.#weights?.unload()
  }

  /**
   * Unloads the model after its running requests, unless another name uses it, and no longer reports its state.
   */
  async retire(): Promise<void> {
    const weights = this.#weights
    const end = (): void => {
      for (const each of this.#ends.splice(0)) void each()
    }
    if (weights === undefined || weights.owners > 1) return end()
    await weights.unload()
    if (weights.loaded === undefined) end()
    // Requests use the model; until they end, its memory counts.
    else
      this.#ends.push(weights.watch({ loaded: () => undefined, unloaded: (_, closed) => void closed.then(end, end) }))
  }

  get expiresAt(): Date | null {
    return this.#weights?.expiresAt ?? null
  }

  /** Applies a changed setting `keep_alive`. */
  stayAsConfigured(): void {
    if (this.#inCharge) this.#weights?.setDefaultKeepAlive(durationMs(this.#ctx.config.keep_alive) as number)
  }

  /** Loads a model that is loaded on demand. Each call after a failure tries again. */
  async #useOnDemand(signal: AbortSignal, keepMs?: number): Promise<ModelUse> {
    signal.throwIfAborted()
    try {
      this.#keeping ??= this.#keep()
      const weights = await raceAbort(signal, this.#keeping)
      const use = await weights.use(() => this.#open(weights), signal, keepMs)
      // Another name of the same files has loaded the model.
      if (this.#served.state.status !== 'ready') this.#served.state = { status: 'ready', ...loadedOf(use) }
      return use
    } catch (error) {
      signal.throwIfAborted()
      if (this.#weights === undefined) {
        this.#keeping = undefined
        this.#fail(error)
      }
      throw isSvcError(error, 'MSV_MEMORY') ? error : this.#served.failure(error)
    }
  }

  async #waitToServe(loading: Promise<void>): Promise<void> {
    await first(loading, this.#ctx.signal, this.#replaces ? RELOAD_WAIT_MS : BOOT_WAIT_MS)
    const { state } = this.#served
    if (!this.#replaces || state.status !== 'failed') return
    throw errors.create('MSV_MODEL_FAILED', this.#served.describe(), { cause: state.error })
  }

  async #removeOthers(): Promise<void> {
    const use = await this.use(this.#ctx.signal)
    try {
      await this.#adapters.removeOthers(use.model, (this.#weights as KeptWeights).configured)
    } finally {
      use.release()
    }
  }

  /** Loads the model. Never rejects: a failure becomes the model's state. */
  async #load(): Promise<void> {
    const { signal } = this.#ctx
    try {
      this.#progress(0, 'reading the run directory')
      const weights = await this.#keep()
      let opened = false
      const use = await weights.use(() => {
        opened = true
        return this.#open(weights)
      }, signal)
      try {
        if (!opened) await this.#adopt(use, weights)
      } finally {
        use.release()
      }
    } catch (cause) {
      if (this.#served.state.status !== 'failed') this.#fail(cause)
    }
  }

  /** Uses a model that another instance has loaded. */
  async #adopt({ model, modifiedAt }: Loaded, { configured }: KeptWeights): Promise<void> {
    this.#progress(1, 'adding the adapters')
    await this.#adapters.add(model, configured)
    this.#served.state = { status: 'ready', model, modifiedAt }
    this.#ctx.log.info(`${this.#served.describe()}; the reload kept its weights`)
  }

  /**
   * Returns the weights, which are kept across reloads while the engine, the files and the weight settings are the
   * same.
   */
  async #keep(): Promise<KeptWeights> {
    const { config } = this.#ctx
    const { directory } = this.#served
    const { device, quantization, slots = 'auto', context } = config
    const engine = this.#engine
    const { fingerprint } = await runDirectoryState(directory)
    const parts = [engine.name, engine.instance, directory, fingerprint, device, quantization, slots, context]
    const key = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
    const weights = await this.#ctx.keep(
      `weights 1 ${key}`,
      () => new KeptWeights(),
      kept => kept.close()
    )
    this.#ends.push(
      this.#ctx.effect('memory of the weights', this.#budget.add(weights, this.#served.name)),
      this.#ctx.effect('watch the weights', weights.watch(this.#watcher())),
      this.#ctx.effect('use of the weights', weights.own())
    )
    this.#weights = weights
    this.stayAsConfigured()
    return weights
  }

  #watcher(): WeightsWatcher {
    const served = this.#served
    const { log } = this.#ctx
    return {
      loaded: loaded => {
        served.state = { status: 'ready', ...loaded }
      },
      unloaded: (loaded, closed) => {
        served.state = { status: 'unloaded', known: remembered(loaded) }
        closed.then(
          () => log.info(served.describe()),
          (error: unknown) => log.error(`cannot unload the model '${served.name}'`, { error })
        )
      }
    }
  }

  /** Loads the model with all its adapters. Throws the errors of the engine. */
  async #open(weights: KeptWeights): Promise<Loaded> {
    const { config, log } = this.#ctx
    const { name, directory } = this.#served
    const { device, quantization, slots = 'auto', context } = config
    const engine = this.#engine
    const startedAt = performance.now()
    let release = (): void => undefined
    try {
      log.info(`loading model '${name}' from ${directory}`, { engine: engine.name, device })
      this.#progress(0, 'reading the run directory')
      const { modifiedAt, sizeBytes } = await readModelFiles(directory)
      release = await this.#budget.makeRoom(weights, this.#needed ?? sizeBytes)
      const model = await engine.load({
        runDirectory: directory,
        slots,
        ...(device === undefined ? {} : { device: device === 'best' ? 'auto' : device }),
        ...defined({ quantization, maxContext: context }),
        onProgress: this.#progressReporter()
      })
      this.#needed = memoryOf(model)
      try {
        this.#progress(1, 'adding the adapters')
        await this.#adapters.add(model, weights.configured)
        await this.#addAgain(model, weights.droppedAdapters)
      } catch (error) {
        await model.close()
        throw error
      }
      const { parameters, device: used } = model.info
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(2)
      log.info(`model '${name}' is ready: ${parameters} parameters on ${used}, loaded in ${seconds} s`)
      return { model, modifiedAt }
    } catch (cause) {
      release()
      if (isSvcError(cause, 'MSV_MEMORY')) this.#served.state = withoutWeights(this.#served)
      else this.#fail(cause)
      throw cause
    }
  }

  /** Adds the adapters that callers had added. Skips one that cannot be read, so that the model still loads. */
  async #addAgain({ adapters }: LoadedModel, dropped: readonly NamedAdapter[]): Promise<void> {
    for (const { name, directory } of dropped) {
      if (adapters?.list().some(adapter => adapter.name === name)) continue
      try {
        await adapters?.add({ name, directory })
      } catch (error) {
        this.#ctx.log.warn(`the adapter '${name}' from ${directory} was dropped: it can no longer be read`, {
          error
        })
      }
    }
  }

  #fail(cause: unknown): void {
    // The unit was disposed during the load: report nothing.
    if (this.#ctx.signal.aborted) return
    const served = this.#served
    served.state = { status: 'failed', error: cause, ...alreadyKnown(served) }
    this.#ctx.log.error(served.describe(), { error: cause })
  }

  #progress(fraction: number, step: string): void {
    this.#served.state = { status: 'loading', fraction, step, ...alreadyKnown(this.#served) }
  }

  /** Returns a callback that publishes each step to clients and readiness checks, and logs each step once. */
  #progressReporter(): (fraction: number, step: string) => void {
    const served = this.#served
    let last: string | undefined
    return (fraction, step) => {
      if (served.state.status === 'loading') this.#progress(fraction, step)
      if (step === last) return
      last = step
      this.#ctx.log.info(`model '${served.name}': ${step}`, { percent: Math.floor(fraction * 100) })
    }
  }
}

function loadedOf({ model, modifiedAt }: Loaded): Loaded {
  return { model, modifiedAt }
}

/** Returns the state of a model that could not be loaded yet. */
function withoutWeights({ known }: ServedModel): ServedModel['state'] {
  return known === undefined ? { status: 'idle' } : { status: 'unloaded', known }
}

function alreadyKnown({ known }: ServedModel): { readonly known?: KnownModel } {
  return known === undefined ? {} : { known }
}

/** Resolves to false if the signal is aborted or the limit passes before the work settles. */
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
