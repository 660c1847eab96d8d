import { type ManifestMetadata, type PublicationManifest, RemoteFailure } from '@svc/contracts'

/** A creator of a work. `given` is null for organizations and single names. */
export interface Creator {
  readonly family: string
  readonly given: string | null
  readonly affiliation: string | null
  /** Four groups of four characters. */
  readonly orcid: string | null
}

/** CSL-JSON item, with the fields that adapters read. */
export interface CslItem {
  readonly id: string
  readonly type?: string
  readonly title?: string
  readonly author?: readonly { readonly family?: string; readonly given?: string; readonly literal?: string }[]
  readonly issued?: { readonly 'date-parts'?: readonly (readonly (number | string)[])[]; readonly raw?: string }
  readonly 'container-title'?: string
  readonly publisher?: string
  readonly volume?: string
  readonly issue?: string
  readonly page?: string
  readonly DOI?: string
  readonly URL?: string
  readonly ISBN?: string
  readonly ISSN?: string
}

/** Parts of a publication that adapters read. */
export interface Work {
  readonly metadata: ManifestMetadata
  readonly creators: readonly Creator[]
  readonly citations: readonly CslItem[]
  /** `YYYY-MM-DD`: the publication date of the metadata, else the day of the first content. */
  readonly date: string
}

const TEXT_FIELDS = [
  'type',
  'title',
  'container-title',
  'publisher',
  'volume',
  'issue',
  'page',
  'DOI',
  'URL',
  'ISBN',
  'ISSN'
] as const

/**
 * Parses the metadata and the citations.
 *
 * Throws {@link RemoteFailure} with class `preflight` and code `content_invalid` for invalid ones.
 */
export function workOf(manifest: PublicationManifest): Work {
  const metadata = metadataOf(manifest.metadata_json)
  return {
    metadata,
    creators: creatorsOf(manifest.author, metadata),
    citations: citationsOf(manifest.citations_json),
    date: dateOf(metadata.publication_date) ?? new Date(manifest.created_at_ms).toISOString().slice(0, 10)
  }
}

/** Returns `Family, Given` of a creator, or the single name. */
export function nameOf({ family, given }: Creator): string {
  return given === null ? family : `${family}, ${given}`
}

/** Returns the year of a CSL date, or null. */
export function yearOf({ issued }: CslItem): string | null {
  const year = String(issued?.['date-parts']?.[0]?.[0] ?? '').trim()
  return /^\d{4}$/.test(year) ? year : (/\b\d{4}\b/.exec(issued?.raw ?? '')?.[0] ?? null)
}

/** Returns a DOI without its resolver, in the original case, or null. */
export function doiOf(text: string | undefined): string | null {
  const doi = (text ?? '').trim().replace(/^(?:https?:\/\/(?:dx\.)?doi\.org\/|doi:\s*)/i, '')
  return /^10\.\d{4,9}\/[^\s]{1,200}$/.test(doi) ? doi : null
}

/** Returns the failure for content that an archive cannot use. */
export function invalid(problem: string): RemoteFailure {
  return new RemoteFailure(`${problem}; correct the publication and prepare it again`, {
    failureClass: 'preflight',
    code: 'content_invalid'
  })
}

function metadataOf(text: string | null): ManifestMetadata {
  const value = parsed(text ?? '{}')
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as ManifestMetadata
  throw invalid('metadata_json is not a JSON object')
}

/** Returns the authors in order: those of the metadata, else the field `author`, split at `;`. */
function creatorsOf(author: string, { creators }: ManifestMetadata): readonly Creator[] {
  const listed: unknown = creators
  if (listed !== undefined && !Array.isArray(listed)) throw invalid('creators of metadata_json is not a list')
  if (listed !== undefined && listed.length > 0) return listed.map(creatorOf)
  const names = author.split(';').map(collapse)
  return names.filter(name => name !== '').map(name => ({ ...named(name), affiliation: null, orcid: null }))
}

function creatorOf(value: unknown, index: number): Creator {
  const { name, affiliation, orcid } = (value ?? {}) as Record<string, unknown>
  const refuse = (problem: string) => invalid(`creator ${index + 1} of metadata_json ${problem}`)
  if (typeof name !== 'string' || collapse(name) === '') throw refuse('has no name')
  if (affiliation !== undefined && typeof affiliation !== 'string')
    throw refuse('has an affiliation that is not a text')
  const id = orcid === undefined ? null : orcidOf(orcid)
  if (orcid !== undefined && id === null) throw refuse('has an ORCID iD that is not valid')
  return { ...named(name), affiliation: collapse(affiliation ?? '') || null, orcid: id }
}

/** Returns an ORCID iD without its address, or null. Checks its last character (ISO 7064, 11-2). */
function orcidOf(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const id = value
    .trim()
    .replace(/^https?:\/\/orcid\.org\//i, '')
    .toUpperCase()
  if (!/^(?:\d{4}-){3}\d{3}[\dX]$/.test(id)) return null
  const digits = id.replaceAll('-', '')
  let total = 0
  for (const digit of digits.slice(0, -1)) total = (total + Number(digit)) * 2
  const check = (12 - (total % 11)) % 11
  return digits.at(-1) === (check === 10 ? 'X' : String(check)) ? id : null
}

function citationsOf(text: string | null): readonly CslItem[] {
  const items = parsed(text ?? '[]')
  if (!Array.isArray(items)) throw invalid('citations_json is not a JSON array')
  return items.map(citationOf)
}

/** Returns the value of JSON text, or undefined. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Splits `Family, Given`, or `Given Family`. */
function named(text: string): Pick<Creator, 'family' | 'given'> {
  const name = collapse(text)
  const comma = name.indexOf(',')
  if (comma > 0) return { family: name.slice(0, comma).trim(), given: name.slice(comma + 1).trim() || null }
  const space = name.lastIndexOf(' ')
  return space < 0 ? { family: name, given: null } : { family: name.slice(space + 1), given: name.slice(0, space) }
}

function citationOf(item: unknown, index: number): CslItem {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw invalid(`item ${index + 1} of citations_json is not an object`)
  const from = item as Record<string, unknown>
  const id = typeof from.id === 'number' ? String(from.id) : from.id
  const texts = Object.fromEntries(
    TEXT_FIELDS.flatMap(field => {
      const value = typeof from[field] === 'number' ? String(from[field]) : from[field]
      return typeof value === 'string' && value.trim() !== '' ? [[field, collapse(value)]] : []
    })
  )
  const authors = Array.isArray(from.author) ? from.author.filter(isPerson) : []
  const { issued } = from
  return {
    id: typeof id === 'string' && id.trim() !== '' ? id.trim() : `ref${index + 1}`,
    ...texts,
    ...(authors.length === 0 ? {} : { author: authors }),
    ...(isDate(issued) ? { issued } : {})
  }
}

function isPerson(value: unknown): value is NonNullable<CslItem['author']>[number] {
  if (typeof value !== 'object' || value === null) return false
  const { family, given, literal } = value as Record<string, unknown>
  return [family, given, literal].every(each => each === undefined || typeof each === 'string')
}

function isDate(value: unknown): value is NonNullable<CslItem['issued']> {
  if (typeof value !== 'object' || value === null) return false
  const { 'date-parts': parts, raw } = value as Record<string, unknown>
  return (
    (parts === undefined || (Array.isArray(parts) && parts.every(Array.isArray))) &&
    (raw === undefined || typeof raw === 'string')
  )
}

function dateOf(text: unknown): string | null {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const time = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text ? null : text
}

/** Returns text with single spaces. */
export function collapse(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
