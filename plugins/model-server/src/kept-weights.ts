import type { LoadedModel, NamedAdapter } from '@svc/contracts'
import { MAX_TIMER_MS, raceAbort } from '@svc/plugin-sdk'
import type { ConfiguredNames } from './configured-adapters.ts'
import { errors } from './errors.ts'

export interface Loaded {
  readonly model: LoadedModel
  /** Modification time of the newest file in the run directory. */
  readonly modifiedAt: Date
}

/** Use of the loaded model; the model stays loaded until all uses are released. */
export interface ModelUse extends Loaded {
  /** Nanoseconds that this use waited for the model to load. */
  readonly loadNs: number
  /** Ends the use; idempotent. Aborting the signal has the same effect. */
  release(): void
}

/** Callbacks for changes of the weights. They are synchronous, so that no request gets an unloaded model. */
export interface WeightsWatcher {
  loaded(loaded: Loaded): void
  /** Called before the model is closed, while its properties can still be read. */
  unloaded(loaded: Loaded, closed: Promise<void>): void
}

/** Latest time that a `Date` can represent. */
const MAX_DATE_MS = 8.64e15

/**
 * Weights of one model, loaded on first use and unloaded after an idle time. They survive a reload of the plugin: both
 * instances share them, each with its own load function.
 *
 * 1. {@link use} counts a user and loads the model if necessary. Concurrent users share one load.
 * 2. When the last user releases the model, the idle time begins. The next use ends it.
 * 3. After the idle time the model is dropped, then closed. A later use waits for the close before it loads the model
 *    again, so that two copies are never in memory.
 */
export class KeptWeights {
  /** Names of adapters of the loaded model that come from the settings. */
  readonly configured: ConfiguredNames = new Set()
  readonly #watchers = new Set<WeightsWatcher>()
  readonly #owners = new Set<symbol>()
  #loaded: Loaded | undefined
  #loading: Promise<Loaded> | undefined
  #closing: Promise<void> = Promise.resolve()
  #droppedAdapters: readonly NamedAdapter[] = []
  #users = 0
  #defaultMs = Number.POSITIVE_INFINITY
  /** Idle time that a request has set; it applies until the model is unloaded. */
  #requestedMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  /** Time of the next unload, by `Date.now()`. */
  #until = Number.POSITIVE_INFINITY
  #shut = false
  #lastUsedAt = 0

  /** Adapters that callers had added to the model before it was last unloaded. */
  get droppedAdapters(): readonly NamedAdapter[] {
    return this.#droppedAdapters
  }

  /** Time at which the model is unloaded unless it is used before; null for never. */
  get expiresAt(): Date | null {
    const until = this.#users > 0 ? Date.now() + this.#keepMs : this.#until
    return until <= MAX_DATE_MS ? new Date(until) : null
  }

  /** The model, if it is in memory. */
  get loaded(): Loaded | undefined {
    return this.#loaded
  }

  /** True while requests use the model, or wait for its load. */
  get inUse(): boolean {
    return this.#users > 0
  }

  /** Time of the last use, by `performance.now()`. */
  get lastUsedAt(): number {
    return this.#lastUsedAt
  }

  /** Model names that use these weights. */
  get owners(): number {
    return this.#owners.size
  }

  /** Adds a model name that uses these weights. Returns a function that removes it. */
  own(): () => void {
    const owner = Symbol('owner')
    this.#owners.add(owner)
    return () => void this.#owners.delete(owner)
  }

  /** Callbacks that are registered. */
  get watchers(): number {
    return this.#watchers.size
  }

