import type { Durability } from '@svc/contracts'
import type { EventBus } from '../events/bus.ts'
import type { IdSource, Restorable } from '../state/ports.ts'
import type { Committer } from './committer.ts'
import { MemoryIds } from './ids.ts'
import { MemoryCommitter } from './memory-committer.ts'
import type { OtherSeats } from './other-seats.ts'
import { RefusingCommitter } from './refusing-committer.ts'

/**
 * Storage of an orchestrator's state.
 *
 * 1. Once opened, it provides ids.
 * 2. `start` loads the stored state, and that of ended processes; then `committer` accepts changes.
 * 3. `tick` loads the state of processes that have ended since.
 * 4. `close` waits for running transactions, and leaves a consistent state for the next process.
 */
export interface Persistence {
  readonly durability: Durability
  readonly ids: IdSource
  readonly committer: Committer
  /** Records of the other processes on the same database; null without a database. */
  readonly others: OtherSeats | null
  start(state: Restorable): Promise<Recovery>
  /** Loads the state of ended processes. Cheap: queries the database only at intervals. Does not throw. */
  tick(): Promise<Recovery | null>
  close(): Promise<void>
}

export interface Recovery {
  /** Number of restored records. */
  readonly records: number
  /** Seats that the records belonged to. */
  readonly seats: readonly number[]
  /** Records that could not be read; they stay in the database unchanged. */
  readonly unreadable: readonly { readonly kind: string; readonly key: string; readonly reason: string }[]
}

/** Opens a storage in memory: the state ends with the process. `because`: the reason, in one sentence. */
export function openMemoryPersistence(bus: EventBus, because: string): Persistence {
  return {
    durability: { kind: 'memory', because },
    ids: new MemoryIds(),
    committer: new MemoryCommitter(bus),
    others: null,
    start: async () => ({ records: 0, seats: [], unreadable: [] }),
    tick: async () => null,
    close: async () => {}
  }
}

/** An attached database that cannot be opened. `failure`: of the last attempt. */
export interface UnusableDatabase {
  readonly location: string
  failure: unknown
}

/** Opens a storage that rejects every command: its result would be acknowledged and then lost. */
export function openRefusingPersistence(bus: EventBus, database: UnusableDatabase): Persistence {
  return {
    ...openMemoryPersistence(bus, ''),
    durability: { kind: 'database', location: database.location },
    committer: new RefusingCommitter(bus, database)
  }
}
