import type { RewardEvent } from '@svc/contracts'
import type { TestCounts } from '../test-command.ts'

/**
 * Returns the events for a run of tests. `test_suite_green` counts once a day (UTC) for a project, and only for a run
 * without a filter.
 */
export function testRewards(
  { passed, failed, hasErrors, isFiltered }: TestCounts,
  project: string,
  now: Date
): RewardEvent[] {
  if (failed > 0 || hasErrors) return [{ type: 'test_fail', passed, failed }]
  if (passed === 0) return []
  const event = { type: 'test_pass', passed, failed }
  const day = now.toISOString().slice(0, 10)
  return isFiltered
    ? [event]
    : [event, { type: 'test_suite_green', passed, ludus_dedupe_id: `test_suite_green:${project}:${day}` }]
}
