import { TaskState } from '@a2a-js/sdk'
import {
  type Coordination,
  LOCAL_REPOSITORY,
  type NewItem,
  REMOTE_TASK_CANCEL,
  REMOTE_TASK_ENVELOPE,
  type RemoteTaskCancel,
  type RemoteTaskEnvelope,
  type RemoteTaskPayload
} from '@svc/contracts'
import { END, type TaskCreated } from '../tasks/event.ts'
import { taskNumberOf } from '../tasks/ids.ts'
import { agentMessage, type TaskRef } from '../tasks/messages.ts'
import type { TaskSnapshot } from '../tasks/snapshot.ts'
import { envelopeKeyOf, type MeshMailboxes } from './mesh-mailbox.ts'
import { threadOf } from './orchestrator-task.ts'
import type { Acceptance, Target } from './target.ts'

/** How long a list of nodes is used. */
const NODES_MS = 1_000
const PRIORITIES = { Background: 64, Normal: 128, Urgent: 192 } as const

export interface MeshTargetParts {
  readonly store: Coordination
  readonly mailboxes: MeshMailboxes
  /** Agents whose mailboxes receive the tasks, and the results. */
  readonly receiver: string
  readonly sender: string
  /** Age in milliseconds at which a node no longer counts; 0: never. */
  readonly staleMs: number
}

/** Runs tasks on the machines of a mesh: each task is an envelope in the mailbox of an agent, which a worker claims. */
export class MeshTarget implements Target {
  readonly #parts: MeshTargetParts
  #nodes: Promise<boolean> | null = null
  #nodesAt = -Infinity

  constructor(parts: MeshTargetParts) {
    this.#parts = parts
  }

  get queue(): string {
    return this.#parts.mailboxes.queueOf(this.#parts.receiver)
  }

  /** Rejects the task if no node of the mesh could take it. */
  async accept(task: TaskRef, created: TaskCreated): Promise<Acceptance> {
    if (await this.#hasNode()) return { events: [], items: [this.itemOf(task.id, created)] }
    const message = agentMessage(task, END, 'No machine of the mesh is available.')
    const event = { type: 'status', state: TaskState.TASK_STATE_REJECTED, message, facts: {} } as const
    return { events: [{ key: END, event }], items: [] }
  }

  async cancelled({ id, created }: TaskSnapshot): Promise<void> {
    const { store, mailboxes, sender, receiver } = this.#parts
    // Adding it again returns the id of the item that exists.
    const [put] = await store.put([this.itemOf(id, created)])
    if (put === undefined || (await store.withdraw(this.queue, put.id)) !== 'leased') return
    const key = envelopeKeyOf(id)
    const cancel: RemoteTaskCancel = {
      idempotency_key: key,
      task_id: taskNumberOf(id),
      reason: 'cancelled by the client'
    }
    await store.put([
      mailboxes.itemOf({
        sender_agent_id: sender,
        receiver_agent_id: receiver,
        message_type: REMOTE_TASK_CANCEL,
        payload: JSON.stringify(cancel),
        idempotency_key: `${key}-cancel`
      })
    ])
  }

  itemOf(id: string, { text, hints }: TaskCreated): NewItem {
    const { mailboxes, sender, receiver } = this.#parts
    const { campaign_id, priority = 'Normal' } = hints
    const payload: RemoteTaskPayload = { task_description: text, assigned_agent_id: 0, thread_id: threadOf(id) }
    const envelope: RemoteTaskEnvelope = {
      idempotency_key: envelopeKeyOf(id),
      task_id: taskNumberOf(id),
      repository_id: mailboxes.scopeId ?? LOCAL_REPOSITORY,
      payload: JSON.stringify(payload),
      submitted_unix_ms: Date.now(),
      thread_id: threadOf(id),
      ...(mailboxes.scopeId === null ? null : { scope_id: mailboxes.scopeId }),
      ...(campaign_id === undefined ? null : { campaign_id })
    }
    return mailboxes.itemOf({
      sender_agent_id: sender,
      receiver_agent_id: receiver,
      message_type: REMOTE_TASK_ENVELOPE,
      payload: JSON.stringify(envelope),
      idempotency_key: envelopeKeyOf(id),
      priority: PRIORITIES[priority]
    })
  }

  #hasNode(): Promise<boolean> {
    const now = performance.now()
    if (this.#nodes !== null && now - this.#nodesAt < NODES_MS) return this.#nodes
    this.#nodesAt = now
    this.#nodes = this.#readNodes()
    this.#nodes.catch(() => {
      this.#nodes = null
    })
    return this.#nodes
  }

  async #readNodes(): Promise<boolean> {
    const { store, mailboxes, staleMs } = this.#parts
    const [{ nodes }, now] = await Promise.all([store.nodes.list(mailboxes.scope), store.now()])
    return nodes.some(
      ({ quarantined, maintenance, seenAt }) =>
        !quarantined && !maintenance && (staleMs === 0 || now - seenAt <= staleMs)
    )
  }
}
