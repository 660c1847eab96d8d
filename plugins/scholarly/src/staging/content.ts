import { createHash } from 'node:crypto'
import { isRemoteFailure, type PlannedFile, type PublicationManifest, publicationMedia } from '@svc/contracts'
import { zenodoMetadata } from '../adapters/zenodo/zenodo-metadata.ts'
import { citationCff } from './citation-cff.ts'
import { crossrefWork } from './crossref-work.ts'

export const CHECKSUMS_FILE = 'staging_checksums.json'
export const ZENODO_FILE = 'zenodo.json'
export const BODY_FILE = 'body.md'
const CITATIONS_FILE = 'citations.json'

/** Returns the names of the files that are uploaded from a staging folder without an allow-list. */
export function planFiles({ citations_json }: Pick<PublicationManifest, 'citations_json'>): readonly string[] {
  const citations = citations_json === null ? [] : [CITATIONS_FILE]
  return [BODY_FILE, 'CITATION.cff', 'crossref_work.json', ...citations, ZENODO_FILE]
}

export interface GeneratedFile extends PlannedFile {
  readonly text: string
}

/** Returns the files of a submission, written from a publication. Throws `RemoteFailure` for invalid content. */
export function generatedFiles(manifest: PublicationManifest): readonly GeneratedFile[] {
  const { body_markdown, citations_json } = manifest
  const files: [string, string][] = [
    [BODY_FILE, body_markdown],
    ['CITATION.cff', citationCff(manifest)],
    ['crossref_work.json', json(crossrefWork(manifest))],
    [ZENODO_FILE, json(zenodoMetadata(manifest))]
  ]
  if (citations_json !== null) files.splice(3, 0, [CITATIONS_FILE, json(JSON.parse(citations_json))])
  return files.map(([name, text]) => ({
    name,
    text,
    bytes: Buffer.byteLength(text),
    sha3_256: hashOf(text)
  }))
}

/** Returns the SHA3-256 of all files that the approvals of a publication cover: those written from it, and its images. */
export function approvedHashes(manifest: PublicationManifest): ReadonlySet<string> {
  const hashes = [hashOf(manifest.body_markdown), ...publicationMedia(manifest).map(({ sha3_256 }) => sha3_256)]
  try {
    hashes.push(...generatedFiles(manifest).map(({ sha3_256 }) => sha3_256))
  } catch (error) {
    // Content that is not enough for all of the files.
    if (!isRemoteFailure(error)) throw error
  }
  return new Set(hashes)
}

/** Returns the text of `staging_checksums.json`. */
export function checksumsText(files: readonly PlannedFile[]): string {
  return json({ schema_version: 1, sha3_256: Object.fromEntries(files.map(({ name, sha3_256 }) => [name, sha3_256])) })
}

function hashOf(text: string): string {
  return createHash('sha3-256').update(text).digest('hex')
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
