import { createHash } from 'node:crypto'
import type { PlannedFile, PublicationManifest } from '@svc/contracts'
import { zenodoMetadata } from '../adapters/zenodo/zenodo-metadata.ts'
import { citationCff } from './citation-cff.ts'
import { crossrefWork } from './crossref-work.ts'

export const CHECKSUMS_FILE = 'staging_checksums.json'
export const ZENODO_FILE = 'zenodo.json'
export const BODY_FILE = 'body.md'
const CITATIONS_FILE = 'citations.json'

/** Files that are uploaded from a staging folder without an allow-list. */
export const PLAN_FILES = [BODY_FILE, 'CITATION.cff', 'crossref_work.json', CITATIONS_FILE, ZENODO_FILE] as const

/** Whether a file of the plan may be absent: a publication without citations has no file of them. */
export function isOptional(name: string): boolean {
  return name === CITATIONS_FILE
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
    sha3_256: createHash('sha3-256').update(text).digest('hex')
  }))
}

/** Returns the text of `staging_checksums.json`. */
export function checksumsText(files: readonly PlannedFile[]): string {
  return json({ schema_version: 1, sha3_256: Object.fromEntries(files.map(({ name, sha3_256 }) => [name, sha3_256])) })
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
