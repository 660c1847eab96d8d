import type { StubFinding } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { coversRule } from '../engine/suppression.ts'
import { stubCheckErrors } from '../errors.ts'

/** `ratchet`: rules of the gated families. `warnings`: every rule with a warning. */
export type GateKind = 'ratchet' | 'warnings'

/** Families that `ratchet` compares: placeholders, and modules that nothing imports. */
const GATED: readonly string[] = ['stub', 'arch/unwired']

export interface BudgetRow {
  readonly rule_id: string
  readonly count: number
}

export interface GateResult {
  /** Rules with more findings than the budget allows. */
  readonly exceeded: readonly { readonly rule_id: string; readonly count: number; readonly budget: number }[]
  /** Rules whose budget can be lowered. */
  readonly lowered: readonly { readonly rule_id: string; readonly count: number; readonly budget: number }[]
}

/** Parses `[{rule_id, count}]`. Throws `STB_BUDGET_INVALID`. */
export function parseBudget(text: string, shown: string): readonly BudgetRow[] {
  const invalid = (reason: string) =>
    stubCheckErrors.create('STB_BUDGET_INVALID', `the budget ${shown}: ${reason}`, {
      hint: 'write an array of {"rule_id", "count"}'
    })
  let rows: unknown
  try {
    rows = JSON.parse(text)
  } catch (error) {
    throw invalid(errorMessage(error))
  }
  if (!Array.isArray(rows)) throw invalid('it must be an array')
  const seen = new Set<string>()
  return rows.map((row: unknown, at) => {
    const { rule_id, count } = (row ?? {}) as Partial<BudgetRow>
    if (typeof rule_id !== 'string' || !Number.isInteger(count) || (count as number) < 0)
      throw invalid(`row ${at} must have a rule_id and a count from 0`)
    if (seen.has(rule_id)) throw invalid(`${rule_id} occurs twice`)
    seen.add(rule_id)
    return { rule_id, count: count as number }
  })
}

/** Compares counts by rule with a budget. A rule without a row has the budget 0. */
export function judgeBudget(
  kind: GateKind,
  findings: readonly StubFinding[],
  budget: readonly BudgetRow[]
): GateResult {
  const isGated = ({ ruleId, severity }: StubFinding): boolean =>
    kind === 'warnings' ? severity === 'warning' : GATED.some(family => coversRule(family, ruleId))
  const counts = new Map<string, number>()
  for (const finding of findings)
    if (isGated(finding)) counts.set(finding.ruleId, (counts.get(finding.ruleId) ?? 0) + 1)
  const budgets = new Map(budget.map(({ rule_id, count }) => [rule_id, count]))
  const rows = [...new Set([...counts.keys(), ...budgets.keys()])].sort().map(rule_id => ({
    rule_id,
    count: counts.get(rule_id) ?? 0,
    budget: budgets.get(rule_id) ?? 0
  }))
  return { exceeded: rows.filter(row => row.count > row.budget), lowered: rows.filter(row => row.count < row.budget) }
}
