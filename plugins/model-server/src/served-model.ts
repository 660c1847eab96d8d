import type { LoadedModel } from '@svc/contracts'
import { errors } from './errors.ts'

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

  /** Throws `MSV_MODEL_UNKNOWN` unless the name is absent, empty or the served one, with or without the tag `:latest`. */
  check(asked: string | undefined): void {
    if (asked === undefined || asked === '' || asked === this.name || asked === `${this.name}:latest`) return
    throw errors.create('MSV_MODEL_UNKNOWN', `model '${asked}' not found, this server has '${this.name}'`, {
      data: { param: 'model' }
    })
  }
}
