/**
 * API of OSF, version 2, and its file service WaterButler on one port. Sources: developer.osf.io
 * (github.com/CenterForOpenScience/developer.osf.io, swagger-spec/nodes, users, licenses), api/nodes/serializers.py,
 * api/base/pagination.py and api/base/exceptions.py of github.com/CenterForOpenScience/osf.io, docs/api.rst,
 * waterbutler/server/api/v1/provider/create.py and waterbutler/providers/osfstorage/metadata.py of
 * github.com/CenterForOpenScience/waterbutler; names of licences: npm @centerforopenscience/list-of-licenses 1.1.0.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { ArchiveServer, type Exchange, type Fault } from './archive-server.ts'

export interface OsfServerOptions {
  readonly token: string
  /** Milliseconds after which a new project is in lists. */
  readonly listLagMs?: number
}

export interface OsfStoredFile {
  readonly id: string
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  readonly md5: string
  readonly version: number
}

export interface OsfStoredNode {
  readonly id: string
  attributes: Record<string, unknown>
  licenseId: string | null
  files: OsfStoredFile[]
  readonly createdAt: number
}

const CATEGORIES =
  'analysis,communication,data,hypothesis,instrumentation,methods and measures,procedure,project,software,other'.split(
    ','
  )
const LICENSES = [
  'No license',
  'CC0 1.0 Universal',
  'CC-By Attribution 4.0 International',
  'MIT License',
  'Apache License 2.0',
  'GNU General Public License (GPL) 3.0',
  'Other'
].map((name, index) => ({ name, id: `563c1cf88c5e4a3877f9e96${index}` }))

export class OsfServer {
  readonly nodes: OsfStoredNode[] = []
  readonly #options: OsfServerOptions
  readonly #http = new ArchiveServer(exchange => this.#handle(exchange))
  origin = ''

  constructor(options: OsfServerOptions) {
    this.#options = options
  }

