import { rowAt, type SqlOperation } from './operation.ts'

/** Highest epoch: fences of a later one would not be exact as numbers. */
export const MAX_EPOCH = 8_190

/** Query of the epoch; needs the tables. */
export function readEpoch(): SqlOperation<number> {
  return {
    statements: [{ sql: "select value from coord_seq where name = 'epoch'", parameters: [] }],
    read: ([result]) => rowAt<[number]>(result)?.[0] ?? 0
  }
}

/**
 * Begins an epoch: all later fences, lease counters and node versions are above those of earlier epochs, and no token of
 * an earlier epoch is valid. Leased items become ready, and named leases end. Needs the tables.
 */
export function beginEpoch(epoch: number): SqlOperation<void> {
  return {
    statements: [
      { sql: "update coord_seq set value = max(value, ?1) where name = 'epoch'", parameters: [epoch] },
      { sql: 'update coord_items set granted = 0 where granted = 1', parameters: [] },
      { sql: 'update coord_items set state = 0 where state = 1', parameters: [] },
      { sql: 'delete from distributed_locks', parameters: [] }
    ],
    read: () => undefined
  }
}
