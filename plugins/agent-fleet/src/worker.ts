import { type AgentActivity, agentLabel, type TaskProcessor, type TaskView } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { delay } from './abortable.ts'
import { type RunParts, TaskRun } from './task-run.ts'

const RETRY_MS = 1_000

export interface WorkerParts extends RunParts {
  readonly chooseProcessor: (task: TaskView) => TaskProcessor
}

/** Works on the tasks of one agent, one after the other. */
export class Worker {
  readonly agent: number
  /** Resolves when the worker has stopped and its task is queued again. */
  readonly ended: Promise<void>
  readonly #parts: WorkerParts
  readonly #controller = new AbortController()
  #run: TaskRun | null = null
  /** Task in progress that a client must complete; null if there is none. */
  #held: number | null = null

  constructor(agent: number, parts: WorkerParts) {
    this.agent = agent
    this.#parts = parts
    this.ended = this.#loop(this.#controller.signal)
  }

  get activity(): AgentActivity {
    if (this.#run !== null) return this.#run.activity
    const current = this.#parts.orchestrator.agent(this.agent)?.current_task
    return current === null || current === undefined ? 'idle' : 'waiting_for_input'
  }

  stop(reason: string): void {
    this.#controller.abort(new Error(reason))
    this.#run?.stop(reason)
  }

  /** Stops the current work if its processor is not in the list. */
  keepOnly(processors: readonly TaskProcessor[]): void {
    const run = this.#run
    if (run !== null && !processors.includes(run.processor))
      run.stop(`the processor ${run.processor.name} was replaced or removed`)
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { orchestrator, log } = this.#parts
    while (!signal.aborted) {
      try {
        const task = await this.#next()
        if (task === null) await orchestrator.wake(this.agent, signal)
        else await this.#work(task, signal)
      } catch (error) {
        if (signal.aborted) return
        if (isSvcError(error) && (error.code === 'ORC_AGENT_NOT_FOUND' || error.code === 'ORC_CLOSED')) return
        log.warn('an agent cannot start its next task; it tries again', { agent: agentLabel(this.agent), error })
        await delay(RETRY_MS, signal).catch(() => {})
      }
    }
  }

  async #next(): Promise<TaskView | null> {
    const { orchestrator } = this.#parts
    try {
      return await orchestrator.next(this.agent)
    } catch (error) {
      if (!isSvcError(error) || error.code !== 'ORC_NOT_DURABLE') throw error
      // The task was started, but storing the change takes longer than the limit.
      const current = orchestrator.agent(this.agent)?.current_task ?? null
      return current === null || current === this.#held ? null : orchestrator.task(current)
    }
  }

  async #work(task: TaskView, signal: AbortSignal): Promise<void> {
    const run = new TaskRun(task, this.#parts.chooseProcessor(task), this.#parts)
    this.#run = run
    if (signal.aborted) run.stop((signal.reason as Error).message)
    try {
      this.#held = (await run.run()) ? null : task.id
    } finally {
      this.#run = null
    }
  }
}
