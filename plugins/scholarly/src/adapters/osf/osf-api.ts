import { type RemoteAnswer, type RemoteClient, RemoteFailure, type RemoteRequest } from '@svc/contracts'
import { AnswerReader, optionalText, printable } from '../deposit/answer-reader.ts'
import type { DepositFile } from '../deposit/deposit-file.ts'
import { RemoteClock } from '../deposit/remote-clock.ts'

const SERVICE = 'OSF'
const JSON_API = 'application/vnd.api+json'
const MAX_PAGES = 20
const answers = new AnswerReader(SERVICE)

/** Project of OSF, as far as this plugin reads it (https://developer.osf.io/#tag/Nodes). */
export interface OsfNode {
  readonly id: string
  readonly title: string
  readonly public: boolean
  readonly tags: readonly string[]
  readonly licenseId: string | null
  /** Page of the project. */
  readonly url: string | null
}

export interface OsfFile {
  readonly name: string
  /** Path by id, with a slash at the beginning; with one at the end for a folder. */
  readonly path: string
  readonly isFile: boolean
  readonly bytes: number
  /** SHA-256 as hex; null while OSF computes it. */
  readonly hash: string | null
}

export interface OsfApiOptions {
  readonly http: RemoteClient
  /** URL of the API, without a slash at the end. */
  readonly base: string
  /** URL of the file service, without a slash at the end. */
  readonly filesBase: string
  readonly token: string
}

/** Requests to the API of OSF (version 2) and to its file service WaterButler. All methods throw `RemoteFailure`. */
export class OsfApi {
  readonly #http: RemoteClient
  readonly #base: string
  readonly #filesBase: string
  readonly #token: string
  readonly #clock = new RemoteClock()

  constructor({ http, base, filesBase, token }: OsfApiOptions) {
    this.#http = http.named(SERVICE)
    this.#base = base
    this.#filesBase = filesBase
    this.#token = token
  }

  /** Returns the time of the service in Unix milliseconds, to the second. */
  now(): number {
    return this.#clock.now()
  }

  /** Reads a project; 404 if the archive does not know it, 410 if it was removed. */
  async get(id: string): Promise<{ readonly node: OsfNode; readonly text: string } | 404 | 410> {
    const answer = await this.#send({ method: 'GET', url: this.#node(id), accept: [404, 410] })
    if (answer.status === 404 || answer.status === 410) return answer.status
    return { node: nodeOf(dataOf(answer)), text: answer.text }
  }

  /** Returns the projects of the account with a tag. */
  async withTag(tag: string): Promise<readonly OsfNode[]> {
    const query = new URLSearchParams({ 'filter[tags]': tag })
    const nodes = (await this.#all(`${this.#base}/users/me/nodes/`, query)).map(nodeOf)
    return nodes.filter(({ tags }) => tags.includes(tag))
  }

  /** Returns the name of the account. */
  async account(): Promise<string | null> {
    const { attributes } = answers.record(dataOf(await this.#send({ method: 'GET', url: `${this.#base}/users/me/` })))
    return optionalText(answers.record(attributes).full_name)
  }

  /** Creates a private project. */
  async create(attributes: object): Promise<OsfNode> {
    const body = { data: { type: 'nodes', attributes } }
    const answer = await this.#send({ method: 'POST', url: `${this.#base}/nodes/`, ...json(body), accept: [400] })
    if (answer.status === 400) throw this.#refused(answer)
    return nodeOf(dataOf(answer))
  }

  /** Changes attributes and relationships of a project. */
  async update(id: string, changes: object): Promise<void> {
    const body = { data: { id, type: 'nodes', ...changes } }
    const request = { method: 'PATCH', url: this.#node(id), ...json(body), repeatable: true, accept: [400] } as const
    const answer = await this.#send(request)
    if (answer.status === 400) throw this.#refused(answer)
  }

  /** Returns the id of a licence by its name, or null. */
  async licenseId(name: string): Promise<string | null> {
    for (const license of await this.#all(`${this.#base}/licenses/`, new URLSearchParams())) {
      const { id, attributes } = answers.record(license)
      if (answers.record(attributes).name === name) return answers.text(id)
    }
    return null
  }

  /** Returns files and folders at the top of the storage of a project. */
  async files(id: string): Promise<readonly OsfFile[]> {
    const answer = await this.#send({ method: 'GET', url: `${this.#storage(id)}/?meta=` })
    const { data } = answers.record(answer.json())
    if (!Array.isArray(data)) throw answers.invalid('a list of files')
    return data.map(fileOf)
  }

  /**
   * Uploads a file, or a new version of `existing`. Returns what OSF stored; null if there is a file of this name already,
   * such as from a request whose answer was lost.
   */
  async upload(
    id: string,
    file: DepositFile,
    existing: OsfFile | undefined,
    onSent: (bytes: number) => void
  ): Promise<OsfFile | null> {
    const query = new URLSearchParams({ kind: 'file', ...(existing === undefined ? { name: file.name } : {}) })
    const answer = await this.#send({
      method: 'PUT',
      url: `${this.#storage(id)}${existing?.path ?? '/'}?${query}`,
      headers: { 'content-type': 'application/octet-stream' },
      body: file.body,
      onSent,
      accept: [409]
    })
    return answer.status === 409 ? null : fileOf(dataOf(answer))
  }

  #node(id: string): string {
    return `${this.#base}/nodes/${encodeURIComponent(id)}/`
  }

  #storage(id: string): string {
    return `${this.#filesBase}/resources/${encodeURIComponent(id)}/providers/osfstorage`
  }

