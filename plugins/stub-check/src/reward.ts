import type { RewardEvent, StubFinding } from '@svc/contracts'
import { countsOf } from './policy/severity.ts'
import type { StoredState } from './store/stored-state.ts'

const DEBT_FINDINGS = 10
const DEBT_WARNINGS = 15

/**
 * Returns the event for a scan: `toestub_scan_clean` without findings, `stub_check_debt` for many findings or an error, once per
 * user, path and UTC day; otherwise null. Without a database no debt is signalled, since the day cannot be kept.
 */
export async function rewardFor(
  path: string,
  findings: readonly StubFinding[],
  user: string,
  state: StoredState | null
): Promise<RewardEvent | null> {
  const counts = countsOf(findings)
  if (findings.length === 0) return { type: 'toestub_scan_clean', user, path }
  const isDebt =
    counts.error + counts.critical > 0 || findings.length >= DEBT_FINDINGS || counts.warning >= DEBT_WARNINGS
  if (!isDebt || state === null) return null
  const day = new Date().toISOString().slice(0, 10)
  if (!(await state.isFirstSignal(user, path, day))) return null
  return { type: 'stub_check_debt', user, path, findings: findings.length, ...counts }
}
