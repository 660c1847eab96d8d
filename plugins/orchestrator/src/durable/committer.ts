import type { OrchestratorStatus } from '@svc/contracts'
import type { StateChanges } from '../state/changes.ts'
import type { CommitPort } from '../state/ports.ts'

/**
 * Persists state changes in their order, and then publishes their events.
 *
 * 1. Before a command that may be refused runs, {@link Committer.assertRoom} is asked: a command's changes cannot be
 *    undone.
 * 2. `commit` takes the change. It is never dropped: while the database is unavailable it waits and is retried.
 * 3. When it is durable, its caller is notified, after the callers of earlier changes, and its events are published.
 * 4. A caller waits up to its timeout and then gets `ORC_NOT_DURABLE`; the change keeps its place.
 */
export interface Committer extends CommitPort {
  /**
   * Resolves when the change is durable and its events are published. Rejects with `ORC_NOT_DURABLE`; the caller may
   * then wait again for the same change, which is applied once. Events of a change without data are published
   * immediately.
   */
  commit(changes: StateChanges, options?: CommitOptions): Promise<void>
  /**
   * Accepts a change that a restart undoes anyway. It joins the next transaction, or gets its own within 20 ms; its
   * events are emitted afterwards. Resolves when all earlier changes of the same records are durable, mostly immediately.
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
