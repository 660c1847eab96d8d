import { getHeapStatistics } from 'node:v8'
import type { ActorRuntime } from '../actors/actor-runtime.ts'
import type { WorkflowExecution } from '../workflows/execution.ts'
import type { WorkflowRuntime } from '../workflows/workflow-runtime.ts'
import { fail } from './failure.ts'
import type { Host } from './host.ts'
import { type Caller, RequestContext, SYSTEM_REQUEST } from './request.ts'
import { durationText, timeLimitText } from './time-limit.ts'
import type { Value } from './value.ts'

export interface Limits {
  /** Maximum evaluated nodes of the program. */
  readonly steps: number
  readonly milliseconds: number
  /** Maximum size of the heap, and of a single value. */
  readonly bytes: number
  /** Maximum call depth. */
  readonly depth: number
}

/** Steps between two checks of the clock. */
const CLOCK_CHECK_STEPS = 20_000

/** The heap is checked each time 1/8 of the limit has been allocated. */
const HEAP_CHECK_FRACTION = 8

/** Result of a statement that jumps instead of returning a value; the kind is in `Machine.jump`. */
export const JUMP = Object.freeze({ jump: true }) as unknown as Value

/** Local variables of a call, by slot. */
export type CallFrame = Value[]

/** A compiled node. Returns {@link JUMP} on return, break and continue, to callers that expect it. */
export type Eval = (frame: CallFrame) => Value

/** State of a running program: its limits, and the kind of a pending jump. */
export class Machine {
  /** Steps until the next check of the limits. */
  fuel = 0
  jump: 'return' | 'break' | 'continue' = 'return'
  /** Value of the pending `return`. */
  returned: Value = null
  depth = 0
  maxDepth = 0
  /** The current workflow turn; null outside workflows, and inside their activities. */
  workflow: WorkflowExecution | null = null
  actors: ActorRuntime | null = null
  workflows: WorkflowRuntime | null = null
  /** Options that `with` sets for the next call. */
  options: Value = null
  /** True in a test, which may call as any identity. */
  isTest = false
  /** The request that is handled, and its caller. */
  request = SYSTEM_REQUEST
  readonly host: Host
  #limits: Limits = { steps: 0, milliseconds: 0, bytes: 0, depth: 0 }
  #stepsLeft = 0
  #deadline = 0
  /** True if the current deadline comes from {@link within}. */
  #isOwnDeadline = false
  #allocated = 0

  constructor(host: Host) {
    this.host = host
    host.database?.bound({ left: () => this.millisecondsLeft(), limit: () => this.timeLimit })
  }

  begin(limits: Limits): void {
    this.#limits = limits
    this.#stepsLeft = limits.steps
    this.#deadline = performance.now() + limits.milliseconds
    this.#isOwnDeadline = false
    this.#allocated = 0
    this.depth = 0
    this.maxDepth = limits.depth
    this.fuel = 0
    this.workflow = null
    this.options = null
    this.isTest = false
    this.request = SYSTEM_REQUEST
  }

  /** Runs with another caller: the system for workflows and actors, or the caller that a test sets. */
  as<A>(caller: Caller, run: () => A): A {
    const before = this.request
    if (before.caller !== caller) this.request = new RequestContext(caller)
    try {
      return run()
    } finally {
      this.request = before
    }
  }

  /** Maximum size of the heap, and of a single value. */
  get maxBytes(): number {
    return this.#limits.bytes
  }

  /** Returns the remaining milliseconds, negative after the deadline. */
  timeLeft(): number {
    return this.#deadline - performance.now()
  }

  /** The current time limit and its setting, for messages. */
  get timeLimit(): string {
    const { milliseconds } = this.#limits
    return this.#isOwnDeadline ? durationText(milliseconds) : timeLimitText(milliseconds)
  }

  /** Runs with a shorter time limit. Throws `RUN_TIME_LIMIT` after it. */
  within<A>(milliseconds: number, run: () => A): A {
    const before = [this.#deadline, this.#limits, this.#isOwnDeadline] as const
    const deadline = performance.now() + milliseconds
    if (deadline < this.#deadline) {
      this.#deadline = deadline
      this.#isOwnDeadline = true
      this.#limits = { ...this.#limits, milliseconds }
      // Without fuel, the next step checks the clock.
      this.#stepsLeft += this.fuel
      this.fuel = 0
    }
    try {
      const result = run()
      if (performance.now() > this.#deadline)
        fail('RUN_TIME_LIMIT', `the activity ran longer than ${durationText(milliseconds)}`)
      return result
    } finally {
      ;[this.#deadline, this.#limits, this.#isOwnDeadline] = before
    }
  }

  /** Called when the fuel is used up. Adds fuel, or throws if a limit is reached. */
  refuel(at = -1): void {
    const needed = -this.fuel
    if (needed > this.#stepsLeft) fail('RUN_STEP_LIMIT', `the program exceeded ${this.#limits.steps} steps`, at)
    if (performance.now() > this.#deadline) {
      fail('RUN_TIME_LIMIT', `the program ran longer than ${this.timeLimit}`, at)
    }
    const granted = Math.min(needed + CLOCK_CHECK_STEPS, this.#stepsLeft)
    this.#stepsLeft -= granted
    this.fuel += granted
  }

  /** Returns the remaining milliseconds of the program, at least 1. */
  millisecondsLeft(): number {
    return Math.max(1, this.#deadline - performance.now())
  }

  /** Charges steps for work of the host, such as sorting a list. */
  charge(steps: number): void {
    this.fuel -= steps
    if (this.fuel < 0) this.refuel()
  }

  /** Called before a value of this size is created. Throws at the memory limit. */
  allocate(bytes: number, at = -1): void {
    this.#allocated += bytes
    const limit = this.#limits.bytes
    if (bytes > limit) fail('RUN_MEMORY_LIMIT', `a value would need ${bytes} bytes; the limit is ${limit} bytes`, at)
    if (this.#allocated * HEAP_CHECK_FRACTION < limit) return
    this.#allocated = 0
    const used = getHeapStatistics().used_heap_size
    if (used > limit) fail('RUN_MEMORY_LIMIT', `the program uses ${used} bytes; the limit is ${limit} bytes`, at)
  }
}
