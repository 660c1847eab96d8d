import { type ManifestContent, type ManifestMetadata, manifestDigest, type PublicationManifest } from '@svc/contracts'

export interface Sample extends Partial<Omit<ManifestContent, 'metadata_json' | 'citations_json'>> {
  readonly metadata?: ManifestMetadata
  readonly citations?: readonly unknown[]
}

const CREATED = Date.UTC(2026, 3, 1, 12)

/** Returns a publication, with the digest of its content. */
export function sampleWork({ metadata, citations, ...fields }: Sample = {}): PublicationManifest {
  const content: ManifestContent = {
    publication_id: 'svc-2026-1',
    content_type: 'article',
    source_ref: 'docs/paper.md',
    title: 'Exactly-once submission of research',
    author: 'Lovelace, Ada; Hopper, Grace',
    abstract_text: 'We show that a queue with checkpoints submits once.\n\nThe second paragraph has 5 < 6 & "quotes".',
    body_markdown: '# Introduction\n\nA queue submits *once*.\n',
    citations_json: citations === undefined ? null : JSON.stringify(citations),
    metadata_json: metadata === undefined ? null : JSON.stringify(metadata),
    ...fields
  }
  return {
    ...content,
    content_sha3_256: manifestDigest(content),
    version: 1,
    state: 'approved',
    created_at_ms: CREATED,
    updated_at_ms: CREATED
  }
}

export const FULL_METADATA: ManifestMetadata = {
  license: 'CC-BY-4.0',
  keywords: ['queues', 'archives'],
  language: 'en-GB',
  publication_date: '2026-04-02',
  version: '1.2',
  url: 'https://example.org/papers/once',
  creators: [
    { name: 'Lovelace, Ada', affiliation: 'Analytical Engine Institute', orcid: '0000-0002-1825-0097' },
    { name: 'Agent 007 of 3 Units' },
    { name: 'Plato' }
  ]
}

export const CITATIONS: readonly unknown[] = [
  {
    id: 'gray1981',
    type: 'paper-conference',
    title: 'The transaction concept: virtues and limitations',
    author: [{ family: 'Gray', given: 'Jim' }],
    issued: { 'date-parts': [[1981]] },
    'container-title': 'Proceedings of VLDB',
    page: '144-154'
  },
  {
    id: 'lamport1978',
    type: 'article-journal',
    title: 'Time, clocks, and the ordering of events in a distributed system',
    author: [{ family: 'Lamport', given: 'Leslie' }],
    issued: { 'date-parts': [[1978, 7]] },
    'container-title': 'Communications of the ACM',
    volume: 21,
    issue: 7,
    page: '558–565',
    DOI: 'https://doi.org/10.1145/359545.359563',
    ISSN: '0001-0782'
  },
  { id: 'web', type: 'webpage', title: 'Notes & drafts', URL: 'https://example.org/notes' },
  {
    id: 'knuth',
    type: 'book',
    title: 'The Art of <Programming>',
    author: [{ literal: 'Knuth' }],
    ISBN: '0-201-89683-4'
  }
]
