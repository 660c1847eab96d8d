import type { Attestation, TaskProcessor } from '@svc/contracts'

/** Evidence of a stub for a task, which claims nothing. */
const NOTHING_DONE: Attestation = {
  completion_summary: 'The fleet of this process works without a model: no work was done for this task.',
  checks_passed: [],
  declared_non_placeholder: false,
  observation_summary: 'completed without work, since plugins.agent-fleet.stub_completes is on'
}

/** Accepts all remaining tasks. Each stays in progress until a client completes it, or is completed without work. */
export function stubProcessor(completes: () => boolean): TaskProcessor {
  return {
    name: 'stub',
    rank: -100,
    takes: () => true,
    run: async () => (completes() ? NOTHING_DONE : null)
  }
}
