import type { Hir, Program } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { ActorRuntime } from '../actors/actor-runtime.ts'
import type { StoredAddress } from '../actors/actor-store.ts'
import { runErrors } from '../errors.ts'
import { losslessValue } from '../wire/lossless.ts'
import { memoryDurable, skippingDurable } from '../workflows/memory-durable.ts'
import { type TurnEnd, type TurnOptions, WorkflowRuntime } from '../workflows/workflow-runtime.ts'
import { callableOf, enter, type FunctionUnit, isStackOverflow } from './compile/functions.ts'
import { ProgramCompiler } from './compile/program-compiler.ts'
import type { Durable } from './durable.ts'
import { fail, RunError } from './failure.ts'
import type { Host } from './host.ts'
import { type Limits, Machine } from './machine.ts'
import { ANONYMOUS_REQUEST, type RequestContext } from './request.ts'
import { SourcePositions } from './source-positions.ts'
import { isList, type Value } from './value.ts'

/** Calls into a running program. An undefined argument means its default. */
export interface RunningProgram {
  /** Sets the request that the following calls handle. Without it, the program itself is the caller. */
  handle(request: RequestContext): void
  function(name: string, args: readonly (Value | undefined)[]): Value
  /** Calls a route by method and path, `GET /tasks`, with the parameters of `routeParameters`. */
  route(contract: string, args: readonly (Value | undefined)[]): Value
  /** Waits for a workflow run, and starts it if it does not exist. */
  workflow(name: string, args: readonly (Value | undefined)[], runId: string): Value
  /** Evaluates code outside functions: a default. */
  evaluate(code: Hir.Body): Value
}

/**
 * A program compiled into closures. It runs in the caller's thread, and can access only its host.
 * Every abnormal end is an error with a code of `runErrors`, the position and the call stack.
 */
