import { isDeepStrictEqual } from 'node:util'
import {
  type AdapterProblem,
  isRemoteFailure,
  type PublicationManifest,
  type RemoteAnswer,
  type RemoteClient,
  RemoteFailure,
  type RemoteRequest,
  type ScholarlyAdapter,
  type SubmissionContext,
  type SubmissionReceipt
} from '@svc/contracts'
import { createOnce } from '../deposit/create-once.ts'
import type { DepositFile } from '../deposit/deposit-file.ts'
import { depositFiles } from '../deposit/deposit-files.ts'
import { fingerprint } from '../deposit/fingerprint.ts'
import { checkPlanned, uploadStep } from '../deposit/planned-files.ts'
import { multipart } from '../multipart.ts'
import type { AdapterParts } from '../parts.ts'
import { invalid, workOf } from '../work.ts'
import {
  CONTENT_FIELDS,
  hasContent,
  INTERMEDIATE,
  type Note,
  type NoteContent,
  noteContent,
  noteStatus,
  titleOf
} from './note.ts'
import { LoginCache, OpenReviewSession } from './session.ts'

const NAME = 'openreview'
/** Tolerated difference between the clocks of this machine and of the server. */
const CLOCK_SKEW_MS = 10 * 60_000

export interface OpenReviewOptions {
  readonly now?: () => number
}

interface Target {
  readonly invitation: string
  readonly signature: string
  /** Field that contains the digest, or null. */
  readonly marker: string | null
}

/**
 * Submits publications as notes to an invitation of OpenReview (API version 2). The server creates a note for each edit
 * that it receives: the intent is saved first, and after a lost answer the note is looked for by the marker field, else
 * by its invitation, signature and title.
 */
