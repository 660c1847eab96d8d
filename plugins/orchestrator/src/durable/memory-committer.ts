import type { OrchestratorStatus } from '@svc/contracts'
import type { EventBus } from '../events/bus.ts'
import type { StateChanges } from '../state/changes.ts'
import type { Committer } from './committer.ts'

const DONE = Promise.resolve()
const NOTHING_WAITS: OrchestratorStatus['outbox'] = { pending: 0, oldest_ms: null, failing: null }

/** Committer without a database: each change is complete and its events are published immediately. */
export class MemoryCommitter implements Committer {
  readonly #bus: EventBus

  constructor(bus: EventBus) {
    this.#bus = bus
  }

  commit(changes: StateChanges): Promise<void> {
    this.#bus.publishRecords(changes.records)
    if (changes.events.length > 0) this.#bus.publish(changes.events)
    return DONE
  }

  commitAhead(changes: StateChanges): Promise<void> {
    return this.commit(changes)
  }

  assertRoom(): void {}

  status(): OrchestratorStatus['outbox'] {
    return NOTHING_WAITS
  }
}
