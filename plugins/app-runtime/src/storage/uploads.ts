import { setMaxListeners } from 'node:events'
import { rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Busboy, BusboyFileStream, BusboyHeaders } from '@fastify/busboy'
import { type HirParam, type HirType, type HttpExchange, isPlainType } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import { parseClientJson } from '../wire/json-text.ts'
import { type FileInfo, mediaType } from './file-info.ts'
import type { FileStorage } from './file-storage.ts'
import type { StagedFile } from './staging.ts'

export interface UploadOptions {
  /** True for the builtin type `File`. */
  readonly isFile: (type: HirType) => boolean
  /** Accepted media types, such as `image/png` and `image/*`; empty: all. */
  readonly types: readonly string[]
}

/** Maximum files of one request. */
const MAX_FILES = 20
const MAX_FIELDS = 200
const MAX_FIELD_BYTES = 1_048_576
/** A client that sends nothing for so long is given up. */
const IDLE_MS = 30_000

/** A file parameter: how many files it takes. */
export type FileParam = 'one' | 'optional' | 'many'

/** The stored arguments of a form. */
export interface Upload {
  /** JSON values by parameter name. */
  readonly values: Readonly<Record<string, unknown>>
  /** Removes the files, for a call that was refused. Files that a row refers to stay. */
  discard(): Promise<void>
}

/** Receives forms with files (`multipart/form-data`) for functions with parameters of type `File`. */
export class Uploads {
  readonly #storage: FileStorage
  readonly #options: UploadOptions

  constructor(storage: FileStorage, options: UploadOptions) {
    this.#storage = storage
    this.#options = options
  }

  /** Returns the file parameters of a function by name. */
  paramsOf(params: readonly HirParam[]): ReadonlyMap<string, FileParam> {
    const { isFile } = this.#options
    const found = new Map<string, FileParam>()
    for (const { name, type_ann } of params) {
      if (type_ann === null || typeof type_ann === 'string') continue
      if (isFile(type_ann)) found.set(name, 'one')
      else if ('Generic' in type_ann) {
        const [outer, [inner]] = type_ann.Generic
        if (inner === undefined || !isFile(inner)) continue
        if (outer === 'Option') found.set(name, 'optional')
        if (outer === 'List' || outer === 'list') found.set(name, 'many')
      }
    }
    return found
  }

  static isForm({ headers }: IncomingMessage): boolean {
    return /^\s*multipart\/form-data\s*(?:;|$)/i.test(headers['content-type'] ?? '')
  }

  /**
   * Stores the files of a form, each streamed to the disk. Throws `RUN_BODY`, `RUN_FILE_TOO_LARGE`, `RUN_FILE_TYPE`,
   * and the errors of the storage, and then leaves no file.
   */
  async receive(
    exchange: Pick<HttpExchange, 'request' | 'body'>,
    params: readonly HirParam[],
    files: ReadonlyMap<string, FileParam>
  ): Promise<Upload> {
    const form = new FormParts(this.#storage, this.#options.types, files)
    const stored: FileInfo[] = []
    const discard = async (): Promise<void> => {
      for (const { id } of stored.splice(0)) await this.#storage.discard(id)
    }
    try {
      await readForm(exchange, form)
      const byName = new Map<string, unknown[]>()
      for (const { name, file, filename, type } of await form.staged()) {
        const info = await this.#storage.add(file, filename, type)
        stored.push(info)
        const { id, contentType, size } = info
        byName.set(name, [...(byName.get(name) ?? []), { id, name: info.name, content_type: contentType, size }])
      }
      return { values: valuesOf(params, files, form.fields, byName), discard }
    } catch (error) {
      await form.discard()
      await discard()
      throw error
    }
  }
}

function valuesOf(
  params: readonly HirParam[],
  files: ReadonlyMap<string, FileParam>,
  fields: ReadonlyMap<string, string>,
  byName: ReadonlyMap<string, readonly unknown[]>
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const { name, type_ann } of params) {
    const kind = files.get(name)
    const found = byName.get(name) ?? []
    const text = fields.get(name)
    // A stored file may be passed again by what is known of it.
    if (kind !== undefined && found.length > 0) values[name] = kind === 'many' ? found : found[0]
    else if (kind === 'many' && text === undefined) values[name] = []
    else if (text !== undefined) values[name] = fieldValue(text, type_ann)
  }
  for (const name of [...fields.keys(), ...byName.keys()]) {
    if (params.some(each => each.name === name)) continue
    throw runErrors.create(
      'RUN_ARGUMENTS',
      `the form has a part ${JSON.stringify(name)}, but the function has no such parameter`
    )
  }
  return values
}

/** A field of a form: the text itself for parameters that hold text, and otherwise JSON. */
function fieldValue(text: string, type: HirType | null): unknown {
  if (isText(type)) return text
  if (text === '' && typeof type === 'object' && type !== null && 'Generic' in type && type.Generic[0] === 'Option') {
    return null
  }
  // A checkbox of a page without a value.
  if (text === 'on' && typeof type === 'object' && type !== null && 'Named' in type && type.Named === 'bool')
    return true
  try {
    return parseClientJson(text)
  } catch {
    return text
  }
}

function isText(type: HirType | null): boolean {
  if (type === 'Decimal') return true
  if (!isPlainType(type) || typeof type === 'string' || type === null) return false
  if ('Generic' in type && type.Generic[0] === 'Option') return isText(type.Generic[1][0] ?? null)
  return 'Named' in type && ['str', 'char', 'dec'].includes(type.Named)
}

interface StagedPart {
  readonly name: string
  readonly filename: string
  readonly type: string
  readonly file: StagedFile
}

