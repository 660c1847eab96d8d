/**
 * Deposit API of Zenodo. Sources: developers.zenodo.org (github.com/zenodo/developers.zenodo.org, source/includes) and the
 * code of the service (github.com/zenodo/zenodo-rdm, site/zenodo_rdm/legacy: resources.py for paths and statuses,
 * serializers/schemas/legacyjson.py and files.py for answers, deserializers/metadata.py for metadata). Titles: class
 * SanitizedUnicode of the Python package marshmallow-utils, which uses ftfy.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { ArchiveServer, type Exchange, type Fault } from './archive-server.ts'

export interface ZenodoServerOptions {
  readonly token: string
  /** Milliseconds after which a new deposition is in lists. */
  readonly indexLagMs?: number
  /** Order of lists; default: the last changed first. */
  readonly order?: 'createdAt' | 'modifiedAt'
  /** Whether an upload that was cut leaves the bytes that arrived. */
  readonly keepsPartialFiles?: boolean
}

export interface StoredFile {
  readonly id: string
  readonly bytes: number
  readonly md5: string
}

export interface StoredDeposition {
  readonly id: number
  readonly conceptId: number
  readonly bucket: string
  metadata: Record<string, unknown>
  files: Map<string, StoredFile>
  state: 'unsubmitted' | 'inprogress' | 'done' | 'error'
  readonly createdAt: number
  modifiedAt: number
}

const UPLOAD_TYPES = 'publication poster presentation dataset image video software lesson physicalobject other'.split(
  ' '
)
const FIRST_ID = 542_201

export class ZenodoServer {
  readonly depositions: StoredDeposition[] = []
  readonly #options: ZenodoServerOptions
  readonly #http = new ArchiveServer(exchange => this.#handle(exchange))
  origin = ''

  constructor(options: ZenodoServerOptions) {
    this.#options = options
  }

