import type { WorkflowChange } from '@svc/contracts'
import { MemoryActorStore } from '../actors/memory-actor-store.ts'
import type { Durable } from '../interpreter/durable.ts'
import { fail } from '../interpreter/failure.ts'
import {
  type AttemptRecord,
  type ClaimedRun,
  ENDED,
  type NewRun,
  type RunHistory,
  type RunRecord,
  type SignalRecord,
  type StepRecord,
  type WorkflowStore
} from './workflow-store.ts'

/** A stored run with its history. Can be passed to a thread by structured clone. */
export interface RecordedRun {
  readonly record: RunRecord
  readonly completed: readonly (readonly [step: string, StepRecord])[]
  readonly scheduled: readonly (readonly [step: string, at: number])[]
  readonly attempts: readonly (readonly [step: string, AttemptRecord])[]
  readonly args: readonly (readonly [step: string, hashes: readonly string[]])[]
  readonly generation: number
}

/** Thrown where a replayed run leaves its history: it would begin a step that was not recorded. */
export class ReplayEnd {
  readonly step: string

  constructor(step: string) {
    this.step = step
  }
}

/** Runs to replay. Recorded steps return their results; a new step throws {@link ReplayEnd}, and nothing is stored. */
export class ReplayStore implements WorkflowStore {
  readonly inTransaction = false
  /** How the turn of the replayed run ended; null if it has not. */
  turn: WorkflowChange['turn'] | null = null
  readonly #root: string
  readonly #runs: ReadonlyMap<string, RecordedRun>
  readonly #visited = new Map<string, Set<string>>()

  /** `root`: the run to replay; the other runs are its children. */
  constructor(root: string, runs: readonly RecordedRun[]) {
    this.#root = root
    this.#runs = new Map(runs.map(run => [run.record.runId, run]))
  }

  /** Returns the recorded steps that the replayed runs did not reach. */
  get missed(): string[] {
    return [...this.#visited].flatMap(([runId, visited]) => {
      const run = this.#runs.get(runId)
      if (run === undefined) return []
      const steps = new Set([...run.completed, ...run.scheduled, ...run.attempts].map(([step]) => step))
      return [...steps].filter(step => !visited.has(step))
    })
  }

  /** Number of recorded steps that were reached. */
  get replayed(): number {
    let count = 0
    for (const [runId, visited] of this.#visited)
      count += this.#runs.get(runId)?.completed.filter(([step]) => visited.has(step)).length ?? 0
    return count
  }

  create({ runId, parent }: NewRun): boolean {
    // A detached run is started again by each turn, and ignored if it exists.
    if (parent !== null && !this.#runs.has(runId)) throw new ReplayEnd(runId)
    return false
  }

  find(runId: string): RunRecord | null {
    return this.#runs.get(runId)?.record ?? null
  }

  claim(runId: string): ClaimedRun | null {
    const record = this.find(runId)
    if (record === null) return null
    // The replayed run itself may have ended.
    if (runId !== this.#root && ENDED.includes(record.status)) return null
    return { ...record, wasInterrupted: false }
  }

  history(runId: string): RunHistory {
    const { completed = [], scheduled = [], attempts = [], args = [], generation = 0 } = this.#runs.get(runId) ?? {}
    const visited = this.#visited.get(runId) ?? new Set<string>()
    this.#visited.set(runId, visited)
    return {
      generation,
      hasBegun: true,
      completed: new VisitedSteps(completed, visited),
      scheduled: new Map(scheduled),
      attempts: new Map(attempts),
      args: new Map(args)
    }
  }

  record(runId: string, _: string, changes: readonly WorkflowChange[]): void {
    for (const change of changes) this.#record(runId, change)
  }

  #record(runId: string, { turn, completed, attempt, scheduled }: WorkflowChange): void {
    // A version that was added later is decided without a recorded step.
    if (completed?.event === 'BranchDecision') return
    if (attempt !== undefined && this.#isWait(runId, attempt.step)) {
      fail('RUN_WORKFLOW_CHANGED', `the step ${attempt.step} of the run ${runId} was a wait and is now an activity`)
    }
    const step = completed ?? attempt ?? scheduled
    if (step !== undefined) throw new ReplayEnd(step.step)
    if (runId === this.#root && turn !== undefined) this.turn = turn
  }

  /** True if a recorded step waits for a time or a signal. A step that waits for its next attempt has attempts. */
  #isWait(runId: string, step: string): boolean {
    const { scheduled = [], attempts = [] } = this.#runs.get(runId) ?? {}
    return scheduled.some(([id]) => id === step) && !attempts.some(([id]) => id === step)
  }

  signal(): SignalRecord | null {
    return null
  }

  adopt(): null {
    return null
  }
}

/** Completed steps that remember which of them were looked up: a run looks up each step that it reaches. */
class VisitedSteps extends Map<string, StepRecord> {
  readonly #visited: Set<string>

  constructor(steps: readonly (readonly [string, StepRecord])[], visited: Set<string>) {
    super(steps)
    this.#visited = visited
  }

  override get(step: string): StepRecord | undefined {
    this.#visited.add(step)
    return super.get(step)
  }
}

/** Returns the storage of a replay. Its actors are empty, and nothing waits. */
export function replayDurable(workflows: ReplayStore): Durable {
  return {
    workflows,
    actors: new MemoryActorStore(),
    now: Date.now,
    sleep: () => undefined,
    skipsTime: false,
    endsWithProgram: false,
    // No scheduler: nothing that the program starts may run.
    notify: () => undefined
  }
}
