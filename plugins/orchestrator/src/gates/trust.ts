import { type Gate, passed, skipped } from './gate.ts'

/** Gate: an agent with low trust in completing tasks must name a passed check. */
export const trustGate: Gate = {
  name: 'trust',
  counter: 'stubcheck_iterations',
  heading: () => '[TRUST GATE]',
  ask({ attestation, rollup, settings }) {
    if (rollup === null) return skipped('none of the agent’s tasks has ended yet')
    const floor = settings.trust_task_completion_floor
    if (rollup >= floor) return passed(`trust in completing tasks is ${rollup.toFixed(2)}`)
    if ((attestation?.checks_passed ?? []).length > 0) return passed('trust is low, but a check has passed')
    return {
      verdict: 'fail',
      detail: `trust in completing tasks is ${rollup.toFixed(2)}, below ${floor}: name the checks that passed`,
      atLimit: 'pass'
    }
  }
}
