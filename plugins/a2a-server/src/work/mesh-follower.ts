import { TaskState } from '@a2a-js/sdk'
import { type ClaimedItem, type Coordination, MAX_COORDINATION_BATCH, type StoredItem } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { END, type KeyedEvent, type TaskFacts } from '../tasks/event.ts'
import { taskNumberOf } from '../tasks/ids.ts'
import { textArtifact } from '../tasks/messages.ts'
import type { TaskSnapshot } from '../tasks/snapshot.ts'
import { hasEnded } from '../tasks/states.ts'
import type { TaskStore } from '../tasks/task-store.ts'
import { WakeUp } from '../wake-up.ts'
import { type MeshMailboxes, meshResultOf } from './mesh-mailbox.ts'
import type { MeshTarget } from './mesh-target.ts'
import { endedBy } from './orchestrator-task.ts'

const LEASE_MS = 30_000
const IDLE_MS = 500
const CLAIM_BATCH = 32
const MAX_RESULT_CHARS = 1_000_000
/**
 * How long an envelope may be missing before its task has failed. A worker delivers the result before it acknowledges
 * the envelope, so a result arrives before that.
 */
const MISSING_MS = 30_000

export interface MeshFollowerParts {
  readonly store: Coordination
  readonly tasks: TaskStore
  readonly target: MeshTarget
  readonly mailboxes: MeshMailboxes
  /** Agent whose mailbox receives the results. */
  readonly sender: string
  readonly holder: string
  readonly log: Logger
}

/**
 * Brings the tasks of the mesh up to date: with the results in the own mailbox, and with the claims of their envelopes.
 * Of all servers on the store, one watches the envelopes at a time.
 */
export class MeshFollower {
  readonly #parts: MeshFollowerParts
  readonly #results: string
  /** Item of each open task. */
  readonly #items = new Map<string, number>()
  /** When the envelope of a task was first missing, in milliseconds of the process. */
  readonly #missing = new Map<string, number>()

  constructor(parts: MeshFollowerParts) {
    this.#parts = parts
    this.#results = parts.mailboxes.queueOf(parts.sender)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { store, holder, tasks, log } = this.#parts
    const ready = new WakeUp()
    const endHints = store.hints([this.#results, this.#parts.target.queue], () => ready.set())
    try {
      while (!signal.aborted) {
        try {
          const results = await store.claim(this.#results, holder, { max: CLAIM_BATCH, leaseMs: LEASE_MS })
          for (const item of results) await this.#takeResult(item)
          const lease = await store.grant(`a2a-mesh:${tasks.scope}`, 'envelopes', holder, LEASE_MS)
          if (!('heldBy' in lease)) await this.#lookAtEnvelopes()
          if (results.length === CLAIM_BATCH) continue
        } catch (error) {
          log.warn('the results of A2A tasks cannot be read', { reason: errorMessage(error) })
        }
        await ready.wait(IDLE_MS, signal)
      }
    } finally {
      endHints()
    }
  }

  async #takeResult(item: ClaimedItem): Promise<void> {
    const { tasks, store } = this.#parts
    const result = meshResultOf(item.body)
    const task = result?.task == null ? null : await tasks.find(result.task)
    // A result of a task that has ended, for example by its cancellation, is dropped.
    if (result !== null && task !== null && !hasEnded(task.state)) {
      const text = result.text.slice(0, MAX_RESULT_CHARS)
      const facts = factsOf(task)
      const failed = endedBy(task, TaskState.TASK_STATE_FAILED, text, facts)
      await tasks.end(task, result.success ? completed(text, facts) : [failed])
    }
    await store.ack([item])
  }

  async #lookAtEnvelopes(): Promise<void> {
    const { tasks, store, target } = this.#parts
    const open = await tasks.open()
    const ids = new Set(open.map(({ id }) => id))
    for (const id of this.#items.keys()) if (!ids.has(id)) this.#forget(id)
    const batch = open.slice(0, MAX_COORDINATION_BATCH)
    for (const { id } of batch) if (!this.#items.has(id)) await this.#findItem(id)
    const known = batch.flatMap(({ id }) => this.#items.get(id) ?? [])
    if (known.length === 0) return
    const items = new Map((await store.read(target.queue, known)).map(item => [item.id, item]))
    for (const { id, state } of batch) {
      const item = items.get(this.#items.get(id) ?? 0)
      if (item === undefined) await this.#isMissing(id)
      else {
        this.#missing.delete(id)
        if (item.state === 'leased' && state === TaskState.TASK_STATE_SUBMITTED) await this.#isClaimed(id, item)
      }
    }
  }

  async #findItem(id: string): Promise<void> {
    const { tasks, store, target } = this.#parts
    const task = await tasks.find(id)
    if (task === null) return
    // Adding it again returns the id of the item that exists.
    const [put] = await store.put([target.itemOf(id, task.created)])
    if (put !== undefined) this.#items.set(id, put.id)
  }

  async #isClaimed(id: string, { holder, fence }: StoredItem): Promise<void> {
    const task = await this.#parts.tasks.find(id)
    if (task === null || task.state !== TaskState.TASK_STATE_SUBMITTED) return
    const facts = { ...factsOf(task), lease_id: String(fence), claimer_node_id: holder ?? '' }
    const event = { type: 'status', state: TaskState.TASK_STATE_WORKING, message: null, facts } as const
    await this.#parts.tasks.append(task, [{ key: 'working', event }])
  }

  async #isMissing(id: string): Promise<void> {
    const since = this.#missing.get(id) ?? performance.now()
    this.#missing.set(id, since)
    if (performance.now() - since < MISSING_MS) return
    const task: TaskSnapshot | null = await this.#parts.tasks.find(id)
    const reason = 'The mesh removed the task without a result.'
    if (task !== null && !hasEnded(task.state))
      await this.#parts.tasks.end(task, [endedBy(task, TaskState.TASK_STATE_FAILED, reason)])
    this.#forget(id)
  }

  #forget(id: string): void {
    this.#items.delete(id)
    this.#missing.delete(id)
  }
}

function factsOf({ id, created: { hints } }: TaskSnapshot): TaskFacts {
  return {
    task_id: taskNumberOf(id),
    placement_reason: 'mesh_remote_lease_hold',
    ...(hints.campaign_id === undefined ? null : { campaign_id: hints.campaign_id })
  }
}

function completed(text: string, facts: TaskFacts): readonly KeyedEvent[] {
  const event = { type: 'status', state: TaskState.TASK_STATE_COMPLETED, message: null, facts } as const
  return [
    { key: 'result', event: { type: 'artifact', artifact: textArtifact('result', 'Result', text) } },
    { key: END, event }
  ]
}
