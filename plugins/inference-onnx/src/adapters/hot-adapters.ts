import type { ModelAdapters, NamedAdapter } from '@svc/contracts'
import type { LowRankFactors } from '../adapter.ts'
import type { DecoderSession } from '../decoder-session.ts'
import { inferenceErrors } from '../errors.ts'
import type { DecoderConfig } from '../model-config.ts'
import type { OrtSession, Runtime } from '../ort/runtime.ts'
import type { TensorNames } from '../weights/tensor-names.ts'
import { assignUpdates } from '../weights/updates.ts'
import { readAdapterDirectory } from './adapter-directory.ts'
import { type AdapterFactors, readFactors } from './factors.ts'
import type { LowRankSite } from './sites.ts'

type AddOptions = Parameters<ModelAdapters['add']>[0]

/** A decoder of the base model whose projections take factors as inputs. */
export interface OpenBase {
  readonly session: OrtSession
  readonly sites: readonly LowRankSite[]
  readonly weightBytes: number
}

export interface HotAdaptersOptions {
  readonly runtime: Runtime
  readonly decoder: Pick<DecoderSession, 'addVariant' | 'removeVariant'>
  readonly config: DecoderConfig
  readonly names: TensorNames
  /** True if the loaded weights are the plain base model, so a request for it needs nothing else. */
  readonly plain: boolean
  /** Called for the first adapter, and again for the first one after all were removed. */
  openBase(): Promise<OpenBase>
}

/** Weights held by a running sequence. */
export interface AdapterLease {
  /** See {@link Job.weights}. */
  readonly weights: object | null
  release(): void
}

/** Factors in memory. */
interface Resident {
  /** Identity for the decoder and kept prefixes, which may outlive the factors. */
  readonly weights: object
  readonly factors: AdapterFactors
  users: number
  /** True once removed: new requests do not find it. */
  removed: boolean
}

interface NamedResident extends Resident {
  readonly adapter: NamedAdapter
}

/** True if only the loaded weights are needed. */
export const LOADED: AdapterLease = { weights: null, release: () => undefined }
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

/**
 * Adds and removes adapters while a model serves.
 *
 * The loaded weights stay as they are. The first adapter opens a second decoder over the same cache: the base model,
 * whose projections take an adapter's factors as inputs. All adapters share it, so switching adapters only switches the
 * binding. It is closed with the last adapter, unless a request named the base model.
 */
export class HotAdapters implements ModelAdapters {
  readonly #options: HotAdaptersOptions
  readonly #named = new Map<string, NamedResident>()
  /** Names of adapters that are being loaded. */
  readonly #coming = new Set<string>()
  readonly #work = new Set<Promise<unknown>>()
  /** Adapters with factors in memory. */
  readonly #residents = new Set<Resident>()
  #base: Promise<OpenBase> | null = null
  #baseBytes = 0
  /** The base model without any adapter. */
  #bare: Resident | null = null
  #opening: Promise<Resident> | null = null
  #closed = false

  constructor(options: HotAdaptersOptions) {
    this.#options = options
  }

