import { createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { pluginErrors } from './errors.ts'
import { exportsOf, MODEL_NAME } from './model-location.ts'
import { findModel } from './whisper/model-files.ts'

const NEEDED = ['config.json', 'generation_config.json', 'preprocessor_config.json', 'tokenizer.json']
const GRAPHS = ['onnx/encoder_model.onnx', 'onnx/decoder_model_merged.onnx']

export interface DownloadOptions {
  /** The configured model. */
  readonly model: string
  readonly revision: string
  /** Absolute. */
  readonly modelsDirectory: string
  /** Base URL of the hub. */
  readonly hub: string
  readonly token: string | undefined
  readonly attempts: number
  readonly delayMs: number
}

/** Thrown for a file that the hub does not have, to try another repository. */
class NotFoundError extends Error {}

/** Downloads models from a hub with the API of Hugging Face. */
export class ModelDownload {
  readonly #options: DownloadOptions

  constructor(options: DownloadOptions) {
    this.#options = options
  }

  /**
   * Downloads missing files. Throws `SPP_DOWNLOAD_FAILED` for an invalid name, a model without ONNX export and a failed
   * download, or the signal's reason.
   */
  async fetch(
    requestedModel: string | undefined,
    signal: AbortSignal,
    progress: (done: number, total: number, file: string) => void
  ): Promise<{ readonly folder: string; readonly bytes: number; readonly files: readonly string[] }> {
    const model = requestedModel ?? this.#options.model
    if (!MODEL_NAME.test(model))
      throw pluginErrors.create('SPP_DOWNLOAD_FAILED', `${model} is not a valid model name`, {
        hint: 'write the name as OWNER/NAME, for example openai/whisper-tiny.en'
      })
    const files = [...NEEDED, ...GRAPHS]
    const problems: string[] = []
    for (const name of exportsOf(model)) {
      const folder = join(this.#options.modelsDirectory, name)
      try {
        let bytes = 0
        // Graphs first, because a repository without them is not used.
        for (const [at, file] of [...GRAPHS, ...NEEDED].entries()) {
          progress(at, files.length, file)
          bytes += await this.#file(name, file, folder, signal)
        }
        const found = await findModel(folder)
        if (!found.complete) throw new NotFoundError(found.missing.join(', '))
        return { folder, bytes, files }
      } catch (error) {
        if (!(error instanceof NotFoundError)) throw error
        problems.push(error.message)
      }
    }
    throw pluginErrors.create('SPP_DOWNLOAD_FAILED', `the hub has no ONNX export of ${model}: ${problems.join('; ')}`)
  }

  /** Downloads a file, and returns the number of bytes; 0 if the file exists. */
  async #file(name: string, file: string, folder: string, signal: AbortSignal): Promise<number> {
    const { hub, revision, attempts, delayMs } = this.#options
    const target = join(folder, file)
    if ((await stat(target).catch(() => null)) !== null) return 0
    const url = `${hub.replace(/\/+$/, '')}/${name}/resolve/${revision}/${file}`
    let reason = ''
    for (let attempt = 0; attempt < attempts; attempt++) {
      if (attempt > 0) await pause(delayMs, undefined, { signal })
      try {
        return await this.#once(url, target, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof NotFoundError) throw error
        reason = reasonOf(error)
      }
    }
    throw pluginErrors.create(
      'SPP_DOWNLOAD_FAILED',
      `${url} could not be downloaded in ${attempts} attempts: ${reason}`
    )
  }

  async #once(url: string, target: string, signal: AbortSignal): Promise<number> {
    const { token } = this.#options
    const response = await fetch(url, {
      signal,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` }
    })
    if ([401, 403, 404].includes(response.status)) {
      await response.body?.cancel()
      throw new NotFoundError(`${url} returned HTTP status ${response.status}`)
    }
    if (!response.ok || response.body === null) {
      await response.body?.cancel()
      throw new Error(`the hub returned HTTP status ${response.status}`)
    }
    makeFolder(dirname(target))
    const part = `${target}.${process.pid}.part`
    try {
      await pipeline(Readable.fromWeb(response.body as never), createWriteStream(part), { signal })
      const { size } = await stat(part)
      const announced = response.headers.get('content-length')
      // The announced length of compressed content is not that of the file.
      if (announced !== null && !response.headers.has('content-encoding') && Number(announced) !== size)
        throw new Error(`${size} of ${announced} bytes arrived`)
      await rename(part, target)
      return size
    } finally {
      await rm(part, { force: true })
    }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message
}
