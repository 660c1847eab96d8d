import { hostname } from 'node:os'
import {
  type EndedTasks,
  MAX_VIEW_TASKS,
  OPEN_STATUSES,
  type OpenStatus,
  type Orchestrator,
  type ViewBody
} from '@svc/contracts'
import type { MeshClient } from './client.ts'
import { viewTaskOf } from './view-of-task.ts'

/** Interval in milliseconds at which changed tasks are published. */
export const PUBLISH_MS = 5_000
/** Interval in milliseconds at which unchanged tasks are confirmed: half of their expiry. */
const CONFIRM_MS = 15_000

export interface ViewPublisherOptions {
  readonly client: MeshClient
  readonly orchestrator: Orchestrator
  readonly node: string
  readonly repositoryId: string
  readonly storeId: string
  /** Agent id to which verbs for this process are delivered. */
  readonly mailbox: string
}

/** Publishes the open tasks of this process for the other hosts of its repository. */
export class ViewPublisher {
  readonly #options: ViewPublisherOptions
  #published: string | null = null
  #at = Number.NEGATIVE_INFINITY

  constructor(options: ViewPublisherOptions) {
    this.#options = options
  }

  /** Publishes the tasks if they changed, or before they expire. Without open tasks, nothing is confirmed. */
  async publish(signal: AbortSignal): Promise<void> {
    const view = this.#view()
    const text = JSON.stringify(view)
    const isSame = text === this.#published
    if (isSame && (view.tasks.length === 0 || performance.now() - this.#at < CONFIRM_MS)) return
    if (this.#published === null && view.tasks.length === 0) return
    await this.#options.client.extension('POST', '/x/views', view, signal)
    this.#published = text
    this.#at = performance.now()
  }

  #view(): ViewBody {
    const { orchestrator, node, repositoryId, storeId, mailbox } = this.#options
    const open: Record<OpenStatus, number> = zero()
    const tasks = orchestrator.tasks().flatMap(task => {
      const row = viewTaskOf(task)
      if (row !== null) open[row.status] += 1
      return row ?? []
    })
    const { total_completed, total_failed, total_cancelled } = orchestrator.status()
    const ended: EndedTasks = { completed: total_completed, failed: total_failed, cancelled: total_cancelled }
    return {
      node_id: node,
      repository_id: repositoryId,
      store_id: storeId,
      mailbox,
      host: hostname(),
      pid: process.pid,
      agents: orchestrator.agents().length,
      open,
      ended,
      tasks: tasks.slice(0, MAX_VIEW_TASKS)
    }
  }
}

function zero(): Record<OpenStatus, number> {
  return Object.fromEntries(OPEN_STATUSES.map(status => [status, 0])) as Record<OpenStatus, number>
}