  /** Starts a server that ends with the test. */
  static async open(t: Test, options: OsfServerOptions): Promise<OsfServer> {
    const server = new OsfServer(options)
    server.origin = await server.#http.start()
    t.teardown(() => server.#http.close())
    return server
  }

  get seen() {
    return this.#http.seen
  }

  get settings() {
    return { osf_api_base: `${this.origin}/v2/`, osf_files_base: `${this.origin}/v1/` }
  }

  fail(...faults: Fault[]): void {
    this.#http.faults.push(...faults)
  }

  count(start: string): number {
    return this.#http.count(start)
  }

  /** Projects with this digest, also those that no list contains yet. */
  withDigest(digest: string): OsfStoredNode[] {
    return this.nodes.filter(({ attributes }) => JSON.stringify(attributes).includes(digest))
  }

  async #handle(exchange: Exchange): Promise<void> {
    const { method, url, request, answer } = exchange
    if (request.headers.authorization !== `Bearer ${this.#options.token}`)
      return answer(401, { errors: [{ detail: 'User provided an invalid OAuth2 access token' }] })
    const path = url.pathname.split('/').slice(1)
    if (path[0] === 'v1') return await this.#storage(exchange, path[2] ?? '', path.slice(5).join('/'))
    const [, kind, id, part] = path
    if (kind === 'users' && id === 'me' && part === 'nodes' && method === 'GET') return this.#list(exchange)
    if (kind === 'users' && id === 'me' && method === 'GET')
      return answer(200, { data: { id: 'cdi38', type: 'users', attributes: { full_name: 'Jane Doe' } } })
    if (kind === 'licenses' && method === 'GET')
      return this.#page(
        exchange,
        LICENSES.map(license => ({ id: license.id, type: 'licenses', attributes: license }))
      )
    if (kind !== 'nodes') return answer(404, { errors: [{ detail: 'Not found.' }] })
    if (id === undefined || id === '') {
      if (method === 'POST') return await this.#create(exchange)
      return answer(405, { errors: [{ detail: `Method "${method}" not allowed.` }] })
    }
    const node = this.nodes.find(each => each.id === id)
    if (node === undefined) return answer(410, { errors: [{ detail: 'The requested node is no longer available.' }] })
    if (method === 'GET') return answer(200, { data: this.#node(node) })
    if (method === 'PATCH') return await this.#update(exchange, node)
    answer(405, { errors: [{ detail: `Method "${method}" not allowed.` }] })
  }

  #list(exchange: Exchange) {
    const tag = exchange.url.searchParams.get('filter[tags]')
    const listed = this.nodes
      .filter(({ createdAt }) => Date.now() - createdAt >= (this.#options.listLagMs ?? 0))
      .filter(({ attributes }) => tag === null || (attributes.tags as string[]).includes(tag))
    this.#page(
      exchange,
      listed.map(node => this.#node(node))
    )
  }

  #page({ url, answer }: Exchange, all: readonly object[]) {
    const size = Math.min(100, Number(url.searchParams.get('page[size]') ?? 10))
    const page = Number(url.searchParams.get('page') ?? 1)
    const next = page * size < all.length ? `${this.origin}${url.pathname}?page=${page + 1}` : null
    answer(200, {
      data: all.slice((page - 1) * size, page * size),
      links: { first: null, last: null, prev: null, next, meta: { total: all.length, per_page: size } }
    })
  }

  async #create({ json, request, answer }: Exchange): Promise<void> {
    if (!isJson(request.headers['content-type'])) return answer(415, { errors: [{ detail: 'Unsupported media type' }] })
    const { data } = (await json()) as { data?: { type?: string; attributes?: Record<string, unknown> } }
    if (data?.type !== 'nodes') return answer(409, { errors: [{ detail: 'This resource has a type of "nodes"' }] })
    const { title, category, tags = [], public: isPublic = false } = data.attributes ?? {}
    const errors = [
      ...(typeof title === 'string' && title !== '' ? [] : [fieldError('title', 'This field is required.')]),
      ...(typeof title === 'string' && title.length > 512 ? [fieldError('title', 'Title is too long.')] : []),
      ...(CATEGORIES.includes(String(category)) ? [] : [fieldError('category', `"${category}" is not a valid choice.`)])
    ]
    if (errors.length > 0) return answer(400, { errors })
    const id = randomBytes(3).toString('hex').slice(0, 5)
    // JSONAPISerializer.sanitize_data of api/base/serializers.py, by bleach.
    const plain = String(title)
      .replace(/<[^<>]*>/g, '')
      .replaceAll('&', '&amp;')
    const attributes = { ...data.attributes, title: plain, tags, public: isPublic }
    const node: OsfStoredNode = { id, attributes, licenseId: null, files: [], createdAt: Date.now() }
    this.nodes.push(node)
    answer(201, { data: this.#node(node) })
  }

  async #update({ json, request, answer }: Exchange, node: OsfStoredNode): Promise<void> {
    if (!isJson(request.headers['content-type'])) return answer(415, { errors: [{ detail: 'Unsupported media type' }] })
    const { data } = (await json()) as {
      data: { id: string; attributes?: Record<string, unknown>; relationships?: { license?: { data: { id: string } } } }
    }
    if (data.id !== node.id) return answer(409, { errors: [{ detail: 'The id does not match' }] })
    const licenseId = data.relationships?.license?.data.id
    if (licenseId !== undefined && !LICENSES.some(({ id }) => id === licenseId))
      return answer(404, { errors: [{ detail: 'Unable to find specified license.' }] })
    node.licenseId = licenseId ?? node.licenseId
    node.attributes = { ...node.attributes, ...data.attributes }
    answer(200, { data: this.#node(node) })
  }

  async #storage(exchange: Exchange, nodeId: string, path: string): Promise<void> {
    const { method, url, request, answer } = exchange
    const node = this.nodes.find(each => each.id === nodeId)
    if (node === undefined) return answer(404, { code: 404, message: 'Could not retrieve node' })
    if (method === 'GET') return answer(200, { data: node.files.map(file => this.#file(node, file)) })
    if (method !== 'PUT') return answer(405, { code: 405, message: 'Method not allowed' })
    if (request.headers['content-length'] === undefined)
      return answer(411, { code: 411, message: 'Content-Length is required for file uploads' })
    const name = url.searchParams.get('name')
    const existing = node.files.find(file => (path === '' ? file.name === name : file.id === path))
    if (path === '' && name === null) return answer(400, { code: 400, message: "Missing required parameter 'name'" })
    if (path === '' && existing !== undefined) {
      request.resume()
      return answer(409, { code: 409, message: `Cannot complete action: file or folder "${name}" already exists` })
    }
    if (path !== '' && existing === undefined) return answer(404, { code: 404, message: 'Could not retrieve file' })
    const sha256 = createHash('sha256')
    const md5 = createHash('md5')
    let bytes = 0
    for await (const chunk of exchange.chunks()) {
      sha256.update(chunk)
      md5.update(chunk)
      bytes += chunk.length
    }
    const file: OsfStoredFile = {
      id: existing?.id ?? randomBytes(12).toString('hex'),
      name: existing?.name ?? String(name),
      bytes,
      sha256: sha256.digest('hex'),
      md5: md5.digest('hex'),
      version: (existing?.version ?? 0) + 1
    }
    node.files = [...node.files.filter(({ id }) => id !== file.id), file]
    answer(existing === undefined ? 201 : 200, { data: this.#file(node, file) })
  }

  #file({ id: node }: OsfStoredNode, { id, name, bytes, sha256, md5, version }: OsfStoredFile): object {
    const self = `${this.origin}/v1/resources/${node}/providers/osfstorage/${id}`
    return {
      id: `osfstorage/${id}`,
      type: 'files',
      attributes: {
        extra: { version, downloads: 0, checkout: null, hashes: { md5, sha256 } },
        kind: 'file',
        name,
        path: `/${id}`,
        provider: 'osfstorage',
        materialized: `/${name}`,
        resource: node,
        size: bytes
      },
      links: { move: self, upload: `${self}?kind=file`, delete: self, download: self }
    }
  }

  #node({ id, attributes, licenseId }: OsfStoredNode): object {
    const self = `${this.origin}/v2/nodes/${id}/`
    return {
      id,
      type: 'nodes',
      attributes: { registration: false, preprint: false, fork: false, collection: false, ...attributes },
      relationships: {
        files: { links: { related: { href: `${self}files/`, meta: {} } } },
        ...(licenseId === null ? {} : { license: { data: { id: licenseId, type: 'licenses' } } })
      },
      links: { self, html: `${this.origin}/${id}/` }
    }
  }
}

function isJson(contentType: string | undefined): boolean {
  return ['application/vnd.api+json', 'application/json'].includes(contentType?.split(';')[0] ?? '')
}

function fieldError(field: string, detail: string): object {
  return { source: { pointer: `/data/attributes/${field}` }, detail }
}
