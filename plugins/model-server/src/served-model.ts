import { createHash } from 'node:crypto'
import type { LoadedModel, NamedAdapter } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { chatCapabilitiesOf, type ModelDefaults, NO_DEFAULTS } from './defaults/model-defaults.ts'
import { errors } from './errors.ts'
import { fillsInTheMiddle } from './fill-in-the-middle.ts'
import type { Loaded } from './kept-weights.ts'
import { shownName } from './shown-name.ts'

/** State of the model. `known`: properties of the last loaded model; with it, requests may start or await the next load. */
export type ModelState =
  | { readonly status: 'idle' }
  | { readonly status: 'loading'; readonly fraction: number; readonly step: string; readonly known?: KnownModel }
  | ({ readonly status: 'ready' } & Loaded)
  | { readonly status: 'unloaded'; readonly known: KnownModel }
  | { readonly status: 'failed'; readonly error: unknown; readonly known?: KnownModel }

/** Properties of a model that are known even while its weights are unloaded. */
export interface KnownModel extends Pick<LoadedModel, 'info' | 'chatCapabilities'>, Pick<Loaded, 'modifiedAt'> {
  /** True if the model supports fill-in-the-middle. */
  infills(): boolean
  /** Null if the engine cannot add adapters. */
  readonly adapters: readonly NamedAdapter[] | null
}

/** Model name that clients may request: the model as loaded, or its base with an adapter. */
export interface ServedVariant extends KnownModel {
  readonly name: string
  /** Name of the base model; null for the base model itself. */
  readonly parent: string | null
  readonly adapter: NamedAdapter | null
}

function knownOf({ model, modifiedAt }: Loaded): KnownModel {
  const { info, chatCapabilities, adapters } = model
  return {
    info,
    chatCapabilities,
    modifiedAt,
    adapters: adapters?.list() ?? null,
    infills: () => fillsInTheMiddle(model)
  }
}

/** Returns the properties to keep after the model is unloaded. */
export function remembered(loaded: Loaded): KnownModel {
  const infills = fillsInTheMiddle(loaded.model)
  return { ...knownOf(loaded), infills: () => infills }
}

/** Data of an `MSV_MODEL_UNKNOWN` error. */
export interface UnknownModel {
  readonly data: { readonly asked: string; readonly served: readonly string[] }
}

/** Model of this server and its state: idle, loading, ready, unloaded or failed. */
export class ServedModel {
  /** Name of the model that clients send. */
  readonly name: string
  /** Absolute path of the run directory. */
  readonly directory: string
  /** Defaults of requests to this model. */
  readonly defaults: ModelDefaults
  readonly #onChange: () => void
  #state: ModelState = { status: 'idle' }

  /** `onChange` is called after each change of the state. */
  constructor(
    name: string,
    directory: string,
    onChange: () => void = () => undefined,
    defaults: ModelDefaults = NO_DEFAULTS
  ) {
    this.name = name
    this.directory = directory
    this.defaults = defaults
    this.#onChange = onChange
  }

  get state(): ModelState {
    return this.#state
  }

  set state(next: ModelState) {
    this.#state = next
    this.#onChange()
  }

  /** Properties of the model; undefined before its first load. */
  get known(): KnownModel | undefined {
    const { state, defaults } = this
    const known = state.status === 'ready' ? knownOf(state) : state.status === 'idle' ? undefined : state.known
    return known && { ...known, chatCapabilities: chatCapabilitiesOf(known, defaults) }
  }

  /** Returns the loaded model. Throws `MSV_MODEL_LOADING` or `MSV_MODEL_FAILED` with the reason. */
  ready(): Loaded {
    const { state } = this
    if (state.status === 'ready') return state
    throw this.notReady()
  }

  /** Returns the error for a model that is not ready: `MSV_MODEL_LOADING`, or `MSV_MODEL_FAILED` with the reason. */
  notReady(): Error {
    const { state } = this
    return state.status === 'failed' ? this.failure(state.error) : errors.create('MSV_MODEL_LOADING', this.describe())
  }

