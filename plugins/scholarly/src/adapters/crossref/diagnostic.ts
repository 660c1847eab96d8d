import { parseXml, XmlElement } from '@rgrove/parse-xml'
import { RemoteFailure } from '@svc/contracts'

/** A log of one DOI has a few kilobytes, and 100 bytes for each citation. */
const MAX_BYTES = 256 * 1024
const MAX_MESSAGES = 20
const MAX_MESSAGE = 500

/** Result of a submission, from the submission log. */
export interface Diagnostic {
  /** Status of the batch in Crossref's words: `queued`, `in_process`, `completed`, `unknown_submission`. */
  readonly batch: string
  readonly submissionId: string | null
  readonly records: readonly { readonly status: string; readonly doi: string | null; readonly message: string }[]
}

/** Parses a submission log. Document types are ignored, so no entity is expanded. Throws {@link RemoteFailure}. */
export function parseDiagnostic(text: string): Diagnostic {
  const root = rootOf(text)
  if (root?.name !== 'doi_batch_diagnostic') throw unreadable()
  const records = elements(root, 'record_diagnostic').map(record => ({
    status: (record.attributes.status ?? '').toLowerCase(),
    doi: childText(record, 'doi'),
    message: (childText(record, 'msg') ?? '').replace(/\s+/g, ' ').trim().slice(0, MAX_MESSAGE)
  }))
  return {
    batch: (root.attributes.status ?? 'completed').toLowerCase(),
    submissionId: childText(root, 'submission_id'),
    records: records.slice(0, MAX_MESSAGES)
  }
}

/** Whether Crossref has received the submission. Before it is queued, it is unknown. */
export function isReceived({ batch }: Diagnostic): boolean {
  return batch !== 'unknown_submission'
}

/** Returns the status of a submission: `published` or `failed` when it is processed, else Crossref's word. */
export function statusOf({ batch, records }: Diagnostic): string {
  if (batch !== 'completed' || records.length === 0) return batch
  if (records.some(({ status }) => status === 'failure')) return 'failed'
  return records.every(({ status }) => status === 'success' || status === 'warning')
    ? 'published'
    : 'unknown_diagnostic'
}

function rootOf(text: string): XmlElement | null {
  if (Buffer.byteLength(text) > MAX_BYTES) throw unreadable()
  try {
    // The parser replaces each carriage return in a copy of the text, in quadratic time.
    return parseXml(text.replace(/\r\n?/g, '\n')).root
  } catch {
    throw unreadable()
  }
}

function elements(parent: XmlElement, name: string): XmlElement[] {
  return parent.children.filter((child): child is XmlElement => child instanceof XmlElement && child.name === name)
}

function childText(parent: XmlElement, name: string): string | null {
  return elements(parent, name)[0]?.text.trim() || null
}

function unreadable(): RemoteFailure {
  return new RemoteFailure('Crossref: the answer is not a submission log; try again later', {
    failureClass: 'transient',
    code: 'answer_invalid'
  })
}
