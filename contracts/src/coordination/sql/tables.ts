/** Version of the tables below, in `coord_seq`. A store does not use a database with a later version. */
export const COORDINATION_SCHEMA = 1

/**
 * Tables of the coordination store in SQLite's dialect, one statement each; all may run again. `distributed_locks` is a
 * table of the baseline schema: `repository_id` is the scope, `holder_node` the holder, `fence_token` the fence.
 *
 * - `coord_items`: `state` is 0 ready, 1 leased, 2 delayed, 3 parked. `granted` is 1 while the fence is the token of a
 *   claim, also after the lease has expired; it is 0 before the first claim, and after `nack` and `park`. `wanted` is 1
 *   if the item was woken since that claim. The body comes last, so that other columns are read without it.
 * - `coord_keys`: one row for each key that was used, for ever.
 * - `coord_nodes`: `record` is null for a removed node. Its row stays for lists of changes, and for its quarantine.
 * - `coord_seq`: counters, and the epoch, which `svc db restore` raises.
 */
export const COORDINATION_TABLES: readonly string[] = [
  `create table if not exists coord_items (
  id integer primary key autoincrement,
  queue text not null,
  priority integer not null,
  state integer not null,
  visible_at integer not null,
  fence integer not null default 0,
  granted integer not null default 0,
  attempts integer not null default 0,
  max_attempts integer,
  holder text,
  privacy integer not null default 0,
  lane text,
  wanted integer not null default 0,
  key_hash text,
  error text,
  bytes integer not null,
  created_at integer not null,
  body text not null
)`,
  'create index if not exists coord_items_queue on coord_items (queue, id)',
  'create index if not exists coord_items_ready on coord_items (queue, priority desc, id) where state = 0',
  'create index if not exists coord_items_due on coord_items (queue, visible_at) where state in (1, 2)',
  `create unique index if not exists coord_items_lane on coord_items (queue, lane)
  where state = 1 and lane is not null`,
  `create index if not exists coord_items_lane_ready on coord_items (queue, lane, priority desc, id)
  where state = 0 and lane is not null`,
  `create index if not exists coord_items_lane_granted on coord_items (queue, lane)
  where state = 0 and granted = 1 and lane is not null`,
  `create index if not exists coord_items_exhausted on coord_items (queue, id)
  where state = 0 and attempts >= max_attempts`,
  `create table if not exists coord_keys (
  key_hash text primary key,
  id integer not null,
  done_at integer,
  result text
) without rowid`,
  'create index if not exists coord_keys_results on coord_keys (done_at) where result is not null',
  `create table if not exists coord_dead (
  id integer primary key,
  queue text not null,
  priority integer not null,
  fence integer not null,
  attempts integer not null,
  max_attempts integer,
  holder text,
  privacy integer not null,
  lane text,
  key_hash text,
  error text,
  bytes integer not null,
  created_at integer not null,
  died_at integer not null,
  visible_at integer not null,
  body text not null
)`,
  'create index if not exists coord_dead_queue on coord_dead (queue, id)',
  'create table if not exists coord_seq (name text primary key, value integer not null) without rowid',
  "insert or ignore into coord_seq (name, value) values ('epoch', 0)",
  'create table if not exists coord_meta (name text primary key, value text not null) without rowid',
  `create table if not exists coord_nodes (
  scope text not null,
  node_id text not null,
  version integer not null,
  quarantined integer not null default 0,
  maintenance integer not null default 0,
  until integer,
  changed_at integer not null,
  record text,
  primary key (scope, node_id)
)`,
  'create index if not exists coord_nodes_version on coord_nodes (scope, version)',
  'create index if not exists coord_nodes_removed on coord_nodes (changed_at) where record is null and quarantined = 0',
  `create table if not exists coord_seen (
  scope text not null,
  node_id text not null,
  at integer not null,
  primary key (scope, node_id)
) without rowid`,
  'create table if not exists coord_jti (jti_hash text primary key, exp integer not null) without rowid',
  'create index if not exists coord_jti_exp on coord_jti (exp)',
  `create table if not exists coord_rate (
  bucket text primary key,
  tokens real not null,
  at integer not null,
  taken integer not null
) without rowid`,
  'create index if not exists coord_rate_at on coord_rate (at)',
  `create table if not exists distributed_locks (
  lock_key text not null,
  repository_id text not null default '',
  holder_node text not null,
  holder_agent text,
  fence_token integer not null,
  acquired_at integer not null,
  expires_at integer not null,
  primary key (lock_key, repository_id)
)`,
  'create index if not exists coord_locks_fence on distributed_locks (repository_id, fence_token)',
  'create index if not exists coord_locks_expiry on distributed_locks (expires_at)',
  `insert into coord_seq (name, value) values ('schema', ${COORDINATION_SCHEMA})
  on conflict (name) do update set value = max(value, excluded.value)`
]
