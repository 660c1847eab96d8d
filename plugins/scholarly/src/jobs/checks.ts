import type {
  GateCode,
  GateResult,
  PreflightReport,
  PublicationManifest,
  Publications,
  ScholarlyAdapter
} from '@svc/contracts'

/** Results of the checks before a submission, in their order. */
export interface SubmissionChecks {
  readonly gate: GateResult
  /** Gate codes that apply to this archive: one that sends nothing elsewhere needs approvals only. */
  readonly codes: readonly GateCode[]
  readonly preflight: PreflightReport | null
}

const CODES_OF_LEDGERS = new Set<GateCode>(['missing_db', 'missing_dual_approval'])

export async function checkSubmission(
  publications: Publications,
  manifest: PublicationManifest,
  adapter: ScholarlyAdapter
): Promise<SubmissionChecks> {
  const { publication_id, content_sha3_256 } = manifest
  const gate = await publications.gate({ publicationId: publication_id, digest: content_sha3_256, dryRun: false })
  return {
    gate,
    codes: adapter.live ? gate.codes : gate.codes.filter(code => CODES_OF_LEDGERS.has(code)),
    preflight: adapter.preflight === undefined ? null : publications.preflight(manifest, adapter.preflight)
  }
}

const MEANINGS: Readonly<Record<GateCode, string>> = {
  dry_run: 'the setting dry_run of plugins.publication is on',
  missing_db: 'there is no database',
  missing_dual_approval: 'two distinct people have not approved this content',
  publish_not_armed: 'sending is not armed'
}

/** Returns the gate codes as a sentence. */
export function gateText(codes: readonly GateCode[]): string {
  return codes.map(code => `${MEANINGS[code]} (${code})`).join(', ')
}

export function preflightText({ profile, findings }: PreflightReport): string {
  const errors = findings.filter(({ severity }) => severity === 'error')
  return `profile ${profile}: ${errors.map(({ code, message }) => `${message} (${code})`).join('; ')}`
}
