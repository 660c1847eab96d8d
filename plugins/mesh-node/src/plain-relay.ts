import {
  type AgentEvent,
  type Attestation,
  type Orchestrator,
  remoteTaskKey,
  type TaskView,
  taskLabel
} from '@svc/contracts'
import { errorMessage, isSvcError, type Logger } from '@svc/plugin-sdk'
import type { Delegation } from './delegation.ts'

/** Relays without a result that are remembered; further ones are not sent. */
const MAX_OPEN = 1_000
const ENDED = new Set(['Completed', 'Failed', 'Cancelled'])

interface OpenRelay {
  readonly task: number
  readonly message_id: number | undefined
}

export interface RelayOutcome {
  readonly success: boolean
  /** Result or error. */
  readonly text: string
  readonly attestation: Attestation
}

export interface PlainRelayOptions {
  readonly orchestrator: Pick<Orchestrator, 'subscribe' | 'task' | 'complete'>
  readonly delegation: Delegation
  readonly log: Logger
  readonly now?: () => number
}

/**
 * Relays tasks without a lease: a copy of each new local task is sent in the background. The task stays in its local
 * queue, so it may run on both machines. The result of the other machine completes the task unless local work on it has
 * begun.
 */
export class PlainRelay {
  readonly #options: PlainRelayOptions
  readonly #open = new Map<string, OpenRelay>()
  readonly #keys = new Map<number, string>()

  constructor(options: PlainRelayOptions) {
    this.#options = options
  }

  /** Relays new tasks until the signal is aborted. Resolves when running deliveries have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { orchestrator, log } = this.#options
    const running = new Set<Promise<void>>()
    const start = (label: string, work: Promise<void>): void => {
      const tracked = work
        .catch(error => log.warn(`${label} failed`, { reason: errorMessage(error) }))
        .finally(() => running.delete(tracked))
      running.add(tracked)
    }
    const unsubscribe = orchestrator.subscribe(event => {
      const task = relayedTask(event)
      if (task === null) return
      if (event.kind.type === 'task_submitted') start('the relay of a task', this.#relay(task, signal))
      else if (this.#keys.has(task)) start('the withdrawal of a relayed task', this.#withdraw(task, signal))
    })
    await new Promise<void>(resolve => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
    unsubscribe()
    await Promise.all(running)
  }

  /** Whether the key is that of an open relay of this process. */
  has(key: string): boolean {
    return this.#open.has(key)
  }

  /** Uses a result, unless local work has begun. A failure changes nothing, since the task is still queued here. */
  async settle(key: string, outcome: RelayOutcome): Promise<void> {
    const relay = this.#open.get(key)
    if (relay === undefined) return
    const { orchestrator, log } = this.#options
    this.#forget(relay.task)
    const fields = { task: taskLabel(relay.task) }
    if (!outcome.success) {
      log.info('a relayed task failed on another machine; it stays queued here', { ...fields, reason: outcome.text })
      return
    }
    if (orchestrator.task(relay.task)?.status.kind !== 'Queued') return
    try {
      await orchestrator.complete(relay.task, outcome.attestation)
    } catch (error) {
      if (!isSvcError(error)) throw error
      log.info('the result of a relayed task was not used', { ...fields, reason: error.message })
    }
  }

  async #relay(task: number, signal: AbortSignal): Promise<void> {
    const { orchestrator, delegation, now = Date.now } = this.#options
    const view = orchestrator.task(task)
    if (view === null || !isLocal(view) || !delegation.canRelay(view) || delegation.wants(view)) return
    if (this.#open.size >= MAX_OPEN) return
    const key = remoteTaskKey(task, now())
    this.#open.set(key, { task, message_id: undefined })
    this.#keys.set(task, key)
    try {
      const message_id = await delegation.deliver(view, key, undefined, signal)
      if (this.#open.has(key)) this.#open.set(key, { task, message_id })
      // The task ended during the delivery.
      else await delegation.takeBack(task, { idempotency_key: key, message_id }, 'the task ended', signal)
    } catch (error) {
      this.#forget(task)
      throw error
    }
  }

  async #withdraw(task: number, signal: AbortSignal): Promise<void> {
    const key = this.#keys.get(task) as string
    const message_id = this.#open.get(key)?.message_id
    this.#forget(task)
    if (message_id === undefined) return
    await this.#options.delegation.takeBack(task, { idempotency_key: key, message_id }, 'the task ended', signal)
  }

  #forget(task: number): void {
    const key = this.#keys.get(task)
    this.#keys.delete(task)
    if (key !== undefined) this.#open.delete(key)
  }
}

/** Returns the task of an event that begins or ends a task; null for other events. */
function relayedTask({ kind }: AgentEvent): number | null {
  switch (kind.type) {
    case 'task_submitted':
    case 'task_completed':
    case 'task_failed':
    case 'task_cancelled':
      return kind.task_id
    default:
      return null
  }
}

function isLocal(task: TaskView): boolean {
  return task.remote === undefined && !ENDED.has(task.status.kind)
}
