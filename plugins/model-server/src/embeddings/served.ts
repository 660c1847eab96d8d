import type { EmbedderInfo, LoadedEmbedder } from '@svc/contracts'
import { errorMessage, isSvcError, type Logger, MAX_TIMER_MS, raceAbort } from '@svc/plugin-sdk'
import { invalid } from '../body-reader.ts'
import { errors } from '../errors.ts'
import { RequestAbort } from '../request-abort.ts'
import { quoted } from '../served-model.ts'
import { shownName } from '../shown-name.ts'

export interface EmbedderLimits {
  /** Requests that may be in progress; further requests are rejected. */
  readonly requests: number
  /** Milliseconds of a request; 0 for no limit. */
  readonly timeoutMs: number
  /** Milliseconds that the model stays loaded after its last request. */
  readonly keepMs: number
}

export interface ServedEmbedderOptions {
  readonly kind: 'embedding model' | 'reranker'
  /** Name that clients send. */
  readonly name: string
  readonly directory: string
  readonly log: Pick<Logger, 'info' | 'error'>
  /** Returns true for the name of a model of this server that generates text. */
  generates(name: string): boolean
  load(directory: string): Promise<LoadedEmbedder>
  /** Called if the state or the number of requests has changed. */
  onChange?(): void
  limits(): EmbedderLimits
}

/** State of an embedding model or a reranker. */
export type EmbedderStatus = 'idle' | 'loading' | 'ready' | 'unloaded' | 'failed'

