import { RESULT_RETENTION_MS } from '../store.ts'
import { NOW_MS, type SqlOperation } from './operation.ts'

/** Maximum rows of each kind that one cleaning removes. */
const MAX_CLEANED = 500
/** How long an expired named lease and a full bucket are kept. */
const GRACE_MS = 60 * 60 * 1_000
/** How long a removed node is kept for lists of changes. */
const REMOVED_NODE_MS = 60 * 60 * 1_000

/** Removes what has passed its time, in bounded steps. Returns true if a further call would remove more. */
export function cleanExpired(): SqlOperation<boolean> {
  return {
    statements: CLEANING.map(sql => ({ sql, parameters: [] })),
    read: results => results.some(({ changes }) => changes >= MAX_CLEANED)
  }
}

const REMOVED_NODES = `from coord_nodes where record is null and quarantined = 0
  and changed_at <= ${NOW_MS} - ${REMOVED_NODE_MS} order by changed_at limit ${MAX_CLEANED}`

const CLEANING = [
  `update coord_keys set result = null, done_at = null where key_hash in (
  select key_hash from coord_keys where result is not null and done_at <= ${NOW_MS} - ${RESULT_RETENTION_MS}
  order by done_at limit ${MAX_CLEANED})`,
  `delete from coord_jti where jti_hash in (
  select jti_hash from coord_jti where exp <= ${NOW_MS} order by exp limit ${MAX_CLEANED})`,
  `delete from distributed_locks where rowid in (
  select rowid from distributed_locks where expires_at <= ${NOW_MS} - ${GRACE_MS}
  order by expires_at limit ${MAX_CLEANED})`,
  `delete from coord_rate where bucket in (
  select bucket from coord_rate where at <= ${NOW_MS} - ${GRACE_MS} order by at limit ${MAX_CLEANED})`,
  `insert into coord_seq (name, value)
  select 'nodes-floor', highest from (select max(version) as highest from (select version ${REMOVED_NODES}))
  where highest is not null
  on conflict (name) do update set value = max(value, excluded.value)`,
  `delete from coord_nodes where rowid in (select rowid ${REMOVED_NODES})`
]
