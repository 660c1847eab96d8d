import { randomUUID } from 'node:crypto'
import type { Durable } from '../interpreter/durable.ts'
import { fail, RunError } from '../interpreter/failure.ts'
import type { Machine } from '../interpreter/machine.ts'
import { SYSTEM } from '../interpreter/request.ts'
import { isList, ok, type Value } from '../interpreter/value.ts'
import { losslessText, losslessValue, type MakeHandle } from '../wire/lossless.ts'
import type { CallOptions } from './call-options.ts'
import { WorkflowExecution } from './execution.ts'
import { ownerOf } from './owner.ts'
import { Continuation, Suspension } from './suspension.ts'
import { ENDED, type RunRecord, type ScheduledClaim } from './workflow-store.ts'

export interface WorkflowDefinition {
  readonly name: string
  /** Number of activity calls and waits in the source. */
  readonly plannedSteps: number
  /** Number of parameters. */
  readonly params: number
  readonly run: (args: readonly Value[]) => Value
}

export interface TurnOptions {
  /** True to retry a failed run. */
  readonly again?: boolean
  /** The claim of a scheduler. Without it, the turn claims the run. */
  readonly claim?: ScheduledClaim
}

/** Outcome of a turn of a run. */
export type TurnEnd =
  | { readonly kind: 'completed'; readonly value: Value }
  | { readonly kind: 'failed'; readonly failure: RunError }
  | { readonly kind: 'waiting'; readonly wakeAt: number | null; readonly signal: string | null }
  /** The run belongs to another process, has ended, or does not exist (null). */
  | { readonly kind: 'taken'; readonly run: RunRecord | null }

/** Interval in milliseconds at which a waiting caller checks for signals. */
const SIGNAL_POLL_MS = 25

/** Delay before a run of another process is checked again, in milliseconds. */
const OTHER_PROCESS_MS = 250

/** Delay before a run is tried again whose workflow the program lacks, in milliseconds. */
const UNKNOWN_WORKFLOW_MS = 5_000

const LIMITS_OF_TURNS: ReadonlySet<string> = new Set(['RUN_TIME_LIMIT', 'RUN_STEP_LIMIT', 'RUN_WORKFLOW_PENDING'])

/** Milliseconds by which a lease exceeds the time limit of its turn. */
const LEASE_MARGIN = 5000

/** Workflow runs of a program, executed in the thread of the caller. */
export class WorkflowRuntime {
  readonly #machine: Machine
  #durable: Durable
  readonly #handle: MakeHandle
  /** Describes a failure with its position. */
  readonly #describe: (failure: RunError) => string
  readonly #definitions = new Map<string, WorkflowDefinition>()
  /** Runs that were started here, and have no waiting caller, with the times when they are due: 0 for workflows. */
  readonly #detached = new Map<string, number>()
  /** True if the current turn has the limits of the workflow's caller. */
  #isCalled = false

  constructor(machine: Machine, durable: Durable, handle: MakeHandle, describe: (failure: RunError) => string) {
    this.#machine = machine
    this.#durable = durable
    this.#handle = handle
    this.#describe = describe
  }

  /** Sets the store for workflow runs. */
  use(durable: Durable): void {
    this.#durable = durable
  }

  /** Milliseconds since 1970, which tests of programs skip. */
  now(): number {
    return this.#durable.now()
  }

  define(definition: WorkflowDefinition): void {
    this.#definitions.set(definition.name, definition)
  }

