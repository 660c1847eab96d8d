import type { WorkflowChange } from '@svc/contracts'
import { display } from '../interpreter/display.ts'
import type { Durable } from '../interpreter/durable.ts'
import { fail, RunError } from '../interpreter/failure.ts'
import type { Machine } from '../interpreter/machine.ts'
import { error, Tagged, type Value } from '../interpreter/value.ts'
import { losslessText, type MakeHandle } from '../wire/lossless.ts'
import { type CallOptions, callOptions } from './call-options.ts'
import { isMesh, runOnMesh } from './mesh-activity.ts'
import { meshItem } from './mesh-steps.ts'
import { Continuation, Suspension } from './suspension.ts'
import { type RunOf, type StepName, TurnRecord } from './turn-record.ts'

const MAX_ERROR_LENGTH = 2000

const NO_OPTIONS = callOptions('activity', 'side_effect', [])

export interface ActivityCall {
  readonly name: string
  readonly options: CallOptions
  readonly params: readonly string[]
  readonly args: readonly Value[]
  /** True if the activity is declared to return a Result. */
  readonly isResult: boolean
  /** Runs the body of the activity. */
  readonly run: () => Value
}

interface Attempt {
  readonly ok: boolean
  /** Result of the activity, if this is the last attempt. */
  readonly value: Value
  readonly message: string
  readonly thrown: RunError | null
}

/**
 * One turn of a run. It executes the workflow from its start to its end, or to the next long wait. Steps completed in
 * an earlier turn return their recorded results; other steps are executed and recorded. So a crash loses only the
 * running attempt.
 */
export class WorkflowExecution {
  readonly run: RunOf
  readonly #machine: Machine
  readonly #durable: Durable
  readonly #turn: TurnRecord
  #calls = 0

  constructor(run: RunOf, machine: Machine, durable: Durable, handle: MakeHandle) {
    this.run = run
    this.#machine = machine
    this.#durable = durable
    this.#turn = new TurnRecord(run, machine, durable, handle)
  }

  /** True while there are completed steps of earlier turns that were not replayed yet. */
  get isReplaying(): boolean {
    return this.#turn.isReplaying
  }

  /** True if a step was completed in this turn. */
  get hasProgressed(): boolean {
    return this.#turn.hasProgressed
  }

  /** Returns the id of the next step. Steps are numbered in call order. */
  nextId(): string {
    return this.#stepId(`${this.run.workflow}-${this.#calls++}`)
  }

