import type { LoadedModel, NamedAdapter } from '@svc/contracts'
import type { ConfiguredNames } from './configured-adapters.ts'
import { errors } from './errors.ts'

export interface Loaded {
  readonly model: LoadedModel
  /** When the newest file of the run directory was written. */
  readonly modifiedAt: Date
}

/** A model that stays loaded until it is let go of. */
export interface ModelUse extends Loaded {
  /** Nanoseconds that were waited for it to be loaded. */
  readonly loadNs: number
  /** May be called again; aborting the signal does the same. */
  release(): void
}

/** Told at once of every change, so that nobody takes a model that is gone for one that is there. */
export interface WeightsWatcher {
  loaded(loaded: Loaded): void
  /** The model can still be asked for what it is; it is closed next. */
  unloaded(loaded: Loaded, closed: Promise<void>): void
}

/** The longest time that a timer takes. */
const LONGEST_MS = 2 ** 31 - 1
/** The last moment that a date can hold. */
const LAST_DATE_MS = 8.64e15

/**
 * The weights of one model, which come when somebody uses them and go when nobody has for long enough. This is what
 * outlives a reload of the plugin: both instances use the same, each with its own way to load them.
 *
 * 1. {@link use} counts a user, and loads the model unless it is there; those who come meanwhile wait for the same load.
 * 2. When the last user is gone the time to stay begins; the next user ends it.
 * 3. When it is over, the model is let go of in one step, before it is closed. A use that comes later waits until it is
 *    closed, so that memory is never needed twice, and loads it again.
 */
export class KeptWeights {
  /** Names of adapters of the loaded model that the settings asked for. */
  readonly configured: ConfiguredNames = new Set()
  readonly #watchers = new Set<WeightsWatcher>()
  #loaded: Loaded | undefined
  #loading: Promise<Loaded> | undefined
  #closing: Promise<void> = Promise.resolve()
  #parted: readonly NamedAdapter[] = []
  #users = 0
  #defaultMs = Number.POSITIVE_INFINITY
  /** What a request wanted, until the model is unloaded. */
  #wantedMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  /** When the model goes, by `Date.now()`. */
  #until = Number.POSITIVE_INFINITY
  #shut = false

  /** Adapters that callers had added to what was unloaded last. */
  get parted(): readonly NamedAdapter[] {
    return this.#parted
  }

  /** When the model will be unloaded unless somebody uses it; null for never. */
  get expiresAt(): Date | null {
    const until = this.#users > 0 ? Date.now() + this.#keepMs : this.#until
    return until <= LAST_DATE_MS ? new Date(until) : null
  }

  watch(watcher: WeightsWatcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Milliseconds that the model stays where no request has said how long. */
  stayFor(milliseconds: number): void {
    if (milliseconds === this.#defaultMs) return
    this.#defaultMs = milliseconds
    this.#rest()
  }

  /**
   * `load` is called if the model is not there and nobody loads it; `keepMs`: milliseconds that it is to stay from now on.
   * Throws what a load throws, or the reason of the signal.
   */
  async use(load: () => Promise<Loaded>, signal: AbortSignal, keepMs?: number): Promise<ModelUse> {
    signal.throwIfAborted()
    clearTimeout(this.#timer)
    this.#users += 1
    let held = true
    const release = (): void => {
      signal.removeEventListener('abort', release)
      if (!held) return
      held = false
      this.#users -= 1
      this.#rest()
    }
    signal.addEventListener('abort', release)
    try {
      const startedNs = process.hrtime.bigint()
      const there = this.#loaded
      const loaded = there ?? (await unlessAborted(this.#load(load), signal))
      this.#wantedMs = keepMs ?? this.#wantedMs
      return { ...loaded, release, loadNs: there === undefined ? Number(process.hrtime.bigint() - startedNs) : 0 }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Lets go of the model as soon as nobody uses it. Resolves when that has been done, or at once when others use it. */
  async unload(): Promise<void> {
    if (this.#loaded !== undefined || this.#loading !== undefined) this.#wantedMs = 0
    if (this.#users === 0) await this.#loading?.catch(() => undefined)
    this.#rest()
    await this.#closing
  }

  /** Ends everything, uses included. */
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
    return this.#wantedMs ?? this.#defaultMs
  }

  #load(load: () => Promise<Loaded>): Promise<Loaded> {
    this.#loading ??= this.#open(load).finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #open(load: () => Promise<Loaded>): Promise<Loaded> {
    await this.#closing.catch(() => undefined)
    if (this.#shut) throw errors.create('MSV_STOPPED', 'the model is not loaded again, since the server is stopping')
    const loaded = await load()
    this.#loaded = loaded
    for (const watcher of this.#watchers) watcher.loaded(loaded)
    this.#rest()
    return loaded
  }

  /** Begins the time to stay, if nobody uses the model. */
  #rest(): void {
    clearTimeout(this.#timer)
    if (this.#users > 0 || this.#loaded === undefined || this.#shut) return
    this.#until = Date.now() + this.#keepMs
    if (this.#keepMs === 0) this.#part(this.#loaded)
    else this.#wait(performance.now() + this.#keepMs)
  }

  #wait(until: number): void {
    if (until === Number.POSITIVE_INFINITY) return
    const left = until - performance.now()
    const over = () => (left > LONGEST_MS ? this.#wait(until) : this.#loaded && this.#part(this.#loaded))
    this.#timer = setTimeout(over, Math.min(left, LONGEST_MS)).unref()
  }

  #part(loaded: Loaded): void {
    const { model } = loaded
    this.#parted = (model.adapters?.list() ?? []).filter(({ name }) => !this.configured.has(name))
    this.configured.clear()
    this.#loaded = undefined
    this.#wantedMs = undefined
    this.#closing = Promise.resolve().then(() => model.close())
    // Whoever watches says what went wrong; what comes next only waits for it.
    this.#closing.catch(() => undefined)
    for (const watcher of this.#watchers) watcher.unloaded(loaded, this.#closing)
  }
}

async function unlessAborted<A>(work: Promise<A>, signal: AbortSignal): Promise<A> {
  let abort: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort as () => void)
  }
}
