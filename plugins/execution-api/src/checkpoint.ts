import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import type { InferenceEngine, LoadedModel } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { errors } from './errors.ts'

export interface CheckpointOptions {
  /** Absolute path of the run directory. */
  readonly path: string
  readonly name?: string | undefined
  readonly device?: string | undefined
  readonly engine: InferenceEngine
}

type State =
  | { readonly kind: 'loading' }
  | { readonly kind: 'ready'; readonly model: LoadedModel }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'closed' }

/** The model of a run directory, which is loaded once. */
export class Checkpoint {
  readonly name: string
  readonly #options: CheckpointOptions
  readonly #closing = new AbortController()
  #state: State = { kind: 'loading' }
  #loading: Promise<void> | null = null

  constructor(options: CheckpointOptions) {
    this.#options = options
    this.name = options.name ?? basename(options.path)
  }

  /** Loads the model. A failure is the reason of {@link Checkpoint.model}. */
  load(): Promise<void> {
    this.#loading ??= this.#load()
    return this.#loading
  }

  /** Throws `EXE_NOT_READY`, `EXE_CHECKPOINT_UNSAFE` and the errors of the load. */
  model(): LoadedModel {
    const state = this.#state
    if (state.kind === 'ready') return state.model
    if (state.kind === 'failed') throw state.error
    throw errors.create(
      'EXE_NOT_READY',
      state.kind === 'loading' ? 'the model is being loaded' : 'the server is stopping'
    )
  }

  /** Why the model does not serve; null if it does. */
  get problem(): string | null {
    try {
      this.model()
      return null
    } catch (error) {
      return (error as Error).message
    }
  }

  async close(): Promise<void> {
    const state = this.#state
    this.#state = { kind: 'closed' }
    this.#closing.abort()
    await this.#loading
    if (state.kind === 'ready') await state.model.close()
  }

  async #load(): Promise<void> {
    const { engine, path, device } = this.#options
    try {
      const model = await engine.load({
        runDirectory: path,
        signal: this.#closing.signal,
        ...(device !== undefined && { device })
      })
      if (this.#closing.signal.aborted) await model.close()
      else this.#state = { kind: 'ready', model }
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#state = { kind: 'failed', error: await explained(path, error) }
    }
  }
}

/** Says why weights in a pickle are not read, instead of that there are none. */
async function explained(path: string, error: unknown): Promise<Error> {
  const reason = error instanceof Error ? error : new Error(String(error))
  if (!isSvcError(error, 'INF_RUN_DIR_FILE_MISSING')) return reason
  const names = await readdir(path).catch(() => [])
  const pickle = names.find(name => name.endsWith('.bin'))
  if (pickle === undefined) return reason
  return errors.create(
    'EXE_CHECKPOINT_UNSAFE',
    `${path} has its weights in ${pickle}, which could run code when it is read`,
    {
      cause: error,
      hint: 'Convert the weights to safetensors, in the program that wrote them.'
    }
  )
}
