import type { ManifestContent, PublicationMedia } from '@svc/contracts'
import { closest } from '@svc/plugin-sdk'
import { invalid } from '../content.ts'
import { publicationErrors } from '../errors.ts'
import { objectOf } from '../review/json.ts'
import { refuse, type SplitText, splitFrontMatter } from './front-matter.ts'
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
/** Those of them that are texts. */
const TEXTS = ['license', 'language', 'publication_date', 'version', 'doi'] as const
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
    ...(split === null || split.fields === null ? {} : fromFields(split.fields, split.lineOf, path ?? '')),
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
  if (metadata?.media !== undefined) throw invalid('metadata_json', 'media is set by svc from the images of the text')
  if (media.length === 0) return metadata_json
  if (metadata === null) throw invalid('metadata_json', 'it is no JSON object, and cannot list the images of the text')
  return JSON.stringify({ ...metadata, media })
}

function statedFields({ abstract, body, ...rest }: StatedContent): Partial<ManifestContent> {
  const entries = Object.entries({ ...rest, abstract_text: abstract, body_markdown: body })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** Reads fields of the front matter. Errors have their lines. */
type Refuse = (field: string, problem: string, hint?: string) => Error

function fromFields(
  fields: Readonly<Record<string, unknown>>,
  lineOf: SplitText['lineOf'],
  file: string
): Partial<ManifestContent> {
  const fail: Refuse = (field, problem, hint) =>
    refuse(file, lineOf(field), `${field} in the front matter ${problem}`, hint)
  for (const field of Object.keys(fields)) {
    if ((FIELDS as readonly string[]).includes(field)) continue
    const near = closest(field, FIELDS)
    const meant = near === undefined ? 'other facts belong under metadata:' : `did you mean ${near}?`
    throw refuse(file, lineOf(field), `unknown field ${field} in the front matter; ${meant}`)
  }
  const text = (field: string) => textOf(fields[field], field, fail)
  const entries = Object.entries({
    publication_id: text('id'),
    content_type: text('type'),
    source_ref: text('source_ref'),
    title: text('title'),
    author: authorOf(fields.author, fail),
    abstract_text: text('abstract'),
    citations_json: fields.citations == null ? undefined : citationsOf(fields.citations, fail),
    metadata_json: metadataOf(fields, fail)
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** YAML reads 1.10 as the number 1.1, so a number is refused instead of changed. */
function textOf(value: unknown, field: string, fail: Refuse): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  throw fail(field, 'is not a text', `write it in quotes: ${field}: "…"`)
}

/** A list of authors becomes one text, split by `; `. */
function authorOf(value: unknown, fail: Refuse): string | undefined {
  if (value === undefined || value === null) return undefined
  const names = Array.isArray(value) ? value : [value]
  if (!names.every(each => typeof each === 'string')) throw fail('author', 'is no text or list of texts')
  return names.join('; ')
}

function citationsOf(value: unknown, fail: Refuse): string {
  if (!Array.isArray(value)) throw fail('citations', 'is no list of CSL-JSON items')
  return JSON.stringify(value)
}

function metadataOf(fields: Readonly<Record<string, unknown>>, fail: Refuse): string | undefined {
  const metadata = fields.metadata ?? {}
  if (typeof metadata !== 'object' || Array.isArray(metadata)) throw fail('metadata', 'is no map of fields')
  for (const field of TEXTS) textOf(fields[field], field, fail)
  const known = METADATA.flatMap(field => (fields[field] == null ? [] : [[field, fields[field]] as const]))
  const all = { ...metadata, ...Object.fromEntries(known) }
  return Object.keys(all).length === 0 ? undefined : JSON.stringify(all)
}
