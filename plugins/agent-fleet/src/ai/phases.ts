import type { TaskPhase } from '@svc/contracts'

export interface PhasePlan {
  readonly phase: TaskPhase
  /** Prompt for the model. */
  readonly instruction: string
  /** Tools to offer; `write` includes writing tools if the task's policy allows them. */
  readonly tools: 'none' | 'read' | 'write'
}

/** Phases of the work on a task, before {@link DECIDE}. */
export const PHASES: readonly PhasePlan[] = [
  {
    phase: 'inspect',
    tools: 'read',
    instruction:
      'Inspect. Restate the task in your own words, with its acceptance criteria and open points. Look up the facts that you need first; change nothing.'
  },
  {
    phase: 'localize',
    tools: 'read',
    instruction:
      'Localize. Find the files, functions, records or facts that the task is about, and name each with its path or identifier. Say so if you cannot find one.'
  },
  {
    phase: 'hypothesize',
    tools: 'none',
    instruction:
      'Hypothesize. State the steps that you believe are necessary and why, the strongest reason against them, and the sign that would prove you wrong.'
  },
  {
    phase: 'act',
    tools: 'write',
    instruction:
      'Act. Do the task with the available tools. If it asks for a text or an answer, write it in full. List exactly what you did, and what you could not do.'
  },
  {
    phase: 'verify',
    tools: 'read',
    instruction:
      'Verify. Compare the result with the acceptance criteria, using tools if available. List each check with its method and result. A check that you have not made has not passed.'
  }
]

/** Last phase, in which the model returns its verdict. */
export const DECIDE: PhasePlan = {
  phase: 'decide',
  tools: 'none',
  instruction:
    'Decide. Reply with one JSON object and nothing else. outcome is "complete" only if the whole task is done; "doubt" if you cannot judge that, or if a user must decide; "fail" if it cannot be done. summary: two sentences or more about the work that was done, or why none was. reason: why the outcome is doubt or fail. checks_passed: checks that you really made. evidence_citations: references from the context that support the result. artifact_paths: files that were really written. complete_and_real: whether the result contains no placeholders.'
}
