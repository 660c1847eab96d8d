import type { PublicationManifest } from '@svc/contracts'
import { collapse, doiOf, invalid, type Work } from '../work.ts'
import { citationList } from './citations.ts'
import { contributors, truncated } from './contributors.ts'
import { LANGUAGES } from './languages.ts'
import { allowed, element, serialize, type XmlElement } from './xml.ts'

/** Version of the deposit schema. */
export const SCHEMA_VERSION = '5.4.0'

const MAX_DESCRIPTION = 10_000

/** Depositor, and the place that DOIs lead to. */
export interface DepositParty {
  readonly doiPrefix: string
  readonly depositorName: string
  readonly depositorEmail: string
  readonly registrant: string
  /** Title of the collection of data sets. */
  readonly databaseTitle: string
  /** Base address that the id is appended to if the metadata contains no address. */
  readonly resourceBase: string | null
}

export interface Deposit {
  readonly batchId: string
  /** Name that Crossref finds a submission by. */
  readonly fileName: string
  readonly doi: string
  readonly resource: string
}

/**
 * Returns the identifiers of a deposit. They depend on the publication, its digest and the generation only.
 *
 * @param generation 1, and one more after each deposit of the digest that Crossref has rejected.
 */
export function depositOf(
  manifest: PublicationManifest,
  { metadata }: Work,
  party: DepositParty,
  generation = 1
): Deposit {
  const batchId = `svc-${manifest.content_sha3_256.slice(0, 40)}${generation === 1 ? '' : `-${generation}`}`
  return {
    batchId,
    fileName: `${batchId}.xml`,
    doi: depositedDoi(manifest.publication_id, metadata.doi, party.doiPrefix),
    resource: resourceOf(manifest.publication_id, metadata.url, party.resourceBase)
  }
}

/**
 * Returns a deposit document.
 *
 * @param timestamp Version of the metadata: Crossref ignores a document whose number is not above the last one of the DOI.
 */
export function depositDocument(
  manifest: PublicationManifest,
  work: Work,
  party: DepositParty,
  timestamp: string,
  generation = 1
): string {
  const { batchId, doi, resource } = depositOf(manifest, work, party, generation)
  const head = element(
    'head',
    {},
    element('doi_batch_id', {}, batchId),
    element('timestamp', {}, timestamp),
    element(
      'depositor',
      {},
      element('depositor_name', {}, party.depositorName),
      element('email_address', {}, party.depositorEmail)
    ),
    element('registrant', {}, party.registrant)
  )
  const data = element('doi_data', {}, element('doi', {}, doi), element('resource', {}, resource))
  return serialize(
    element(
      'doi_batch',
      {
        version: SCHEMA_VERSION,
        xmlns: `http://www.crossref.org/schema/${SCHEMA_VERSION}`,
        'xmlns:jats': 'http://www.ncbi.nlm.nih.gov/JATS1',
        'xmlns:ai': 'http://www.crossref.org/AccessIndicators.xsd',
        'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
        'xsi:schemaLocation': `http://www.crossref.org/schema/${SCHEMA_VERSION} https://data.crossref.org/schemas/crossref${SCHEMA_VERSION}.xsd`
      },
      head,
      element('body', {}, record(manifest, work, party, data))
    )
  )
}

function record(manifest: PublicationManifest, work: Work, party: DepositParty, data: XmlElement): XmlElement {
  switch (manifest.content_type) {
    case 'dataset':
      return dataset(manifest, work, party, data)
    case 'report':
      return report(manifest, work, data)
    default:
      return posted(manifest, work, data)
  }
}

/** Articles as preprints, everything else as other posted content. */
function posted(manifest: PublicationManifest, work: Work, data: XmlElement): XmlElement {
  return element(
    'posted_content',
    { type: manifest.content_type === 'article' ? 'preprint' : 'other', ...language(work) },
    contributors(work.creators),
    titles(manifest.title),
    date('posted_date', work.date),
    abstract(manifest.abstract_text),
    license(work),
    version(work),
    data,
    citationList(work.citations)
  )
}

function report(manifest: PublicationManifest, work: Work, data: XmlElement): XmlElement {
  return element(
    'report-paper',
    {},
    element(
      'report-paper_metadata',
      language(work),
      contributors(work.creators),
      titles(manifest.title),
      abstract(manifest.abstract_text),
      date('publication_date', work.date),
      license(work),
      version(work),
      data,
      citationList(work.citations)
    )
  )
}

