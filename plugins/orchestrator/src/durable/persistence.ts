import type { Durability } from '@svc/contracts'
import type { EventBus } from '../events/bus.ts'
import type { IdSource, Restorable } from '../state/ports.ts'
import type { Committer } from './committer.ts'
import { MemoryIds } from './ids.ts'
import { MemoryCommitter } from './memory-committer.ts'

/**
 * Where the state of an orchestrator is kept.
 *
 * 1. It is opened: from then on there are ids.
 * 2. `start` gives the state what was kept, and what processes left that are gone; from then on `committer` takes changes.
 * 3. `tick`, now and then, gives it what processes left that ended since.
 * 4. `close` waits for running transactions, and leaves a consistent state for the next process.
 */
export interface Persistence {
  readonly durability: Durability
  readonly ids: IdSource
  readonly committer: Committer
  start(state: Restorable): Promise<Recovery>
  /** Cheap; looks at the database only now and then. Throws nothing. */
  tick(): Promise<Recovery | null>
  close(): Promise<void>
}

export interface Recovery {
  /** Records that the state was given. */
  readonly records: number
  /** Seats of processes that are gone, or were left in order, from which they came. */
  readonly seats: readonly number[]
  /** Records that could not be read; they stay in the database as they are. */
  readonly unreadable: readonly { readonly kind: string; readonly key: string; readonly reason: string }[]
}

/** The state ends with the process. `because`: one sentence for who asks why. */
export function openMemoryPersistence(bus: EventBus, because: string): Persistence {
  return {
    durability: { kind: 'memory', because },
    ids: new MemoryIds(),
    committer: new MemoryCommitter(bus),
    start: async () => ({ records: 0, seats: [], unreadable: [] }),
    tick: async () => null,
    close: async () => {}
  }
}
