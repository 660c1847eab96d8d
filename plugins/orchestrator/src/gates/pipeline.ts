import { type GateName, type GateRecord, orchestrationErrors, type TaskView, taskLabel } from '@svc/contracts'
import type { GateOutcome } from '../state/ports.ts'
import { approvalGate } from './approval.ts'
import { behavioralGate } from './behavioral.ts'
import { docLinksGate } from './doc-links.ts'
import type { AtLimit, Finding, Gate, GateContext, GateCounter } from './gate.ts'
import { groundingGate } from './grounding.ts'
import { harnessGate } from './harness.ts'
import { qgateGate } from './qgate.ts'
import { researchGate } from './research.ts'
import type { GateSettings } from './settings.ts'
import { stubcheckGate } from './stubcheck.ts'
import { trustGate } from './trust.ts'

/** In the order in which they are asked. */
export const GATES: readonly Gate[] = [
  behavioralGate,
  researchGate,
  approvalGate,
  trustGate,
  harnessGate,
  stubcheckGate,
  docLinksGate,
  qgateGate,
  groundingGate
]

/** Of what is appended to a description by one gate. */
const LONGEST_NOTE = 600

const PREFIXES: Readonly<Record<Exclude<AtLimit, 'pass'>, string>> = {
  ORC_VALIDATION_FAILED: 'Task validation failed',
  ORC_ATTESTATION_REQUIRED: 'Approval attestation required',
  ORC_SCOPE_DENIED: 'Scope denied'
}

const LIMITS: Readonly<Record<GateCounter, keyof GateSettings & `max_${string}`>> = {
  debug_iterations: 'max_debug_iterations',
  stubcheck_iterations: 'max_stubcheck_debug_iterations',
  qgate_iterations: 'max_qgate_debug_iterations'
}

/**
 * Asks one gate after the other. The first that fails sends the task back while its counter is below its limit; from then on it
 * refuses, or lets pass with a note of it, and the next one is asked. The records tell what each of those asked has found.
 */
export function runGates(context: GateContext, now: number): GateOutcome {
  const records: GateRecord[] = []
  for (const gate of GATES) {
    const finding = gate.ask(context)
    if (finding.verdict !== 'fail') {
      records.push(recordOf(gate.name, finding.verdict, finding, now))
      continue
    }
    const used = context.task[gate.counter]
    if (used < context.settings[LIMITS[gate.counter]]) {
      records.push(recordOf(gate.name, 'requeue', finding, now))
      const note = `\n\n${gate.heading(used + 1)} ${finding.detail}`.slice(0, LONGEST_NOTE)
      return { kind: 'requeue', gate: gate.name, reason: finding.detail, note, counter: gate.counter, records }
    }
    if (finding.atLimit !== 'pass') {
      records.push(recordOf(gate.name, 'refuse', finding, now))
      return {
        kind: 'refuse',
        gate: gate.name,
        error: refusal(finding.atLimit, finding.detail, context.task, gate),
        records
      }
    }
    records.push(recordOf(gate.name, 'pass_at_limit', finding, now))
  }
  return { kind: 'pass', records }
}

function recordOf(gate: GateName, verdict: GateRecord['verdict'], finding: Finding, now: number): GateRecord {
  const { detail, data } = finding
  return { gate, verdict, detail, ...(data === undefined ? {} : { data }), timestamp_ms: now }
}

function refusal(code: Exclude<AtLimit, 'pass'>, detail: string, task: TaskView, gate: Gate): Error {
  return orchestrationErrors.create(code, `${PREFIXES[code]}: ${taskLabel(task.id)}, gate ${gate.name}: ${detail}`, {
    hint: 'Complete it again with what is missing, or fail it with a reason.',
    data: { gate: gate.name, task_id: task.id }
  })
}
