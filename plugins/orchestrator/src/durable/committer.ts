import type { OrchestratorStatus } from '@svc/contracts'
import type { Changes } from '../state/changes.ts'
import type { CommitPort } from '../state/ports.ts'

/**
 * Makes changes of the state outlive the process, in the order in which they were made, and publishes their events after that.
 *
 * 1. Before a command that may be refused runs, {@link Committer.assertRoom} is asked: what a command has changed cannot be
 *    taken back.
 * 2. `commit` takes the change. It is never dropped: while the database is away it waits, and is tried again.
 * 3. When it is durable its caller is notified, after those of the changes before it, and its events go out.
 * 4. A caller waits for a while at most, and is then told `ORC_NOT_DURABLE`; the change stays where it was, in its place.
 */
export interface Committer extends CommitPort {
  /**
   * Resolves when the change is durable, and its events are out. Rejects with `ORC_NOT_DURABLE`; the caller may then wait
   * again for the same change, which is made once. One without anything to keep has its events published at once.
   */
  commit(changes: Changes, options?: CommitOptions): Promise<void>
  /**
   * Accepts a change that a restart undoes anyway. It joins the next transaction, or gets its own within 20 ms; its
   * events are emitted afterwards. Resolves when all earlier changes of the same records are durable, mostly at once.
   */
  commitAhead(changes: Changes): Promise<void>
  /** Throws `ORC_QUEUE_FULL` while too many changes wait. */
  assertRoom(): void
  status(): OrchestratorStatus['outbox']
}

export interface CommitOptions {
  /** Milliseconds that the caller waits; default: as the settings say. */
  readonly waitMs?: number
}