  /** Returns all pages of a list. Page addresses of answers are not followed: the token must not reach another server. */
  async #all(url: string, query: URLSearchParams): Promise<readonly unknown[]> {
    const found: unknown[] = []
    query.set('page[size]', '100')
    for (let page = 1; page <= MAX_PAGES; page++) {
      query.set('page', String(page))
      const answer = await this.#send({ method: 'GET', url: `${url}?${query}` })
      const { data, links } = answers.record(answer.json())
      if (!Array.isArray(data)) throw answers.invalid('a list')
      found.push(...data)
      if (optionalText(answers.record(links ?? {}).next) === null) return found
    }
    throw new RemoteFailure(`${SERVICE}: the list at ${new URL(url).pathname} has more than ${MAX_PAGES} pages`, {
      failureClass: 'fatal',
      code: 'list_too_long'
    })
  }

  async #send(request: RemoteRequest): Promise<RemoteAnswer> {
    const headers = { accept: JSON_API, ...request.headers, authorization: `Bearer ${this.#token}` }
    const answer = await this.#http.send({ ...request, headers })
    this.#clock.observe(answer.headers)
    return answer
  }

  /** Returns the failure of an answer `{errors: [{detail, source: {pointer}}]}`. */
  #refused(answer: RemoteAnswer): RemoteFailure {
    let errors: unknown
    try {
      ;({ errors } = answers.record(JSON.parse(answer.text)))
    } catch {
      errors = []
    }
    const details = (Array.isArray(errors) ? errors : [])
      .slice(0, 5)
      .flatMap(each => optionalText(((each ?? {}) as { readonly detail?: unknown }).detail) ?? [])
    const reason = details.map(detail => printable(detail, this.#token)).join('; ')
    return new RemoteFailure(
      `${SERVICE}: the project was refused (${answer.status})${reason === '' ? '' : `: ${reason}`}; correct the metadata and prepare again`,
      { failureClass: 'fatal', code: `http_${answer.status}`, httpStatus: answer.status }
    )
  }
}

function json(body: object): Pick<RemoteRequest, 'headers' | 'body'> {
  return { headers: { 'content-type': JSON_API }, body: JSON.stringify(body) }
}

function dataOf(answer: RemoteAnswer): unknown {
  return answers.record(answer.json()).data
}

function nodeOf(value: unknown): OsfNode {
  const { id, attributes, relationships, links } = answers.record(value)
  const { title, public: isPublic, tags } = answers.record(attributes)
  const { data } = answers.record(answers.record(relationships ?? {}).license ?? {})
  return {
    id: answers.text(id),
    title: typeof title === 'string' ? title : '',
    public: isPublic === true,
    tags: Array.isArray(tags) ? tags.filter(tag => typeof tag === 'string') : [],
    licenseId: optionalText(answers.record(data ?? {}).id),
    url: optionalText(answers.record(links ?? {}).html)
  }
}

function fileOf(value: unknown): OsfFile {
  const { name, path, kind, size, extra } = answers.record(answers.record(value).attributes)
  const { sha256 } = answers.record(answers.record(extra ?? {}).hashes ?? {})
  const checked = answers.text(path)
  // The path becomes a part of an address.
  if (!/^\/[\w-]+\/?$/.test(checked)) throw answers.invalid('a file with a path by id')
  return {
    name: answers.text(name),
    path: checked,
    isFile: kind === 'file',
    bytes: Number(size),
    hash: optionalText(sha256)
  }
}