  /** Starts a server that ends with the test. */
  static async open(t: Test, options: ZenodoServerOptions): Promise<ZenodoServer> {
    const server = new ZenodoServer(options)
    server.origin = await server.#http.start()
    t.teardown(() => server.#http.close())
    return server
  }

  get base(): string {
    return `${this.origin}/api`
  }

  get seen() {
    return this.#http.seen
  }

  fail(...faults: Fault[]): void {
    this.#http.faults.push(...faults)
  }

  count(start: string): number {
    return this.#http.count(start)
  }

  /** Depositions with this digest, also those that no list contains yet. */
  withDigest(digest: string): StoredDeposition[] {
    return this.depositions.filter(({ metadata }) => JSON.stringify(metadata).includes(digest))
  }

  /** Creates a deposition as a person would do. */
  add(metadata: Record<string, unknown>, conceptId?: number, createdAt = Date.now()): StoredDeposition {
    const id = FIRST_ID + this.depositions.length * 2
    const created: StoredDeposition = {
      id,
      conceptId: conceptId ?? id - 1,
      bucket: randomUUID(),
      metadata,
      files: new Map(),
      state: 'unsubmitted',
      createdAt,
      modifiedAt: createdAt
    }
    this.depositions.push(created)
    return created
  }

  async #handle(exchange: Exchange): Promise<void> {
    const { method, url, request, answer } = exchange
    if (request.headers.authorization !== `Bearer ${this.#options.token}`)
      return answer(401, {
        message:
          "The server could not verify that you are authorized to access the URL requested. You either supplied the wrong credentials (e.g. a bad password), or your browser doesn't understand how to supply the credentials required.",
        status: 401
      })
    const [, area, kind, id, part, action] = url.pathname.split('/').slice(1)
    if (area === 'files' && kind !== undefined && id !== undefined) return await this.#file(exchange, kind, id)
    if (area !== 'deposit' || kind !== 'depositions') return answer(404, { message: 'Not found', status: 404 })
    if (id === undefined || id === '') {
      if (method === 'GET') return this.#list(exchange)
      if (method === 'POST') return await this.#create(exchange)
      return answer(405, { message: 'Method not allowed', status: 405 })
    }
    const deposition = this.depositions.find(each => String(each.id) === id)
    if (deposition === undefined) return answer(404, { message: 'Deposition not found', status: 404 })
    if (part === 'actions' && method === 'POST') return this.#act(exchange, deposition, action ?? '')
    if (part === 'files' && method === 'GET') return answer(200, this.#filesOf(deposition))
    if (part !== undefined && part !== '') return answer(404, { message: 'Not found', status: 404 })
    if (method === 'GET') return answer(200, this.#deposition(deposition))
    if (method === 'PUT') return await this.#update(exchange, deposition)
    if (method === 'DELETE') return this.#delete(exchange, deposition)
    answer(405, { message: 'Method not allowed', status: 405 })
  }

  #list({ url, answer }: Exchange) {
    const { order = 'modifiedAt' } = this.#options
    const query = url.searchParams
    const size = Number(query.get('size') ?? 25)
    const page = Number(query.get('page') ?? 1)
    const status = query.get('status')
    const words = (query.get('q') ?? '').replaceAll('"', '')
    const listed = this.depositions
      .filter(({ createdAt }) => Date.now() - createdAt >= (this.#options.indexLagMs ?? 0))
      .filter(({ metadata }) => JSON.stringify(metadata).includes(words))
      .filter(({ state }) => status === null || (status === 'draft') === (state === 'unsubmitted'))
      .sort((a, b) => b[order] - a[order] || b.id - a.id)
    answer(
      200,
      listed.slice((page - 1) * size, page * size).map(each => this.#deposition(each))
    )
  }

  async #create({ request, json, answer }: Exchange): Promise<void> {
    if (!isJson(request.headers['content-type'])) return answer(415, { message: 'Unsupported media type', status: 415 })
    const { metadata = {} } = (await json()) as { metadata?: Record<string, unknown> }
    const errors = problemsOf(metadata)
    if (errors.length > 0) return answer(400, { status: 400, message: 'Validation error.', errors })
    const title = String(metadata.title).replace(/[‘’]/g, "'").replace(/[“”]/g, '"').normalize('NFC')
    answer(201, this.#deposition(this.add({ ...metadata, title })))
  }

  async #update({ request, json, answer }: Exchange, deposition: StoredDeposition): Promise<void> {
    if (!isJson(request.headers['content-type'])) return answer(415, { message: 'Unsupported media type', status: 415 })
    const { metadata = {} } = (await json()) as { metadata?: Record<string, unknown> }
    const errors = problemsOf(metadata)
    if (errors.length > 0) return answer(400, { status: 400, message: 'Validation error.', errors })
    deposition.metadata = metadata
    deposition.modifiedAt = Date.now()
    answer(200, this.#deposition(deposition))
  }

  #delete({ answer }: Exchange, deposition: StoredDeposition) {
    if (deposition.state !== 'unsubmitted') return answer(403, { message: 'Forbidden', status: 403 })
    this.depositions.splice(this.depositions.indexOf(deposition), 1)
    answer(204, null)
  }

  #act({ answer }: Exchange, deposition: StoredDeposition, action: string) {
    if (action === 'newversion') {
      const copy = this.add({ ...deposition.metadata }, deposition.conceptId)
      copy.files = new Map(deposition.files)
      return answer(201, this.#deposition(deposition))
    }
    if (action !== 'publish') return answer(404, { message: 'Not found', status: 404 })
    // A published deposition has no draft any more.
    if (deposition.state !== 'unsubmitted') return answer(404, { message: 'Deposition not found', status: 404 })
    const errors = problemsOf(deposition.metadata)
    if (deposition.files.size === 0) errors.push({ field: 'files', messages: ['Missing uploaded files.'] })
    if (errors.length > 0) return answer(400, { status: 400, message: 'Validation error.', errors })
    deposition.state = 'done'
    deposition.modifiedAt = Date.now()
    answer(202, this.#deposition(deposition))
  }

  async #file({ method, request, chunks, answer }: Exchange, bucket: string, key: string): Promise<void> {
    const deposition = this.depositions.find(each => each.bucket === bucket)
    if (deposition === undefined || method !== 'PUT') return answer(404, { message: 'Bucket not found', status: 404 })
    if (deposition.state !== 'unsubmitted') return answer(403, { message: 'Bucket is locked', status: 403 })
    if (request.headers['content-length'] === undefined) return answer(400, { message: 'No length', status: 400 })
    const name = decodeURIComponent(key)
    const hash = createHash('md5')
    let bytes = 0
    const store = (): StoredFile => {
      const file = { id: randomUUID(), bytes, md5: hash.digest('hex') }
      deposition.files.set(name, file)
      deposition.modifiedAt = Date.now()
      return file
    }
    try {
      for await (const chunk of chunks()) {
        hash.update(chunk)
        bytes += chunk.length
      }
    } catch (error) {
      if (this.#options.keepsPartialFiles === true) store()
      throw error
    }
    const { md5, id } = store()
    answer(201, {
      created: new Date().toISOString(),
      updated: new Date().toISOString(),
      version_id: id,
      key: name,
      size: bytes,
      mimetype: 'application/octet-stream',
      checksum: `md5:${md5}`,
      is_head: true,
      delete_marker: false,
      links: { self: `${this.base}/files/${bucket}/${key}` }
    })
  }

  #filesOf({ id, bucket, files }: StoredDeposition): object[] {
    return [...files].map(([filename, file]) => ({
      id: file.id,
      filename,
      filesize: file.bytes,
      checksum: file.md5,
      links: {
        self: `${this.base}/deposit/depositions/${id}/files/${file.id}`,
        download: `${this.base}/files/${bucket}/${filename}`
      }
    }))
  }

  #deposition(stored: StoredDeposition): object {
    const { id, conceptId, bucket, metadata, state } = stored
    const submitted = state === 'done' || state === 'inprogress'
    const doi = `10.5072/zenodo.${id}`
    const item = `${this.base}/deposit/depositions/${id}`
    const files = this.#filesOf(stored)
    return {
      conceptrecid: String(conceptId),
      created: new Date(stored.createdAt).toISOString(),
      modified: new Date(stored.modifiedAt).toISOString(),
      id,
      owner: 12_345,
      record_id: id,
      state,
      submitted,
      title: metadata.title ?? '',
      metadata: { ...metadata, prereserve_doi: { doi, recid: id } },
      ...(submitted ? { doi, doi_url: `https://doi.org/${doi}` } : {}),
      // The service leaves out an empty list.
      ...(files.length === 0 ? {} : { files }),
      links: {
        self: item,
        html: `${this.origin}/deposit/${id}`,
        files: `${item}/files`,
        bucket: `${this.base}/files/${bucket}`,
        publish: `${item}/actions/publish`,
        newversion: `${item}/actions/newversion`,
        latest_draft: item,
        ...(submitted ? { record: `${this.base}/records/${id}`, record_html: `${this.origin}/record/${id}` } : {})
      }
    }
  }
}

function isJson(contentType: string | undefined): boolean {
  return contentType?.split(';')[0] === 'application/json'
}

/** Checks required fields and vocabularies, if there is any metadata. */
function problemsOf(metadata: Readonly<Record<string, unknown>>): { field: string; messages: string[] }[] {
  if (Object.keys(metadata).length === 0) return []
  const { upload_type, publication_type, title, creators, description, access_right, license, notes } = metadata
  const missing = (field: string, isThere: boolean) =>
    isThere ? [] : [{ field: `metadata.${field}`, messages: ['Missing data for required field.'] }]
  const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
  const people = Array.isArray(creators) ? creators : []
  return [
    ...missing('upload_type', typeof upload_type === 'string' && UPLOAD_TYPES.includes(upload_type)),
    ...missing('publication_type', upload_type !== 'publication' || isText(publication_type)),
    ...missing('title', isText(title)),
    ...missing('creators', people.length > 0 && people.every(({ name }) => isText(name))),
    ...missing('description', isText(description)),
    ...missing('access_right', isText(access_right)),
    ...missing('license', access_right !== 'open' || isText(license)),
    ...(notes === undefined || isText(notes) ? [] : [{ field: 'metadata.notes', messages: ['Not a valid string.'] }])
  ]
}