/** The parts of one form while it arrives. */
class FormParts {
  readonly fields = new Map<string, string>()
  /** Aborted with the first error. */
  readonly failure = new AbortController()
  readonly #storage: FileStorage
  readonly #types: readonly string[]
  readonly #files: ReadonlyMap<string, FileParam>
  readonly #parts: Promise<StagedPart>[] = []
  readonly #counts = new Map<string, number>()

  constructor(storage: FileStorage, types: readonly string[], files: ReadonlyMap<string, FileParam>) {
    this.#storage = storage
    this.#types = types
    this.#files = files
    // Each file listens, and the form itself.
    setMaxListeners(MAX_FILES + 1, this.failure.signal)
  }

  field(name: string | undefined, value: string, isTruncated: boolean): void {
    if (isTruncated) this.fail(badForm(`the part ${JSON.stringify(name)} is larger than ${MAX_FIELD_BYTES} bytes`))
    else if (name === undefined) this.fail(badForm('a part has no name'))
    else if (this.fields.has(name)) this.fail(badForm(`the form has two parts ${JSON.stringify(name)}`))
    else this.fields.set(name, value)
  }

  file(name: string, stream: BusboyFileStream, filename: string | undefined, type: string): void {
    const kind = this.#files.get(name)
    // A browser sends an empty part without a name for an input without a file.
    if (filename === undefined || filename === '') {
      stream.resume()
      return
    }
    const count = (this.#counts.get(name) ?? 0) + 1
    this.#counts.set(name, count)
    const problem =
      kind === undefined
        ? badForm(`the function has no file parameter ${JSON.stringify(name)}`)
        : kind !== 'many' && count > 1
          ? badForm(`${name} takes one file`)
          : this.#typeProblem(mediaType(type))
    if (problem !== null) {
      stream.resume()
      this.fail(problem)
      return
    }
    const part = this.#storage
      .stage(untilFailure(stream, this.failure.signal))
      .then((file): StagedPart => ({ name, filename, type, file }))
    part.catch((error: unknown) => {
      stream.resume()
      this.fail(error)
    })
    this.#parts.push(part)
  }

  #typeProblem(type: string): Error | null {
    const types = this.#types
    const isAccepted = types.some(each => each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))))
    if (types.length === 0 || isAccepted) return null
    return runErrors.create('RUN_FILE_TYPE', `files of the type ${type} are not accepted`, {
      hint: `send one of ${types.join(', ')}`
    })
  }

  fail(error: unknown): void {
    this.failure.abort(error)
  }

  staged(): Promise<StagedPart[]> {
    return Promise.all(this.#parts)
  }

  /** Removes what was staged. */
  async discard(): Promise<void> {
    for (const part of await Promise.allSettled(this.#parts)) {
      if (part.status === 'fulfilled') await rm(part.value.file.path, { force: true })
    }
  }
}

/** Ends a stream that a broken request leaves open. */
async function* untilFailure(stream: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = (): void => {
    stream.destroy(signal.reason as Error)
  }
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    for await (const chunk of stream) yield chunk as Uint8Array
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Feeds a request to the parser of forms until it ends, stalls, or a part fails. */
async function readForm(exchange: Pick<HttpExchange, 'request' | 'body'>, form: FormParts): Promise<void> {
  const { request } = exchange
  const parser = await parserOf(request, form)
  const { signal } = form.failure
  const idle = setTimeout(() => form.fail(badForm(`nothing arrived for ${IDLE_MS} ms`)), IDLE_MS)
  const onData = (): void => void idle.refresh()
  request.on('data', onData)
  try {
    await new Promise<void>((resolve, reject) => {
      const lost = (): void => form.fail(badForm('the connection ended before the form'))
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      if (signal.aborted) reject(signal.reason)
      parser.once('finish', resolve)
      parser.once('error', (error: Error) => form.fail(badForm(error.message)))
      request.once('error', lost)
      request.once('aborted', lost)
      // The signature of a webhook was checked over the body, which is read then.
      if (request.readableEnded) exchange.body(bytes => parser.end(bytes))
      else request.pipe(parser)
    })
  } catch (error) {
    // The rest is read and discarded: a client that is still writing would see a reset instead of the error.
    request.unpipe(parser)
    request.resume()
    throw error
  } finally {
    clearTimeout(idle)
    request.off('data', onData)
  }
}

/** Creates a parser. Its library is loaded with the first form. */
async function parserOf(request: IncomingMessage, form: FormParts): Promise<InstanceType<typeof Busboy>> {
  const { Busboy } = await import('@fastify/busboy')
  let parser: InstanceType<typeof Busboy>
  try {
    parser = new Busboy({
      headers: request.headers as BusboyHeaders,
      limits: {
        files: MAX_FILES,
        fields: MAX_FIELDS,
        parts: MAX_FILES + MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        headerPairs: 64
      }
    })
  } catch (error) {
    throw badForm((error as Error).message)
  }
  parser.on('file', (name, stream, filename, _encoding, type) => {
    // The parser itself reports a body that ends too early.
    stream.on('error', () => {})
    form.file(name, stream, filename, type)
  })
  parser.on('field', (name, value, _isNameTruncated, isTruncated) => form.field(name, value, isTruncated))
  parser.on('filesLimit', () => form.fail(badForm(`the form has more than ${MAX_FILES} files`)))
  parser.on('fieldsLimit', () => form.fail(badForm(`the form has more than ${MAX_FIELDS} fields`)))
  return parser
}

function badForm(reason: string): Error {
  return runErrors.create('RUN_BODY', `the form cannot be read: ${reason}`)
}
