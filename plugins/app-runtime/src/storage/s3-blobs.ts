import { open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { runErrors } from '../errors.ts'
import { type BlobStore, type ByteRange, diskFailure, fileUnknown } from './blob-store.ts'
import { elements, type S3Client, tag } from './s3-client.ts'
import type { StagedFile } from './staging.ts'

/** Size of a part in bytes, which is held in memory while it is sent. Smaller files are sent as a whole. */
const PART_BYTES = 8 * 2 ** 20

/** Maximum parts of an upload, of the protocol. */
const MAX_PARTS = 10_000

/** Times that a broken download continues where it ended. */
const RESUMES = 3

const STORING = 'a file could not be stored'
const READING = 'a file could not be read'
const REMOVING = 'a file could not be removed'
const LISTING = 'the stored files could not be listed'

/** Keeps content in a bucket of a server with the protocol of Amazon S3. */
export class S3Blobs implements BlobStore {
  readonly #client: S3Client
  /** Path in the bucket, empty or with a slash at its end. */
  readonly #prefix: string

  constructor(client: S3Client, prefix: string) {
    this.#client = client
    this.#prefix = prefix === '' ? '' : `${prefix.replace(/\/+$/, '')}/`
  }

  async check(): Promise<void> {
    await this.#client.text({ method: 'GET', query: { 'list-type': '2', 'max-keys': '1' } }, LISTING)
  }

  async put(name: string, { path, size, sha256 }: StagedFile): Promise<void> {
    const key = this.#prefix + name
    const file = await open(path, 'r').catch((error: unknown) => {
      throw diskFailure(error, STORING)
    })
    try {
      const read = async (start: number, length: number): Promise<Buffer<ArrayBuffer>> => {
        const bytes = Buffer.alloc(length)
        const { bytesRead } = await file.read(bytes, 0, length, start)
        if (bytesRead === length) return bytes
        throw runErrors.create('RUN_STORAGE', `${STORING}: it changed while it was sent`)
      }
      if (size <= PART_BYTES) {
        await this.#client.text({ method: 'PUT', key, body: await read(0, size), sha256 }, STORING)
      } else await this.#putParts(key, size, read)
    } finally {
      await file.close()
    }
    await rm(path, { force: true })
  }

  /** Nothing is visible below the key until all parts have arrived. */
  async #putParts(key: string, size: number, read: (start: number, length: number) => Promise<Buffer<ArrayBuffer>>) {
    const client = this.#client
    const created = await client.text({ method: 'POST', key, query: { uploads: '' } }, STORING)
    const uploadId = tag(created, 'UploadId')
    if (uploadId === null) throw runErrors.create('RUN_STORAGE', `${STORING}: the server named no upload`)
    try {
      const partBytes = Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS))
      const parts: string[] = []
      for (let start = 0; start < size; start += partBytes) {
        const body = await read(start, Math.min(partBytes, size - start))
        const partNumber = parts.length + 1
        const query = { partNumber: String(partNumber), uploadId }
        const response = await client.send({ method: 'PUT', key, query, body }, STORING)
        if (!response.ok) throw await client.failure(response, STORING)
        await response.body?.cancel()
        const etag = response.headers.get('etag') ?? ''
        parts.push(`<Part><PartNumber>${partNumber}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`)
      }
      const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
      const response = await client.send({ method: 'POST', key, query: { uploadId }, body }, STORING)
      // The status is sent before the parts are joined, so a 200 may contain an error. A repeated request finds no
      // upload if the first had succeeded.
      // The connection may also be lost while they are joined.
      const text = await response.text().catch(() => '')
      const isJoined = response.ok && text.includes('<CompleteMultipartUploadResult')
      if (!isJoined && (await this.#sizeOf(key)) !== size) throw await client.failure(response, STORING, text)
    } catch (error) {
      await this.#abort(key, uploadId).catch(() => undefined)
      throw error
    }
  }

  async #sizeOf(key: string): Promise<number | null> {
    const { ok, headers } = await this.#client.send({ method: 'HEAD', key }, STORING)
    return ok ? Number(headers.get('content-length')) : null
  }

  async #abort(key: string, uploadId: string): Promise<void> {
    const response = await this.#client.send({ method: 'DELETE', key, query: { uploadId } }, REMOVING)
    if (!response.ok && response.status !== 404) throw await this.#client.failure(response, REMOVING)
  }

  async read(name: string, range?: ByteRange): Promise<Readable> {
    const first = await this.#get(name, range)
    return Readable.from(this.#content(name, range?.start ?? 0, first), { objectMode: false })
  }

  async #get(name: string, range: ByteRange | undefined): Promise<Response> {
    const headers: Record<string, string> = range === undefined ? {} : { range: `bytes=${range.start}-${range.end}` }
    const response = await this.#client.send({ method: 'GET', key: this.#prefix + name, headers }, READING)
    if (response.status === (range === undefined ? 200 : 206)) return response
    if (response.status === 404) {
      const text = await response.text()
      if ((tag(text, 'Code') ?? 'NoSuchKey') === 'NoSuchKey') throw fileUnknown(name.split('/').at(-1) ?? name)
      throw await this.#client.failure(response, READING, text)
    }
    if (!response.ok) throw await this.#client.failure(response, READING)
    await response.body?.cancel()
    throw runErrors.create('RUN_STORAGE', `${READING}: the server does not support ranges`)
  }

  /** Yields content. Continues after a lost connection, so that the client of a long download does not notice it. */
  async *#content(name: string, start: number, first: Response): AsyncGenerator<Uint8Array> {
    const length = Number(first.headers.get('content-length') ?? Number.NaN)
    let reader = first.body?.getReader()
    let received = 0
    let resumes = 0
    try {
      while (received < length || Number.isNaN(length)) {
        let chunk: Uint8Array | undefined
        try {
          chunk = (await reader?.read())?.value
        } catch (error) {
          if (resumes === RESUMES || Number.isNaN(length)) throw this.#interrupted(error)
          resumes += 1
          reader = (await this.#get(name, { start: start + received, end: start + length - 1 })).body?.getReader()
          continue
        }
        if (chunk === undefined) break
        received += chunk.length
        yield chunk
      }
      if (received < length) throw this.#interrupted(null)
    } finally {
      await reader?.cancel().catch(() => undefined)
    }
  }

  #interrupted(cause: unknown): Error {
    return runErrors.create('RUN_STORAGE', `${READING}: the connection to the storage was lost`, { cause })
  }

  async remove(name: string): Promise<void> {
    const response = await this.#client.send({ method: 'DELETE', key: this.#prefix + name }, REMOVING)
    if (!response.ok && response.status !== 404) throw await this.#client.failure(response, REMOVING)
    await response.body?.cancel()
  }

  async *list(prefix: string): AsyncGenerator<{ key: string; storedAt: number }> {
    let token: string | null = null
    do {
      const query: Record<string, string> = { 'list-type': '2', prefix: `${this.#prefix}${prefix}/` }
      if (token !== null) query['continuation-token'] = token
      // toestub-ignore(scaling/query-in-loop) - each turn reads the next page of the list
      const xml = await this.#client.text({ method: 'GET', query }, LISTING)
      for (const each of elements(xml, 'Contents')) {
        const key = tag(each, 'Key')
        const storedAt = Date.parse(tag(each, 'LastModified') ?? '')
        if (key?.startsWith(this.#prefix) && storedAt > 0) yield { key: key.slice(this.#prefix.length), storedAt }
      }
      token = tag(xml, 'IsTruncated') === 'true' ? tag(xml, 'NextContinuationToken') : null
    } while (token !== null)
  }

  async clean(prefix: string, before: number): Promise<void> {
    const query = { uploads: '', prefix: `${this.#prefix}${prefix}/` }
    const response = await this.#client.send({ method: 'GET', query }, LISTING)
    const xml = await response.text()
    // Not all servers list uploads.
    if (response.status === 501 || response.status === 405) return
    if (!response.ok) throw await this.#client.failure(response, LISTING, xml)
    for (const each of elements(xml, 'Upload')) {
      const [key, uploadId] = [tag(each, 'Key'), tag(each, 'UploadId')]
      if (key === null || uploadId === null || !(Date.parse(tag(each, 'Initiated') ?? '') < before)) continue
      await this.#abort(key, uploadId)
    }
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
