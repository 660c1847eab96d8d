import { coordinationSql, type WorkflowChange } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { Durable } from '../interpreter/durable.ts'
import { fail } from '../interpreter/failure.ts'
import type { Machine } from '../interpreter/machine.ts'
import type { Value } from '../interpreter/value.ts'
import { losslessText, losslessValue, type MakeHandle } from '../wire/lossless.ts'
import { type CallOptions, delayAfter } from './call-options.ts'
import { type Content, entry, type JournalEntry } from './journal.ts'
import { Suspension } from './suspension.ts'
import type { RunHistory, StepRecord } from './workflow-store.ts'

/** Maximum wait that blocks the thread, in milliseconds. A longer one ends the turn. */
const SHORT_WAIT_MS = 250

/** Steps of a run after which a warning is logged, and its maximum. A turn reads and repeats all of them. */
const MANY_STEPS = 5_000
const MAX_STEPS = 50_000

export interface RunOf {
  readonly runId: string
  readonly owner: string
  readonly workflow: string
  /** Number of the workflow's parameters. */
  readonly params: number
  readonly history: RunHistory
  /** True to record replayed steps in the journal: the run was interrupted, or is retried. */
  readonly journalsReplays: boolean
}

/** Names a step of a run. */
export interface StepName {
  readonly id: string
  /** Name of the activity, or of the function that waits. */
  readonly name: string
}

/** An attempt that failed, and is followed by another one. */
export interface FailedAttempt {
  readonly attempt: number
  readonly error: string
  readonly options: CallOptions
}

/** A completed step, announced when it is committed. */
interface StepDone {
  readonly step: string
  readonly activity: string
  readonly event: string
}

/** History of a run, and the changes of its current turn. */
export class TurnRecord {
  readonly run: RunOf
  readonly durable: Durable
  readonly #machine: Machine
  readonly #handle: MakeHandle
  readonly #replayed = new Set<string>()
  /** True if a step was completed in this turn. */
  hasProgressed = false
  /** Journal entries, written with the next change. */
  #entries: string[] = []
  /** Completed steps, written with the next change, which precedes the next effect: one commit fewer for each step. */
  #held: WorkflowChange[] = []
  #completed: StepDone[] = []

  constructor(run: RunOf, machine: Machine, durable: Durable, handle: MakeHandle) {
    this.run = run
    this.durable = durable
    this.#machine = machine
    this.#handle = handle
  }

  /** True while there are completed steps of earlier turns that were not replayed yet. */
  get isReplaying(): boolean {
    return this.#replayed.size < this.run.history.completed.size
  }

  journal(content: Content<JournalEntry>): void {
    this.#entries.push(entry(content))
  }

  /** Returns the fields that name a step in the journal. */
  named({ id, name }: StepName) {
    return { workflow: this.run.workflow, activity: name, activity_id: id } as const
  }

  /** Journals that a step is to be done. */
  begin(step: StepName, boundary: 'local' | 'mesh' = 'local', options?: CallOptions, max_attempts = 1): void {
    const named = this.named(step)
    this.journal({
      event: 'ActivityTask',
      ...named,
      execution_boundary: boundary,
      max_attempts,
      timeout_ms: options?.timeout ?? null,
      idempotency_key: `${this.run.runId}:${step.id}`
    })
    this.journal({ event: 'ActivityStarted', ...named })
  }

  /** Completes a step with its result. `signal`: id of the signal that it consumed. */
  complete(step: StepName, content: Content<JournalEntry>, value: Value, signal?: number): void {
    const result = losslessText(value)
    this.journal(content)
    this.journal({ event: 'ActivityCompleted', ...this.named(step) })
    this.storeStep(step.id, { activity: step.name, event: content.event, result }, signal)
  }

