import { STUB_SEVERITIES } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { STUB_CHECK_TOPIC } from './operations.ts'
import { type Envelope, envelopeOf, findingSchema } from './report/envelope.ts'
import type { ProjectScan } from './scan/project-scan.ts'
import type { StoredState } from './store/stored-state.ts'

/** Findings of the last scan that are kept. */
const MAX_KEPT = 1_000

export const findingsOperation = defineOperation({
  id: 'stub-check.findings',
  summary: 'Show the findings of the last scan',
  input: t.object({}),
  output: t.object({
    scanned_at: t.optional(t.string({ format: 'date-time' })),
    path: t.optional(t.string()),
    files_scanned: t.integer(),
    critical: t.integer(),
    errors: t.integer(),
    warnings: t.integer(),
    infos: t.integer(),
    suppressed: t.integer(),
    findings: t.array(
      t.object({
        key: t.string(),
        place: t.string({ description: 'File and line.' }),
        severity: t.enum(STUB_SEVERITIES),
        finding: findingSchema
      })
    )
  }),
  effect: 'read',
  watch: { on: [STUB_CHECK_TOPIC], minMs: 1_000 },
  expose: { http: { method: 'GET', path: '/api/v2/stub-check/findings' }, rpc: true }
})

interface KeptScan {
  readonly path: string
  readonly at: string
  readonly envelope: Pick<Envelope, 'files_scanned' | 'counts' | 'suppressions_applied' | 'findings'>
}

/** The last scan: of any process if there is a database, else of this one. */
export class LastScan {
  readonly #state: StoredState | null
  readonly #version: string
  #own: KeptScan | null = null

  constructor(state: StoredState | null, version: string) {
    this.#state = state
    this.#version = version
  }

  async keep(path: string, scan: ProjectScan): Promise<void> {
    const envelope = envelopeOf(scan, scan.findings, this.#version, MAX_KEPT)
    this.#own = { path, at: new Date().toISOString(), envelope }
    await this.#state?.saveScan(path, JSON.stringify(envelope))
  }

  async read(): Promise<KeptScan | null> {
    const stored = (await this.#state?.lastScan()) ?? null
    if (stored === null || (this.#own !== null && this.#own.at >= stored.at)) return this.#own
    return { path: stored.path, at: stored.at, envelope: JSON.parse(stored.envelope) as KeptScan['envelope'] }
  }
}

export function findingsHandler(last: LastScan): Handler<typeof findingsOperation> {
  return async () => {
    const scan = await last.read()
    if (scan === null)
      return { files_scanned: 0, critical: 0, errors: 0, warnings: 0, infos: 0, suppressed: 0, findings: [] }
    const { counts, files_scanned, suppressions_applied, findings } = scan.envelope
    return {
      scanned_at: scan.at,
      path: scan.path,
      files_scanned,
      critical: counts.critical,
      errors: counts.error,
      warnings: counts.warning,
      infos: counts.info,
      suppressed: suppressions_applied,
      findings: findings.map((finding, at) => ({
        key: String(at),
        place: `${finding.file}:${finding.line}`,
        severity: finding.severity,
        finding
      }))
    }
  }
}
