import { randomUUID } from 'node:crypto'
import type { Durable } from '../interpreter/durable.ts'
import { Failure, fail } from '../interpreter/failure.ts'
import type { Machine } from '../interpreter/machine.ts'
import { isList, ok, type Value } from '../interpreter/value.ts'
import { losslessText, losslessValue, type MakeHandle } from '../wire/lossless.ts'
import type { CallOptions } from './call-options.ts'
import { WorkflowExecution } from './execution.ts'
import { ownerOf } from './owner.ts'
import { Suspension } from './suspension.ts'
import { ENDED, type RunRecord } from './workflow-store.ts'

export interface WorkflowDefinition {
  readonly name: string
  /** Calls of activities and waits in its text. */
  readonly plannedSteps: number
  readonly run: (args: readonly Value[]) => Value
}

export interface TurnOptions {
  /** Takes up a run that failed. */
  readonly again?: boolean
  /** Owner of the current turn; unique among all of them. */
  readonly owner?: string
}

/** How a turn at a run ended. */
export type TurnEnd =
  | { readonly kind: 'completed'; readonly value: Value }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'waiting'; readonly wakeAt: number | null; readonly signal: string | null }
  /** Another process has it, or it had ended. */
  | { readonly kind: 'taken'; readonly run: RunRecord | null }

/** Milliseconds between two looks at what others do. */
const LOOK = 25

/** Milliseconds until a run of another process is checked again. */
const OTHERS = 250

const LIMITS_OF_TURNS: ReadonlySet<string> = new Set(['RUN_TIME_LIMIT', 'RUN_STEP_LIMIT', 'RUN_WORKFLOW_PENDING'])

/** Milliseconds beyond the limit of its turn for which no other process takes a run. */
const LEASE_MARGIN = 5000

/** Runs of a program's workflows, in the thread of their caller. */
export class WorkflowRuntime {
  readonly #machine: Machine
  #durable: Durable
  readonly #handle: MakeHandle
  /** Says of a failure what it was and where. */
  readonly #describe: (failure: Failure) => string
  readonly #definitions = new Map<string, WorkflowDefinition>()
  /** Runs started here without a waiting caller. */
  readonly #detached = new Set<string>()
  /** Whether the current turn has the limits of the workflow's caller. */
  #isCalled = false

  constructor(machine: Machine, durable: Durable, handle: MakeHandle, describe: (failure: Failure) => string) {
    this.#machine = machine
    this.#durable = durable
    this.#handle = handle
    this.#describe = describe
  }

  /** From now on, what is kept is kept there. */
  use(durable: Durable): void {
    this.#durable = durable
  }

  define(definition: WorkflowDefinition): void {
    this.#definitions.set(definition.name, definition)
  }

