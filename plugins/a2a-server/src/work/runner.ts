import { setMaxListeners } from 'node:events'
import { TaskState } from '@a2a-js/sdk'
import type { ClaimedItem, Coordination, Orchestrator, TaskView } from '@svc/contracts'
import { errorMessage, isSvcError, type Logger } from '@svc/plugin-sdk'
import type { TaskSnapshot } from '../tasks/snapshot.ts'
import { hasEnded } from '../tasks/states.ts'
import type { TaskStore } from '../tasks/task-store.ts'
import { WakeUp } from '../wake-up.ts'
import { releaseEnded } from './holder.ts'
import { type Work, workQueueOf } from './orchestrator-target.ts'
import { endedBy, eventsOf } from './orchestrator-task.ts'
import { submitTask, taskInOrchestrator } from './submit-task.ts'

const LEASE_MS = 30_000
const EXTEND_MS = 10_000
const IDLE_MS = 500
/** Tasks that a process follows at once; the orchestrator decides how many of them run. */
const MAX_TASKS = 1_000
const CLAIM_BATCH = 32
const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 30_000
/**
 * Claims for which another process waits until the orchestrator of a process that ended is taken over: about two
 * minutes. Then the task is submitted again.
 */
const TAKEOVER_CLAIMS = 8
/** Claims after which a task has failed whose processing fails each time. */
const MAX_ATTEMPTS = 50
/** Time after which a task is read again, in case that a change was not announced. */
const LOOK_AGAIN_MS = 10_000

export interface RunnerParts {
  readonly store: Coordination
  readonly tasks: TaskStore
  readonly orchestrator: Orchestrator
  readonly holder: string
  readonly log: Logger
}

type Outcome =
  /** The task has ended; its work item is removed. */
  | 'ended'
  /** Another process follows the task. */
  | 'lost'
  /** The task goes back to the queue. */
  | { readonly delayMs: number; readonly reason: string }

/**
 * Runs tasks of the protocol in the orchestrator of this process. Holds the work item of each task until the task has
 * ended. If this process ends, another one claims the item, and finds the task in the state that it took over.
 */
export class Runner {
  readonly #parts: RunnerParts
  readonly #queue: string
  readonly #jobs = new Map<number, Job>()

  constructor(parts: RunnerParts) {
    this.#parts = parts
    this.#queue = workQueueOf(parts.tasks.scope)
  }

  /** Number of tasks that this process follows. */
  get size(): number {
    return this.#jobs.size
  }

  /** Runs tasks until the signal is aborted, then gives them back to the queue. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, orchestrator } = this.#parts
    // Each task waits for the signal.
    setMaxListeners(0, signal)
    const ready = new WakeUp()
    const endHints = store.hints([this.#queue], () => ready.set())
    const endRecords = orchestrator.subscribeRecords(records => this.#announce(records))
    const extending = setInterval(() => void this.#extend(), EXTEND_MS)
    const running = new Set<Promise<void>>()
    try {
      await this.#releaseEnded()
      while (!signal.aborted) {
        const claimed = await this.#claim()
        for (const item of claimed) {
          const working: Promise<void> = this.#work(item, signal).finally(() => running.delete(working))
          running.add(working)
        }
        if (claimed.length === 0) await ready.wait(IDLE_MS, signal)
      }
      await Promise.all(running)
    } finally {
      endHints()
      endRecords()
      clearInterval(extending)
    }
  }

  /** Gets the tasks of a process that was killed before its leases expire. */
  async #releaseEnded(): Promise<void> {
    try {
      await releaseEnded(this.#parts.store, this.#queue)
    } catch (error) {
      this.#parts.log.warn('A2A tasks of ended processes wait for their leases', { reason: errorMessage(error) })
    }
  }

  async #claim(): Promise<readonly ClaimedItem[]> {
    const { store, holder, log } = this.#parts
    const max = Math.min(CLAIM_BATCH, MAX_TASKS - this.#jobs.size)
    if (max <= 0) return []
    try {
      return await store.claim(this.#queue, holder, { max, leaseMs: LEASE_MS })
    } catch (error) {
      log.warn('A2A tasks cannot be read from the store', { reason: errorMessage(error) })
      return []
    }
  }

  async #work(item: ClaimedItem, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#parts
    const { task } = JSON.parse(item.body) as Work
    const job = new Job(item, task, this.#parts)
    // After a lost lease, this process may have claimed the item again.
    this.#jobs.get(item.id)?.lost()
    this.#jobs.set(item.id, job)
    try {
      const outcome = await job.run(signal)
      if (outcome === 'lost') return
      if (outcome === 'ended') await store.ack([item])
      else await store.nack([item], { delayMs: outcome.delayMs, error: outcome.reason })
    } catch (error) {
      const reason = errorMessage(error)
      log.warn('an A2A task is tried again', { task, reason, attempts: item.attempts })
      if (item.attempts >= MAX_ATTEMPTS && (await job.giveUp(reason).catch(() => false))) return
      // If this fails too, the item is claimed again when its lease has expired.
      await store.nack([item], { delayMs: delayOf(item.attempts), error: reason }).catch(() => undefined)
    } finally {
      if (this.#jobs.get(item.id) === job) this.#jobs.delete(item.id)
    }
  }

  async #extend(): Promise<void> {
    const jobs = [...this.#jobs.values()]
    if (jobs.length === 0) return
    try {
      const results = await this.#parts.store.extend(
        jobs.map(({ item }) => item),
        LEASE_MS
      )
      for (const [at, job] of jobs.entries()) if (results[at] === false) job.lost()
    } catch (error) {
      this.#parts.log.warn('the leases of A2A tasks were not extended', { reason: errorMessage(error) })
    }
  }

  #announce(records: ReadonlySet<string> | null): void {
    for (const job of this.#jobs.values()) if (records === null || job.concerns(records)) job.wake()
  }
}

/** Follows one task until it has ended, or another process follows it. */
class Job {
  readonly item: ClaimedItem
  readonly #task: string
  readonly #parts: RunnerParts
  /** Id of the orchestrator's task. */
  #delegate: number | null = null
  #isLost = false
  readonly #woken = new WakeUp()

