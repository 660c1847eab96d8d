import { type RemoteAnswer, type RemoteClient, RemoteFailure, type RemoteRequest } from '@svc/contracts'
import { AnswerReader, optionalText, printable } from '../deposit/answer-reader.ts'
import type { DepositFile } from '../deposit/deposit-file.ts'
import { RemoteClock } from '../deposit/remote-clock.ts'

const SERVICE = 'Zenodo'
const PAGE_SIZE = 25
const MAX_PAGES = 40
const DAY_MS = 86_400_000
const answers = new AnswerReader(SERVICE)

/** Deposition, as far as this plugin reads it (https://developers.zenodo.org/#depositions). */
export interface Deposition {
  readonly id: string
  /** `unsubmitted`, `inprogress` (published, and being edited), `done` or `error`. */
  readonly state: string
  /** Whether it was published. */
  readonly submitted: boolean
  readonly title: string
  /** HTML. */
  readonly notes: string
  /** Id that all versions of a record share. */
  readonly conceptId: string | null
  /** Unix milliseconds; null if unknown. */
  readonly createdAt: number | null
  readonly modifiedAt: number | null
  readonly doi: string | null
  readonly reservedDoi: string | null
  /** Page of the record, or of the draft. */
  readonly url: string | null
  readonly bucket: string | null
  readonly files: readonly RemoteFileEntry[]
}

export interface RemoteFileEntry {
  readonly name: string
  readonly bytes: number
  /** MD5 as hex. */
  readonly hash: string
}

export interface ZenodoApiOptions {
  readonly http: RemoteClient
  /** URL of the API, without a slash at the end. */
  readonly base: string
  readonly token: string
}

/** Requests to the deposit API of Zenodo. All methods throw `RemoteFailure`. */
export class ZenodoApi {
  readonly #http: RemoteClient
  readonly #base: string
  readonly #token: string
  readonly #clock = new RemoteClock()

  constructor({ http, base, token }: ZenodoApiOptions) {
    this.#http = http.named(SERVICE)
    this.#base = base
    this.#token = token
  }

  /** Returns the time of the service in Unix milliseconds, to the second. */
  now(): number {
    return this.#clock.now()
  }

  /** Reads a deposition; 404 if the archive does not know it, 410 if it was removed. */
  async get(id: string): Promise<{ readonly deposition: Deposition; readonly text: string } | 404 | 410> {
    const answer = await this.#send({ method: 'GET', url: this.#item(id), accept: [404, 410] })
    if (answer.status === 404 || answer.status === 410) return answer.status
    return { deposition: depositionOf(answer.json()), text: answer.text }
  }

  /** Throws if the token is not accepted. */
  async checkToken(): Promise<void> {
    await this.#page({ page: '1', size: '1' })
  }

  /** Creates a draft. */
  async create(metadata: object): Promise<Deposition> {
    const url = `${this.#base}/deposit/depositions`
    const answer = await this.#send({ method: 'POST', url, ...json({ metadata }), accept: [400, 422] })
    if (answer.status >= 400) throw this.#refused(answer)
    return depositionOf(answer.json())
  }

  /** Returns depositions that contain a text, from the search index. */
  async search(text: string): Promise<readonly Deposition[]> {
    return await this.#page({ q: `"${text}"`, page: '1' })
  }

  /**
   * Returns the newest depositions, at least all that were created after a time. Throws code `outcome_unknown` if there
   * are too many to read.
   */
  async newest(createdAfter: number): Promise<readonly Deposition[]> {
    const found: Deposition[] = []
    for (let page = 1; page <= MAX_PAGES; page++) {
      const entries = await this.#page({ page: String(page) })
      found.push(...entries)
      if (entries.length < PAGE_SIZE || reaches(found, createdAfter - DAY_MS)) return found
    }
    throw new RemoteFailure(
      `${SERVICE}: the account has too many depositions to find out whether this one exists; look for it in the browser, and delete it before you replay the job`,
      { failureClass: 'fatal', code: 'outcome_unknown', outcomeUnknown: true }
    )
  }

