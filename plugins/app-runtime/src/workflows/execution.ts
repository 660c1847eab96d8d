import { coordinationSql, MESH_OPERATIONS, type MeshOperation } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { display } from '../interpreter/display.ts'
import type { Durable } from '../interpreter/durable.ts'
import { fail, RunError } from '../interpreter/failure.ts'
import type { Machine } from '../interpreter/machine.ts'
import { error, ok, Tagged, type Value } from '../interpreter/value.ts'
import { losslessText, losslessValue, type MakeHandle } from '../wire/lossless.ts'
import { type CallOptions, callOptions, delayAfter } from './call-options.ts'
import { entry, type JournalEntry } from './journal.ts'
import { MESH_SIGNAL, type MeshAnswer } from './mesh-steps.ts'
import { apiJson } from './stored-json.ts'
import { Continuation, Suspension } from './suspension.ts'
import type { RunChange, RunHistory, StepRecord } from './workflow-store.ts'

/** Maximum wait that blocks the thread, in milliseconds. A longer one ends the turn. */
const SHORT_WAIT = 250

const MAX_ERROR_LENGTH = 2000

/** Steps of a run after which a warning is logged, and its maximum. A turn reads and repeats all of them. */
const MANY_STEPS = 5_000
const MAX_STEPS = 50_000

const NO_OPTIONS = callOptions('activity', 'side_effect', [])

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

/** A completed step, announced when it is committed. */
interface StepDone {
  readonly step: string
  readonly activity: string
  readonly event: string
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
  readonly #handle: MakeHandle
  readonly #replayed = new Set<string>()
  /** True if a step was completed in this turn. */
  hasProgressed = false
  /** Journal entries, written with the next change. */
  #entries: JournalEntry[] = []
  /** Completed steps, written with the next change, which precedes the next effect: one commit fewer for each step. */
  #held: RunChange[] = []
  #completed: StepDone[] = []
  #calls = 0

  constructor(run: RunOf, machine: Machine, durable: Durable, handle: MakeHandle) {
    this.run = run
    this.#machine = machine
    this.#durable = durable
    this.#handle = handle
  }