function dataset(manifest: PublicationManifest, work: Work, party: DepositParty, data: XmlElement): XmlElement {
  const description = truncated(allowed(manifest.abstract_text ?? '').trim(), MAX_DESCRIPTION)
  return element(
    'database',
    {},
    element('database_metadata', {}, titles(party.databaseTitle)),
    element(
      'dataset',
      { dataset_type: 'record' },
      contributors(work.creators),
      titles(manifest.title),
      element('database_date', {}, date('publication_date', work.date)),
      description === '' ? null : element('description', {}, description),
      license(work),
      version(work),
      data,
      citationList(work.citations)
    )
  )
}

function titles(title: string): XmlElement {
  const text = collapse(allowed(title))
  if (text === '') throw invalid('the title is empty')
  return element('titles', {}, element('title', {}, text))
}

function date(name: string, day: string): XmlElement {
  const [year = '', month = '', dayOfMonth = ''] = day.split('-')
  if (Number(year) < 1400 || Number(year) > 2200)
    throw invalid(`publication_date ${day}: the year is not from 1400 to 2200`)
  return element(
    name,
    { media_type: 'online' },
    element('month', {}, month),
    element('day', {}, dayOfMonth),
    element('year', {}, year)
  )
}

/** Returns the abstract in JATS, one paragraph for each part between empty lines. */
function abstract(text: string | null): XmlElement | null {
  const paragraphs = allowed(text ?? '')
    .split(/\n\s*\n/)
    .map(collapse)
    .filter(paragraph => paragraph !== '')
  if (paragraphs.length === 0) return null
  return element('jats:abstract', {}, ...paragraphs.map(paragraph => element('jats:p', {}, paragraph)))
}

function license({ metadata, date: start }: Work): XmlElement | null {
  const address = typeof metadata.license === 'string' ? licenseAddress(metadata.license.trim()) : null
  if (address === null) return null
  return element(
    'ai:program',
    { name: 'AccessIndicators' },
    element('ai:license_ref', { applies_to: 'vor', start_date: start }, address)
  )
}

/** Returns the canonical address of an SPDX license. */
function licenseAddress(spdx: string): string | null {
  if (/^CC0-1\.0$/i.test(spdx)) return 'https://creativecommons.org/publicdomain/zero/1.0/'
  const commons = /^CC-(BY(?:-NC)?(?:-SA|-ND)?)-(\d\.\d)$/i.exec(spdx)
  if (commons !== null) return `https://creativecommons.org/licenses/${commons[1]?.toLowerCase()}/${commons[2]}/`
  return /^[\w.+-]+$/.test(spdx) ? `https://spdx.org/licenses/${spdx}.html` : null
}

function version({ metadata }: Work): XmlElement | null {
  const text = typeof metadata.version === 'string' ? truncated(allowed(metadata.version).trim(), 100) : ''
  return text === '' ? null : element('version_info', {}, element('version', {}, text))
}

function language({ metadata }: Work): Readonly<Record<string, string>> {
  const code =
    typeof metadata.language === 'string' ? metadata.language.trim().toLowerCase().split(/[-_]/)[0] : undefined
  return code !== undefined && LANGUAGES.has(code) ? { language: code } : {}
}

/** Returns the DOI of the metadata, else the prefix with the id of the publication. */
function depositedDoi(id: string, given: unknown, prefix: string): string {
  if (given === undefined || given === null || given === '') return `${prefix}/${id.replaceAll(':', '/')}`
  const doi = typeof given === 'string' ? doiOf(given) : null
  if (doi === null) throw invalid('the doi of the metadata is not a DOI')
  if (!doi.startsWith(`${prefix}/`))
    throw invalid(`the doi of the metadata does not begin with ${prefix}/, the prefix of the depositor`)
  if (!/^[-\w.;()/]+$/.test(doi))
    throw invalid('the doi of the metadata contains characters that new DOIs may not contain')
  return doi
}

function resourceOf(id: string, given: unknown, base: string | null): string {
  const address =
    typeof given === 'string' && given !== ''
      ? given
      : base === null
        ? null
        : `${base.replace(/\/$/, '')}/${encodeURIComponent(id)}`
  if (address === null) throw invalid('the metadata contains no url, and SVC_CROSSREF_RESOURCE_BASE is not set')
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol) || address.length > 2048)
    throw invalid('the url of the metadata is not an HTTP address of at most 2,048 characters')
  return new URL(address).href
}
