import type { SqlResult } from '../../database/values.ts'
import type { LeaseConflict, LeaseOutcome, LeaseToken, NamedLease } from '../store.ts'
import { EPOCH_BASE, NOW_MS, rowAt, type SqlOperation } from './operation.ts'

/** Grants a named lease; see `Coordination.grant`. */
export function grantLease(
  scope: string,
  key: string,
  holder: string,
  leaseMs: number
): SqlOperation<NamedLease | LeaseConflict> {
  return {
    statements: [
      { sql: NEXT_FENCE, parameters: [] },
      { sql: GRANT, parameters: [key, scope, holder, leaseMs] },
      { sql: HOLDER, parameters: [key, scope] }
    ],
    read([, granted, current]) {
      const row = rowAt<[number, number]>(granted)
      if (row !== undefined) return { scope, key, holder, fence: row[0], expiresAt: row[1] }
      const [heldBy, expiresAt] = rowAt<[string, number]>(current) as [string, number]
      return { heldBy, expiresAt }
    }
  }
}

/** A lease that is extended or refused leaves a gap. */
const NEXT_FENCE = `insert into coord_seq (name, value) values ('lease', ${EPOCH_BASE} + 1)
on conflict (name) do update set value = max(value + 1, excluded.value)`
const IS_EXTENDED = `expires_at > ${NOW_MS} and holder_node = excluded.holder_node`
const GRANT = `insert into distributed_locks
  (lock_key, repository_id, holder_node, fence_token, acquired_at, expires_at)
values (?1, ?2, ?3, (select value from coord_seq where name = 'lease'), ${NOW_MS}, ${NOW_MS} + ?4)
on conflict (lock_key, repository_id) do update set
  fence_token = case when ${IS_EXTENDED} then fence_token else excluded.fence_token end,
  acquired_at = case when ${IS_EXTENDED} then acquired_at else excluded.acquired_at end,
  holder_node = excluded.holder_node, holder_agent = null, expires_at = excluded.expires_at
where expires_at <= ${NOW_MS} or holder_node = excluded.holder_node
returning fence_token, expires_at`
const HOLDER = 'select holder_node, expires_at from distributed_locks where lock_key = ?1 and repository_id = ?2'

export function renewLease({ scope, fence, holder }: LeaseToken, leaseMs: number): SqlOperation<LeaseOutcome> {
  return {
    statements: [
      { sql: LIVE_HOLDER, parameters: [scope, fence] },
      { sql: RENEW, parameters: [scope, fence, holder, leaseMs] }
    ],
    read: ([found, renewed]) => outcomeOf(holder, rowAt<[string]>(found), renewed)
  }
}

export function releaseLease({ scope, fence, holder }: LeaseToken): SqlOperation<LeaseOutcome> {
  return {
    statements: [
      { sql: LIVE_HOLDER, parameters: [scope, fence] },
      { sql: RELEASE, parameters: [scope, fence, holder] }
    ],
    read: ([found, released]) => outcomeOf(holder, rowAt<[string]>(found), released)
  }
}

export function revokeLease(scope: string, fence: number): SqlOperation<boolean> {
  return {
    statements: [{ sql: `delete from distributed_locks where ${LIVE}`, parameters: [scope, fence] }],
    read: ([result]) => (result?.changes ?? 0) > 0
  }
}

const LIVE = `repository_id = ?1 and fence_token = ?2 and expires_at > ${NOW_MS}`
const LIVE_HOLDER = `select holder_node from distributed_locks where ${LIVE}`
const RENEW = `update distributed_locks set expires_at = ${NOW_MS} + ?4 where ${LIVE} and holder_node = ?3`
const RELEASE = `delete from distributed_locks where ${LIVE} and holder_node = ?3`

/** Query of the live leases of a scope, by fence. */
export function listLeases(scope: string, after: number, limit: number): SqlOperation<readonly NamedLease[]> {
  return {
    statements: [{ sql: LIST, parameters: [scope, after, limit] }],
    read: ([result]) =>
      (result?.rows ?? []).map(row => ({
        scope,
        key: row[0] as string,
        holder: row[1] as string,
        fence: row[2] as number,
        expiresAt: row[3] as number
      }))
  }
}

const LIST = `select lock_key, holder_node, fence_token, expires_at from distributed_locks
where repository_id = ?1 and fence_token > ?2 and expires_at > ${NOW_MS} order by fence_token limit ?3`

function outcomeOf(holder: string, found: readonly [string] | undefined, changed: SqlResult | undefined): LeaseOutcome {
  if (changed?.changes === 1) return 'ok'
  return found === undefined || found[0] === holder ? 'gone' : 'other'
}