export function openReview(parts: AdapterParts, options: OpenReviewOptions = {}): ScholarlyAdapter {
  const { now = Date.now } = options
  const logins = new LoginCache()
  const session = (http: RemoteClient, signal: AbortSignal) => new OpenReviewSession(parts, http, logins, signal)

  return {
    name: NAME,
    summary: 'Submits a note to a venue of OpenReview',
    live: true,
    preflight: 'metadata_complete',
    intermediateStatuses: INTERMEDIATE,
    httpAttempts: () => parts.settings().openreview_http_max_attempts,
    problem,
    async checkAccess({ http, signal }) {
      const { invitation, signature } = target()
      await notes(session(http, signal), { invitation, signature, limit: '1' })
      return { account: signature }
    },
    async plan(manifest, signal) {
      const { invitation, signature, marker } = target()
      const fields = Object.keys(noteContent(manifest, workOf(manifest), marker))
      const pdf = await pdfOf(manifest, signal)
      const upload = pdf === null ? [] : [uploadStep(pdf)]
      return {
        steps: [
          `Look for a note of ${signature} with this ${marker === null ? 'title' : `digest in ${marker}`} at ${invitation}`,
          ...upload,
          `Create a note with the fields ${[...fields, ...(pdf === null ? [] : ['pdf'])].join(', ')}`
        ],
        files: pdf === null ? [] : [{ name: pdf.name, bytes: pdf.bytes, sha3_256: pdf.sha3_256 }]
      }
    },
    submit,
    async fetchStatus(id, { http, signal }) {
      const [note] = await notes(session(http, signal), { id })
      if (note === undefined) return { status: 'not_found', detail_json: JSON.stringify({ id }) }
      const venue = note.content?.venue?.value
      const venueId = note.content?.venueid?.value
      return {
        status: noteStatus(note),
        detail_json: JSON.stringify({ id, forum: note.forum, venue, venueid: venueId })
      }
    }
  }

  async function problem(): Promise<AdapterProblem | null> {
    const settings = parts.settings()
    const token = await parts.secret(settings.openreview_access_token, 'SVC_OPENREVIEW_ACCESS_TOKEN')
    const email = await parts.secret(settings.openreview_email, 'SVC_OPENREVIEW_EMAIL')
    const password = await parts.secret(settings.openreview_password, 'SVC_OPENREVIEW_PASSWORD')
    const missing = [
      settings.openreview_invitation === undefined ? ['SVC_OPENREVIEW_INVITATION'] : [],
      settings.openreview_signature === undefined ? ['SVC_OPENREVIEW_SIGNATURE'] : [],
      token === null && (email === null || password === null)
        ? ['SVC_OPENREVIEW_ACCESS_TOKEN, or SVC_OPENREVIEW_EMAIL with SVC_OPENREVIEW_PASSWORD']
        : []
    ].flat()
    if (missing.length === 0) {
      const { openreview_marker_field: marker = '' } = settings
      if (!CONTENT_FIELDS.has(marker)) return null
      return {
        failureClass: 'config',
        message: `OpenReview: the marker field ${marker} has other content`,
        hint: 'set SVC_OPENREVIEW_MARKER_FIELD to a text field of the invitation for the digest only'
      }
    }
    return {
      failureClass: 'config',
      message: `OpenReview: not set: ${missing.join('; ')}`,
      hint: 'set the invitation and the signature of the venue, and store credentials with svc secrets set VARIABLE'
    }
  }

  async function submit(manifest: PublicationManifest, context: SubmissionContext): Promise<SubmissionReceipt> {
    const to = target()
    const checkpoint = checkpointFor(to, context)
    const content = noteContent(manifest, workOf(manifest), to.marker)
    const server = session(context.http, context.signal)
    let answer: string | null = null
    const id = await createOnce<Note>({
      archive: 'OpenReview',
      context: checkpoint,
      settleMs: parts.settings().openreview_settle_seconds * 1_000,
      now,
      idOf: note => note.id,
      find: createdAfter => find(server, to, content, createdAfter),
      async create() {
        const pdf = await pdfOf(manifest, context.signal)
        checkPlanned(pdf === null ? [] : [pdf], context.plannedFiles)
        const fields = pdf === null ? content : { ...content, pdf: { value: await upload(server, to, pdf, context) } }
        const created = await server.send({
          method: 'POST',
          url: '/notes/edits',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ invitation: to.invitation, signatures: [to.signature], note: { content: fields } })
        })
        answer = created.text
        return noteOf((created.json() as { readonly note?: unknown } | null)?.note)
      }
    })
    return {
      adapter: NAME,
      external_submission_id: id,
      status: 'submitted',
      ...(answer === null ? {} : { response_fingerprint: fingerprint(answer) }),
      metadata_json: JSON.stringify({
        url: `https://openreview.net/forum?id=${encodeURIComponent(id)}`,
        invitation: to.invitation
      })
    }
  }

  /** Returns the notes of this publication. Throws if there is one of other content with the same title. */
  async function find(
    server: OpenReviewSession,
    { invitation, signature, marker }: Target,
    content: NoteContent,
    createdAfter: number | null
  ): Promise<readonly Note[]> {
    const query = { invitation, signature }
    if (marker !== null) {
      const digest = String(content[marker]?.value)
      const found = await notes(server, { ...query, [`content.${marker}`]: digest })
      return found.filter(note => note.content?.[marker]?.value === digest)
    }
    const title = String(content.title?.value)
    const found = await notes(server, { ...query, 'content.title': title })
    const candidates = found.filter(note => titleOf(note) === title && typeof note.ddate !== 'number')
    const isOwn = (note: Note): boolean =>
      hasContent(note, content) || (createdAfter !== null && (note.tcdate ?? 0) >= createdAfter - CLOCK_SKEW_MS)
    const other = candidates.find(note => !isOwn(note))
    if (other !== undefined)
      throw new RemoteFailure(
        `OpenReview: ${signature} has submitted another note with this title, ${other.id}; edit or delete that one, or change the title`,
        { failureClass: 'fatal', code: 'entry_exists' }
      )
    return candidates
  }

  async function upload(
    server: OpenReviewSession,
    { invitation }: Target,
    { name, bytes, sha3_256, body }: DepositFile,
    context: SubmissionContext
  ): Promise<string> {
    const form = multipart(
      { invitationId: invitation, name: 'pdf' },
      { field: 'file', fileName: name, contentType: 'application/pdf' }
    )
    const answer = await sendUpload(server, {
      method: 'PUT',
      url: '/attachment',
      headers: { 'content-type': form.contentType },
      body:
        body instanceof Uint8Array
          ? Buffer.concat([form.before, body, form.after])
          : { ...body, sha3_256, before: form.before, after: form.after },
      onSent: sentBytes => context.progress({ file: name, sentBytes, totalBytes: bytes })
    })
    const { url } = (answer.json() ?? {}) as { readonly url?: unknown }
    if (typeof url === 'string' && url !== '') return url
    throw new RemoteFailure('OpenReview: the answer to the upload contains no address; try again later', {
      failureClass: 'transient',
      code: 'answer_invalid'
    })
  }

  /** Returns the PDF among the files of the staging folder, or null. */
  async function pdfOf(manifest: PublicationManifest, signal: AbortSignal): Promise<DepositFile | null> {
    const files = await depositFiles(parts, manifest, signal)
    const pdfs = files.filter(({ name }) => name.toLowerCase().endsWith('.pdf'))
    if (pdfs.length > 1) throw invalid(`the staging folder has ${pdfs.length} PDF files, and a note has one`)
    return pdfs[0] ?? null
  }

  function target(): Target {
    const { openreview_invitation: invitation, openreview_signature: signature } = parts.settings()
    const { openreview_marker_field: marker = null } = parts.settings()
    if (invitation !== undefined && signature !== undefined) return { invitation, signature, marker }
    throw new RemoteFailure(
      'OpenReview: set SVC_OPENREVIEW_INVITATION and SVC_OPENREVIEW_SIGNATURE to those of the venue',
      { failureClass: 'config', code: 'not_configured' }
    )
  }
}

