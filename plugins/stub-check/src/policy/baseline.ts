import { createHash } from 'node:crypto'
import { STUB_SEVERITIES, type StubFinding, type StubSeverity } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { stubCheckErrors } from '../errors.ts'
import { rankOf } from './severity.ts'

/** Finding that a baseline accepts. */
export interface AcceptedFinding {
  readonly rule_id: string
  readonly severity: StubSeverity
  readonly file: string
  /** Digest of the line's text, so that a finding stays the same when lines above it change. */
  readonly key: string
  /** Number of equal findings. */
  readonly count: number
}

/** Findings of each kind that are listed. */
export const MAX_LISTED = 20

export interface Comparison {
  /** Findings that the baseline does not have. */
  readonly added: readonly StubFinding[]
  /** Findings that are more severe than in the baseline. */
  readonly raised: readonly StubFinding[]
  /** Number of accepted findings that no longer exist. */
  readonly gone: number
}

/** Returns the baseline of findings, sorted, so that a saved one has a small difference to the next. */
function baselineOf(findings: readonly StubFinding[]): readonly AcceptedFinding[] {
  const accepted = new Map<string, AcceptedFinding>()
  for (const finding of findings) {
    const { ruleId, severity, file } = finding
    const id = idOf(finding)
    const known = accepted.get(id)
    const highest = known !== undefined && rankOf(known.severity) > rankOf(severity) ? known.severity : severity
    accepted.set(id, { rule_id: ruleId, severity: highest, file, key: keyOf(finding), count: (known?.count ?? 0) + 1 })
  }
  return [...accepted].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each)
}

export function printBaseline(findings: readonly StubFinding[]): string {
  const rows = baselineOf(findings).map(each => `    ${JSON.stringify(each)}`)
  return `{\n  "version": 1,\n  "findings": [${rows.length === 0 ? '' : `\n${rows.join(',\n')}\n  `}]\n}\n`
}

/** Parses a printed baseline. Throws `STB_BASELINE_INVALID`. */
export function parseBaseline(text: string, shown: string): readonly AcceptedFinding[] {
  const invalid = (reason: string) =>
    stubCheckErrors.create('STB_BASELINE_INVALID', `the baseline ${shown}: ${reason}`, {
      hint: 'save it again with --save-baseline'
    })
  let document: { version?: unknown; findings?: unknown } | null
  try {
    document = JSON.parse(text) as typeof document
  } catch (error) {
    throw invalid(errorMessage(error))
  }
  if (document?.version !== 1 || !Array.isArray(document.findings))
    throw invalid('it must have version 1 and an array of findings')
  return document.findings.map((entry: unknown, at) => {
    const { rule_id, severity, file, key, count } = (entry ?? {}) as Partial<AcceptedFinding>
    const isValid =
      typeof rule_id === 'string' &&
      typeof file === 'string' &&
      typeof key === 'string' &&
      Number.isInteger(count) &&
      (count as number) > 0 &&
      STUB_SEVERITIES.some(each => each === severity)
    if (!isValid) throw invalid(`findings[${at}] must have rule_id, severity, file, key and count`)
    return entry as AcceptedFinding
  })
}

export function compare(baseline: readonly AcceptedFinding[], findings: readonly StubFinding[]): Comparison {
  const left = new Map<string, { severity: StubSeverity; count: number }>()
  for (const { rule_id, file, key, severity, count } of baseline)
    left.set(`${file} ${rule_id} ${key}`, { severity, count })
  const added: StubFinding[] = []
  const raised: StubFinding[] = []
  for (const finding of findings) {
    const accepted = left.get(idOf(finding))
    if (accepted === undefined || accepted.count === 0) added.push(finding)
    else {
      accepted.count -= 1
      if (rankOf(finding.severity) > rankOf(accepted.severity)) raised.push(finding)
    }
  }
  let gone = 0
  for (const { count } of left.values()) gone += count
  return { added, raised, gone }
}

function idOf(finding: StubFinding): string {
  return `${finding.file} ${finding.ruleId} ${keyOf(finding)}`
}

function keyOf({ context }: StubFinding): string {
  return createHash('sha256').update(context).digest('hex').slice(0, 12)
}
