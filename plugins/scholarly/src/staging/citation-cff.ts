import type { PublicationManifest } from '@svc/contracts'
import { stringify } from 'yaml'
import { keywordsOf } from '../adapters/deposit/content.ts'
import { type Creator, collapse, doiOf, workOf } from '../adapters/work.ts'
import { CFF_LICENSES } from './cff-licenses.ts'

const DOI = /^10\.\d{4,9}(?:\.\d+)?\/[A-Za-z0-9:/_;\-.()[\]\\]+$/

/** Returns the citation of a publication in the Citation File Format 1.2.0. Throws `RemoteFailure` for invalid content. */
export function citationCff(manifest: PublicationManifest): string {
  const { metadata, creators, date } = workOf(manifest)
  const { license, version } = metadata
  const keywords = keywordsOf(metadata)
  const doi = doiOf(metadata.doi)
  const abstract = (manifest.abstract_text ?? '').trim()
  return stringify({
    'cff-version': '1.2.0',
    message: 'Please cite this work with the metadata of this file.',
    // The format knows two types; its default, software, is wrong for texts.
    type: manifest.content_type === 'software' ? 'software' : 'dataset',
    title: collapse(manifest.title) || manifest.publication_id,
    authors: creators.length === 0 ? [{ name: 'Anonymous' }] : unique(creators.map(authorOf)),
    ...(abstract === '' ? {} : { abstract }),
    ...(keywords.length === 0 ? {} : { keywords }),
    ...(typeof license === 'string' && CFF_LICENSES.has(license) ? { license } : {}),
    ...(typeof version === 'string' && version.trim() !== '' ? { version: version.trim() } : {}),
    ...(doi === null || !DOI.test(doi) ? {} : { doi }),
    'date-released': date
  })
}

function authorOf({ family, given, affiliation, orcid }: Creator) {
  // A single name may be an organization.
  if (given === null && orcid === null && affiliation === null) return { name: family }
  return {
    'family-names': family,
    ...(given === null ? {} : { 'given-names': given }),
    ...(affiliation === null ? {} : { affiliation }),
    ...(orcid === null ? {} : { orcid: `https://orcid.org/${orcid}` })
  }
}

/** The format accepts each author once. */
function unique<A>(items: readonly A[]): readonly A[] {
  return [...new Map(items.map(item => [JSON.stringify(item), item])).values()]
}
