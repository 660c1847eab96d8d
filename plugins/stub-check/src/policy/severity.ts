import { STUB_SEVERITIES, type StubFinding, type StubSeverity } from '@svc/contracts'

/** How findings decide the exit code. */
export const RUN_MODES = ['legacy', 'audit', 'enforce-warn', 'enforce-strict'] as const

export type RunMode = (typeof RUN_MODES)[number]

/** Least severity that fails a run; null: none does. */
const FAILS_FROM: Readonly<Record<RunMode, StubSeverity | null>> = {
  legacy: 'error',
  audit: null,
  'enforce-warn': 'critical',
  'enforce-strict': 'warning'
}

export function rankOf(severity: StubSeverity): number {
  return STUB_SEVERITIES.indexOf(severity)
}

export function isAtLeast(severity: StubSeverity, least: StubSeverity): boolean {
  return rankOf(severity) >= rankOf(least)
}

/** Returns the findings that make a run in this mode fail. */
export function failing(findings: readonly StubFinding[], mode: RunMode): readonly StubFinding[] {
  const from = FAILS_FROM[mode]
  return from === null ? [] : findings.filter(({ severity }) => isAtLeast(severity, from))
}

export type SeverityCounts = Readonly<Record<StubSeverity, number>>

export function countsOf(findings: readonly StubFinding[]): SeverityCounts {
  const counts = { info: 0, warning: 0, error: 0, critical: 0 }
  for (const { severity } of findings) counts[severity] += 1
  return counts
}
