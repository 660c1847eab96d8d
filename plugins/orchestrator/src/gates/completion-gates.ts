import type { Attestation, CompletionGate, GateFinding, SpanAttributes, TaskView } from '@svc/contracts'
import { errorMessage, withTimeout } from '@svc/plugin-sdk'
import type { GateEvidence, GateInput, GateOutcome, GatePort } from '../state/ports.ts'
import { inStep, type StartStep } from '../steps.ts'
import { runGates } from './pipeline.ts'
import type { GateSettings } from './settings.ts'

const GATHER_MS = 30_000

export interface CompletionGatesOptions {
  readonly settings: () => GateSettings
  /** Returns the gates of the serving unit, in any order. */
  readonly gates: () => readonly CompletionGate[]
  /** Returns an agent's trust in completing tasks, [0, 1]; null before its first outcome. */
  readonly rollup: (agent: number) => number | null
  /** Starts a step of the recorded call that runs now; default: nothing is recorded. */
  readonly step?: StartStep
}

/** Why the evidence of a gate is missing. */
class GatherFailure {
  readonly message: string

  constructor(error: unknown) {
    this.message = errorMessage(error)
  }
}

/** Runs the gates in their order. `run` does no I/O; `gather` fetches the evidence before. */
export class CompletionGates implements GatePort {
  readonly #options: CompletionGatesOptions
  #unsorted: readonly CompletionGate[] = []
  #sorted: readonly CompletionGate[] = []

  constructor(options: CompletionGatesOptions) {
    this.#options = options
  }

  gather(task: TaskView, attestation: Attestation | undefined): Promise<GateEvidence> | null {
    const pending: Promise<readonly [gate: string, evidence: unknown]>[] = []
    for (const gate of this.#gates()) {
      const step = gate.gather === undefined ? null : (this.#options.step?.(`evidence of gate ${gate.name}`) ?? null)
      const lookup = gatherFor(gate, task, attestation ?? null)
      if (lookup === null) continue
      pending.push(
        lookup.then(evidence => {
          step?.end(evidence instanceof GatherFailure ? new Error(evidence.message) : undefined)
          return [gate.name, evidence] as const
        })
      )
    }
    return pending.length === 0 ? null : Promise.all(pending).then(found => new Map(found))
  }

  run({ task, attestation: claimed, evidence, trust, now }: GateInput): GateOutcome {
    const attestation = claimed ?? null
    const rollup = this.#options.rollup(task.agent_id)
    const { step } = this.#options
    const bound = this.#gates().map(gate => ({
      name: gate.name,
      counter: gate.counter,
      heading: (iteration: number) => gate.heading(iteration),
      ask() {
        const gathered = evidence?.get(gate.name) ?? null
        if (gathered instanceof GatherFailure) throw new Error(gathered.message)
        const question = { task, attestation, trust, rollup, evidence: gathered }
        const verdict = ({ verdict }: GateFinding): SpanAttributes => ({ 'svc.verdict': verdict })
        return inStep(step, `gate ${gate.name}`, () => gate.ask(question), verdict)
      }
    }))
    return runGates(bound, task, this.#options.settings(), now)
  }

  #gates(): readonly CompletionGate[] {
    const gates = this.#options.gates()
    if (gates === this.#unsorted) return this.#sorted
    this.#unsorted = gates
    this.#sorted = [...gates].sort((a, b) => a.order - b.order || (a.name < b.name ? -1 : 1))
    return this.#sorted
  }
}

/** Gathers a gate's evidence; null if it needs none. Resolves to a {@link GatherFailure} if the lookup fails. */
function gatherFor(gate: CompletionGate, task: TaskView, attestation: Attestation | null): Promise<unknown> | null {
  const controller = new AbortController()
  try {
    const lookup = gate.gather?.(task, attestation, controller.signal) ?? null
    if (lookup === null) return null
    const limited = withTimeout(gate.gatherTimeoutMs ?? GATHER_MS, () => lookup)
    return limited.catch((error: unknown) => {
      controller.abort(error)
      return new GatherFailure(error)
    })
  } catch (error) {
    return Promise.resolve(new GatherFailure(error))
  }
}
