import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { extname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Busboy, BusboyHeaders } from '@fastify/busboy'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { timeout } from '../deadline.ts'

/** Maximum size of a body, in bytes. */
export const UPLOAD_LIMIT = 32 * 1024 * 1024
/** Age in milliseconds after which a file is considered left over from a killed process. */
const LEFT_OVER_MS = 3_600_000

type Code =
  | 'multipart_read_failed'
  | 'read_body_failed'
  | 'missing_audio_field'
  | 'body_too_large'
  | 'temp_dir_failed'
  | 'write_failed'

const STATUS: Readonly<Record<Code, number>> = {
  multipart_read_failed: 400,
  read_body_failed: 400,
  missing_audio_field: 400,
  body_too_large: 413,
  temp_dir_failed: 500,
  write_failed: 500
}

export class UploadError extends Error {
  readonly code: Code
  readonly status: number
  readonly detail: Readonly<Record<string, string>>

  constructor(code: Code, detail: Readonly<Record<string, string>>) {
    super(detail.message ?? detail.hint ?? code)
    this.code = code
    this.status = STATUS[code]
    this.detail = detail
  }
}

export interface Upload {
  /** Name of the file in the folder. */
  readonly name: string
  /** Value of the part `language_hint`, at any position in the body. */
  readonly language: string | null
  remove(): Promise<void>
}

export interface UploadOptions {
  /** Absolute path of the folder, which is created if it is missing. */
  readonly folder: string
  /** Maximum time between two pieces of the body, in milliseconds. */
  readonly idleMs: number
  readonly signal: AbortSignal
}

/**
 * Writes the recording of a multipart body to a file: the first non-empty part named `audio` or `file`.
 *
 * Throws `UploadError`, `SPC_TIMEOUT` and the signal's reason, and then leaves no file.
 */
export async function receiveUpload(request: IncomingMessage, options: UploadOptions): Promise<Upload> {
  const { folder } = options
  if (Number(request.headers['content-length'] ?? 0) > UPLOAD_LIMIT) throw tooLarge()
  await prepare(folder)
  const parts = new UploadParts(folder)
  const failure = new AbortController()
  try {
    await receive(request, parts, options, failure)
    const name = await parts.first()
    if (name === null)
      throw new UploadError('missing_audio_field', { hint: 'send the recording as a part named audio or file' })
    return { name, language: parts.language, remove: () => rm(join(folder, name), { force: true }) }
  } catch (error) {
    await parts.removeAll()
    throw error
  }
}

/** Feeds a body to the parser until the body ends, is too large, stalls or is aborted. */
async function receive(
  request: IncomingMessage,
  parts: UploadParts,
  { idleMs, signal }: UploadOptions,
  failure: AbortController
): Promise<void> {
  const parser = await parserOf(request, parts)
  let length = 0
  const stop = (error: unknown) => failure.abort(error)
  const idle = setTimeout(() => stop(timeout('capture_timeout', idleMs)), idleMs)
  const onData = (chunk: Buffer) => {
    idle.refresh()
    length += chunk.length
    if (length > UPLOAD_LIMIT) stop(tooLarge())
  }
  const onAbort = () => stop(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  request.on('data', onData)
  try {
    await new Promise<void>((resolve, reject) => {
      failure.signal.addEventListener('abort', () => reject(failure.signal.reason), { once: true })
      parser.once('finish', resolve)
      parser.once('error', (error: Error) => reject(unreadable(error)))
      request.once('error', (error: Error) => reject(new UploadError('read_body_failed', { message: error.message })))
      if (signal.aborted) onAbort()
      else request.pipe(parser)
    })
  } finally {
    clearTimeout(idle)
    request.off('data', onData)
    request.unpipe(parser)
    signal.removeEventListener('abort', onAbort)
  }
}

/** Creates a parser. Its library is loaded at the first upload. */
async function parserOf(request: IncomingMessage, parts: UploadParts): Promise<InstanceType<typeof Busboy>> {
  const { Busboy } = await import('@fastify/busboy')
  let parser: InstanceType<typeof Busboy>
  try {
    parser = new Busboy({
      headers: request.headers as BusboyHeaders,
      limits: { files: 8, fields: 16, parts: 24, fieldSize: 1024, headerPairs: 64 },
      isPartAFile: (name, type) => isRecording(name) || type === 'application/octet-stream'
    })
  } catch (error) {
    throw unreadable(error as Error)
  }
  parser.on('file', (name: string, stream: Readable, filename?: string) => {
    // The parser itself reports a body that ends too early.
    stream.on('error', () => {})
    if (isRecording(name)) parts.add(stream, filename)
    else stream.resume()
  })
  parser.on('field', (name: string, value: string) => {
    if (name === 'language_hint') parts.language = value
  })
  return parser
}

function isRecording(name: string | undefined): boolean {
  return name === 'audio' || name === 'file'
}

/** The recordings in one body, each written to a file. */
class UploadParts {
  language: string | null = null
  readonly #folder: string
  readonly #files: { readonly name: string; readonly stream: Readable; readonly written: Promise<number> }[] = []

  constructor(folder: string) {
    this.#folder = folder
  }

  add(stream: Readable, filename: string | undefined): void {
    const ending = extname(filename ?? '')
      .slice(1)
      .toLowerCase()
    const name = `${randomUUID()}.${/^[a-z0-9]{1,8}$/.test(ending) ? ending : 'wav'}`
    const file = createWriteStream(join(this.#folder, name), { flags: 'wx', mode: 0o600 })
    const written = finished(stream.pipe(file)).then(
      () => file.bytesWritten,
      (error: Error) => {
        throw new UploadError('write_failed', { message: error.message })
      }
    )
    written.catch(() => {})
    this.#files.push({ name, stream, written })
  }

  /** Returns the file name of the first non-empty recording, and removes the others. */
  async first(): Promise<string | null> {
    let first: string | null = null
    for (const { name, written } of this.#files) {
      if ((await written) > 0 && first === null) first = name
      else await rm(join(this.#folder, name), { force: true })
    }
    return first
  }

  async removeAll(): Promise<void> {
    for (const { name, stream, written } of this.#files) {
      // The end of a truncated part never arrives, so it is ended here.
      stream.push(null)
      await written.catch(() => {})
      await rm(join(this.#folder, name), { force: true })
    }
  }
}

/** Creates the folder, and removes files that a killed process left there. */
async function prepare(folder: string): Promise<void> {
  try {
    makeFolder(folder)
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      const found = await stat(path).catch(() => null)
      if (found !== null && Date.now() - found.mtimeMs > LEFT_OVER_MS) await rm(path, { force: true })
    }
  } catch (error) {
    throw new UploadError('temp_dir_failed', { message: (error as Error).message })
  }
}

function unreadable(error: Error): UploadError {
  return new UploadError('multipart_read_failed', { message: error.message })
}

function tooLarge(): UploadError {
  return new UploadError('body_too_large', { message: `the body is larger than ${UPLOAD_LIMIT} bytes` })
}
