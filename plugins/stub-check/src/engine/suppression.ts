import type { StubFinding } from '@svc/contracts'
import type { SourceFile } from './source-file.ts'

/** Characters other than white space that a reason must have where one is required. */
const MIN_RATIONALE = 20

const INLINE =
  /\btoestub-ignore\s*\(\s*([\w./-]+(?:\s*,\s*[\w./-]+)*)\s*\)(?:\s*[-–—:]+\s*([^\n]*))?|\bstubcheck:\s*allow\b/gi

interface Allowance {
  /** Rule ids or prefixes; null: all rules. */
  readonly rules: readonly string[] | null
}

/** Removes findings that a comment on their line, or on the line above, allows. */
export function applyInline(
  file: SourceFile,
  findings: readonly StubFinding[],
  requiresRationale: boolean
): { readonly kept: readonly StubFinding[]; readonly suppressed: readonly StubFinding[] } {
  if (!/toestub-ignore|stubcheck:/i.test(file.views.commentText)) return { kept: findings, suppressed: [] }
  const allowed = new Map<number, Allowance[]>()
  for (const { start, end } of file.views.comments) {
    const text = file.text.slice(start, end)
    for (const match of text.matchAll(INLINE)) {
      const [, names, reason = ''] = match
      if (requiresRationale && names !== undefined && reason.replace(/\s|\*\/$/g, '').length < MIN_RATIONALE) continue
      if (requiresRationale && names === undefined) continue
      const rules =
        names === undefined || names.toLowerCase() === 'all' ? null : names.split(',').map(name => name.trim())
      const line = file.lines.lineAt(start + match.index)
      for (const each of [line, file.lines.lineAt(end) + 1])
        allowed.set(each, [...(allowed.get(each) ?? []), { rules }])
    }
  }
  const isAllowed = ({ line, ruleId }: StubFinding): boolean =>
    allowed.get(line)?.some(({ rules }) => rules?.some(rule => coversRule(rule, ruleId)) ?? true) ?? false
  return { kept: findings.filter(each => !isAllowed(each)), suppressed: findings.filter(isAllowed) }
}

/** True if `prefix` is the rule or one of the groups that it belongs to. */
export function coversRule(prefix: string, ruleId: string): boolean {
  return ruleId === prefix || ruleId.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)
}
