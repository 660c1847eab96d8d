import {
  type AtLimit,
  type CompletionGate,
  type GateCounter,
  type GateFinding,
  type GateName,
  type GateRecord,
  orchestrationErrors,
  type TaskView,
  taskLabel
} from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { GateOutcome } from '../state/ports.ts'
import type { GateSettings } from './settings.ts'

/** Maximum characters that one gate appends to a description. */
const MAX_NOTE_CHARACTERS = 600

const PREFIXES: Readonly<Record<Exclude<AtLimit, 'pass'>, string>> = {
  ORC_VALIDATION_FAILED: 'Task validation failed',
  ORC_ATTESTATION_REQUIRED: 'Approval attestation required',
  ORC_SCOPE_DENIED: 'Scope denied'
}

const LIMITS = {
  debug_iterations: 'max_debug_iterations',
  stubcheck_iterations: 'max_stubcheck_debug_iterations',
  qgate_iterations: 'max_qgate_debug_iterations'
} as const satisfies Readonly<Record<GateCounter, keyof GateSettings>>

/** A gate bound to one completion. */
export interface BoundGate extends Pick<CompletionGate, 'name' | 'counter' | 'heading'> {
  ask(): GateFinding
}

/**
 * Runs the gates in order. The first failing gate requeues the task while its counter is below its limit. At the limit
 * it rejects the completion, or passes it to the next gate. A gate that throws rejects the completion. The outcome
 * contains one record for each gate that ran.
 */
export function runGates(
  gates: readonly BoundGate[],
  task: TaskView,
  settings: Pick<GateSettings, (typeof LIMITS)[GateCounter]>,
  now: number
): GateOutcome {
  const records: GateRecord[] = []
  const refuse = (gate: BoundGate, code: Exclude<AtLimit, 'pass'>, finding: GateFinding): GateOutcome => {
    records.push(recordOf(gate.name, 'refuse', finding, now))
    return { kind: 'refuse', gate: gate.name, error: refusal(code, finding.detail, task, gate.name), records }
  }
  for (const gate of gates) {
    const finding = findingOf(gate)
    if (finding instanceof Error) {
      const detail = `the gate threw an error: ${errorMessage(finding)}`
      return refuse(gate, 'ORC_VALIDATION_FAILED', { verdict: 'fail', atLimit: 'ORC_VALIDATION_FAILED', detail })
    }
    if (finding.verdict !== 'fail') {
      records.push(recordOf(gate.name, finding.verdict, finding, now))
      continue
    }
    const used = task[gate.counter] ?? 0
    if (used < settings[LIMITS[gate.counter]]) {
      records.push(recordOf(gate.name, 'requeue', finding, now))
      const note = `\n\n${gate.heading(used + 1)} ${finding.detail}`.slice(0, MAX_NOTE_CHARACTERS)
      return { kind: 'requeue', gate: gate.name, reason: finding.detail, note, counter: gate.counter, records }
    }
    if (finding.atLimit !== 'pass') return refuse(gate, finding.atLimit, finding)
    records.push(recordOf(gate.name, 'pass_at_limit', finding, now))
  }
  return { kind: 'pass', records }
}

function findingOf(gate: BoundGate): GateFinding | Error {
  try {
    return gate.ask()
  } catch (error) {
    return error instanceof Error ? error : new Error(errorMessage(error))
  }
}

function recordOf(gate: GateName, verdict: GateRecord['verdict'], finding: GateFinding, now: number): GateRecord {
  const { detail, data } = finding
  return { gate, verdict, detail, ...(data === undefined ? {} : { data }), timestamp_ms: now }
}

function refusal(code: Exclude<AtLimit, 'pass'>, detail: string, task: TaskView, gate: GateName): Error {
  return orchestrationErrors.create(code, `${PREFIXES[code]}: ${taskLabel(task.id)}, gate ${gate}: ${detail}`, {
    hint: 'fix what the gate found and complete the task again, or fail it with a reason',
    data: { gate, task_id: task.id }
  })
}
