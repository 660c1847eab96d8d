import { STUB_SEVERITIES, type StubFinding } from '@svc/contracts'
import { defined, type Infer, t } from '@svc/plugin-sdk'
import { countsOf } from '../policy/severity.ts'
import { familyOf } from '../rules/catalog.ts'
import { CODE_RULES } from '../rules/code-rules.ts'
import type { ProjectScan } from '../scan/project-scan.ts'

export const findingSchema = t.object({
  rule_id: t.string(),
  rule_name: t.string(),
  severity: t.enum(STUB_SEVERITIES),
  file: t.string(),
  line: t.integer(),
  column: t.integer(),
  message: t.string(),
  suggestion: t.optional(t.string()),
  context: t.optional(
    t.string({ description: 'Line of the finding; secrets are masked. Empty for a finding about a whole file.' })
  )
})

export type WireFinding = Infer<typeof findingSchema>

/** Report of a scan, version 1. */
export const envelopeSchema = t.object({
  schema_version: t.integer(),
  tool_version: t.string(),
  files_scanned: t.integer(),
  rules_applied: t.integer(),
  rust_parse_failures: t.integer({ description: 'Rust files of which the parser had to skip a part.' }),
  findings: t.array(findingSchema),
  findings_total: t.integer({
    description: 'Findings of the shown severities, including those above the limit of the list.'
  }),
  counts: t.object({ info: t.integer(), warning: t.integer(), error: t.integer(), critical: t.integer() }),
  suppressions_applied: t.integer(),
  suppression_counts_by_family: t.record(t.integer()),
  unresolved_ref_hot_callers: t.array(t.object({ file: t.string(), count: t.integer() }), {
    description: 'Files with the most calls of unknown names.'
  }),
  files_not_scanned: t.array(t.object({ file: t.string(), reason: t.string() })),
  notes: t.array(t.string())
})

export type Envelope = Infer<typeof envelopeSchema>

const MAX_HOT_CALLERS = 10
const MAX_NOT_SCANNED = 100

/** `findings`: those to show, at most `limit` of which are listed. */
export function envelopeOf(
  scan: ProjectScan,
  findings: readonly StubFinding[],
  toolVersion: string,
  limit = Number.POSITIVE_INFINITY
): Envelope {
  const families: Record<string, number> = {}
  for (const { ruleId } of scan.suppressed) families[familyOf(ruleId)] = (families[familyOf(ruleId)] ?? 0) + 1
  return {
    schema_version: 1,
    tool_version: toolVersion,
    files_scanned: scan.filesScanned,
    rules_applied: scan.rulesApplied,
    rust_parse_failures: scan.rustParseFailures,
    findings: findings.slice(0, limit).map(wireFinding),
    findings_total: findings.length,
    counts: countsOf(findings),
    suppressions_applied: scan.suppressed.length,
    suppression_counts_by_family: families,
    unresolved_ref_hot_callers: hotCallers(scan.findings),
    files_not_scanned: scan.notScanned.slice(0, MAX_NOT_SCANNED).map(({ path, reason }) => ({ file: path, reason })),
    notes: [...scan.notes]
  }
}

export function wireFinding(finding: StubFinding): WireFinding {
  const { ruleId, ruleName, severity, file, line, column, message, suggestion, context } = finding
  return {
    rule_id: ruleId,
    rule_name: ruleName,
    severity,
    file,
    line,
    column,
    message,
    context,
    ...defined({ suggestion })
  }
}

function hotCallers(findings: readonly StubFinding[]): { file: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const { ruleId, file } of findings)
    if (ruleId === CODE_RULES.unresolved.id) counts.set(file, (counts.get(file) ?? 0) + 1)
  return [...counts]
    .map(([file, count]) => ({ file, count }))
    .sort((one, other) => other.count - one.count || (one.file < other.file ? -1 : 1))
    .slice(0, MAX_HOT_CALLERS)
}
