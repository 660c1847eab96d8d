import { type Attestation, type Orchestrator, type TaskProcessor, type TaskView, taskLabel } from '@svc/contracts'
import { isSvcError, LinkedSignal, type Logger, raceAbort } from '@svc/plugin-sdk'
import { fleetErrors } from './errors.ts'
import { Work } from './work.ts'

/** Error codes after which nothing is left to report: the task has ended, or its change is still being stored. */
const SETTLED = new Set(['ORC_TRANSITION', 'ORC_TASK_NOT_FOUND', 'ORC_NOT_DURABLE', 'ORC_CLOSED'])

export interface RunParts {
  readonly orchestrator: Orchestrator
  readonly log: Logger
  /** Maximum milliseconds for the work on a task. */
  readonly timeoutMs: () => number
}

/** Runs the work on one task until its outcome is reported to the orchestrator. */
export class TaskRun {
  readonly task: TaskView
  readonly processor: TaskProcessor
  readonly #parts: RunParts
  readonly #stop = new AbortController()
  readonly #timeout = new AbortController()
  readonly #signal: LinkedSignal
  readonly #taskSignal: AbortSignal
  readonly #work: Work

  constructor(task: TaskView, processor: TaskProcessor, parts: RunParts) {
    this.task = task
    this.processor = processor
    this.#parts = parts
    this.#taskSignal = parts.orchestrator.taskSignal(task.id)
    this.#signal = new LinkedSignal().with(this.#taskSignal).with(this.#stop.signal).with(this.#timeout.signal)
    this.#work = new Work(parts.orchestrator, task, this.#signal.signal)
  }

  get activity() {
    return this.#work.activity
  }

  /** Ends the work; the task is queued again. */
  stop(reason: string): void {
    this.#stop.abort(new Error(reason))
  }

  /** Resolves when the outcome is reported; false if the task stays in progress until another client ends it. */
  async run(): Promise<boolean> {
    const { task, processor } = this
    const limit = Math.min(task.budget?.max_latency_ms ?? Infinity, this.#parts.timeoutMs())
    const timer = setTimeout(() => this.#timeout.abort(timeoutError(task, processor, limit)), limit)
    try {
      const working = Promise.resolve().then(() => processor.run(task, this.#work))
      const attestation = await raceAbort(this.#signal.signal, working)
      this.#work.close()
      if (attestation !== null) await this.#submit(attestation)
      return attestation !== null || this.#taskSignal.aborted
    } catch (error) {
      this.#work.close()
      await this.#failed(error)
      return true
    } finally {
      clearTimeout(timer)
      this.#signal.close()
    }
  }

  async #submit(attestation: Attestation): Promise<void> {
    const { id, approval_tier } = this.task
    try {
      const { requeued } = await this.#parts.orchestrator.complete(id, attestation)
      if (requeued === undefined) return
      const { gate, reason } = requeued
      this.#parts.log.info('a gate queued a task again', { task: taskLabel(id), gate, reason })
      // Repeating the work cannot provide a user's approval.
      if (gate === 'approval' && (approval_tier === 'Review' || approval_tier === 'Blocked'))
        await this.#doubt(`${reason}. Submitted: ${attestation.completion_summary ?? 'no summary'}`)
    } catch (error) {
      if (isSvcError(error) && error.code === 'ORC_ATTESTATION_REQUIRED') await this.#doubt(error.message)
      else await this.#failed(error)
    }
  }

  #doubt(reason: string): Promise<void> {
    return this.#settle(orchestrator => orchestrator.doubt(this.task.id, reason))
  }

  async #failed(error: unknown): Promise<void> {
    if (isSettled(error)) return
    // The task was cancelled, doubted or moved during the work, so there is no failure to report.
    if (this.#taskSignal.aborted) return
    const { id } = this.task
    const { reason } = this.#stop.signal
    if (this.#stop.signal.aborted) {
      await this.#settle(orchestrator => orchestrator.release(id, (reason as Error).message))
      return
    }
    const message = error instanceof Error ? error.message : String(error)
    this.#parts.log.warn('the work on a task failed', {
      task: taskLabel(id),
      processor: this.processor.name,
      reason: message
    })
    await this.#settle(orchestrator => orchestrator.fail(id, message))
  }

  async #settle(command: (orchestrator: Orchestrator) => Promise<unknown>): Promise<void> {
    try {
      await command(this.#parts.orchestrator)
    } catch (error) {
      if (!isSettled(error))
        this.#parts.log.error('the outcome of the work on a task could not be recorded', {
          task: taskLabel(this.task.id),
          error
        })
    }
  }
}

function isSettled(error: unknown): boolean {
  return isSvcError(error) && SETTLED.has(error.code)
}

function timeoutError(task: TaskView, { name }: TaskProcessor, limit: number): Error {
  return fleetErrors.create(
    'FLT_TIMEOUT',
    `${taskLabel(task.id)}: the processor ${name} took longer than ${limit} ms`,
    {
      hint: 'submit the task again with a larger max_latency_ms, or raise plugins.agent-fleet.task_timeout_ms'
    }
  )
}
