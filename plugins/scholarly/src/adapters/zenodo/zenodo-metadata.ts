import type { ManifestMetadata, PublicationManifest } from '@svc/contracts'
import { keywordsOf, unusable } from '../deposit/content.ts'
import { type Creator, type CslItem, collapse, doiOf, nameOf, workOf } from '../work.ts'
import { zenodoLicense } from './zenodo-licenses.ts'

/** Values of `publication_type` (https://developers.zenodo.org/#deposit-metadata). */
const PUBLICATION_TYPES = [
  'annotationcollection',
  'book',
  'section',
  'conferencepaper',
  'datamanagementplan',
  'article',
  'patent',
  'preprint',
  'deliverable',
  'milestone',
  'proposal',
  'report',
  'softwaredocumentation',
  'taxonomictreatment',
  'technicalnote',
  'thesis',
  'workingpaper',
  'other'
]
const UPLOAD_TYPES = ['poster', 'presentation', 'dataset', 'video', 'software', 'lesson', 'physicalobject']
const MAX_CITED = 200

/** Metadata of a deposition. Throws `RemoteFailure` for content that Zenodo would refuse. */
export function zenodoMetadata(manifest: PublicationManifest): ZenodoMetadata {
  const { metadata, creators, citations, date } = workOf(manifest)
  const title = collapse(manifest.title)
  if (title === '') throw unusable('title_empty', 'title: it is empty; Zenodo requires one')
  if (creators.length === 0) throw unusable('author_empty', 'author: it is empty; Zenodo requires a creator')
  const keywords = keywordsOf(metadata)
  const related = relatedIdentifiers(citations, manifest.source_ref)
  return {
    ...typeOf(manifest, metadata),
    title,
    creators: creators.map(creatorOf),
    description: descriptionOf(manifest),
    access_right: accessRight(metadata),
    license: licenseOf(metadata),
    ...(keywords.length === 0 ? {} : { keywords }),
    publication_date: date,
    ...(typeof metadata.version === 'string' ? { version: metadata.version } : {}),
    ...languageOf(metadata),
    ...doiFields(metadata),
    ...(related.length === 0 ? {} : { related_identifiers: related }),
    notes: markerOf(manifest.content_sha3_256)
  }
}

export interface ZenodoMetadata {
  readonly title: string
  readonly [field: string]: unknown
}

/**
 * Returns the note by which a deposition is found again. It is a note and not a related identifier, since Zenodo guesses
 * the scheme of identifiers, refuses unknown ones, and registers them at DataCite.
 */
export function markerOf(digest: string): string {
  return `Submitted with svc. SHA3-256 of the content: ${digest}`
}

function typeOf(
  { content_type }: PublicationManifest,
  { publication_type }: ManifestMetadata
): Readonly<Record<string, string>> {
  if (publication_type !== undefined) {
    if (typeof publication_type === 'string' && PUBLICATION_TYPES.includes(publication_type))
      return { upload_type: 'publication', publication_type }
    throw unusable('publication_type_invalid', `publication_type: use one of ${PUBLICATION_TYPES.join(', ')}`)
  }
  // Before a review an article is a preprint.
  if (content_type === 'article') return { upload_type: 'publication', publication_type: 'preprint' }
  if (UPLOAD_TYPES.includes(content_type)) return { upload_type: content_type }
  if (content_type === 'image') return { upload_type: 'image', image_type: 'other' }
  return {
    upload_type: 'publication',
    publication_type: PUBLICATION_TYPES.includes(content_type) ? content_type : 'other'
  }
}

/** Returns the abstract as HTML. All of it is text: a tag in it is shown, not interpreted. */
function descriptionOf({ abstract_text }: PublicationManifest): string {
  const paragraphs = (abstract_text ?? '')
    .replaceAll('\r\n', '\n')
    .split(/\n[ \t]*\n/)
    .map(paragraph => paragraph.trim())
    .filter(paragraph => paragraph !== '')
  if (paragraphs.length === 0)
    throw unusable('abstract_required', 'abstract: it is empty; Zenodo requires a description')
  return paragraphs.map(paragraph => `<p>${escaped(paragraph).replaceAll('\n', '<br>')}</p>`).join('')
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replace(/[^\P{Cc}\n]/gu, ' ')
}

function accessRight({ access_right = 'open' }: ManifestMetadata): string {
  if (access_right === 'open') return access_right
  throw unusable('access_right_unsupported', 'access_right: only open is supported; create other deposits by hand')
}

function licenseOf({ license }: ManifestMetadata): string {
  if (typeof license === 'string' && license.trim() !== '') return zenodoLicense(license)
  throw unusable('license_required', 'license: Zenodo requires one for open access; use an SPDX id such as CC-BY-4.0')
}

function languageOf({ language }: ManifestMetadata): { readonly language?: string } {
  const primary = typeof language === 'string' ? language.toLowerCase().split(/[-_]/)[0] : undefined
  return primary !== undefined && /^[a-z]{2,3}$/.test(primary) ? { language: primary } : {}
}

function doiFields({ doi }: ManifestMetadata): Readonly<Record<string, unknown>> {
  if (doi === undefined) return { prereserve_doi: true }
  const own = doiOf(typeof doi === 'string' ? doi : '')
  if (own !== null) return { doi: own }
  throw unusable('doi_invalid', 'doi: write it as 10.PREFIX/SUFFIX')
}

function creatorOf(creator: Creator): object {
  const { affiliation, orcid } = creator
  return {
    name: nameOf(creator),
    ...(affiliation === null ? {} : { affiliation }),
    ...(orcid === null ? {} : { orcid })
  }
}

/** Returns cited works with a DOI, and the source of the text if it is an address. */
function relatedIdentifiers(citations: readonly CslItem[], source: string | null): readonly object[] {
  const dois = new Set(citations.flatMap(({ DOI }) => doiOf(DOI) ?? []))
  const cited = [...dois].slice(0, MAX_CITED).map(identifier => ({ identifier, relation: 'cites' }))
  const isAddress = source !== null && /^https?:\/\//.test(source) && URL.canParse(source)
  return isAddress ? [...cited, { identifier: source, relation: 'isDerivedFrom' }] : cited
}
