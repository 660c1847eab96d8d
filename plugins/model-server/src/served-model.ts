import { createHash } from 'node:crypto'
import type { LoadedModel, NamedAdapter } from '@svc/contracts'
import { errors } from './errors.ts'
import { shownName } from './shown-name.ts'

export type ModelState =
  | { readonly status: 'idle' }
  | { readonly status: 'loading'; readonly fraction: number; readonly step: string }
  | { readonly status: 'ready'; readonly model: LoadedModel; readonly modifiedAt: Date }
  | { readonly status: 'failed'; readonly error: Error }

export interface ReadyModel {
  readonly model: LoadedModel
  /** When the newest file of the run directory was written. */
  readonly modifiedAt: Date
}

/** One of the names that clients may ask for: the model as it was loaded, or its base with an adapter. */
export interface ServedVariant extends ReadyModel {
  readonly name: string
  /** Name of the model that it is made from; null for that itself. */
  readonly parent: string | null
  readonly adapter: NamedAdapter | null
}

/** An `MSV_MODEL_UNKNOWN`. */
export interface UnknownModel {
  readonly data: { readonly asked: string; readonly served: readonly string[] }
}

/** The one model of this server and how far it has come: nobody wanted it yet, loading, ready or failed. */
export class ServedModel {
  /** Name that clients ask for. */
  readonly name: string
  /** Absolute path of the run directory. */
  readonly directory: string
  state: ModelState = { status: 'idle' }

  constructor(name: string, directory: string) {
    this.name = name
    this.directory = directory
  }

  /** Throws `MSV_MODEL_LOADING` or `MSV_MODEL_FAILED` with the reason. */
  ready(): ReadyModel {
    const { state } = this
    if (state.status === 'ready') return state
    if (state.status !== 'failed') throw errors.create('MSV_MODEL_LOADING', this.describe())
    throw errors.create('MSV_MODEL_FAILED', this.describe(), {
      cause: state.error,
      hint: 'See the log, repair the run directory or the settings, then run `svc plugins reload model-server`.'
    })
  }

  /** One sentence for people. */
  describe(): string {
    const { state } = this
    if (state.status === 'idle') return `model '${this.name}' is loaded when it is first used`
    if (state.status === 'loading') {
      return `model '${this.name}' is loading: ${state.step}, ${Math.floor(state.fraction * 100)} %`
    }
    if (state.status === 'failed') {
      return `model '${this.name}' could not be loaded from ${this.directory}: ${state.error.message}`
    }
    const { parameters, device } = state.model.info
    return `model '${this.name}' is ready: ${parameters} parameters on ${device}`
  }

  /** What can be asked for now. Throws as {@link ready} does. */
  variants(): readonly [ServedVariant, ...ServedVariant[]] {
    const ready = this.ready()
    const adapters = ready.model.adapters?.list() ?? []
    return [
      { ...ready, name: this.name, parent: null, adapter: null },
      ...adapters.map(adapter => ({ ...ready, name: `${this.name}:${adapter.name}`, parent: this.name, adapter }))
    ]
  }

  /** Names that can be asked for, as far as they are known. */
  names(): readonly [string, ...string[]] {
    const { state, name } = this
    const adapters = state.status === 'ready' ? (state.model.adapters?.list() ?? []) : []
    return [name, ...adapters.map(adapter => `${name}:${adapter.name}`)]
  }

  /** Whether a name stands for something here, or may once the model is loaded. */
  has(asked: string): boolean {
    if (this.state.status !== 'ready') return mayStandFor(this.name, asked)
    return isLoaded(this.name, asked) || this.names().includes(asked)
  }

  /**
   * Throws `MSV_MODEL_UNKNOWN` for a name that can never be meant: one that is neither absent, empty nor the served one,
   * with or without the tag `:latest` or that of an adapter.
   */
  check(asked: string | undefined): void {
    if (!mayStandFor(this.name, asked)) throw this.unknown(asked)
  }

  /** What a name stands for. Throws `MSV_MODEL_UNKNOWN`, and as {@link ready} does. */
  find(asked: string | undefined): ServedVariant {
    this.check(asked)
    const [loaded, ...adapted] = this.variants()
    if (isLoaded(this.name, asked)) return loaded
    const found = adapted.find(({ name }) => name === asked)
    if (found === undefined) throw this.unknown(asked)
    return found
  }

  /** The error for a name that stands for nothing. */
  unknown(asked = ''): Error {
    const served = this.names()
    const message = `model ${shownName(asked)} not found, this server has ${quoted(served)}`
    return errors.create('MSV_MODEL_UNKNOWN', message, { data: { param: 'model', asked, served } })
  }
}

/** Names of this server's own settings, for people. */
export function quoted(names: readonly string[]): string {
  return names.map(name => `'${name}'`).join(', ')
}

function mayStandFor(name: string, asked: string | undefined): boolean {
  return isLoaded(name, asked) || asked?.startsWith(`${name}:`) === true
}

function isLoaded(name: string, asked: string | undefined): boolean {
  return asked === undefined || asked === '' || asked === name || asked === `${name}:latest`
}

/** How a request for a variant names its adapter. */
export function adapterOf({ adapter }: ServedVariant): { readonly adapter?: string } {
  return adapter === null ? {} : { adapter: adapter.name }
}

/** Identity of the weights: the model's digest, or one that is made from it and what is known of the adapter. */
export function variantDigest({ model, adapter }: ServedVariant): string {
  if (adapter === null) return model.info.digest
  return createHash('sha256')
    .update(JSON.stringify([model.info.digest, adapter]))
    .digest('hex')
}
