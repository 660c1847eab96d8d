import type { ManifestContent, PreflightFinding } from '@svc/contracts'
import { type JsonObject, objectOf, parseJson } from './json.ts'

/** Creators that are read; more are reported by `creators_too_many`. */
export const MAX_CREATORS = 500

export interface Creator {
  readonly name: string
  readonly affiliation: string | null
  readonly orcid: string | null
}

/** A publication whose JSON texts are parsed once for all rules. */
export interface Subject {
  readonly content: ManifestContent
  /** Null if it is absent or no JSON object. */
  readonly metadata: JsonObject | null
  /** Null if it is absent or no array of objects. */
  readonly citations: readonly JsonObject[] | null
  /** Creators of the metadata, else the field `author`, split at `;`. */
  readonly creators: readonly Creator[]
}

/** Checks one aspect of a publication. Never throws, and takes time in proportion to the content. */
export type Rule = (subject: Subject) => readonly PreflightFinding[]

export function subjectOf(content: ManifestContent): Subject {
  const metadata = objectOf(content.metadata_json)
  return { content, metadata, citations: citationsOf(content.citations_json), creators: creatorsOf(content, metadata) }
}

function citationsOf(text: string | null): readonly JsonObject[] | null {
  const items = text === null ? undefined : parseJson(text)
  if (!Array.isArray(items)) return null
  const objects = items.map(each => (typeof each === 'string' ? null : objectOf(each)))
  return objects.every(each => each !== null) ? (objects as JsonObject[]) : null
}

function creatorsOf({ author }: ManifestContent, metadata: JsonObject | null): Creator[] {
  const text = (value: unknown) => (typeof value === 'string' && value.trim() !== '' ? value.trim() : null)
  if (Array.isArray(metadata?.creators)) {
    return metadata.creators.slice(0, MAX_CREATORS).flatMap(each => {
      const creator = objectOf(each)
      const name = text(creator?.name)
      return name === null ? [] : [{ name, affiliation: text(creator?.affiliation), orcid: text(creator?.orcid) }]
    })
  }
  return author
    .split(';', MAX_CREATORS)
    .map(each => each.trim())
    .filter(each => each !== '')
    .map(name => ({ name, affiliation: null, orcid: null }))
}

const of =
  (severity: PreflightFinding['severity']) =>
  (code: string, message: string): PreflightFinding => ({ code, severity, message })

export const error = of('error')
export const warning = of('warning')
export const info = of('info')
