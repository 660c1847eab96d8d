import type { PlannedFile, PreflightFinding, PublicationManifest } from '@svc/contracts'
import { collapse, nameOf, type Work } from '../work.ts'

/** Addresses of the licenses that arXiv offers: https://info.arxiv.org/help/license/index.html. */
const LICENSES: Readonly<Record<string, string>> = {
  'CC-BY-4.0': 'http://creativecommons.org/licenses/by/4.0/',
  'CC-BY-SA-4.0': 'http://creativecommons.org/licenses/by-sa/4.0/',
  'CC-BY-NC-SA-4.0': 'http://creativecommons.org/licenses/by-nc-sa/4.0/',
  'CC-BY-NC-ND-4.0': 'http://creativecommons.org/licenses/by-nc-nd/4.0/',
  'CC0-1.0': 'http://creativecommons.org/publicdomain/zero/1.0/',
  'arXiv-nonexclusive-distrib-1.0': 'http://arxiv.org/licenses/nonexclusive-distrib/1.0/'
}

/** Values for the form of arXiv, and the files of the bundle. */
export interface Handoff {
  readonly schema_version: 1
  readonly publication_id: string
  readonly content_sha3_256: string
  readonly upload_url: string
  readonly compiler: 'pdflatex'
  readonly title: string
  /** `Given Family, Given Family`, as the form wants them. */
  readonly authors: string
  readonly abstract: string
  readonly comments: string | null
  readonly primary_category: string | null
  readonly categories: readonly string[]
  readonly license: { readonly spdx: string | null; readonly url: string | null }
  readonly doi: string | null
  readonly bundle: PlannedFile
  readonly files: readonly PlannedFile[]
  readonly findings: readonly PreflightFinding[]
}

export function handoffOf(
  manifest: PublicationManifest,
  { metadata, creators }: Work,
  result: Pick<Handoff, 'bundle' | 'files' | 'findings'>
): Handoff {
  const { primary_category, categories, comments } = (metadata['arxiv'] ?? {}) as Readonly<Record<string, unknown>>
  const spdx = typeof metadata.license === 'string' && metadata.license !== '' ? metadata.license : null
  return {
    schema_version: 1,
    publication_id: manifest.publication_id,
    content_sha3_256: manifest.content_sha3_256,
    upload_url: 'https://arxiv.org/submit',
    compiler: 'pdflatex',
    title: collapse(manifest.title),
    authors: creators
      .map(creator => (creator.given === null ? nameOf(creator) : `${creator.given} ${creator.family}`))
      .join(', '),
    abstract: (manifest.abstract_text ?? '').trim(),
    comments: typeof comments === 'string' ? collapse(comments) : null,
    primary_category: typeof primary_category === 'string' ? primary_category : null,
    categories: Array.isArray(categories) ? categories.filter(each => typeof each === 'string') : [],
    license: { spdx, url: spdx !== null && Object.hasOwn(LICENSES, spdx) ? (LICENSES[spdx] ?? null) : null },
    doi: typeof metadata.doi === 'string' ? metadata.doi : null,
    ...result
  }
}
