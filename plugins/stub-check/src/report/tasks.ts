import type { StubFinding } from '@svc/contracts'
import { rankOf } from '../policy/severity.ts'

/** Work that resolves the findings of one rule in one file. */
export interface FixTask {
  readonly file: string
  readonly rule_id: string
  readonly severity: string
  readonly lines: readonly number[]
  readonly task: string
}

/** Returns tasks, the most severe first. */
export function tasksOf(findings: readonly StubFinding[]): readonly FixTask[] {
  const groups = new Map<string, StubFinding[]>()
  for (const finding of findings) {
    const key = `${finding.file} ${finding.ruleId}`
    const own = groups.get(key)
    if (own === undefined) groups.set(key, [finding])
    else own.push(finding)
  }
  return [...groups.values()]
    .map(own => {
      const [first] = own as [StubFinding]
      const severity = own.reduce(
        (most, each) => (rankOf(each.severity) > rankOf(most) ? each.severity : most),
        first.severity
      )
      const lines = own.map(({ line }) => line)
      const places = lines.length === 1 ? `line ${lines[0]}` : `lines ${lines.slice(0, 10).join(', ')}`
      return {
        file: first.file,
        rule_id: first.ruleId,
        severity,
        lines,
        task: `${first.file}, ${places}: ${first.message}; ${first.suggestion ?? 'resolve it'}`
      }
    })
    .sort((one, other) => rankOf(other.severity) - rankOf(one.severity) || (one.file < other.file ? -1 : 1))
}