export class Interpreter {
  readonly #machine: Machine
  readonly #compiled: ProgramCompiler
  readonly #positions: SourcePositions
  readonly #actors: ActorRuntime
  readonly #workflows: WorkflowRuntime
  /** null if workflows and actors end with the program. */
  readonly #durable: Durable | null
  readonly #running: RunningProgram = {
    handle: request => {
      this.#machine.request = request
    },
    function: (name, args) => this.#enter(this.#compiled.function(name), `function ${name}`, args),
    route: (contract, args) => this.#enter(this.#compiled.route(contract), `route ${contract}`, args),
    workflow: (name, args, runId) => {
      this.#machine.options = new Map([['id', runId]])
      return this.#enter(this.#compiled.function(name), `workflow ${name}`, args)
    },
    evaluate: code => this.#compiled.valueOf(code)()
  }

  constructor(program: Program, host: Host) {
    this.#machine = new Machine(host)
    this.#positions = new SourcePositions(program.path, program.text)
    const durable = host.durable ?? memoryDurable(host.sleep)
    this.#durable = host.durable ?? null
    this.#actors = new ActorRuntime(this.#machine, durable)
    const describe = ({ message, at, calls }: RunError): string =>
      `${this.#positions.text(at < 0 ? (calls[0]?.at ?? -1) : at)}: ${message}`
    this.#workflows = new WorkflowRuntime(this.#machine, durable, this.#actors.handle, describe)
    this.#machine.actors = this.#actors
    this.#machine.workflows = this.#workflows
    this.#compiled = this.#withPositions(() => new ProgramCompiler(program, this.#machine))
  }

  has(name: string): boolean {
    return this.#compiled.function(name) !== undefined
  }

  /** Calls a function of the program. Throws `RUN_NO_MAIN` if `main` is missing. */
  call(name: string, args: readonly Value[], limits: Limits): Value {
    return this.#run(limits, () => {
      const unit = this.#compiled.function(name)
      if (unit === undefined)
        return fail(name === 'main' ? 'RUN_NO_MAIN' : 'RUN_UNDEFINED', `there is no function ${name}`)
      return callableOf(this.#machine, unit).call([...args], unit.at)
    })
  }

  /**
   * Runs a workflow until it ends or must wait. Throws `RUN_WORKFLOW_UNKNOWN`, `RUN_WORKFLOW_LOST`, and
   * the errors of the store; other failures of the program are part of the result.
   */
  turn(runId: string, limits: Limits, options: TurnOptions = {}): TurnEnd {
    return this.#run(limits, () => this.#workflows.turn(runId, options))
  }

  /** Handles the oldest message of an instance. Returns true if one was due. */
  deliver({ actor, id, args }: StoredAddress, limits: Limits): boolean {
    return this.#run(limits, () => {
      const spawned = losslessValue(args, this.#actors.handle)
      return this.#actors.deliver({ actor, id, args: isList(spawned) ? spawned : [] })
    })
  }

  /** Calls a test of the program. Without a shared store, each test has its own workflows and actors. */
  test(name: string, args: readonly Value[], limits: Limits): Value {
    if (this.#durable === null) {
      const durable = skippingDurable()
      this.#actors.use(durable)
      this.#workflows.use(durable)
    }
    return this.#run(limits, () => {
      const unit = this.#compiled.test(name)
      if (unit === undefined) return fail('RUN_UNDEFINED', `there is no test ${name}`)
      this.#machine.isTest = true
      this.#machine.request = ANONYMOUS_REQUEST
      return callableOf(this.#machine, unit).call([...args], unit.at)
    })
  }

  /** Runs `work` within one set of limits: it reads arguments, calls the program and writes results. */
  within<A>(limits: Limits, work: (program: RunningProgram) => A): A {
    return this.#run(limits, () => work(this.#running))
  }

  #enter(unit: FunctionUnit | undefined, label: string, args: readonly (Value | undefined)[]): Value {
    if (unit === undefined) return fail('RUN_UNDEFINED', `there is no ${label}`)
    return enter(this.#machine, unit, args)
  }

  #run<A>(limits: Limits, run: () => A): A {
    return this.#withPositions(() => {
      this.#machine.begin(limits)
      this.#compiled.begin()
      const result = run()
      this.#actors.finish()
      this.#workflows.finish()
      return result
    })
  }

  #withPositions<A>(run: () => A): A {
    try {
      return run()
    } catch (thrown) {
      if (thrown instanceof RunError) throw this.#errorOf(thrown)
      if (thrown instanceof RangeError) {
        throw this.#errorOf(
          new RunError(isStackOverflow(thrown) ? 'RUN_STACK_LIMIT' : 'RUN_MEMORY_LIMIT', thrown.message)
        )
      }
      throw thrown
    }
  }

  #errorOf({ code, message, at, calls, omittedCalls, details }: RunError): Error {
    const position = at < 0 ? (calls[0]?.at ?? -1) : at
    const lines = calls.map(call => `  in ${call.name}, called at ${this.#positions.text(call.at)}`)
    if (omittedCalls > 0) lines.push(`  and ${omittedCalls} more`)
    const location = position < 0 ? this.#positions.path : this.#positions.text(position)
    const hint = HINTS[code]
    return runErrors.create(code, `${location}: ${message}`, {
      at: position < 0 ? { file: this.#positions.path } : this.#positions.place(position),
      data: { message, calls: lines.map(line => line.trim()), ...(details === null ? {} : { details }) },
      ...defined({ hint })
    })
  }
}

const HINTS: Readonly<Record<string, string>> = {
  RUN_CAPABILITY_DENIED: 'add it to a line "// vox:caps" of the file, and to the setting capabilities',
  RUN_MEMORY_LIMIT: 'raise the setting heap_mb, or keep fewer values at a time',
  RUN_NO_MAIN: 'write a function main, or run the file with --script',
  RUN_STACK_LIMIT: 'raise the setting call_depth, or write a loop',
  RUN_STEP_LIMIT: 'raise the setting steps or test_steps, or look for an infinite loop',
  RUN_TIME_LIMIT: 'raise the setting time_limit_ms',
  RUN_UNSUPPORTED: 'see the README of app-runtime for the supported features',
  RUN_WORKFLOW_CHANGED: 'restore the old code, or separate old and new runs with workflow.version',
  RUN_WORKFLOW_PENDING: 'svc workflow inspect shows the progress of the run',
  RUN_WORKFLOW_UNREPEATABLE: 'move the call into an activity or a side_effect, whose result is recorded'
}