  /**
   * Starts a run, or resumes the one with this id, and waits for its result within the caller's limits.
   * Throws the failure of the run, or `RUN_WORKFLOW_PENDING` if it continues without the caller.
   */
  call(name: string, args: readonly Value[], options: CallOptions): Value {
    const { workflows } = this.#durable
    const outer = this.#machine.workflow
    const parent = outer?.run.runId ?? null
    const runId = options.id ?? (outer === null ? randomUUID() : `${parent}/${outer.nextId()}`)
    if (workflows.inTransaction && !options.detach) {
      fail(
        'RUN_WORKFLOW_TRANSACTION',
        `${name} cannot run inside a transaction; call it with { detach: true }, or from a @server function`
      )
    }
    const isDetached = options.detach
    const plannedSteps = this.#definitions.get(name)?.plannedSteps ?? 0
    // The steps of the calling workflow are committed before those of the called one.
    outer?.flush()
    const run = {
      runId,
      workflow: name,
      args: losslessText(args),
      parent: isDetached ? null : parent,
      plannedSteps,
      isCalled: !isDetached
    }
    const isNew = workflows.create(run, this.#durable.now())
    if (!isNew) this.#assertSame(runId, name)
    if (isDetached) {
      if (this.#durable.notify === null) this.#detached.set(runId, 0)
      else this.#durable.notify()
      return ok(runId)
    }
    return outer === null ? this.#called(() => this.#waited(runId, !isNew)) : this.#waited(runId, !isNew)
  }

  /** Defines the workflow of the deferred calls of a function, unless a workflow has its name. */
  defineLater(definition: WorkflowDefinition): void {
    if (!this.#definitions.has(definition.name)) this.#definitions.set(definition.name, definition)
  }

  /** Stores a run that calls a function at a time, as a part of the open transaction. Returns its id. */
  later(name: string, due: number, args: Value): string {
    const { workflows, now, notify } = this.#durable
    const outer = this.#machine.workflow
    const runId = outer === null ? randomUUID() : `${outer.run.runId}/${outer.nextId()}`
    outer?.flush()
    const plannedSteps = this.#definitions.get(name)?.plannedSteps ?? 0
    const stored = losslessText([due, args])
    workflows.create({ runId, workflow: name, args: stored, parent: null, plannedSteps, isCalled: false }, now())
    if (notify === null) this.#detached.set(runId, due)
    else notify()
    return runId
  }

  /** Executes a run until it ends or must wait. */
  turn(runId: string, { again = false, claim }: TurnOptions = {}): TurnEnd {
    const { workflows } = this.#durable
    const machine = this.#machine
    const now = this.#durable.now()
    const owner = claim?.owner ?? ownerOf(randomUUID())
    const run =
      claim === undefined
        ? workflows.claim(runId, { owner, now, until: now + machine.timeLeft() + LEASE_MARGIN }, again)
        : workflows.adopt(claim)
    if (run === null) return { kind: 'taken', run: workflows.find(runId) }
    const definition = this.#definitions.get(run.workflow)
    if (definition === undefined) {
      workflows.record(runId, owner, [{ turn: { status: 'pending', delayMs: UNKNOWN_WORKFLOW_MS } }], now)
      return fail('RUN_WORKFLOW_UNKNOWN', `the program has no workflow ${run.workflow} of the run ${runId}`)
    }
    const history = workflows.history(runId)
    const { params } = definition
    const of = { runId, owner, workflow: run.workflow, params, history, journalsReplays: run.wasInterrupted || again }
    const execution = new WorkflowExecution(of, machine, this.#durable, this.#handle)
    if (!history.hasBegun) execution.begin(definition.plannedSteps)
    return this.#performed(execution, definition, run)
  }

  /**
   * Performs detached runs if there is no scheduler, the earliest first. In a test, deferred calls may defer others: those
   * that are due later than all calls of the test itself are not made, since a call that repeats itself has no end.
   */
  finish(): void {
    if (this.#durable.notify !== null) return
    const lastDue = this.#durable.skipsTime ? Math.max(...this.#detached.values()) : Number.POSITIVE_INFINITY
    while (this.#detached.size > 0) {
      const batch = [...this.#detached].sort(([, one], [, other]) => one - other)
      this.#detached.clear()
      for (const [runId, due] of batch) {
        if (due > Math.max(lastDue, this.#durable.now()) || this.#isLeft(due)) continue
        this.#waited(runId, false)
      }
    }
  }

  /** True if a deferred call is left to a server, since it is due after the program's end. */
  #isLeft(due: number): boolean {
    const { skipsTime, endsWithProgram, now } = this.#durable
    if (skipsTime || due - now() < this.#machine.timeLeft()) return false
    if (!endsWithProgram) return true
    const time = new Date(due).toISOString()
    return fail(
      'RUN_UNSUPPORTED',
      `a call that is due at ${time} is lost, since the program has no table; serve it, or declare a table`
    )
  }

  #called<A>(run: () => A): A {
    this.#isCalled = true
    try {
      return run()
    } finally {
      this.#isCalled = false
    }
  }

  #performed(execution: WorkflowExecution, { run }: WorkflowDefinition, { args }: RunRecord): TurnEnd {
    const machine = this.#machine
    const outer = machine.workflow
    const { depth } = machine
    machine.workflow = execution
    try {
      const value = machine.as(SYSTEM, () => run(listOf(losslessValue(args, this.#handle))))
      execution.end({ status: 'completed', result: losslessText(value) })
      return { kind: 'completed', value }
    } catch (thrown) {
      machine.depth = depth
      if (thrown instanceof Suspension) {
        execution.suspend(thrown)
        return { kind: 'waiting', wakeAt: thrown.wakeAt, signal: thrown.signal }
      }
      if (thrown instanceof Continuation) {
        execution.endGeneration(thrown)
        return { kind: 'waiting', wakeAt: this.#durable.now(), signal: null }
      }
      if (thrown instanceof RunError && thrown.code === 'RUN_WORKFLOW_LOST') throw thrown
      if (thrown instanceof RunError && this.#hasNextTurn(thrown, execution)) {
        execution.end({ status: 'pending' })
        if (!this.#isCalled) return { kind: 'waiting', wakeAt: this.#durable.now(), signal: null }
        this.#durable.notify?.()
        return fail(
          'RUN_WORKFLOW_PENDING',
          `the run ${execution.run.runId} continues without its caller: ${thrown.message}`
        )
      }
      // After a failure outside the program, such as an unavailable database, another process resumes the run.
      if (!(thrown instanceof RunError)) throw thrown
      execution.end({ status: 'failed', error: `${thrown.code}: ${this.#describe(thrown)}` })
      return { kind: 'failed', failure: thrown }
    } finally {
      machine.workflow = outer
    }
  }

  #waited(runId: string, isKnown: boolean): Value {
    const outer = this.#machine.workflow
    for (;;) {
      const end = this.turn(runId)
      if (end.kind === 'completed') return end.value
      if (end.kind === 'failed') throw end.failure
      if (end.kind === 'taken' && end.run !== null && ENDED.includes(end.run.status)) {
        return this.#ended(end.run, isKnown)
      }
      const [wakeAt, signal] = end.kind === 'waiting' ? [end.wakeAt, end.signal] : [null, null]
      // A calling workflow ends its turn, too. A signal wakes only the run that it was sent to.
      if (outer !== null) {
        const nextLook = this.#durable.now() + OTHER_PROCESS_MS
        throw new Suspension(wakeAt === null || signal !== null ? Math.min(wakeAt ?? nextLook, nextLook) : wakeAt, null)
      }
      this.#idle(runId, wakeAt ?? (signal === null ? this.#durable.now() + OTHER_PROCESS_MS : null), signal)
    }
  }

  /** Waits until a run may continue. Throws `RUN_WORKFLOW_PENDING` if that exceeds the caller's limits. */
  #idle(runId: string, wakeAt: number | null, signal: string | null): void {
    const { workflows } = this.#durable
    const machine = this.#machine
    for (;;) {
      const left = wakeAt === null ? Number.POSITIVE_INFINITY : wakeAt - this.#durable.now()
      if (left <= 0) return
      if (signal !== null && workflows.signal(runId, signal) !== null) return
      if (signal !== null && workflows.find(runId)?.status !== 'waiting') return
      const { skipsTime, notify } = this.#durable
      const pause = signal === null ? left : Math.min(left, SIGNAL_POLL_MS)
      // With simulated time, no one else can send the signal.
      if (skipsTime ? wakeAt === null && notify === null : pause >= machine.timeLeft()) {
        const awaited = wakeAt === null ? `the signal ${signal}` : new Date(wakeAt).toISOString()
        fail('RUN_WORKFLOW_PENDING', `the run ${runId} continues without its caller: it waits for ${awaited}`)
      }
      this.#durable.sleep(pause)
    }
  }

  /**
   * True if another turn follows one that reached a limit. A turn that completed a step has made progress, so limits
   * apply to steps, not to runs. A turn within a caller's limits is repeated by the scheduler, whose limits differ.
   */
  #hasNextTurn({ code }: RunError, { hasProgressed }: WorkflowExecution): boolean {
    if (!LIMITS_OF_TURNS.has(code)) return false
    return hasProgressed || (this.#isCalled && this.#durable.notify !== null)
  }

  #ended({ runId, result, error, status }: RunRecord, isKnown: boolean): Value {
    if (status === 'completed' && result !== null) return losslessValue(result, this.#handle)
    const outcome = status === 'cancelled' ? 'was cancelled' : `failed: ${error}`
    return fail('RUN_WORKFLOW_FAILED', `the run ${runId} ${isKnown ? 'was started earlier and ' : ''}${outcome}`)
  }

  #assertSame(runId: string, name: string): void {
    const workflow = this.#durable.workflows.find(runId)?.workflow
    if (workflow === name || workflow === undefined) return
    fail('RUN_WORKFLOW_CHANGED', `the run ${runId} belongs to the workflow ${workflow}, not to ${name}`)
  }
}

function listOf(value: Value): readonly Value[] {
  return isList(value) ? value : []
}