  /** Uploads a file, or replaces the one of the same name. Returns what Zenodo stored. */
  async upload({ bucket }: Deposition, file: DepositFile, onSent: (bytes: number) => void): Promise<RemoteFileEntry> {
    const answer = await this.#send({
      method: 'PUT',
      url: `${this.#bucketUrl(bucket)}/${encodeURIComponent(file.name)}`,
      headers: { 'content-type': 'application/octet-stream' },
      body: file.body,
      onSent,
      accept: [400]
    })
    if (answer.status === 400) throw this.#refused(answer)
    const { key, size, checksum } = answers.record(answer.json())
    return { name: answers.text(key), bytes: Number(size), hash: withoutPrefix(answers.text(checksum)) }
  }

  /** Publishes a draft. The state says whether it worked: an earlier request may have published it already. */
  async publish(id: string): Promise<void> {
    const answer = await this.#send({ method: 'POST', url: `${this.#item(id)}/actions/publish`, accept: [400, 422] })
    if (answer.status >= 400) throw this.#refused(answer)
  }

  #item(id: string): string {
    return `${this.#base}/deposit/depositions/${encodeURIComponent(id)}`
  }

  async #page(query: Readonly<Record<string, string>>): Promise<readonly Deposition[]> {
    const search = new URLSearchParams({ sort: 'mostrecent', all_versions: 'true', size: String(PAGE_SIZE), ...query })
    const answer = await this.#send({ method: 'GET', url: `${this.#base}/deposit/depositions?${search}` })
    const entries = answer.json()
    if (!Array.isArray(entries)) throw answers.invalid('a list of depositions')
    return entries.map(depositionOf)
  }

  /** Uploads go to an address from an answer. The token must not reach another server. */
  #bucketUrl(bucket: string | null): string {
    const url = bucket !== null && URL.canParse(bucket) ? new URL(bucket) : null
    if (url !== null && url.origin === new URL(this.#base).origin && url.search === '' && url.hash === '')
      return url.href.replace(/\/+$/, '')
    throw new RemoteFailure(`${SERVICE}: the upload address of the deposition is not on ${new URL(this.#base).host}`, {
      failureClass: 'fatal',
      code: 'answer_invalid'
    })
  }

  async #send(request: RemoteRequest): Promise<RemoteAnswer> {
    const headers = { accept: 'application/json', ...request.headers, authorization: `Bearer ${this.#token}` }
    const answer = await this.#http.send({ ...request, headers })
    this.#clock.observe(answer.headers)
    return answer
  }

  /** Returns the failure of an answer `{status, message, errors: [{field, message}]}`. */
  #refused(answer: RemoteAnswer): RemoteFailure {
    let errors: unknown
    try {
      ;({ errors } = answers.record(JSON.parse(answer.text)))
    } catch {
      errors = []
    }
    const problems = (Array.isArray(errors) ? errors : []).slice(0, 5).flatMap(each => {
      const { field, message, messages } = (each ?? {}) as Record<string, unknown>
      if (typeof field !== 'string') return []
      const reason = Array.isArray(messages) ? messages.join(', ') : message
      return [typeof reason === 'string' ? `${field}: ${reason}` : field]
    })
    const reason = problems.map(problem => printable(problem, this.#token)).join('; ')
    return new RemoteFailure(
      `${SERVICE}: the deposition was refused (${answer.status})${reason === '' ? '' : `: ${reason}`}; correct the metadata and prepare again`,
      { failureClass: 'fatal', code: `http_${answer.status}`, httpStatus: answer.status }
    )
  }
}

/** Returns whether a list with the newest first, by creation or by change, reaches a time. */
function reaches(entries: readonly Deposition[], before: number): boolean {
  return (['createdAt', 'modifiedAt'] as const).some(field => {
    let last = Number.POSITIVE_INFINITY
    for (const { [field]: time } of entries) {
      if (time === null || time > last) return false
      last = time
    }
    return last < before
  })
}

function json(body: object): Pick<RemoteRequest, 'headers' | 'body'> {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

function depositionOf(value: unknown): Deposition {
  const { id, state, submitted, title, metadata, conceptrecid, created, modified, doi, links, files } =
    answers.record(value)
  const { notes, prereserve_doi, doi: ownDoi } = answers.record(metadata ?? {})
  const { bucket, html, record_html, latest_draft_html } = answers.record(links ?? {})
  return {
    id: typeof id === 'number' ? String(id) : answers.text(id),
    state: answers.text(state),
    submitted: submitted === true,
    title: typeof title === 'string' ? title : '',
    notes: typeof notes === 'string' ? notes : '',
    conceptId: typeof conceptrecid === 'string' || typeof conceptrecid === 'number' ? String(conceptrecid) : null,
    createdAt: timeOf(created),
    modifiedAt: timeOf(modified),
    doi: optionalText(doi) ?? (submitted === true ? optionalText(ownDoi) : null),
    reservedDoi: optionalText(answers.record(prereserve_doi ?? {}).doi),
    url: optionalText(submitted === true ? (record_html ?? html) : (html ?? latest_draft_html)),
    bucket: optionalText(bucket),
    files: Array.isArray(files) ? files.map(fileOf) : []
  }
}

function fileOf(value: unknown): RemoteFileEntry {
  const { filename, filesize, checksum } = answers.record(value)
  return { name: answers.text(filename), bytes: Number(filesize), hash: withoutPrefix(answers.text(checksum)) }
}

function timeOf(value: unknown): number | null {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? null : time
}

function withoutPrefix(checksum: string): string {
  return checksum.replace(/^md5:/, '')
}
