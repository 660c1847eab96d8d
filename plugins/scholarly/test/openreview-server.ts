import { ArchiveServer, type Exchange } from './archive-server.ts'
import { formOf } from './crossref-server.ts'

export const TOKEN = 'or-token-8a31-never-printed'
export const EMAIL = 'ada@example.org'
export const PASSWORD = 'or-pw-77c2-never-printed'
export const INVITATION = 'Example.org/2027/Conference/-/Submission'
export const SIGNATURE = '~Ada_Lovelace1'

interface StoredNote {
  readonly id: string
  readonly forum: string
  readonly invitations: readonly string[]
  readonly signatures: readonly string[]
  readonly domain: string
  readonly tcdate: number
  ddate?: number
  content: Record<string, { value: unknown }>
}

/**
 * OpenReview, API version 2. Formats: the Python client openreview-py 2.9.1 (api/client.py: `login_user`,
 * `post_note_edit`, `put_attachment`, `get_notes`), and for errors `{name, message, status, details}` the issues
 * openreview/openreview#61 (`TokenExpiredError`) and mireklzicar/openreview_downloader#4 (`RateLimitError`).
 */
export class OpenReviewServer extends ArchiveServer {
  readonly notes: StoredNote[] = []
  readonly attachments: { readonly name: string; readonly content: string }[] = []
  /** Tokens of logins that are valid. */
  readonly logins = new Set<string>()
  /** Fields of the invitation. A note with others is refused. */
  readonly fields = new Set(['title', 'abstract', 'authors', 'authorids', 'keywords', 'pdf', 'submission_digest'])
  needsSecondFactor = false
  now = Date.now
  #logins = 0

  constructor() {
    super(exchange => this.#route(exchange))
  }

  async #route(exchange: Exchange): Promise<void> {
    const { method, url, answer, request } = exchange
    const line = `${method} ${url.pathname}`
    if (line === 'POST /login') return await this.#login(exchange)
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    if (token !== TOKEN && !this.logins.has(token)) {
      request.resume()
      answer(401, error(401, 'TokenExpiredError', 'Token has expired. Please log in again.'))
    } else if (line === 'PUT /attachment') await this.#attach(exchange)
    else if (line === 'POST /notes/edits') await this.#edit(exchange)
    else if (line === 'GET /notes') answer(200, { notes: this.#find(url.searchParams) })
    else answer(404, error(404, 'NotFoundError', `${url.pathname} was not found`))
  }

  async #login({ json, answer }: Exchange): Promise<void> {
    const { id, password } = await json()
    if (id !== EMAIL || password !== PASSWORD) answer(400, error(400, 'Error', 'Invalid username or password'))
    else if (this.needsSecondFactor) answer(200, { mfaPending: true, mfaPendingToken: 'p', mfaMethods: ['totp'] })
    else {
      const token = `${TOKEN}-login-${++this.#logins}`
      this.logins.add(token)
      answer(200, { token, user: { profile: { id: SIGNATURE } } })
    }
  }

  async #attach({ request, chunks, answer }: Exchange): Promise<void> {
    const parts: Buffer[] = []
    for await (const chunk of chunks()) parts.push(chunk)
    const form = formOf(request.headers['content-type'] ?? '', Buffer.concat(parts).toString('latin1'))
    const { invitationId, name, file, 'file.name': fileName } = form ?? {}
    if (invitationId !== INVITATION || name !== 'pdf' || file === undefined || fileName === undefined)
      return answer(400, error(400, 'Error', 'invitationId, name and file are required'))
    this.attachments.push({ name: fileName, content: file })
    answer(200, { url: `/pdf/${this.attachments.length}.pdf` })
  }

  async #edit({ json, answer }: Exchange): Promise<void> {
    const { invitation, signatures, note } = (await json()) as {
      invitation?: unknown
      signatures?: unknown
      note?: { content?: Record<string, { value: unknown }> }
    }
    const content = note?.content ?? {}
    const unknown = Object.keys(content).find(name => !this.fields.has(name))
    if (invitation !== INVITATION) return answer(404, error(404, 'NotFoundError', 'The Invitation was not found'))
    if (!Array.isArray(signatures) || signatures[0] !== SIGNATURE)
      return answer(403, error(403, 'ForbiddenError', 'You cannot sign with this signature'))
    if (unknown !== undefined)
      return answer(400, error(400, 'AdditionalPropertiesError', `The property ${unknown} must NOT be present`))
    for (const name of ['title', 'abstract', 'authors'])
      if (content[name]?.value === undefined)
        return answer(400, error(400, 'MissingPropertyError', `The property ${name} must be present`))
    const stored = this.add(content)
    answer(200, { id: `edit-${stored.id}`, invitation, signatures, note: stored })
  }

  /** Creates a note, as a person does on the site. */
  add(content: Record<string, { value: unknown }>): StoredNote {
    const id = `n${this.notes.length + 1}Xy`
    const domain = 'Example.org/2027/Conference'
    const stored: StoredNote = {
      id,
      forum: id,
      invitations: [INVITATION],
      signatures: [SIGNATURE],
      domain,
      tcdate: this.now(),
      content: { ...content, venueid: { value: `${domain}/Submission` } }
    }
    this.notes.push(stored)
    return stored
  }

  #find(query: URLSearchParams): readonly StoredNote[] {
    const wanted = [...query].filter(([name]) => name.startsWith('content.'))
    return this.notes.filter(
      ({ id, invitations, signatures, content, ddate }) =>
        (!query.has('id') || query.get('id') === id) &&
        (!query.has('invitation') || invitations.includes(query.get('invitation') ?? '')) &&
        (!query.has('signature') || signatures.includes(query.get('signature') ?? '')) &&
        (query.has('id') || ddate === undefined) &&
        wanted.every(([name, value]) => content[name.slice('content.'.length)]?.value === value)
    )
  }
}

function error(status: number, name: string, message: string) {
  return { name, message, status, details: { reqId: '2026-11-27-1' } }
}