  constructor(item: ClaimedItem, task: string, parts: RunnerParts) {
    this.item = item
    this.#task = task
    this.#parts = parts
  }

  wake(): void {
    this.#woken.set()
  }

  /** Called when the lease is no longer this process's. */
  lost(): void {
    this.#isLost = true
    this.wake()
  }

  concerns(records: ReadonlySet<string>): boolean {
    return this.#delegate !== null && records.has(`task/${this.#delegate}`)
  }

  /** Ends a task that cannot be processed. Returns false if that fails too. */
  async giveUp(reason: string): Promise<boolean> {
    const { store, tasks } = this.#parts
    const task = await tasks.find(this.#task)
    if (task !== null)
      await tasks.end(task, [endedBy(task, TaskState.TASK_STATE_FAILED, `the task could not be processed: ${reason}`)])
    await store.ack([this.item])
    return true
  }

  async run(signal: AbortSignal): Promise<Outcome> {
    const endWatch = this.#parts.tasks.watch(this.#task, () => this.wake())
    try {
      for (;;) {
        const outcome = await this.#step()
        if (outcome !== null) return outcome
        if (signal.aborted) return { delayMs: 0, reason: 'the process stops' }
        await this.#woken.wait(LOOK_AGAIN_MS, signal)
      }
    } finally {
      endWatch()
    }
  }

  /** Brings the task up to date. Returns null while it is to be followed further. */
  async #step(): Promise<Outcome | null> {
    const { tasks, orchestrator } = this.#parts
    const task = await tasks.find(this.#task)
    // Removed tasks have ended.
    if (task === null) return 'ended'
    if (this.#isLost && !hasEnded(task.state)) return 'lost'
    const view = taskInOrchestrator(orchestrator, task)
    if (view === null) {
      const takeover = this.#takeoverOf(task)
      if (takeover !== null) return takeover
      return hasEnded(task.state) ? 'ended' : this.#delegateTask(task)
    }
    if (hasEnded(task.state)) {
      await this.#cancel(task, view)
      return 'ended'
    }
    this.#delegate = view.id
    if (task.delegated === null) await this.#noteDelegation(task, view.id)
    if (task.pendingReplies.length > 0) {
      await this.#deliverReplies(task, view.id)
      return null
    }
    const events = eventsOf(task, view)
    if (events.length === 0) return null
    const appended = await tasks.append(task, events)
    return hasEnded(appended.task.state) ? 'ended' : null
  }

  /**
   * Returns how long to wait for a task that another process has in its orchestrator: it may still run, or be taken over
   * by this one. Null if it need not, or no longer, be waited for.
   */
  #takeoverOf({ state, delegated }: TaskSnapshot): Outcome | null {
    const isOver = hasEnded(state) && state !== TaskState.TASK_STATE_CANCELED
    if (delegated === null || isOver || this.#parts.orchestrator.durability.kind !== 'database') return null
    const claims = this.item.attempts - delegated.attempts
    if (claims > TAKEOVER_CLAIMS) return null
    return { delayMs: delayOf(claims), reason: 'another process has the task in its orchestrator' }
  }

  async #delegateTask(task: TaskSnapshot): Promise<Outcome | null> {
    const { orchestrator, tasks } = this.#parts
    const submission = await submitTask(orchestrator, task)
    switch (submission.kind) {
      case 'accepted':
        this.#delegate = submission.task
        await this.#noteDelegation(task, submission.task)
        this.wake()
        return null
      case 'rejected':
        await tasks.end(task, [endedBy(task, TaskState.TASK_STATE_REJECTED, submission.reason)])
        return 'ended'
      case 'later':
        return { delayMs: delayOf(this.item.attempts), reason: submission.reason }
    }
  }

  async #noteDelegation(task: TaskSnapshot, id: number): Promise<void> {
    const event = { type: 'delegated', task: id, attempts: this.item.attempts } as const
    await this.#parts.tasks.append(task, [{ key: `delegated:${id}:${task.delegations}`, event }])
  }

  /** Passes the replies of the client to the orchestrator's task, which resolves its doubt. */
  async #deliverReplies(task: TaskSnapshot, id: number): Promise<void> {
    const { orchestrator } = this.#parts
    const text = task.pendingReplies.map(reply => reply.text).join('\n\n')
    if (orchestrator.task(id)?.status.kind === 'Doubted') await orchestrator.resolveDoubt(id, 'validated', text)
    // The doubt was resolved here meanwhile; the agent still receives the reply.
    else orchestrator.turn(id, text)
    const key = `resumed:${task.inputs}`
    const event = { type: 'status', state: TaskState.TASK_STATE_WORKING, message: null, facts: {} } as const
    await this.#parts.tasks.append(task, [{ key, event }])
    this.wake()
  }

  /** Cancels the orchestrator's task of a task that the client cancelled. */
  async #cancel({ state }: TaskSnapshot, { id, status }: TaskView): Promise<void> {
    if (state !== TaskState.TASK_STATE_CANCELED || status.kind === 'Completed' || status.kind === 'Cancelled') return
    try {
      await this.#parts.orchestrator.cancel(id)
    } catch (error) {
      // It ended meanwhile.
      if (!isSvcError(error, 'ORC_TRANSITION')) throw error
    }
  }
}

function delayOf(attempts: number): number {
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, Math.min(attempts - 1, 10)))
}
