import type { TaskPhase } from '@svc/contracts'

export interface PhasePlan {
  readonly phase: TaskPhase
  /** Prompt for the model. */
  readonly instruction: string
  /** `write`: also tools that change something, if the task's policy allows that. */
  readonly tools: 'none' | 'read' | 'write'
}

/** The phases of the work on every task, up to {@link DECIDE}. */
export const PHASES: readonly PhasePlan[] = [
  {
    phase: 'inspect',
    tools: 'read',
    instruction:
      'Inspect. Say in your own words what is asked, what would count as done, and what is not clear. Look up what you need to know first; change nothing.'
  },
  {
    phase: 'localize',
    tools: 'read',
    instruction:
      'Localize. Find the files, functions, records or facts that the task is about, and name each with its path or identifier. Say so where you cannot find one.'
  },
  {
    phase: 'hypothesize',
    tools: 'none',
    instruction:
      'Hypothesize. Write down what you believe has to be done and why, the strongest reason against it, and how one would notice that you are wrong.'
  },
  {
    phase: 'act',
    tools: 'write',
    instruction:
      'Act. Do the task with the tools that you have. Where it asks for a text or an answer, write all of it. List exactly what you did, and what you could not do.'
  },
  {
    phase: 'verify',
    tools: 'read',
    instruction:
      'Verify. Hold what was done against what counts as done, with tools where you have them. Name each check, how you made it and what came out. What you have not checked has not passed.'
  }
]

/** The last phase: a verdict. */
export const DECIDE: PhasePlan = {
  phase: 'decide',
  tools: 'none',
  instruction:
    'Decide. Answer with one JSON object and nothing else. outcome is "complete" only if everything that was asked is done; "doubt" if you cannot judge that, or if a person has to decide; "fail" if it cannot be done. summary: two sentences or more on what was done, or why not. reason: why it is doubted or failed. checks_passed: checks that you really made. evidence_citations: references from the context that support it. artifact_paths: files that were really written. complete_and_real: whether nothing of it is a placeholder.'
}
