import { createHash } from 'node:crypto'
import type { LoadedModel, NamedAdapter } from '@svc/contracts'
import { errors } from './errors.ts'
import { fillsInTheMiddle } from './fill-in-the-middle.ts'
import type { Loaded } from './kept-weights.ts'
import { shownName } from './shown-name.ts'

/** `known`: what was loaded before, where something was; then requests wait for the next load, or begin it. */
export type ModelState =
  | { readonly status: 'idle' }
  | { readonly status: 'loading'; readonly fraction: number; readonly step: string; readonly known?: KnownModel }
  | ({ readonly status: 'ready' } & Loaded)
  | { readonly status: 'unloaded'; readonly known: KnownModel }
  | { readonly status: 'failed'; readonly error: unknown; readonly known?: KnownModel }

/** What can be told of a model whether or not its weights are in memory. */
export interface KnownModel extends Pick<LoadedModel, 'info' | 'chatAbilities'>, Pick<Loaded, 'modifiedAt'> {
  /** Whether it can fill a gap in a text. */
  infills(): boolean
  /** Null where the engine can add none. */
  readonly adapters: readonly NamedAdapter[] | null
}

/** One of the names that clients may ask for: the model as it was loaded, or its base with an adapter. */
export interface ServedVariant extends KnownModel {
  readonly name: string
  /** Name of the model that it is made from; null for that itself. */
  readonly parent: string | null
  readonly adapter: NamedAdapter | null
}

function knownOf({ model, modifiedAt }: Loaded): KnownModel {
  const { info, chatAbilities, adapters } = model
  return { info, chatAbilities, modifiedAt, adapters: adapters?.list() ?? null, infills: () => fillsInTheMiddle(model) }
}

/** What is still known when the model is gone. */
export function remembered(loaded: Loaded): KnownModel {
  const infills = fillsInTheMiddle(loaded.model)
  return { ...knownOf(loaded), infills: () => infills }
}

/** An `MSV_MODEL_UNKNOWN`. */
export interface UnknownModel {
  readonly data: { readonly asked: string; readonly served: readonly string[] }
}

/** The one model of this server and how far it has come: nobody wanted it yet, loading, ready, unloaded or failed. */
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

  /** What is known of the model since it was loaded for the first time. */
  get known(): KnownModel | undefined {
    const { state } = this
    if (state.status === 'ready') return knownOf(state)
    return state.status === 'idle' ? undefined : state.known
  }

  /** The loaded model. Throws `MSV_MODEL_LOADING` or `MSV_MODEL_FAILED` with the reason. */
  ready(): Loaded {
    const { state } = this
    if (state.status === 'ready') return state
    throw this.notReady()
  }

  /** Why nothing can be asked of the model: `MSV_MODEL_LOADING` or `MSV_MODEL_FAILED` with the reason. */
  notReady(): Error {
    const { state } = this
    return state.status === 'failed' ? this.failure(state.error) : errors.create('MSV_MODEL_LOADING', this.describe())
  }

  /** What a request is told when the model could not be loaded for it. */
  failure(error: unknown): Error {
    return errors.create('MSV_MODEL_FAILED', this.#failureText(error), {
      cause: error,
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
    if (state.status === 'unloaded') return `model '${this.name}' is unloaded until somebody asks for it`
    if (state.status === 'failed') {
      return this.#failureText(state.error)
    }
    const { parameters, device } = state.model.info
    return `model '${this.name}' is ready: ${parameters} parameters on ${device}`
  }

  #failureText(error: unknown): string {
    const why = error instanceof Error ? error.message : String(error)
    return `model '${this.name}' could not be loaded from ${this.directory}: ${why}`
  }

  /** What can be asked for. Throws as {@link ready} does until the model has been loaded once. */
  variants(): readonly [ServedVariant, ...ServedVariant[]] {
    const { known } = this
    if (known === undefined) throw this.notReady()
    const { name } = this
    return [
      { ...known, name, parent: null, adapter: null },
      ...(known.adapters ?? []).map(adapter => ({ ...known, name: `${name}:${adapter.name}`, parent: name, adapter }))
    ]
  }

  /** Names that can be asked for, as far as they are known. */
  names(): readonly [string, ...string[]] {
    const { known, name } = this
    return [name, ...(known?.adapters ?? []).map(adapter => `${name}:${adapter.name}`)]
  }

  /** Whether a name stands for something here, or may once the model is loaded. */
  has(asked: string): boolean {
    if (this.known === undefined) return mayStandFor(this.name, asked)
    return isLoaded(this.name, asked) || this.names().includes(asked)
  }

  /**
   * Throws `MSV_MODEL_UNKNOWN` for a name that can never be meant: one that is neither absent, empty nor the served one,
   * with or without the tag `:latest` or that of an adapter.
   */
  check(asked: string | undefined): void {
    if (!mayStandFor(this.name, asked)) throw this.unknown(asked)
  }

  /** What a name stands for. Throws `MSV_MODEL_UNKNOWN`, and as {@link variants} does. */
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
export function variantDigest({ info, adapter }: ServedVariant): string {
  if (adapter === null) return info.digest
  return createHash('sha256')
    .update(JSON.stringify([info.digest, adapter]))
    .digest('hex')
}