/**
 * Keeps the target in the checkpoint. Throws if a note may have been created, and would be looked for at another place.
 */
function checkpointFor(
  { invitation, signature, marker }: Target,
  context: SubmissionContext
): Pick<SubmissionContext, 'checkpoint' | 'saveCheckpoint'> {
  const { checkpoint } = context
  const now = { invitation, signature, marker }
  const earlier = checkpoint?.target as typeof now | undefined
  if (checkpoint?.creating_at_ms !== undefined && earlier !== undefined && !isDeepStrictEqual(earlier, now))
    throw new RemoteFailure(
      `OpenReview: a note for ${earlier.signature} may have been created at ${earlier.invitation}; restore SVC_OPENREVIEW_INVITATION, _SIGNATURE and _MARKER_FIELD until it is found`,
      { failureClass: 'config', code: 'target_changed' }
    )
  return { checkpoint, saveCheckpoint: facts => context.saveCheckpoint({ ...facts, target: now }) }
}

/** Sends an upload. No note depends on it yet, so its outcome need not be known. */
async function sendUpload(server: OpenReviewSession, request: RemoteRequest): Promise<RemoteAnswer> {
  try {
    return await server.send(request)
  } catch (error) {
    if (!isRemoteFailure(error) || !error.outcomeUnknown) throw error
    const { message, failureClass, code, httpStatus, retryAfterMs } = error
    throw new RemoteFailure(message, {
      failureClass,
      code,
      ...(httpStatus === undefined ? {} : { httpStatus }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs })
    })
  }
}

async function notes(server: OpenReviewSession, query: Readonly<Record<string, string>>): Promise<readonly Note[]> {
  // Without an id, 404 means an unknown invitation, or a wrong address of the API.
  const accept = query.id === undefined ? [] : [404]
  const answer = await server.send({ method: 'GET', url: `/notes?${new URLSearchParams(query)}`, accept })
  if (answer.status === 404) return []
  const { notes: found } = (answer.json() ?? {}) as { readonly notes?: unknown }
  if (Array.isArray(found)) return found.map(noteOf)
  throw unreadable()
}

function noteOf(value: unknown): Note {
  const { id, content } = (value ?? {}) as { readonly id?: unknown; readonly content?: unknown }
  if (typeof id !== 'string' || id === '' || content === null) throw unreadable()
  return value as Note
}

function unreadable(): RemoteFailure {
  return new RemoteFailure('OpenReview: the answer contains no note; it is looked up later', {
    failureClass: 'transient',
    code: 'answer_invalid',
    outcomeUnknown: true
  })
}
