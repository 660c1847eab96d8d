import type { WorkflowChange, WorkflowStatus } from '@svc/contracts'
import { fail } from '../interpreter/failure.ts'
import type { JournalEntry } from './journal.ts'
import {
  type AttemptRecord,
  type ClaimedRun,
  ENDED,
  type Lease,
  type NewRun,
  type RunHistory,
  type RunRecord,
  type SignalRecord,
  type StepRecord,
  type WorkflowStore
} from './workflow-store.ts'

interface KeptRun {
  record: RunRecord
  generation: number
  /** Journal entries of earlier generations. */
  earlier: number
  owner: string | null
  leaseUntil: number
  readonly completed: Map<string, StepRecord>
  readonly scheduled: Map<string, number>
  readonly attempts: Map<string, AttemptRecord>
  readonly args: Map<string, readonly string[]>
  readonly journal: string[]
}

/** Runs in memory, for programs without a database. */
export class MemoryWorkflowStore implements WorkflowStore {
  readonly #runs = new Map<string, KeptRun>()
  readonly #signals: { readonly run: string; readonly key: string; readonly record: SignalRecord }[] = []
  #signalCount = 0
  readonly inTransaction = false

  create({ runId, workflow, args, parent }: NewRun): boolean {
    if (this.#runs.has(runId)) return false
    const status: WorkflowStatus = 'pending'
    const open = { result: null, error: null, wakeAt: null, waitingFor: null }
    this.#runs.set(runId, {
      record: { runId, workflow, args, parent, status, ...open },
      owner: null,
      leaseUntil: 0,
      completed: new Map(),
      scheduled: new Map(),
      attempts: new Map(),
      args: new Map(),
      generation: 0,
      earlier: 0,
      journal: []
    })
    return true
  }

  find(runId: string): RunRecord | null {
    return this.#runs.get(runId)?.record ?? null
  }

  claim(runId: string, { owner, now, until }: Lease, again = false): ClaimedRun | null {
    const run = this.#runs.get(runId)
    if (run === undefined) return null
    const { record } = run
    if (ENDED.includes(record.status) && !(again && record.status === 'failed')) return null
    if (run.owner !== null && run.leaseUntil > now) return null
    const wasInterrupted = record.status === 'running'
    run.owner = owner
    run.leaseUntil = until
    run.record = { ...record, status: 'running', wakeAt: null, waitingFor: null, error: null }
    return { ...run.record, wasInterrupted }
  }

  history(runId: string): RunHistory {
    const run = this.#runs.get(runId)
    return {
      generation: run?.generation ?? 0,
      hasBegun: run !== undefined && run.journal.length > run.earlier,
      completed: new Map(run?.completed),
      scheduled: new Map(run?.scheduled),
      attempts: new Map(run?.attempts),
      args: new Map(run?.args)
    }
  }

  /** No scheduler claims runs in memory. */
  adopt(): null {
    return null
  }

  record(runId: string, owner: string, changes: readonly WorkflowChange[]): void {
    const run = this.#runs.get(runId)
    if (run === undefined || run.owner !== owner || run.record.status !== 'running') {
      fail('RUN_WORKFLOW_LOST', `the run ${runId} was cancelled, or another process runs it`)
    }
    for (const change of changes) this.#store(run, change)
  }

  #store(run: KeptRun, { entries = [], completed, scheduled, attempt, signal, turn }: WorkflowChange): void {
    run.journal.push(...entries)
    if (completed !== undefined) {
      const { step: id, ...step } = completed
      run.completed.set(id, step)
    }
    if (scheduled !== undefined) run.scheduled.set(scheduled.step, scheduled.at)
    if (attempt !== undefined) {
      run.attempts.set(attempt.step, { attempt: attempt.attempt, status: attempt.status })
      if (attempt.args !== undefined && !run.args.has(attempt.step)) run.args.set(attempt.step, attempt.args)
    }
    if (signal !== undefined) {
      this.#signals.splice(
        this.#signals.findIndex(each => each.record.id === signal),
        1
      )
    }
    if (turn === undefined) return
    run.owner = null
    if (turn.status !== 'continued') {
      run.record = { ...run.record, ...turn }
      return
    }
    for (const steps of [run.completed, run.scheduled, run.attempts, run.args]) steps.clear()
    run.generation += 1
    run.earlier = run.journal.length
    run.record = { ...run.record, status: 'pending', args: turn.args }
  }

  signal(runId: string, key: string): SignalRecord | null {
    return this.#signals.find(each => each.run === runId && each.key === key)?.record ?? null
  }

  /** Sends a signal to a run. Returns false if the run does not exist or has ended. */
  send(runId: string, key: string, payload: string | null): boolean {
    const run = this.#runs.get(runId)
    if (run === undefined || ENDED.includes(run.record.status)) return false
    this.#signals.push({ run: runId, key, record: { id: ++this.#signalCount, payload } })
    return true
  }

  journal(runId: string): readonly JournalEntry[] {
    return (this.#runs.get(runId)?.journal ?? []).map(text => JSON.parse(text) as JournalEntry)
  }
}