  /** True while there are completed steps of earlier turns that were not replayed yet. */
  get isReplaying(): boolean {
    return this.#replayed.size < this.run.history.completed.size
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
    this.#entries.push(entry({ event: 'WorkflowStarted', workflow: this.run.workflow, steps }))
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
  end(turn: NonNullable<RunChange['turn']>): void {
    const { workflow } = this.run
    if (turn.status === 'completed') this.#entries.push(entry({ event: 'WorkflowCompleted', workflow }))
    this.#record({ turn })
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
    this.#entries.push(entry({ ...details, steps: history.completed.size }))
    this.#record({ turn: { status: 'continued', args: losslessText(args) } })
  }

  /** Commits the completed steps, before code outside of this run has an effect or waits. */
  flush(): void {
    if (this.#held.length > 0) this.#commit([])
  }

  activity({ name, options, params, args, isResult, run }: ActivityCall): Value {
    const counted = this.nextId()
    const id = options.id === null ? counted : this.#stepId(options.id)
    const hashes = args.map(each => coordinationSql.hashText(losslessText(each)))
    this.#assertSameArguments(id, name, params, hashes)
    const done = this.#done(id, name)
    if (done !== null) return this.#value(done)
    if (isMesh(name) && this.#machine.host.meshStep !== undefined)
      return this.#onMesh({ name, options, params, args, isResult, run }, id, hashes)
    const max = (options.retries ?? 0) + 1
    const step = this.#step(name, id)
    let attempt = this.#resumed(id, name, max, options)
    for (; ; attempt++) {
      this.#record({
        attempt: { activityId: id, attempt, status: 'started', error: null, ...(hashes.length > 0 && { args: hashes }) }
      })
      const outcome = this.#attempt(run, options)
      const failed = { event: 'ActivityAttemptFailed', ...step, attempt, max_attempts: max } as const
      if (!outcome.ok) this.#entries.push(entry({ ...failed, error: outcome.message.slice(0, MAX_ERROR_LENGTH) }))
      if (outcome.ok || attempt >= max) return this.#finished(id, name, attempt, outcome, options, isResult)
      const delay = delayAfter(attempt, options)
      const due = this.#durable.now() + delay
      const next = { event: 'ActivityRetryScheduled', ...step, attempt, next_attempt: attempt + 1 } as const
      this.#entries.push(entry({ ...next, delay_ms: delay }))
      this.#record({
        attempt: { activityId: id, attempt, status: 'failed', error: outcome.message },
        scheduled: { activityId: id, activity: name, at: due }
      })
      this.#wait(due)
    }
  }

  /**
   * Runs an activity on the mesh. Its turn ends until the mesh answers, or the time of the attempt is over, so that no
   * thread waits. `dispatch` and `wait` return what the node returns; after the others, the body of the activity runs.
   */
  #onMesh(activity: ActivityCall, id: string, hashes: readonly string[]): Value {
    const { name, options, isResult, run } = activity
    const max = (options.retries ?? 0) + 1
    const step = this.#step(name, id)
    const { attempts, scheduled } = this.run.history
    let last = attempts.get(id)
    if (last?.status === 'failed') this.#wait(scheduled.get(id) ?? 0)
    for (let attempt = last === undefined ? 1 : last.attempt + (last.status === 'failed' ? 1 : 0); ; attempt++) {
      if (last?.attempt !== attempt) this.#beginOnMesh(activity, id, attempt, max, hashes)
      const until = scheduled.get(id) ?? 0
      // After a reset, the attempts have the same numbers, but another time.
      const key = `${MESH_SIGNAL}${id}:${attempt}:${until}`
      const signal = this.#durable.workflows.signal(this.run.runId, key)
      if (signal === null && until + MESH_GRACE_MS > this.#durable.now()) return this.#awaitMesh(activity, key, until)
      const answer = answerOf(signal?.payload ?? null)
      if (answer.kind === 'skipped') {
        this.#entries.push(entry({ event: 'MeshActivitySkipped', ...step, reason: answer.reason }))
        const details = { event: 'LocalActivity', activity: name, activity_id: id, status: 'executed' } as const
        const { classification } = options
        const value = this.#outside(run)
        this.#complete(id, name, { ...details, classification }, value, signal?.id)
        return value
      }
      if (answer.kind === 'done') {
        const { output, ...rest } = answer.outcome
        const value = output === undefined ? this.#outside(run) : isResult ? ok(output) : output
        const details = { event: 'MeshActivity', ...step, mesh_op: operationOf(activity), ...rest } as const
        this.#complete(id, name, details, value, signal?.id)
        return value
      }
      this.#entries.push(
        entry({ event: 'ActivityAttemptFailed', ...step, attempt, max_attempts: max, error: answer.error })
      )
      const thrown = new RunError('RUN_MESH_FAILED', `the step ${id} of ${name}: ${answer.error}`)
      if (attempt >= max) {
        const failed = { ok: false, value: error(thrown.message), message: thrown.message, thrown }
        return this.#finished(id, name, attempt, failed, options, isResult)
      }
      const delay = delayAfter(attempt, options)
      const due = this.#durable.now() + delay
      const next = { event: 'ActivityRetryScheduled', ...step, attempt, next_attempt: attempt + 1 } as const
      this.#entries.push(entry({ ...next, delay_ms: delay }))
      this.#record({
        attempt: { activityId: id, attempt, status: 'failed', error: answer.error },
        scheduled: { activityId: id, activity: name, at: due }
      })
      last = undefined
      this.#wait(due)
    }
  }

  /** Records the begin of an attempt, and its time limit. */
  #beginOnMesh(
    { name, options }: ActivityCall,
    id: string,
    attempt: number,
    max: number,
    args: readonly string[]
  ): void {
    const at = this.#durable.now() + meshTimeout(options)
    if (attempt === 1) this.#task(id, name, options, max)
    this.#record({
      attempt: { activityId: id, attempt, status: 'started', error: null, ...(args.length > 0 && { args }) },
      scheduled: { activityId: id, activity: name, at }
    })
    ;(this.run.history.scheduled as Map<string, number>).set(id, at)
  }

  /** Requests a step, and ends the turn until its answer. A step that runs already is not begun again. */
  #awaitMesh(activity: ActivityCall, signal: string, until: number): never {
    const { name, options, params, args } = activity
    const { runId, workflow } = this.run
    this.#machine.host.meshStep?.({
      runId,
      signal,
      operation: operationOf(activity),
      workflow,
      activity: name,
      labels: options.labels,
      args: Object.fromEntries(params.map((param, at) => [param, jsonOf(args[at] ?? null)])),
      until
    })
    throw new Suspension(until + MESH_GRACE_MS, signal)
  }

  /** Implements `workflow_wait`. */
  wait(duration: number): null {
    const [id, name] = [this.nextId(), 'workflow_wait']
    if (this.#done(id, name) !== null) return null
    let due = this.run.history.scheduled.get(id)
    if (due === undefined) {
      due = this.#durable.now() + duration
      this.#task(id, name)
      this.#record({ scheduled: { activityId: id, activity: name, at: due } })
    }
    this.#wait(due)
    const waited_ms = Math.max(duration, this.#durable.now() - due + duration)
    this.#complete(id, name, { event: 'TimerWaitCompleted', ...this.#step(name, id), waited_ms }, null)
    return null
  }

  /** Implements `workflow_wait_signal`: returns the payload of the signal. */
  waitForSignal(key: string): Value {
    const [id, name] = [this.nextId(), 'workflow_wait_signal']
    const done = this.#done(id, name)
    if (done !== null) return this.#value(done)
    if (!this.run.history.scheduled.has(id)) {
      this.#task(id, name)
      this.#record({ scheduled: { activityId: id, activity: name, at: this.#durable.now() } })
    }
    const signal = this.#durable.workflows.signal(this.run.runId, key)
    if (signal === null) throw new Suspension(null, key)
    const value = signal.payload === null ? null : losslessValue(signal.payload, this.#handle)
    const details = { event: 'SignalWaitSatisfied', ...this.#step(name, id), signal_key: key } as const
    this.#complete(id, name, details, value, signal.id)
    return value
  }

  /** Implements `side_effect { … }`: returns the result of the first execution. */
  sideEffect(run: () => Value): Value {
    const [id, name] = [this.nextId(), 'side_effect']
    const done = this.#done(id, name)
    if (done !== null) return this.#value(done)
    const attempt = this.#resumed(id, name, 1, NO_OPTIONS)
    this.#record({ attempt: { activityId: id, attempt, status: 'started', error: null } })
    const value = this.#outside(run)
    const details = { event: 'LocalActivity', activity: name, activity_id: id, status: 'executed' } as const
    this.#complete(id, name, { ...details, classification: 'local' }, value)
    return value
  }

  /**
   * Implements `workflow.version`: returns the newest version, or the oldest for a run that has passed this point
   * before. Throws `RUN_WORKFLOW_CHANGED` if the recorded version is no longer supported.
   */
  version(id: string, oldest: number, newest: number): number {
    const [step, name] = [this.#stepId(`version:${id}`), 'workflow.version']
    const done = this.#done(step, name)
    if (done !== null) {
      const recorded = this.#value(done)
      if (typeof recorded === 'number' && recorded >= oldest && recorded <= newest) return recorded
      const { runId } = this.run
      return fail(
        'RUN_WORKFLOW_CHANGED',
        `the run ${runId} has version ${display(recorded)} of ${id}, which no longer exists`
      )
    }
    const value = this.isReplaying ? oldest : newest
    const details = { event: 'BranchDecision', ...this.#step(name, step), branch: `${id}=${value}` } as const
    this.#entries.push(entry({ ...details, decision_source: name }))
    this.#storeStep(step, { activity: name, event: 'BranchDecision', result: losslessText(value) })
    return value
  }

  /** Returns the number of the next attempt. Journals an attempt that ended with its process; it runs again. */
  #resumed(id: string, name: string, max: number, options: CallOptions): number {
    const { attempts, scheduled } = this.run.history
    const last = attempts.get(id)
    if (last === undefined) {
      this.#task(id, name, options, max)
      return 1
    }
    if (last.status === 'failed') {
      this.#wait(scheduled.get(id) ?? 0)
      return last.attempt + 1
    }
    this.#entries.push(
      entry({
        event: 'ActivityAttemptRecovered',
        ...this.#step(name, id),
        resume_attempt: last.attempt,
        max_attempts_window: max
      })
    )
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
    id: string,
    name: string,
    attempt: number,
    { value, thrown, message }: Attempt,
    { classification, mens, labels }: CallOptions,
    isResult: boolean
  ): Value {
    if (thrown !== null && !isResult) {
      this.#record({ attempt: { activityId: id, attempt, status: 'failed', error: message } })
      throw thrown
    }
    if (isMesh(name)) {
      const labelText = labels.length === 0 ? '' : ` and not by a node with ${labels.join(', ')}`
      const reason = `no mesh is connected, so ${mens ?? name} ran here${labelText}`
      this.#entries.push(entry({ event: 'MeshActivitySkipped', ...this.#step(name, id), reason }))
    }
    const details = {
      event: 'LocalActivity',
      activity: name,
      activity_id: id,
      status: 'executed',
      classification
    } as const
    this.#complete(id, name, details, value)
    return value
  }

  #wait(due: number): void {
    const left = due - this.#durable.now()
    if (left <= 0) return
    if (left > SHORT_WAIT || left > this.#machine.timeLeft()) throw new Suspension(due, null)
    this.flush()
    this.#durable.sleep(left)
  }

  /** Throws `RUN_WORKFLOW_CHANGED` if the step was recorded with other arguments. A run without hashes is not checked. */
  #assertSameArguments(id: string, name: string, params: readonly string[], hashes: readonly string[]): void {
    const recorded = this.run.history.args.get(id)
    if (recorded === undefined) {
      if (hashes.length > 0 && !this.run.history.completed.has(id)) this.run.history.args.set(id, hashes)
      return
    }
    const at = hashes.findIndex((hash, index) => hash !== recorded[index])
    if (at < 0 && recorded.length === hashes.length) return
    const changed = at < 0 ? `number of arguments of ${name}` : `argument ${params[at] ?? at + 1} of ${name}`
    fail(
      'RUN_WORKFLOW_CHANGED',
      `the ${changed} in the step ${id} of the run ${this.run.runId} differs from the recorded one`
    )
  }

  /** Returns the recorded step; null if it was not completed. Throws `RUN_WORKFLOW_CHANGED` if it was another step. */
  #done(id: string, name: string): StepRecord | null {
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
      const named = this.#step(name, id)
      const replayed = { event: 'ActivityReplayed', ...named, replay_source: 'workflow_activity_log' } as const
      this.#entries.push(entry({ ...replayed, result_event: step.event }))
      this.#entries.push(entry({ event: 'ActivityCompleted', ...named, replayed: true }))
    }
    return step
  }

  #value({ result }: StepRecord): Value {
    return losslessValue(result, this.#handle)
  }

  #step(activity: string, activity_id: string) {
    return { workflow: this.run.workflow, activity, activity_id } as const
  }

  #task(id: string, name: string, options?: CallOptions, max_attempts = 1): void {
    const named = this.#step(name, id)
    this.#entries.push(
      entry({
        event: 'ActivityTask',
        ...named,
        execution_boundary: isMesh(name) ? 'mesh' : 'local',
        max_attempts,
        timeout_ms: options?.timeout ?? null,
        idempotency_key: `${this.run.runId}:${id}`
      }),
      entry({ event: 'ActivityStarted', ...named })
    )
  }

  #complete(id: string, name: string, details: Parameters<typeof entry>[0], value: Value, signal?: number): void {
    const result = losslessText(value)
    this.#entries.push(entry(details), entry({ event: 'ActivityCompleted', ...this.#step(name, id) }))
    this.#storeStep(id, { activity: name, event: details.event, result }, signal)
  }

  /**
   * Stores a completed step with the next change. A later call with the same id returns its result. Throws
   * `RUN_WORKFLOW_TOO_LONG`.
   */
  #storeStep(id: string, step: StepRecord, signal?: number): void {
    const { history, runId, workflow } = this.run
    const entries = this.#entries
    this.#entries = []
    this.#held.push({ entries, completed: { activityId: id, ...step }, ...defined({ signal }) })
    this.#completed.push({ step: id, activity: step.activity, event: step.event })
    this.hasProgressed = true
    this.#replayed.add(id)
    history.completed.set(id, step)
    const count = history.completed.size
    if (count === MANY_STEPS) {
      const advice = 'call workflow.continue_as_new to begin again without them'
      this.#machine.host.log('warn', `the run ${runId} of ${workflow} has ${MANY_STEPS} steps; ${advice}`)
    }
    if (count < MAX_STEPS) return
    fail('RUN_WORKFLOW_TOO_LONG', `the run ${runId} of ${workflow} has ${count} steps, which is the limit`)
  }

  #record(change: RunChange): void {
    const entries = this.#entries
    this.#entries = []
    this.#commit([{ ...change, entries }])
  }

  /** Writes the held steps and further changes, and announces them. */
  #commit(changes: readonly RunChange[]): void {
    const { runId, owner, workflow } = this.run
    const [held, completed] = [this.#held, this.#completed]
    this.#held = []
    this.#completed = []
    this.#durable.workflows.record(runId, owner, [...held, ...changes], this.#durable.now())
    for (const { step, activity, event } of completed)
      this.#machine.host.stepped?.({ runId, workflow, step, activity, event })
    // A completed step is announced by itself.
    if (completed.length === 0) this.#machine.host.runChanged?.()
  }
}

