import type { PublicationManifest } from '@svc/contracts'
import { type Creator, type CslItem, collapse, doiOf, workOf, yearOf } from '../adapters/work.ts'

/**
 * Returns a publication as a work of Crossref's REST API (https://github.com/CrossRef/rest-api-doc, "Work"). Throws
 * `RemoteFailure` for invalid content.
 */
export function crossrefWork(manifest: PublicationManifest): Readonly<Record<string, unknown>> {
  const { metadata, creators, citations, date } = workOf(manifest)
  const doi = doiOf(metadata.doi)
  const abstract = (manifest.abstract_text ?? '').trim()
  const { license, language } = metadata
  return {
    type: typeOf(manifest.content_type),
    title: [collapse(manifest.title)],
    author: creators.map(authorOf),
    issued: { 'date-parts': [date.split('-').map(Number)] },
    ...(doi === null ? {} : { DOI: doi, URL: `https://doi.org/${doi}` }),
    ...(abstract === '' ? {} : { abstract: paragraphs(abstract) }),
    ...(typeof language === 'string' ? { language } : {}),
    ...(typeof license === 'string'
      ? {
          license: [{ URL: `https://spdx.org/licenses/${encodeURIComponent(license)}.html`, 'content-version': 'vor' }]
        }
      : {}),
    'reference-count': citations.length,
    reference: citations.map(referenceOf)
  }
}

function typeOf(contentType: string): string {
  if (contentType === 'dataset') return 'dataset'
  return contentType === 'article' ? 'posted-content' : 'other'
}

function authorOf({ family, given, affiliation, orcid }: Creator, index: number) {
  return {
    ...(given === null ? { name: family } : { given, family }),
    sequence: index === 0 ? 'first' : 'additional',
    affiliation: affiliation === null ? [] : [{ name: affiliation }],
    ...(orcid === null ? {} : { ORCID: `https://orcid.org/${orcid}` })
  }
}

function referenceOf(item: CslItem) {
  const doi = doiOf(item.DOI)
  const [author] = item.author ?? []
  const year = yearOf(item)
  const name = author?.family ?? author?.literal
  return {
    key: item.id,
    ...(doi === null ? {} : { DOI: doi }),
    ...(name === undefined ? {} : { author: name }),
    ...(year === null ? {} : { year }),
    ...(item.title === undefined ? {} : { 'article-title': item.title }),
    ...(item['container-title'] === undefined ? {} : { 'journal-title': item['container-title'] })
  }
}

/** Returns text as JATS paragraphs. */
function paragraphs(text: string): string {
  const escaped = (part: string): string =>
    part.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return text
    .split(/\n\s*\n/)
    .map(part => `<jats:p>${escaped(collapse(part))}</jats:p>`)
    .join('')
}