/** Embedding model or reranker of this server. The first request loads it; it is unloaded after an idle time. */
export class ServedEmbedder {
  readonly name: string
  readonly kind: EmbedderInfo['kind']
  readonly directory: string
  readonly #options: ServedEmbedderOptions
  #status: EmbedderStatus = 'idle'
  #detail = 'the first request loads it'
  #known: EmbedderInfo | undefined
  #begun = 0
  #loaded: Promise<LoadedEmbedder> | undefined
  #requests = 0
  /** Idle time that a request has set; it applies until the model is unloaded. */
  #requestedMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: ServedEmbedderOptions) {
    this.name = options.name
    this.kind = options.kind === 'reranker' ? 'reranker' : 'embedding'
    this.directory = options.directory
    this.#options = options
  }

  get status(): EmbedderStatus {
    return this.#status
  }

  /** State in one sentence. */
  get detail(): string {
    return this.#detail
  }

  /** Properties since the first load; they stay after an unload. */
  get known(): EmbedderInfo | undefined {
    return this.#known
  }

  /** Requests since the start of the process. */
  get requests(): number {
    return this.#begun
  }

  /** True for the name of this model. */
  isNamed(name: string): boolean {
    return name === this.name || name === `${this.name}:latest`
  }

  /**
   * Throws `MSV_MODEL_UNKNOWN` for a name that is not this model's, and `MSV_REQUEST_INVALID` for that of the chat
   * model. An absent or empty name selects this model.
   */
  check(requested: string | undefined): void {
    const { name } = this
    if (requested === undefined || requested === '' || this.isNamed(requested)) return
    const { kind, generates } = this.#options
    if (generates(requested)) {
      throw invalid(`model ${shownName(requested)} generates text; the ${kind} of this server is '${name}'`, 'model')
    }
    const message = `model ${shownName(requested)} not found; the ${kind} of this server is ${quoted([name])}`
    throw errors.create('MSV_MODEL_UNKNOWN', message, { data: { param: 'model', asked: requested, served: [name] } })
  }

  /**
   * Runs work with the loaded model. `keepMs`: idle time after it, if the request sets one.
   *
   * Throws `MSV_BUSY` above the limit of requests, `MSV_MODEL_FAILED` if the model cannot be loaded, `MSV_TIMEOUT`,
   * `MSV_STOPPED` if the client has disconnected, and the errors of the model as errors of this server.
   */
  async use<T>(
    gone: AbortSignal,
    work: (model: LoadedEmbedder, signal: AbortSignal) => Promise<T>,
    keepMs?: number
  ): Promise<T> {
    const { requests, timeoutMs } = this.#options.limits()
    if (this.#requests >= requests) {
      throw errors.create('MSV_BUSY', `the ${this.#options.kind} is busy: ${requests} requests are in progress`)
    }
    this.#requests++
    this.#begun++
    clearTimeout(this.#timer)
    this.#requestedMs = keepMs ?? this.#requestedMs
    const abort = new RequestAbort(gone, timeoutMs, performance.now())
    try {
      const model = await raceAbort(abort.signal, this.#load())
      return await work(model, abort.signal)
    } catch (error) {
      if (abort.why !== undefined) abort.reason()
      throw translated(error, this.#options.kind === 'reranker' ? 'documents' : 'input')
    } finally {
      abort.close()
      this.#requests--
      if (this.#requests === 0) this.#startIdleTime()
      this.#options.onChange?.()
    }
  }

  /** Closes the model, and rejects its requests. Later requests are rejected too. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#unload()
  }

  #load(): Promise<LoadedEmbedder> {
    if (this.#closed) throw errors.create('MSV_STOPPED', 'the server is stopping')
    if (this.#loaded !== undefined) return this.#loaded
    const opening = this.#open()
    this.#loaded = opening
    opening.catch(() => {
      // The next request tries again: the folder may be repaired by then. Another load may have begun.
      if (this.#loaded === opening) this.#loaded = undefined
    })
    return opening
  }

  async #open(): Promise<LoadedEmbedder> {
    const { kind, name, directory, load, log } = this.#options
    const wanted = this.kind
    this.#enter('loading', `loading ${directory}`)
    try {
      const model = await load(directory)
      if (model.info.kind === wanted) {
        const { family, parameters, device } = model.info
        log.info(`${kind} '${name}' is ready: ${family}, ${parameters} parameters on ${device}`)
        this.#known = model.info
        this.#enter('ready', `ready on ${device}`)
        return model
      }
      const other = model.info.kind
      await model.close()
      throw new Error(`it is a model of kind ${other}`)
    } catch (error) {
      const failure = errors.create(
        'MSV_MODEL_FAILED',
        `${kind} '${name}' could not be loaded from ${directory}: ${errorMessage(error)}`,
        { cause: error, hint: `Repair the folder, or the setting of the ${kind} in plugins.model-server.` }
      )
      log.error(failure.message, { error })
      this.#enter('failed', failure.message)
      throw failure
    }
  }

  #startIdleTime(): void {
    const keepMs = this.#requestedMs ?? this.#options.limits().keepMs
    if (this.#closed || keepMs > MAX_TIMER_MS) return
    this.#timer = setTimeout(() => {
      const { kind, name, log } = this.#options
      this.#unload().then(
        () => log.info(`${kind} '${name}' is unloaded until the next request`),
        (error: unknown) => log.error(`cannot unload the ${kind} '${name}'`, { error })
      )
    }, keepMs).unref()
  }

  #enter(status: EmbedderStatus, detail: string): void {
    this.#status = status
    this.#detail = detail
    this.#options.onChange?.()
  }

  async #unload(): Promise<void> {
    const loaded = this.#loaded
    this.#loaded = undefined
    this.#requestedMs = undefined
    const model = await loaded?.catch(() => undefined)
    if (model !== undefined) this.#enter('unloaded', 'unloaded until the next request')
    await model?.close()
  }
}

/** Returns the error of this server for an error of the model. `param`: field of the request with the texts. */
function translated(error: unknown, param: string): unknown {
  if (!isSvcError(error)) return error
  const { message, code } = error
  if (code === 'INF_CONTEXT_EXCEEDED') {
    return errors.create('MSV_CONTEXT_EXCEEDED', message, { cause: error, data: { param } })
  }
  if (code === 'INF_OPTION_INVALID') return errors.create('MSV_REQUEST_INVALID', message, { cause: error })
  if (code === 'INF_MODEL_CLOSED') return errors.create('MSV_STOPPED', 'the model was unloaded during the request')
  return error
}
