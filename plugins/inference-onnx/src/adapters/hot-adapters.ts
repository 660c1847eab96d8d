import type { ModelAdapters, NamedAdapter } from '@svc/contracts'
import type { LowRankFactors } from '../adapter.ts'
import type { DecoderSession } from '../decoder-session.ts'
import { inferenceErrors } from '../errors.ts'
import type { DecoderConfig } from '../model-config.ts'
import { NativeRuntime } from '../ort/native-runtime.ts'
import type { OrtSession, Runtime } from '../ort/runtime.ts'
import type { TensorNames } from '../weights/tensor-names.ts'
import { assignUpdates } from '../weights/updates.ts'
import { readAdapterDirectory } from './adapter-directory.ts'
import { type AdapterFactors, readFactors } from './factors.ts'
import type { LowRankSite } from './sites.ts'
import { AdapterStack } from './stack.ts'

type AddOptions = Parameters<ModelAdapters['add']>[0]

/** Decoder of the base model whose projections have adapter factors as inputs. */
export interface OpenBase {
  readonly session: OrtSession
  readonly sites: readonly LowRankSite[]
  readonly weightBytes: number
}

export interface HotAdaptersOptions {
  readonly runtime: Runtime
  readonly decoder: Pick<DecoderSession, 'addVariant' | 'removeVariant' | 'forget' | 'setFamily'>
  readonly config: DecoderConfig
  readonly names: TensorNames
  /** True if the loaded weights are the plain base model, so requests for the base model use them. */
  readonly plain: boolean
  /** Opens the second decoder. Called for the first adapter, and again for the first one after all were removed. */
  openBase(): Promise<OpenBase>
}

/** Use of weights by a running sequence. */
export interface AdapterLease {
  /** See {@link Job.weights}. */
  readonly weights: object | null
  release(): void
}

/** Factors that are in memory. */
interface Resident {
  /** Identity of the weights for the decoder and for cached prefixes; may outlive the factors. */
  readonly weights: object
  readonly factors: AdapterFactors
  users: number
  /** True once removed: new requests do not find it. */
  removed: boolean
}

interface NamedResident extends Resident {
  readonly adapter: NamedAdapter
}

/** Lease of the loaded weights, which are never freed. */
export const LOADED: AdapterLease = { weights: null, release: () => undefined }
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

/**
 * Adds and removes adapters while a model serves.
 *
 * The loaded weights stay unchanged. The first adapter opens a second decoder over the same cache: the base model,
 * whose projections have adapter factors as inputs. All adapters share this decoder, and on the CPU also its runs. It is
 * closed with the last adapter, unless a request selected the base model.
 */
export class HotAdapters implements ModelAdapters {
  readonly #options: HotAdaptersOptions
  readonly #named = new Map<string, NamedResident>()
  /** Names of adapters that are being loaded. */
  readonly #loading = new Set<string>()
  readonly #work = new Set<Promise<unknown>>()
  /** Adapters with factors in memory. */
  readonly #residents = new Set<Resident>()
  #base: Promise<OpenBase> | null = null
  #baseBytes = 0
  /** Computes several adapters in one run; null without a second decoder, and on devices. */
  #stack: AdapterStack | null = null
  /** The base model with zero factors; null until a request selects it. */
  #baseModel: Resident | null = null
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
    if (this.#named.has(name) || this.#loading.has(name)) throw nameInUse(name)
    this.#loading.add(name)
    try {
      return await this.#tracked(this.#add(options))
    } catch (error) {
      if (signal?.aborted !== true) throw error
      throw inferenceErrors.create('INF_LOAD_CANCELLED', `The caller cancelled adding the adapter ${name}`, {
        cause: error
      })
    } finally {
      this.#loading.delete(name)
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
  async openBaseModel(): Promise<void> {
    if (this.#options.plain || this.#baseModel !== null) return
    this.#opening ??= this.#tracked(this.#read(new Map()))
    try {
      this.#baseModel = await this.#opening
    } finally {
      this.#opening = null
    }
  }

  /** Returns a lease; `null` selects the base model, undefined the loaded weights. Throws `INF_ADAPTER_UNKNOWN`. */
  lease(name: string | null | undefined): AdapterLease {
    if (name === undefined) return LOADED
    if (name === null) return this.#baseModel === null ? LOADED : this.#use(this.#baseModel)
    const resident = this.#named.get(name)
    if (resident === undefined) throw this.#unknown(name)
    return this.#use(resident)
  }

  /** Frees all memory. Call only when no sequence is running. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#work)
    this.#named.clear()
    this.#loading.clear()
    this.#baseModel = null
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
    const family = this.#stack === null ? {} : { family: this.#stack }
    decoder.addVariant(resident.weights, { session, inputs: factors.inputs, ...family })
    this.#residents.add(resident)
    return resident
  }

  /** Opens the second decoder; concurrent callers share it. */
  #open(): Promise<OpenBase> {
    this.#base ??= this.#options.openBase().then(
      base => {
        this.#baseBytes = base.weightBytes
        this.#openStack(base)
        return base
      },
      (error: unknown) => {
        this.#base = null
        throw error
      }
    )
    return this.#base
  }

  #openStack({ session, sites }: OpenBase): void {
    const { runtime, decoder, plain } = this.#options
    // The factors of several adapters are joined in host memory.
    if (!(runtime instanceof NativeRuntime)) return
    const memberOf = (weights: unknown) => [...this.#residents].find(resident => resident.weights === weights)
    this.#stack = new AdapterStack({ runtime, decoder, session, sites, memberOf })
    if (plain) decoder.setFamily(this.#stack)
  }

  #use(resident: Resident): AdapterLease {
    resident.users++
    let held = true
    const release = () => {
      if (!held) return
      held = false
      resident.users--
      // Freed in the background; no caller could handle a failure.
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
    const release = () => {
      this.#options.decoder.removeVariant(resident.weights)
      resident.factors.release()
    }
    if (this.#stack === null) release()
    else this.#stack.remove(resident, release)
  }

  async #closeUnused(): Promise<void> {
    if (this.#base === null || this.#opening !== null || this.#loading.size > 0 || this.#residents.size > 0) return
    const base = this.#base
    this.#base = null
    this.#baseBytes = 0
    this.#options.decoder.setFamily(null)
    this.#stack?.close()
    this.#stack = null
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

function nameInUse(name: string) {
  return inferenceErrors.create('INF_ADAPTER_EXISTS', `The model already has an adapter ${name}`, {
    data: { name },
    hint: 'Choose another name, or remove that adapter first.'
  })
}

function invalidName(name: string) {
  return inferenceErrors.create(
    'INF_OPTION_INVALID',
    `The adapter name ${JSON.stringify(name)} is invalid: use 1 to 64 letters, digits, dots, dashes and underscores`,
    { at: { path: 'name' }, data: { name: 'name', value: name } }
  )
}

export function closedError() {
  return inferenceErrors.create('INF_MODEL_CLOSED', 'The model was closed', { hint: 'Load it again.' })
}
