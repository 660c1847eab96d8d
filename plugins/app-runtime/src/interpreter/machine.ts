import { getHeapStatistics } from 'node:v8'
import type { ActorRuntime } from '../actors/actor-runtime.ts'
import type { WorkflowExecution } from '../workflows/execution.ts'
import type { WorkflowRuntime } from '../workflows/workflow-runtime.ts'
import { fail } from './failure.ts'
import type { Host } from './host.ts'
import { durationText, timeLimitText } from './time-limit.ts'
import type { Value } from './value.ts'

export interface Limits {
  /** Nodes of the program that are evaluated. */
  readonly steps: number
  readonly milliseconds: number
  /** Of the heap, and of one value. */
  readonly bytes: number
  /** Functions that wait for each other. */
  readonly depth: number
}

/** Steps between two looks at the clock. */
const STRETCH = 20_000

/** A share of the limit that is allocated between two looks at the heap. */
const SHARE = 8

/** Result of a statement that jumps instead of giving a value; the kind is in `Machine.jump`. */
export const JUMP = Object.freeze({ jump: true }) as unknown as Value

/** Locals of a call, by slot. */
export type Frame = Value[]

/** A compiled node. Returns {@link JUMP} where a statement jumps, only to callers that expect it. */
export type Eval = (frame: Frame) => Value

/** The state of a program that runs: how far it may go on, and which way it leaves a statement. */
export class Machine {
  /** Steps until the next look at the limits. */
  fuel = 0
  jump: 'return' | 'break' | 'continue' = 'return'
  /** Value of the current return. */
  returned: Value = null
  depth = 0
  mostDepth = 0
  /** The turn at a workflow that the program is in; null outside of workflows, and within their activities. */
  workflow: WorkflowExecution | null = null
  actors: ActorRuntime | null = null
  workflows: WorkflowRuntime | null = null
  /** Options of the next call from `with`. */
  options: Value = null
  readonly host: Host
  #limits: Limits = { steps: 0, milliseconds: 0, bytes: 0, depth: 0 }
  #stepsLeft = 0
  #deadline = 0
  /** Whether it is one that the program has set itself. */
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
    this.mostDepth = limits.depth
    this.fuel = 0
    this.workflow = null
    this.options = null
  }

  /** Milliseconds that the program may go on. */
  timeLeft(): number {
    return this.#deadline - performance.now()
  }

  /** For messages: the time that the program may take, and where that is set. */
  get timeLimit(): string {
    const { milliseconds } = this.#limits
    return this.#isOwnDeadline ? durationText(milliseconds) : timeLimitText(milliseconds)
  }

  /** Runs with less time, where that is less: what takes longer ends with `RUN_TIME_LIMIT`. */
  within<A>(milliseconds: number, run: () => A): A {
    const before = [this.#deadline, this.#limits, this.#isOwnDeadline] as const
    const deadline = performance.now() + milliseconds
    if (deadline < this.#deadline) {
      this.#deadline = deadline
      this.#isOwnDeadline = true
      this.#limits = { ...this.#limits, milliseconds }
      // The clock is looked at before much else is done.
      this.#stepsLeft += this.fuel
      this.fuel = 0
    }
    try {
      const result = run()
      if (performance.now() > this.#deadline) fail('RUN_TIME_LIMIT', `it ran longer than ${durationText(milliseconds)}`)
      return result
    } finally {
      ;[this.#deadline, this.#limits, this.#isOwnDeadline] = before
    }
  }

  /** Called when the fuel has run out; gives the next stretch, or ends the program. */
  refuel(at = -1): void {
    const needed = -this.fuel
    if (needed > this.#stepsLeft) fail('RUN_STEP_LIMIT', `the program took more than ${this.#limits.steps} steps`, at)
    if (performance.now() > this.#deadline) {
      fail('RUN_TIME_LIMIT', `the program ran longer than ${this.timeLimit}`, at)
    }
    const given = Math.min(needed + STRETCH, this.#stepsLeft)
    this.#stepsLeft -= given
    this.fuel += given
  }

  /** Remaining time of the program: at least 1. */
  millisecondsLeft(): number {
    return Math.max(1, this.#deadline - performance.now())
  }

  /** Counts steps of the host on behalf of the program: the elements of a list that is sorted, and the like. */
  charge(steps: number): void {
    this.fuel -= steps
    if (this.fuel < 0) this.refuel()
  }

  /** Called before something of that size is made. */
  allocate(bytes: number, at = -1): void {
    this.#allocated += bytes
    const limit = this.#limits.bytes
    if (bytes > limit) fail('RUN_MEMORY_LIMIT', `a value of ${bytes} bytes is larger than ${limit} bytes`, at)
    if (this.#allocated * SHARE < limit) return
    this.#allocated = 0
    const used = getHeapStatistics().used_heap_size
    if (used > limit) fail('RUN_MEMORY_LIMIT', `the program holds ${used} bytes, and may have ${limit}`, at)
  }
}
