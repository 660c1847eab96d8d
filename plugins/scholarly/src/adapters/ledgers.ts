import { createHash } from 'node:crypto'
import type { PublicationManifest, ScholarlyAdapter } from '@svc/contracts'

/** Ledger in the primary database: a submission is the record of itself. The default. */
export const localLedger: ScholarlyAdapter = ledger({
  name: 'local_ledger',
  summary: 'Records submissions in the database of the project',
  idOf: digest => `local-${digest.slice(0, 12)}-v1`,
  status: 'submitted',
  fetchedStatus: 'local_synthetic'
})

/** Ledger that only returns what it received, for trials of the process. */
export const echoLedger: ScholarlyAdapter = ledger({
  name: 'echo_ledger',
  aliases: ['echo'],
  summary: 'Returns a receipt for the digest, to try the process',
  idOf: digest => `echo-${digest.slice(0, 16)}`,
  status: 'recorded',
  fetchedStatus: 'echo_synthetic'
})

interface Ledger extends Pick<ScholarlyAdapter, 'name' | 'aliases' | 'summary'> {
  idOf(digest: string): string
  readonly status: string
  readonly fetchedStatus: string
}

function ledger({ name, aliases = [], summary, idOf, status, fetchedStatus }: Ledger): ScholarlyAdapter {
  return {
    name,
    aliases,
    summary,
    live: false,
    intermediateStatuses: [status, fetchedStatus],
    problem: () => Promise.resolve(null),
    plan: ({ content_sha3_256 }) =>
      Promise.resolve({ steps: [`Record the digest as ${idOf(content_sha3_256)}`], files: [] }),
    submit: manifest => Promise.resolve(receiptOf(name, idOf(manifest.content_sha3_256), status, manifest)),
    fetchStatus: externalSubmissionId =>
      Promise.resolve({
        status: fetchedStatus,
        detail_json: JSON.stringify({ external_submission_id: externalSubmissionId })
      })
  }
}

function receiptOf(adapter: string, id: string, status: string, manifest: PublicationManifest) {
  const entry = { adapter, external_submission_id: id, status, content_sha3_256: manifest.content_sha3_256 }
  return {
    adapter,
    external_submission_id: id,
    status,
    response_fingerprint: createHash('sha3-256').update(JSON.stringify(entry)).digest('hex'),
    metadata_json: JSON.stringify({ publication_id: manifest.publication_id, version: manifest.version })
  }
}