  /**
   * Begins a run, or goes on with the one that has the id, and waits for its result for as long as the caller may.
   * Throws what ended it, and `RUN_WORKFLOW_PENDING` where it goes on without its caller.
   */
  call(name: string, args: readonly Value[], options: CallOptions): Value {
    const { workflows } = this.#durable
    const outer = this.#machine.workflow
    const parent = outer?.run.runId ?? null
    const runId = options.id ?? (outer === null ? randomUUID() : `${parent}/${outer.nextId()}`)
    if (workflows.inTransaction && !options.detach) {
      fail(
        'RUN_WORKFLOW_TRANSACTION',
        `${name} cannot be waited for inside of a transaction; call it with { detach: true }, or from a @server function`
      )
    }
    const isDetached = options.detach
    const plannedSteps = this.#definitions.get(name)?.plannedSteps ?? 0
    const run = { runId, workflow: name, args: losslessText(args), parent: isDetached ? null : parent, plannedSteps }
    const isNew = workflows.create(run, this.#durable.now())
    if (!isNew) this.#assertSame(runId, name)
    if (isDetached) {
      if (this.#durable.notify === null) this.#detached.add(runId)
      else this.#durable.notify()
      return ok(runId)
    }
    return outer === null ? this.#called(() => this.#waited(runId, !isNew)) : this.#waited(runId, !isNew)
  }

  /** One turn at a run: it is run until it ends or has to wait. */
  turn(runId: string, { again = false, owner = ownerOf(randomUUID()) }: TurnOptions = {}): TurnEnd {
    const { workflows } = this.#durable
    const machine = this.#machine
    const now = this.#durable.now()
    const run = workflows.claim(runId, { owner, now, until: now + machine.timeLeft() + LEASE_MARGIN }, again)
    if (run === null) return { kind: 'taken', run: workflows.find(runId) }
    const definition = this.#definitions.get(run.workflow)
    if (definition === undefined) {
      workflows.record(runId, owner, { turn: { status: 'pending' } }, now)
      return fail('RUN_WORKFLOW_UNKNOWN', `the program has no workflow ${run.workflow}, which the run ${runId} is of`)
    }
    const history = workflows.history(runId)
    const of = { runId, owner, workflow: run.workflow, history, tellsReplays: run.wasInterrupted || again }
    const execution = new WorkflowExecution(of, machine, this.#durable, this.#handle)
    if (!history.hasBegun) execution.begin(definition.plannedSteps)
    return this.#performed(execution, definition, run)
  }

  /** Runs the work that was started here, without a scheduler. */
  finish(): void {
    if (this.#durable.notify !== null) return
    for (const runId of this.#detached) {
      this.#detached.delete(runId)
      this.#waited(runId, false)
    }
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
      const value = run(listOf(losslessValue(args, this.#handle)))
      execution.end({ status: 'completed', result: losslessText(value) })
      return { kind: 'completed', value }
    } catch (thrown) {
      machine.depth = depth
      if (thrown instanceof Suspension) {
        execution.end({ status: 'waiting', wakeAt: thrown.wakeAt, waitingFor: thrown.signal })
        return { kind: 'waiting', wakeAt: thrown.wakeAt, signal: thrown.signal }
      }
      if (thrown instanceof Failure && thrown.code === 'RUN_WORKFLOW_LOST') throw thrown
      if (thrown instanceof Failure && this.#goesOn(thrown, execution)) {
        execution.end({ status: 'pending' })
        if (!this.#isCalled) return { kind: 'waiting', wakeAt: this.#durable.now(), signal: null }
        this.#durable.notify?.()
        return fail(
          'RUN_WORKFLOW_PENDING',
          `the run ${execution.run.runId} goes on without its caller: ${thrown.message}`
        )
      }
      // A failure outside of the program, such as a database that is away, leaves the run to the next process that finds it.
      if (!(thrown instanceof Failure)) throw thrown
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
      // The workflow that called it waits as well, and its turn ends with this one.
      if (outer !== null) throw new Suspension(wakeAt ?? this.#durable.now() + OTHERS, null)
      this.#idle(runId, wakeAt ?? (signal === null ? this.#durable.now() + OTHERS : null), signal)
    }
  }

  /** Waits until a run may go on. Throws `RUN_WORKFLOW_PENDING` when that is beyond the limits of the caller. */
  #idle(runId: string, wakeAt: number | null, signal: string | null): void {
    const { workflows } = this.#durable
    const machine = this.#machine
    for (;;) {
      const left = wakeAt === null ? LOOK : wakeAt - this.#durable.now()
      if (left <= 0) return
      if (signal !== null && workflows.signal(runId, signal) !== null) return
      if (signal !== null && workflows.find(runId)?.status !== 'waiting') return
      const { skipsTime, notify } = this.#durable
      // Where time is skipped, a missing signal will not come.
      if (skipsTime ? wakeAt === null && notify === null : left >= machine.timeLeft()) {
        const why = wakeAt === null ? `the signal ${signal}` : new Date(wakeAt).toISOString()
        fail('RUN_WORKFLOW_PENDING', `the run ${runId} goes on without its caller: it waits for ${why}`)
      }
      this.#durable.sleep(left)
    }
  }

  /**
   * A turn that came to its limits is followed by another one where it has completed a step, so that it is the steps that are
   * limited and not the run; and where the limits were those of a caller, while the scheduler has others.
   */
  #goesOn({ code }: Failure, { hasProgressed }: WorkflowExecution): boolean {
    if (!LIMITS_OF_TURNS.has(code)) return false
    return hasProgressed || (this.#isCalled && this.#durable.notify !== null)
  }

  #ended({ runId, result, error, status }: RunRecord, isKnown: boolean): Value {
    if (status === 'completed' && result !== null) return losslessValue(result, this.#handle)
    const how = status === 'cancelled' ? 'was cancelled' : `failed: ${error}`
    return fail('RUN_WORKFLOW_FAILED', `the run ${runId} ${isKnown ? 'had been begun before and ' : ''}${how}`)
  }

  #assertSame(runId: string, name: string): void {
    const workflow = this.#durable.workflows.find(runId)?.workflow
    if (workflow === name || workflow === undefined) return
    fail('RUN_WORKFLOW_CHANGED', `the run ${runId} is of the workflow ${workflow}, and not of ${name}`)
  }
}

function listOf(value: Value): readonly Value[] {
  return isList(value) ? value : []
}
