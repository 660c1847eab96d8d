import type { Attestation, TaskProcessor } from '@svc/contracts'

/** Attestation that claims no work and no checks. */
const NOTHING_DONE: Attestation = {
  completion_summary: 'The agent fleet of this process has no model: no work was done for this task.',
  checks_passed: [],
  declared_non_placeholder: false,
  observation_summary: 'completed without work, because plugins.agent-fleet.stub_completes is on'
}

/** Returns a processor that accepts every task and does no work. If `completes` is false, a client must complete it. */
export function stubProcessor(completes: () => boolean): TaskProcessor {
  return {
    name: 'stub',
    rank: -100,
    takes: () => true,
    run: async () => (completes() ? NOTHING_DONE : null)
  }
}