  /** Bytes of the second decoder's weights and of all factors. */
  get bytes(): number {
    let bytes = this.#baseBytes
    for (const { factors } of this.#residents) bytes += factors.bytes
    return bytes
  }

  list(): readonly NamedAdapter[] {
    return [...this.#named.values()].map(({ adapter }) => adapter)
  }

  async add(options: AddOptions): Promise<NamedAdapter> {
    const { name, signal } = options
    if (!NAME.test(name)) throw invalidName(name)
    if (this.#closed) throw closedError()
    if (this.#named.has(name) || this.#coming.has(name)) throw taken(name)
    this.#coming.add(name)
    try {
      return await this.#tracked(this.#add(options))
    } catch (error) {
      if (signal?.aborted !== true) throw error
      throw inferenceErrors.create('INF_LOAD_CANCELLED', `Adding the adapter ${name} was cancelled`, { cause: error })
    } finally {
      this.#coming.delete(name)
      await this.#closeUnused()
    }
  }

  async remove(name: string): Promise<void> {
    const resident = this.#named.get(name)
    if (resident === undefined) throw this.#unknown(name)
    this.#named.delete(name)
    resident.removed = true
    await this.#freeUnused(resident)
  }

  /** Opens the base model, so that a lease for `null` is available. */
  async openBare(): Promise<void> {
    if (this.#options.plain || this.#bare !== null) return
    this.#opening ??= this.#tracked(this.#read(new Map()))
    try {
      this.#bare = await this.#opening
    } finally {
      this.#opening = null
    }
  }

  /** `null` requests the base model, undefined the loaded weights. Throws `INF_ADAPTER_UNKNOWN`. */
  lease(name: string | null | undefined): AdapterLease {
    if (name === undefined) return LOADED
    if (name === null) return this.#bare === null ? LOADED : this.#use(this.#bare)
    const resident = this.#named.get(name)
    if (resident === undefined) throw this.#unknown(name)
    return this.#use(resident)
  }

  /** Frees everything. Call only when no sequence is running. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#work)
    this.#named.clear()
    this.#coming.clear()
    this.#bare = null
    for (const resident of this.#residents) this.#free(resident)
    await this.#closeUnused()
  }

  async #add({ name, directory, signal }: AddOptions): Promise<NamedAdapter> {
    const { config, names } = this.#options
    const adapter = await readAdapterDirectory(directory)
    const updates = assignUpdates(config, names, adapter)
    signal?.throwIfAborted()
    const resident = await this.#read(updates, signal)
    const { rank, alpha, targets } = adapter
    const named = { name, directory, rank, alpha, targets, sizeBytes: resident.factors.bytes }
    this.#named.set(name, Object.assign(resident, { adapter: named }))
    return named
  }

  async #read(updates: ReadonlyMap<string, LowRankFactors>, signal?: AbortSignal): Promise<Resident> {
    const { runtime, decoder } = this.#options
    const { session, sites } = await this.#open()
    const factors = await readFactors(runtime, sites, updates, signal)
    if (this.#closed) {
      factors.release()
      throw closedError()
    }
    const resident = { weights: {}, factors, users: 0, removed: false }
    decoder.addVariant(resident.weights, { session, inputs: factors.inputs })
    this.#residents.add(resident)
    return resident
  }

  /** Concurrent callers share one opening. */
  #open(): Promise<OpenBase> {
    this.#base ??= this.#options.openBase().then(
      base => {
        this.#baseBytes = base.weightBytes
        return base
      },
      (error: unknown) => {
        this.#base = null
        throw error
      }
    )
    return this.#base
  }

  #use(resident: Resident): AdapterLease {
    resident.users++
    let held = true
    const release = () => {
      if (!held) return
      held = false
      resident.users--
      // The rest is closed in the background; a failure there has no caller.
      void this.#tracked(this.#freeUnused(resident)).catch(() => undefined)
    }
    return { weights: resident.weights, release }
  }

  async #freeUnused(resident: Resident): Promise<void> {
    if (!resident.removed || resident.users > 0) return
    this.#free(resident)
    await this.#closeUnused()
  }

  #free(resident: Resident): void {
    if (!this.#residents.delete(resident)) return
    this.#options.decoder.removeVariant(resident.weights)
    resident.factors.release()
  }

  async #closeUnused(): Promise<void> {
    if (this.#base === null || this.#opening !== null || this.#coming.size > 0 || this.#residents.size > 0) return
    const base = this.#base
    this.#base = null
    this.#baseBytes = 0
    await (await base).session.close()
  }

  async #tracked<A>(work: Promise<A>): Promise<A> {
    this.#work.add(work)
    try {
      return await work
    } finally {
      this.#work.delete(work)
    }
  }

  #unknown(name: string) {
    return adapterUnknown(name, [...this.#named.keys()])
  }
}

export function adapterUnknown(name: string, known: readonly string[]) {
  const names = known.length === 0 ? 'has none' : `has ${known.join(', ')}`
  return inferenceErrors.create(
    'INF_ADAPTER_UNKNOWN',
    `The model has no adapter ${JSON.stringify(name)}: it ${names}`,
    {
      data: { name, known }
    }
  )
}

function taken(name: string) {
  return inferenceErrors.create('INF_ADAPTER_EXISTS', `The model has an adapter ${name} already`, {
    data: { name },
    hint: 'Choose another name, or remove that adapter first.'
  })
}

function invalidName(name: string) {
  return inferenceErrors.create(
    'INF_OPTION_INVALID',
    `The adapter name ${JSON.stringify(name)} is not 1 to 64 letters, digits, dots, dashes and underscores`,
    { at: { path: 'name' }, data: { name: 'name', value: name } }
  )
}

export function closedError() {
  return inferenceErrors.create('INF_MODEL_CLOSED', 'The model was closed', { hint: 'Load it again.' })
}