/** Time limit of an attempt on the mesh in milliseconds, and its minimum. */
const MESH_TIMEOUT_MS = 30_000
const MIN_MESH_TIMEOUT_MS = 250
/** Time after the limit in which the mesh answers why an attempt did not end, in milliseconds. */
const MESH_GRACE_MS = 10_000

function meshTimeout({ timeout }: CallOptions): number {
  return Math.max(MIN_MESH_TIMEOUT_MS, timeout ?? MESH_TIMEOUT_MS)
}

/** Returns the operation of an activity: the option `mens`, or the name after `mesh_`, or `noop`. */
function operationOf({ name, options }: ActivityCall): MeshOperation {
  const named = MESH_OPERATIONS.find(each => name === `mesh_${each}`)
  return options.mens ?? named ?? 'noop'
}

function answerOf(payload: string | null): MeshAnswer {
  return payload === null
    ? { kind: 'failed', error: 'the mesh did not answer in time' }
    : (JSON.parse(payload) as MeshAnswer)
}

/** Returns an argument as plain JSON, as the HTTP API writes it. */
function jsonOf(value: Value): unknown {
  return JSON.parse(apiJson(losslessText(value))) as unknown
}

/** True for an activity of a mesh node. */
function isMesh(name: string): boolean {
  return name.startsWith('mesh_')
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
