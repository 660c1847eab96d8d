import type { OrchestratorStatus } from '@svc/contracts'
import type { StateChanges } from '../state/changes.ts'
import type { CommitPort } from '../state/ports.ts'

/**
 * Persists state changes in their order, and then publishes their events.
 *
 * 1. A command that may be rejected first calls {@link Committer.assertRoom}, since its changes cannot be undone.
 * 2. `commit` queues the change. It is never dropped: while the database is unavailable, it waits and is retried.
 * 3. Once it is durable, its caller is notified, after the callers of earlier changes, and its events are published.
 * 4. A caller waits up to its timeout and then gets `ORC_NOT_DURABLE`; the change stays in the queue.
 */
export interface Committer extends CommitPort {
  /**
   * Resolves when the change is durable and its events are published. Rejects with `ORC_NOT_DURABLE` after the timeout;
   * the caller may then pass the same change again to keep waiting: it is applied once. If a change has only events,
   * they are published immediately.
   */
  commit(changes: StateChanges, options?: CommitOptions): Promise<void>
  /**
   * Queues a change that a restart undoes anyway. It joins the next transaction, or gets its own within 20 ms; its
   * events are published afterwards. Resolves once all earlier changes of the same records are durable, usually
   * immediately.
   */
  commitAhead(changes: StateChanges): Promise<void>
  /** Throws `ORC_QUEUE_FULL` while too many changes wait. */
  assertRoom(): void
  status(): OrchestratorStatus['outbox']
}

export interface CommitOptions {
  /** Timeout of the caller in milliseconds; default: the setting. */
  readonly waitMs?: number
}
