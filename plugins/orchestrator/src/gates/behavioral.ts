import { type Gate, passed, skipped } from './gate.ts'

/** Gate: the project's tests pass. */
export const behavioralGate: Gate = {
  name: 'behavioral',
  counter: 'debug_iterations',
  heading: () => '[BEHAVIORAL GATE]',
  ask({ evidence, settings }) {
    if (!settings.behavioral_gate_on_complete) return skipped('behavioral_gate_on_complete is off')
    const tests = evidence?.tests
    if (tests === undefined) return skipped('the project declares no test command')
    if (tests.ok) return passed(`${tests.command} succeeded`)
    return {
      verdict: 'fail',
      detail: `${tests.command} failed: ${tests.reason}`,
      atLimit: 'ORC_VALIDATION_FAILED',
      data: { command: tests.command, output: tests.output }
    }
  }
}