  watch(watcher: WeightsWatcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Sets the idle time, in milliseconds, that applies if no request has set one. */
  setDefaultKeepAlive(milliseconds: number): void {
    if (milliseconds === this.#defaultMs) return
    this.#defaultMs = milliseconds
    this.#startIdleTime()
  }

  /**
   * Registers a use, and calls `load` if the model is neither loaded nor loading. `keepMs` sets the idle time.
   * Throws the error of the load, or the reason of the signal.
   */
  async use(load: () => Promise<Loaded>, signal: AbortSignal, keepMs?: number): Promise<ModelUse> {
    signal.throwIfAborted()
    clearTimeout(this.#timer)
    this.#users += 1
    this.#lastUsedAt = performance.now()
    let held = true
    const release = (): void => {
      signal.removeEventListener('abort', release)
      if (!held) return
      held = false
      this.#users -= 1
      this.#lastUsedAt = performance.now()
      this.#startIdleTime()
    }
    signal.addEventListener('abort', release)
    try {
      const startedNs = process.hrtime.bigint()
      const current = this.#loaded
      const loaded = current ?? (await raceAbort(signal, this.#load(load)))
      this.#requestedMs = keepMs ?? this.#requestedMs
      return { ...loaded, release, loadNs: current === undefined ? Number(process.hrtime.bigint() - startedNs) : 0 }
    } catch (error) {
      release()
      throw error
    }
  }

  /**
   * Unloads the model, if necessary after its last use. Resolves after the unload, or immediately if the model is in use.
   */
  async unload(): Promise<void> {
    if (this.#loaded !== undefined || this.#loading !== undefined) this.#requestedMs = 0
    if (this.#users === 0) await this.#loading?.catch(() => undefined)
    this.#startIdleTime()
    await this.#closing
  }

  /** Drops the model if it is loaded and not in use. Resolves when its memory is free; also if the close fails. */
  async evict(): Promise<void> {
    if (this.#users > 0 || this.#loaded === undefined || this.#shut) return
    clearTimeout(this.#timer)
    this.#drop(this.#loaded)
    await this.#closing.catch(() => undefined)
  }

  /** Closes the model, even while it is in use, and refuses later uses. */
  async close(): Promise<void> {
    this.#shut = true
    clearTimeout(this.#timer)
    await this.#loading?.catch(() => undefined)
    const loaded = this.#loaded
    this.#loaded = undefined
    await this.#closing.catch(() => undefined)
    await loaded?.model.close()
  }

  get #keepMs(): number {
    return this.#requestedMs ?? this.#defaultMs
  }

  #load(load: () => Promise<Loaded>): Promise<Loaded> {
    this.#loading ??= this.#open(load).finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #open(load: () => Promise<Loaded>): Promise<Loaded> {
    await this.#closing.catch(() => undefined)
    if (this.#shut) throw errors.create('MSV_STOPPED', 'the model is not loaded again: the server is stopping')
    const loaded = await load()
    this.#loaded = loaded
    for (const watcher of this.#watchers) watcher.loaded(loaded)
    this.#startIdleTime()
    return loaded
  }

  /** Starts the idle time if no one uses the model. */
  #startIdleTime(): void {
    clearTimeout(this.#timer)
    if (this.#users > 0 || this.#loaded === undefined || this.#shut) return
    this.#until = Date.now() + this.#keepMs
    if (this.#keepMs === 0) this.#drop(this.#loaded)
    else this.#wait(performance.now() + this.#keepMs)
  }

  #wait(until: number): void {
    if (until === Number.POSITIVE_INFINITY) return
    const left = until - performance.now()
    const over = () => (left > MAX_TIMER_MS ? this.#wait(until) : this.#loaded && this.#drop(this.#loaded))
    this.#timer = setTimeout(over, Math.min(left, MAX_TIMER_MS)).unref()
  }

  #drop(loaded: Loaded): void {
    const { model } = loaded
    this.#droppedAdapters = (model.adapters?.list() ?? []).filter(({ name }) => !this.configured.has(name))
    this.configured.clear()
    this.#loaded = undefined
    this.#requestedMs = undefined
    this.#closing = Promise.resolve().then(() => model.close())
    // The watchers report a failed close; the next load only waits for the close to end.
    this.#closing.catch(() => undefined)
    for (const watcher of this.#watchers) watcher.unloaded(loaded, this.#closing)
  }
}
