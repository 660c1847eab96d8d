import type { ManifestContent, PublicationMedia } from '@svc/contracts'
import { closest } from '@svc/plugin-sdk'
import { invalid } from '../content.ts'
import { publicationErrors } from '../errors.ts'
import { objectOf } from '../review/json.ts'
import { refuse, splitFrontMatter } from './front-matter.ts'
import { readMedia } from './media.ts'
import { readProjectFile } from './read-file.ts'

/** Fields of a publication that a caller states. They win over those of the file. */
export interface StatedContent {
  readonly publication_id?: string
  readonly content_type?: string
  readonly source_ref?: string
  readonly title?: string
  readonly author?: string
  readonly abstract?: string
  readonly body?: string
  readonly citations_json?: string
  readonly metadata_json?: string
}

/** Fields of the front matter that become fields of `metadata_json`. */
const METADATA = [
  'license',
  'keywords',
  'language',
  'publication_date',
  'version',
  'creators',
  'doi',
  'worthiness'
] as const
const FIELDS = [
  ...['id', 'type', 'title', 'author', 'abstract', 'source_ref', 'citations', 'metadata'],
  ...METADATA
] as const

/**
 * Returns the content of a publication from a Markdown file of the project, from stated fields, or from both. Local
 * images of a file become `media` in the metadata, with their digests: approvals are for these images, too. Throws
 * `PUB_FILE_OUTSIDE`, `PUB_FILE_INVALID`, `PUB_OPTIONS_CONFLICT` and `PUB_CONTENT_INVALID`.
 */
export async function readContent(
  projectRoot: string,
  path: string | undefined,
  stated: StatedContent,
  signal: AbortSignal
): Promise<ManifestContent> {
  if (path !== undefined && stated.body !== undefined)
    throw publicationErrors.create(
      'PUB_OPTIONS_CONFLICT',
      'a publication has its text from a file or from body, not both'
    )
  const file = path === undefined ? null : await readProjectFile(projectRoot, path)
  const split = file === null ? null : splitFrontMatter(file.text, path ?? '')
  const { publication_id, body_markdown, ...content } = {
    ...(split === null ? {} : { body_markdown: split.body, source_ref: file?.path ?? null }),
    ...(split === null || split.fields === null ? {} : fromFields(split.fields, path ?? '')),
    ...statedFields(stated)
  } as Partial<ManifestContent>
  if (publication_id === undefined)
    throw invalid('publication_id', 'it is missing; write id: in the front matter, or use --id')
  if (body_markdown === undefined) throw invalid('body_markdown', 'it is missing; name a file, or state body')
  const media = file === null || split === null ? [] : await readMedia(projectRoot, file.path, split, signal)
  const metadata_json = withMedia(content.metadata_json ?? null, media)
  return { publication_id, body_markdown, ...EMPTY, ...content, metadata_json }
}

const EMPTY = {
  content_type: 'article',
  source_ref: null,
  title: '',
  author: '',
  abstract_text: null,
  citations_json: null,
  metadata_json: null
}

/** Adds the images to the metadata. An author cannot state them, since only svc reads the files. */
function withMedia(metadata_json: string | null, media: readonly PublicationMedia[]): string | null {
  const metadata = metadata_json === null ? {} : objectOf(metadata_json)
  if (media.length === 0) return metadata_json
  if (metadata === null) throw invalid('metadata_json', 'it is no JSON object, and cannot list the images of the text')
  if (metadata.media !== undefined) throw invalid('metadata_json', 'media is set by svc from the images of the text')
  return JSON.stringify({ ...metadata, media })
}

function statedFields({ abstract, body, ...rest }: StatedContent): Partial<ManifestContent> {
  const entries = Object.entries({ ...rest, abstract_text: abstract, body_markdown: body })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function fromFields(fields: Readonly<Record<string, unknown>>, file: string): Partial<ManifestContent> {
  for (const field of Object.keys(fields)) {
    if ((FIELDS as readonly string[]).includes(field)) continue
    const near = closest(field, FIELDS)
    throw refuse(
      file,
      1,
      `unknown field ${field} in the front matter; ${near === undefined ? 'other facts belong under metadata:' : `did you mean ${near}?`}`
    )
  }
  const text = (field: string): string | undefined => {
    const value = fields[field]
    if (value === undefined || value === null) return undefined
    if (typeof value === 'string' || typeof value === 'number') return String(value)
    throw refuse(file, 1, `${field} in the front matter is not a text`)
  }
  const entries = Object.entries({
    publication_id: text('id'),
    content_type: text('type'),
    source_ref: text('source_ref'),
    title: text('title'),
    author: authorOf(fields.author, file),
    abstract_text: text('abstract'),
    citations_json: fields.citations == null ? undefined : citationsOf(fields.citations, file),
    metadata_json: metadataOf(fields, file)
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** A list of authors becomes one text, split by `; `. */
function authorOf(value: unknown, file: string): string | undefined {
  if (value === undefined || value === null) return undefined
  const names = Array.isArray(value) ? value : [value]
  if (!names.every(each => typeof each === 'string'))
    throw refuse(file, 1, 'author in the front matter is no text or list')
  return names.join('; ')
}

function citationsOf(value: unknown, file: string): string {
  if (!Array.isArray(value)) throw refuse(file, 1, 'citations in the front matter is no list of CSL-JSON items')
  return JSON.stringify(value)
}

function metadataOf(fields: Readonly<Record<string, unknown>>, file: string): string | undefined {
  const { metadata = {} } = fields
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    throw refuse(file, 1, 'metadata in the front matter is no map of fields')
  const known = METADATA.flatMap(field => (fields[field] == null ? [] : [[field, fields[field]] as const]))
  const all = { ...metadata, ...Object.fromEntries(known) }
  return Object.keys(all).length === 0 ? undefined : JSON.stringify(all)
}