  /**
   * Stores a completed step with the next change. A later call with the same id returns its result. Throws
   * `RUN_WORKFLOW_TOO_LONG`.
   */
  storeStep(id: string, step: StepRecord, signal?: number): void {
    const { history, runId, workflow } = this.run
    const entries = this.#entries
    this.#entries = []
    this.#held.push({ entries, completed: { step: id, ...step }, ...defined({ signal }) })
    this.#completed.push({ step: id, activity: step.activity, event: step.event })
    this.hasProgressed = true
    this.#replayed.add(id)
    history.completed.set(id, step)
    const count = history.completed.size
    if (count === MANY_STEPS) {
      const advice = 'call workflow.continue_as_new to begin again without them'
      this.#machine.host.log({
        level: 'warn',
        text: `the run ${runId} of ${workflow} has ${MANY_STEPS} steps; ${advice}`
      })
    }
    if (count < MAX_STEPS) return
    fail('RUN_WORKFLOW_TOO_LONG', `the run ${runId} of ${workflow} has ${count} steps, which is the limit`)
  }

  /** Returns the recorded step; null if it was not completed. Throws `RUN_WORKFLOW_CHANGED` if it was another step. */
  done({ id, name }: StepName): StepRecord | null {
    const step = this.run.history.completed.get(id)
    if (step === undefined) return null
    if (step.activity !== name) {
      fail(
        'RUN_WORKFLOW_CHANGED',
        `the step ${id} of the run ${this.run.runId} was ${step.activity} and is now ${name}`
      )
    }
    if (this.#replayed.has(id)) return step
    this.#replayed.add(id)
    if (this.run.journalsReplays && step.event !== 'BranchDecision') {
      const named = this.named({ id, name })
      const replayed = { event: 'ActivityReplayed', ...named, replay_source: 'workflow_activity_log' } as const
      this.journal({ ...replayed, result_event: step.event })
      this.journal({ event: 'ActivityCompleted', ...named, replayed: true })
    }
    return step
  }

  valueOf({ result }: StepRecord): Value {
    return losslessValue(result, this.#handle)
  }

  /** Returns the value of a signal; null if it has none. */
  payloadOf({ payload }: { readonly payload: string | null }): Value {
    return payload === null ? null : losslessValue(payload, this.#handle)
  }

  /**
   * Returns the hashes of the arguments of a step. Throws `RUN_WORKFLOW_CHANGED` if it was recorded with other arguments. A
   * run without hashes is not checked.
   */
  hashesOf({ id, name }: StepName, params: readonly string[], args: readonly Value[]): readonly string[] {
    const { history, runId } = this.run
    const hashes = args.map(each => coordinationSql.hashText(losslessText(each)))
    const recorded = history.args.get(id)
    if (recorded === undefined) {
      if (hashes.length > 0 && !history.completed.has(id)) history.args.set(id, hashes)
      return hashes
    }
    const at = hashes.findIndex((hash, index) => hash !== recorded[index])
    if (at < 0 && recorded.length === hashes.length) return hashes
    const changed = at < 0 ? `number of arguments of ${name}` : `argument ${params[at] ?? at + 1} of ${name}`
    return fail(
      'RUN_WORKFLOW_CHANGED',
      `the ${changed} in the step ${id} of the run ${runId} differs from the recorded one`
    )
  }

  /** Records the begin of an attempt. `until`: end of its time, if it has one. */
  started({ id, name }: StepName, attempt: number, hashes: readonly string[] = [], until?: number): void {
    this.record({
      attempt: { step: id, attempt, status: 'started', error: null, ...(hashes.length > 0 && { args: hashes }) },
      ...(until !== undefined && { scheduled: { step: id, activity: name, at: until } })
    })
  }

  /** Records a failed attempt, and waits for the time of the next one. */
  retry(step: StepName, { attempt, error, options }: FailedAttempt): void {
    const delay = delayAfter(attempt, options)
    const due = this.durable.now() + delay
    const next = { event: 'ActivityRetryScheduled', ...this.named(step), attempt, next_attempt: attempt + 1 } as const
    this.journal({ ...next, delay_ms: delay })
    this.record({
      attempt: { step: step.id, attempt, status: 'failed', error },
      scheduled: { step: step.id, activity: step.name, at: due }
    })
    this.wait(due)
  }

  /** Waits until a time. Throws {@link Suspension} if that is not short. */
  wait(due: number): void {
    const left = due - this.durable.now()
    if (left <= 0) return
    if (left > SHORT_WAIT_MS || left > this.#machine.timeLeft()) throw new Suspension(due, null)
    this.flush()
    this.durable.sleep(left)
  }

  /** Writes a change, after the completed steps. */
  record(change: WorkflowChange): void {
    const entries = this.#entries
    this.#entries = []
    this.#commit([{ ...change, entries }])
  }

  /** Commits the completed steps, before code outside of this run has an effect or waits. */
  flush(): void {
    if (this.#held.length > 0) this.#commit([])
  }

  /** Writes the held steps and further changes, and announces them. */
  #commit(changes: readonly WorkflowChange[]): void {
    const { runId, owner, workflow } = this.run
    const [held, completed] = [this.#held, this.#completed]
    this.#held = []
    this.#completed = []
    this.durable.workflows.record(runId, owner, [...held, ...changes], this.durable.now())
    for (const { step, activity, event } of completed)
      this.#machine.host.stepped?.({ runId, workflow, step, activity, event })
    // A completed step is announced by itself.
    if (completed.length === 0) this.#machine.host.runChanged?.()
  }
}
