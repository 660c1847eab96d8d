import type { OrchestratorStatus } from '@svc/contracts'
import type { EventBus } from '../events/bus.ts'
import { databaseUnusable, describeFailure } from './failures.ts'
import { MemoryCommitter } from './memory-committer.ts'
import type { UnusableDatabase } from './persistence.ts'

/** Committer while the database cannot be opened: rejects commands; events without a command are published. */
export class RefusingCommitter extends MemoryCommitter {
  readonly #database: UnusableDatabase

  constructor(bus: EventBus, database: UnusableDatabase) {
    super(bus)
    this.#database = database
  }

  override assertRoom(): void {
    throw databaseUnusable(this.#database.location, this.#database.failure)
  }

  override status(): OrchestratorStatus['outbox'] {
    return { pending: 0, oldest_ms: null, failing: describeFailure(this.#database.failure) }
  }
}