  /** Steps of later generations have ids that differ from those of earlier ones. */
  #stepId(id: string): string {
    const { generation } = this.run.history
    return generation === 0 ? id : `g${generation}:${id}`
  }

  begin(steps: number): void {
    this.#turn.journal({ event: 'WorkflowStarted', workflow: this.run.workflow, steps })
  }

  /** Throws `RUN_WORKFLOW_UNREPEATABLE` for non-deterministic code. */
  refuse(label: string, at = -1): never {
    return fail(
      'RUN_WORKFLOW_UNREPEATABLE',
      `the workflow ${this.run.workflow} cannot be repeated, because it uses ${label}; move that code into an activity or side_effect { }`,
      at
    )
  }

  /** Records the end of the turn. */
  end(turn: NonNullable<WorkflowChange['turn']>): void {
    const { workflow } = this.run
    if (turn.status === 'completed') this.#turn.journal({ event: 'WorkflowCompleted', workflow })
    this.#turn.record({ turn })
  }

  /** Records that the run waits, and what it waits for. */
  suspend({ wakeAt, signal: waitingFor, meshStep }: Suspension): void {
    const turn = { status: 'waiting', wakeAt, waitingFor } as const
    // In one transaction: a process that ends now leaves either both or none.
    this.#turn.record({ turn, ...(meshStep !== null && { meshStep: meshItem(meshStep) }) })
    if (meshStep !== null) this.#machine.host.meshStep?.(meshStep)
  }

  /** Implements `workflow.continue_as_new`: ends the turn, and begins the run again without its steps. */
  continueAsNew(args: readonly Value[]): never {
    const { workflow, params } = this.run
    if (args.length !== params) {
      fail(
        'RUN_ARGUMENTS',
        `workflow.continue_as_new has ${args.length} arguments; the workflow ${workflow} has ${params} parameters`
      )
    }
    throw new Continuation(args)
  }

  /** Records that the run continues as a new one. */
  endGeneration({ args }: Continuation): void {
    const { workflow, history } = this.run
    const details = { event: 'WorkflowContinued', workflow, generation: history.generation + 1 } as const
    this.#turn.journal({ ...details, steps: history.completed.size })
    this.#turn.record({ turn: { status: 'continued', args: losslessText(args) } })
  }

  /** Commits the completed steps, before code outside of this run has an effect or waits. */
  flush(): void {
    this.#turn.flush()
  }

  activity(call: ActivityCall): Value {
    const { name, options, params, args, isResult, run } = call
    const turn = this.#turn
    const counted = this.nextId()
    const step = { id: options.id === null ? counted : this.#stepId(options.id), name }
    const hashes = turn.hashesOf(step, params, args)
    const done = turn.done(step)
    if (done !== null) return turn.valueOf(done)
    if (isMesh(name) && this.#machine.host.meshStep !== undefined)
      return runOnMesh(turn, step, { ...call, run: () => this.#outside(run) }, hashes)
    const max = (options.retries ?? 0) + 1
    let attempt = this.#resumed(step, max, options)
    for (; ; attempt++) {
      turn.started(step, attempt, hashes)
      const outcome = this.#attempt(run, options)
      const failed = { event: 'ActivityAttemptFailed', ...turn.named(step), attempt, max_attempts: max } as const
      if (!outcome.ok) turn.journal({ ...failed, error: outcome.message.slice(0, MAX_ERROR_LENGTH) })
      if (outcome.ok || attempt >= max) return this.#finished(step, attempt, outcome, options, isResult)
      turn.retry(step, { attempt, error: outcome.message, options })
    }
  }

  /** Implements `workflow_wait`. */
  wait(duration: number): null {
    const [turn, step] = [this.#turn, { id: this.nextId(), name: 'workflow_wait' }]
    if (turn.done(step) !== null) return null
    let due = this.run.history.scheduled.get(step.id)
    if (due === undefined) {
      due = this.#durable.now() + duration
      turn.begin(step)
      turn.record({ scheduled: { step: step.id, activity: step.name, at: due } })
    }
    turn.wait(due)
    const waited_ms = Math.max(duration, this.#durable.now() - due + duration)
    turn.complete(step, { event: 'TimerWaitCompleted', ...turn.named(step), waited_ms }, null)
    return null
  }

  /** Implements `workflow_wait_signal`: returns the payload of the signal. */
  waitForSignal(key: string): Value {
    const [turn, step] = [this.#turn, { id: this.nextId(), name: 'workflow_wait_signal' }]
    const done = turn.done(step)
    if (done !== null) return turn.valueOf(done)
    if (!this.run.history.scheduled.has(step.id)) {
      turn.begin(step)
      turn.record({ scheduled: { step: step.id, activity: step.name, at: this.#durable.now() } })
    }
    const signal = this.#durable.workflows.signal(this.run.runId, key)
    if (signal === null) throw new Suspension(null, key)
    const value = turn.payloadOf(signal)
    turn.complete(step, { event: 'SignalWaitSatisfied', ...turn.named(step), signal_key: key }, value, signal.id)
    return value
  }

  /** Implements `side_effect { … }`: returns the result of the first execution. */
  sideEffect(run: () => Value): Value {
    const [turn, step] = [this.#turn, { id: this.nextId(), name: 'side_effect' }]
    const done = turn.done(step)
    if (done !== null) return turn.valueOf(done)
    turn.started(step, this.#resumed(step, 1, NO_OPTIONS))
    const value = this.#outside(run)
    turn.complete(step, this.#executed(step, 'local'), value)
    return value
  }

  /**
   * Implements `workflow.version`: returns the newest version, or the oldest for a run that has passed this point
   * before. Throws `RUN_WORKFLOW_CHANGED` if the recorded version is no longer supported.
   */
  version(id: string, oldest: number, newest: number): number {
    const [turn, step] = [this.#turn, { id: this.#stepId(`version:${id}`), name: 'workflow.version' }]
    const done = turn.done(step)
    if (done !== null) {
      const recorded = turn.valueOf(done)
      if (typeof recorded === 'number' && recorded >= oldest && recorded <= newest) return recorded
      const { runId } = this.run
      return fail(
        'RUN_WORKFLOW_CHANGED',
        `the run ${runId} has version ${display(recorded)} of ${id}, which no longer exists`
      )
    }
    const value = turn.isReplaying ? oldest : newest
    const details = { event: 'BranchDecision', ...turn.named(step), branch: `${id}=${value}` } as const
    turn.journal({ ...details, decision_source: step.name })
    turn.storeStep(step.id, { activity: step.name, event: 'BranchDecision', result: losslessText(value) })
    return value
  }

  /** Returns the number of the next attempt. Journals an attempt that ended with its process; it runs again. */
  #resumed(step: StepName, max: number, options: CallOptions): number {
    const { attempts, scheduled } = this.run.history
    const last = attempts.get(step.id)
    if (last === undefined) {
      this.#turn.begin(step, isMesh(step.name) ? 'mesh' : 'local', options, max)
      return 1
    }
    if (last.status === 'failed') {
      this.#turn.wait(scheduled.get(step.id) ?? 0)
      return last.attempt + 1
    }
    const recovered = { event: 'ActivityAttemptRecovered', ...this.#turn.named(step) } as const
    this.#turn.journal({ ...recovered, resume_attempt: last.attempt, max_attempts_window: max })
    return last.attempt
  }

  #attempt(run: () => Value, { timeout, retries }: CallOptions): Attempt {
    const machine = this.#machine
    const { depth } = machine
    try {
      const value = this.#outside(() => (timeout === null ? run() : machine.within(timeout, run)))
      const isRefused = retries !== null && value instanceof Tagged && value.tag === 'Error'
      return { ok: !isRefused, value, message: isRefused ? display(value.fields[0] ?? null) : '', thrown: null }
    } catch (thrown) {
      if (!(thrown instanceof RunError) || this.#isFinal(thrown)) throw thrown
      machine.depth = depth
      return { ok: false, value: error(thrown.message), message: `${thrown.code}: ${thrown.message}`, thrown }
    }
  }

  /** True for a failure that a retry would not change. */
  #isFinal({ code }: RunError): boolean {
    return FINAL.has(code) || (code === 'RUN_TIME_LIMIT' && this.#machine.timeLeft() <= 0)
  }

  /** Runs a step outside the workflow, so that non-deterministic code is allowed. */
  #outside<A>(run: () => A): A {
    this.#machine.workflow = null
    try {
      return run()
    } finally {
      this.#machine.workflow = this
    }
  }

  #finished(
    step: StepName,
    attempt: number,
    { value, thrown, message }: Attempt,
    { classification, mens, labels }: CallOptions,
    isResult: boolean
  ): Value {
    if (thrown !== null && !isResult) {
      this.#turn.record({ attempt: { step: step.id, attempt, status: 'failed', error: message } })
      throw thrown
    }
    if (isMesh(step.name)) {
      const labelText = labels.length === 0 ? '' : ` and not by a node with ${labels.join(', ')}`
      const reason = `no mesh is connected, so ${mens ?? step.name} ran here${labelText}`
      this.#turn.journal({ event: 'MeshActivitySkipped', ...this.#turn.named(step), reason })
    }
    this.#turn.complete(step, this.#executed(step, classification), value)
    return value
  }

  #executed({ id, name }: StepName, classification: CallOptions['classification']) {
    return { event: 'LocalActivity', activity: name, activity_id: id, status: 'executed', classification } as const
  }
}

const FINAL: ReadonlySet<string> = new Set([
  'RUN_CANCELLED',
  'RUN_CAPABILITY_DENIED',
  'RUN_MEMORY_LIMIT',
  'RUN_STEP_LIMIT',
  'RUN_UNDEFINED',
  'RUN_UNSUPPORTED',
  'RUN_WORKFLOW_LOST',
  'RUN_WORKFLOW_TOO_LONG'
])
