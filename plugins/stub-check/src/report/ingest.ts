import { STUB_SEVERITIES, type StubFinding } from '@svc/contracts'
import { defined, errorMessage } from '@svc/plugin-sdk'
import { stubCheckErrors } from '../errors.ts'
import type { ProjectScan } from '../scan/project-scan.ts'

const MAX_FINDINGS = 200_000

/**
 * Reads the findings of an envelope, or an array of findings. Findings with a `confidence` below `minConfidence` (both in
 * percent) are dropped, and their number is noted. Throws `STB_FINDINGS_INVALID`.
 */
export function ingestFindings(text: string, shown: string, minConfidence: number): ProjectScan {
  const invalid = (reason: string) =>
    stubCheckErrors.create('STB_FINDINGS_INVALID', `${shown}: ${reason}`, {
      hint: 'pass the output of svc stub-check --format json'
    })
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw invalid(errorMessage(error))
  }
  const envelope = (Array.isArray(document) ? { findings: document } : document) as Record<string, unknown> | null
  const { findings, schema_version = 1, files_scanned = 0, rules_applied = 0, rust_parse_failures = 0 } = envelope ?? {}
  if (schema_version !== 1) throw invalid(`schema_version is ${String(schema_version)}; this version reads 1`)
  if (!Array.isArray(findings)) throw invalid('it has no array of findings')
  if (findings.length > MAX_FINDINGS) throw invalid(`it has more than ${MAX_FINDINGS} findings`)
  let dropped = 0
  const kept = findings.flatMap((entry: unknown, at) => {
    const finding =
      findingOf(entry) ?? fail(invalid(`findings[${at}] must have rule_id, severity, file, line and message`))
    const { confidence } = entry as { readonly confidence?: unknown }
    if (confidence === undefined || confidence === null) return [finding]
    if (typeof confidence !== 'number' || !(confidence >= 0 && confidence <= 100))
      throw invalid(`findings[${at}].confidence must be a number from 0 to 100`)
    if (confidence >= minConfidence) return [finding]
    dropped += 1
    return []
  })
  const belowMinimum = `${dropped} with a confidence below ${minConfidence} are not reported (socrates_policy.min_review_finding_confidence)`
  return {
    findings: kept,
    filesScanned: numberOf(files_scanned),
    notScanned: [],
    rulesApplied: numberOf(rules_applied),
    rustParseFailures: numberOf(rust_parse_failures),
    suppressed: [],
    expiredSuppressions: 0,
    notes: [`the findings are those of ${shown}`, ...(dropped > 0 ? [belowMinimum] : [])]
  }
}

function findingOf(entry: unknown): StubFinding | null {
  if (typeof entry !== 'object' || entry === null) return null
  const { rule_id, rule_name, severity, file, line, column, message, suggestion, context } = entry as Record<
    string,
    unknown
  >
  const known = STUB_SEVERITIES.find(each => each === severity)
  if (typeof rule_id !== 'string' || typeof file !== 'string' || typeof message !== 'string' || known === undefined)
    return null
  if (!Number.isInteger(line) || (line as number) < 1) return null
  return {
    ruleId: rule_id,
    ruleName: typeof rule_name === 'string' ? rule_name : rule_id,
    severity: known,
    file,
    line: line as number,
    column: Number.isInteger(column) ? (column as number) : 1,
    message,
    context: typeof context === 'string' ? context : '',
    ...defined({ suggestion: typeof suggestion === 'string' ? suggestion : undefined })
  }
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : 0
}

function fail(error: Error): never {
  throw error
}
