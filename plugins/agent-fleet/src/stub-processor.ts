import type { Attestation, TaskProcessor } from '@svc/contracts'

/** What a stub can truly say of a task. */
const NOTHING_DONE: Attestation = {
  completion_summary: 'The fleet of this process works without a model: nobody has done anything for this task.',
  checks_passed: [],
  declared_non_placeholder: false,
  observation_summary: 'handed in without work, since plugins.agent-fleet.stub_completes is on'
}

/** Takes what nobody else does: it stays in progress until a client completes it, or is handed in as it is. */
export function stubProcessor(completes: () => boolean): TaskProcessor {
  return {
    name: 'stub',
    rank: -100,
    takes: () => true,
    run: async () => (completes() ? NOTHING_DONE : null)
  }
}
