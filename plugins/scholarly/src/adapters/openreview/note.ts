import type { PublicationManifest } from '@svc/contracts'
import { keywordsOf } from '../deposit/content.ts'
import { collapse, invalid, type Work } from '../work.ts'

/** Fields with content of the publication, which cannot contain the digest instead. */
export const CONTENT_FIELDS: ReadonlySet<string> = new Set(['title', 'abstract', 'authors', 'keywords', 'pdf'])

/** Field of a note: `{ "value": … }`. */
export interface NoteField {
  readonly value: unknown
}

export type NoteContent = Readonly<Record<string, NoteField>>

/** Note of the API, with the fields that are read. */
export interface Note {
  readonly id: string
  readonly forum?: string
  readonly domain?: string
  /** Unix milliseconds of the creation at the server. */
  readonly tcdate?: number
  /** Unix milliseconds of the deletion. */
  readonly ddate?: number | null
  readonly content?: Readonly<Record<string, { readonly value?: unknown } | undefined>>
}

const MAX_EXTRA_FIELDS = 100

/**
 * Returns the content of a note: title, abstract, authors and keywords, with the fields of `openreview.content` in the
 * metadata, which win. Values there are those of the invitation; null leaves a field out.
 *
 * @param marker Field that receives the digest, or null.
 */
export function noteContent(manifest: PublicationManifest, work: Work, marker: string | null): NoteContent {
  const title = collapse(manifest.title)
  if (title === '') throw invalid('the title is empty')
  const keywords = keywordsOf(work.metadata)
  const fields: Record<string, unknown> = {
    title,
    abstract: manifest.abstract_text,
    authors: work.creators.map(({ family, given }) => (given === null ? family : `${given} ${family}`)),
    keywords: keywords.length === 0 ? null : keywords,
    ...extraFields(work.metadata.openreview)
  }
  if (typeof fields.title === 'string') fields.title = collapse(fields.title)
  if (marker !== null) fields[marker] = manifest.content_sha3_256
  else if (typeof fields.title !== 'string' || fields.title === '')
    throw invalid('openreview.content replaces the title, by which the note is found, and there is no marker field')
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === null ? [] : [[name, { value }]]))
  )
}

function extraFields(openreview: unknown): Readonly<Record<string, unknown>> {
  if (openreview === undefined) return {}
  const { content } = (openreview ?? {}) as { readonly content?: unknown }
  if (content === undefined) return {}
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw invalid('openreview.content of the metadata is not an object')
  const fields = Object.entries(content)
  if (fields.length > MAX_EXTRA_FIELDS) throw invalid(`openreview.content has more than ${MAX_EXTRA_FIELDS} fields`)
  for (const [name] of fields)
    if (!/^[A-Za-z]\w{0,79}$/.test(name))
      throw invalid(`openreview.content has a field with the name ${JSON.stringify(name)}`)
  return Object.fromEntries(fields)
}

/** Returns whether a note has the same content as the one to create. A PDF has another address for each upload. */
export function hasContent({ content = {} }: Note, expected: NoteContent): boolean {
  return Object.entries(expected).every(
    ([name, { value }]) => name === 'pdf' || normal(content[name]?.value) === normal(value)
  )
}

/** Returns the title of a note, as it is compared. */
export function titleOf({ content = {} }: Note): string {
  const title = content.title?.value
  return typeof title === 'string' ? collapse(title) : ''
}

function normal(value: unknown): string {
  return collapse(JSON.stringify(value ?? null))
}

/**
 * Returns the status of a note from the venue that it belongs to: `withdrawn`, `rejected`, `accepted`, `submitted`, or
 * the last part of the venue in lower case, such as `under_review`.
 */
export function noteStatus({ ddate, domain, content = {} }: Note): string {
  if (typeof ddate === 'number') return 'withdrawn'
  const venue = content.venueid?.value
  if (typeof venue !== 'string' || venue === '') return 'submitted'
  if (venue === domain) return 'accepted'
  const last = (venue.split('/').at(-1) ?? '').toLowerCase()
  if (last.includes('withdrawn')) return 'withdrawn'
  if (last.includes('reject')) return 'rejected'
  return last === 'submission' ? 'submitted' : last
}

/** Venues between submission and decision: those of conferences, and of journals such as TMLR. */
export const INTERMEDIATE = [
  'submitted',
  'under_review',
  'decision_pending',
  'assigning_ae',
  'assigned_ae',
  'post_submission',
  'active_submission',
  'blind_submission'
]
