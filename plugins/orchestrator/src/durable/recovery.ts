import { errorMessage } from '@svc/plugin-sdk'
import type { StateChanges } from '../state/changes.ts'
import type { Restorable } from '../state/ports.ts'
import type { Recovery } from './persistence.ts'
import { readRecords, type StoredRecord } from './records.ts'
import type { SeatRow } from './seats.ts'
import type { StateStore } from './state-store.ts'

/**
 * Loads every record of a seat into the state, and repairs what the end of the process left incomplete. All records are
 * read first and then restored synchronously, so that no command runs in between.
 *
 * Returns the changes to persist. With `takeOver`, they include every restored record, so that it is rewritten under
 * the new seat.
 */
export async function recoverSeat(
  store: StateStore,
  repositoryId: string,
  { seat }: SeatRow,
  state: Restorable,
  takeOver: boolean
): Promise<{ readonly recovery: Recovery; readonly changes: StateChanges }> {
  const records: StoredRecord[] = []
  for await (const record of readRecords(store, repositoryId, seat)) records.push(record)
  const unreadable: { kind: string; key: string; reason: string }[] = []
  const restored: StoredRecord[] = []
  for (const record of records) {
    try {
      state.restore(record.kind, record.key, record.json)
      restored.push(record)
    } catch (error) {
      const { kind, key } = record
      unreadable.push({ kind, key, reason: errorMessage(error) })
    }
  }
  const changes = state.recovered()
  if (takeOver) for (const { kind, key } of restored) changes.touch(kind, key)
  return { recovery: { records: restored.length, seats: [seat], unreadable }, changes }
}

export function joinRecoveries(recoveries: readonly Recovery[]): Recovery {
  return {
    records: recoveries.reduce((sum, { records }) => sum + records, 0),
    seats: recoveries.flatMap(({ seats }) => seats),
    unreadable: recoveries.flatMap(({ unreadable }) => unreadable)
  }
}