  /** Returns the `MSV_MODEL_FAILED` error for a failed load. */
  failure(error: unknown): Error {
    return errors.create('MSV_MODEL_FAILED', this.#failureText(error), {
      cause: error,
      hint: 'See the log, repair the run directory or the settings, then run svc plugins reload model-server.'
    })
  }

  /** Returns the `MSV_MODEL_FAILED` error for a failed load that ends the process. */
  fatal(error: unknown): Error {
    return errors.create('MSV_MODEL_FAILED', this.#failureText(error), {
      cause: error,
      hint: 'Repair the run directory or the settings, then start the server again.'
    })
  }

  /** Returns the state in one sentence. */
  describe(): string {
    const { state } = this
    if (state.status === 'idle') return `model '${this.name}' will be loaded on first use`
    if (state.status === 'loading') {
      return `model '${this.name}' is loading: ${state.step}, ${Math.floor(state.fraction * 100)} %`
    }
    if (state.status === 'unloaded') return `model '${this.name}' is unloaded until the next request`
    if (state.status === 'failed') {
      return this.#failureText(state.error)
    }
    const { parameters, device } = state.model.info
    return `model '${this.name}' is ready: ${parameters} parameters on ${device}`
  }

  #failureText(error: unknown): string {
    return `model '${this.name}' could not be loaded from ${this.directory}: ${errorMessage(error)}`
  }

  /** Returns the models that clients can request. Throws like {@link ready} until the model has been loaded once. */
  variants(): readonly [ServedVariant, ...ServedVariant[]] {
    const { known } = this
    if (known === undefined) throw this.notReady()
    const { name } = this
    return [
      { ...known, name, parent: null, adapter: null },
      ...(known.adapters ?? []).map(adapter => ({ ...known, name: `${name}:${adapter.name}`, parent: name, adapter }))
    ]
  }

  /** Returns the names that clients can request, as far as they are known. */
  names(): readonly [string, ...string[]] {
    const { known, name } = this
    return [name, ...(known?.adapters ?? []).map(adapter => `${name}:${adapter.name}`)]
  }

  /** True if the name is served, or may be once the model is loaded. */
  has(requested: string): boolean {
    if (this.known === undefined) return mayStandFor(this.name, requested)
    return isLoaded(this.name, requested) || this.names().includes(requested)
  }

  /**
   * Throws `MSV_MODEL_UNKNOWN` for a name that can never be served. Valid names: absent, empty, or the served name with
   * an optional tag, `:latest` or the name of an adapter.
   */
  check(requested: string | undefined): void {
    if (!mayStandFor(this.name, requested)) throw this.unknown(requested)
  }

  /** Returns the model with a name. Throws `MSV_MODEL_UNKNOWN`, and like {@link variants}. */
  find(requested: string | undefined): ServedVariant {
    this.check(requested)
    const [loaded, ...adapted] = this.variants()
    if (isLoaded(this.name, requested)) return loaded
    const found = adapted.find(({ name }) => name === requested)
    if (found === undefined) throw this.unknown(requested)
    return found
  }

  /** Returns the error for an unknown name. */
  unknown(requested = ''): Error {
    const served = this.names()
    const message = `model ${shownName(requested)} not found; this server has ${quoted(served)}`
    return errors.create('MSV_MODEL_UNKNOWN', message, { data: { param: 'model', asked: requested, served } })
  }
}

/** Returns names in quotes, for messages. Names from the settings need no sanitizing. */
export function quoted(names: readonly string[]): string {
  return names.map(name => `'${name}'`).join(', ')
}

function mayStandFor(name: string, requested: string | undefined): boolean {
  return isLoaded(name, requested) || requested?.startsWith(`${name}:`) === true
}

function isLoaded(name: string, requested: string | undefined): boolean {
  return requested === undefined || requested === '' || requested === name || requested === `${name}:latest`
}

/** Returns the option of a completion request that selects the adapter of a variant. */
export function adapterOf({ adapter }: ServedVariant): { readonly adapter?: string } {
  return adapter === null ? {} : { adapter: adapter.name }
}

/** Returns the identity of the weights: a digest of the model, or of model and adapter. */
export function variantDigest({ info, adapter }: ServedVariant): string {
  if (adapter === null) return info.digest
  return createHash('sha256')
    .update(JSON.stringify([info.digest, adapter]))
    .digest('hex')
}
