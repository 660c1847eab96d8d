import { createHash } from 'node:crypto'

/** Kinds of publications that svc itself creates. Other kinds are allowed. */
export type PublicationKind = 'article' | 'dataset' | 'software' | 'news_item' | (string & {})

/** Content of a publication. All nine fields are part of the digest. */
export interface ManifestContent {
  /** 1 to 200 characters of letters, digits, `.`, `_`, `:` and `-`; begins with a letter or digit. */
  readonly publication_id: string
  readonly content_type: PublicationKind
  /** Where the text comes from, such as a path in the project or a commit. */
  readonly source_ref: string | null
  readonly title: string
  readonly author: string
  readonly abstract_text: string | null
  readonly body_markdown: string
  /** JSON array of CSL-JSON items, as text. */
  readonly citations_json: string | null
  /** JSON object with {@link ManifestMetadata}, as text. Never contains credentials. */
  readonly metadata_json: string | null
}

/** Fields of `metadata_json` that svc reads. Other fields are kept and ignored. */
export interface ManifestMetadata {
  /** SPDX id, such as `CC-BY-4.0`. */
  readonly license?: string
  readonly keywords?: readonly string[]
  readonly language?: string
  /** `YYYY-MM-DD`. */
  readonly publication_date?: string
  readonly version?: string
  /** Authors in order. Absent: the field `author`, split at `;`. */
  readonly creators?: readonly {
    /** `Family, Given`. */
    readonly name: string
    readonly affiliation?: string
    readonly orcid?: string
  }[]
  readonly doi?: string
  /** Evidence for the worthiness score; see {@link WorthinessEvidence}. */
  readonly worthiness?: unknown
  readonly [more: string]: unknown
}

export const PUBLICATION_STATES = ['draft', 'approved', 'published', 'publish_failed'] as const

/** A local state, or the status that an archive reported, such as `submitted`. */
export type PublicationState = (typeof PUBLICATION_STATES)[number] | (string & {})

export interface PublicationManifest extends ManifestContent {
  /** Digest of the content: 64 lower-case hex digits. */
  readonly content_sha3_256: string
  /** 1 for the first content; increases with each other digest. */
  readonly version: number
  readonly state: PublicationState
  /** Unix milliseconds. */
  readonly created_at_ms: number
  readonly updated_at_ms: number
}

/**
 * Returns the digest of a publication: SHA3-256, as lower-case hex, over the compact JSON object of the nine fields in
 * alphabetical order, with null for absent ones.
 */
export function manifestDigest(content: ManifestContent): string {
  const { abstract_text, author, body_markdown, citations_json, content_type } = content
  const { metadata_json, publication_id, source_ref, title } = content
  const ordered = {
    abstract_text,
    author,
    body_markdown,
    citations_json,
    content_type,
    metadata_json,
    publication_id,
    source_ref,
    title
  }
  return createHash('sha3-256')
    .update(JSON.stringify(ordered, (_, value) => value ?? null))
    .digest('hex')
}
