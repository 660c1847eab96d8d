/**
 * Tables of the schema svc_coord. Statements are repeatable, so that a later version of svc can add its own.
 *
 * - Names are compared as bytes (collation "C"), so that a prefix is a range of an index.
 * - Times are Unix milliseconds of the database server.
 */
export const tables = `
create schema if not exists svc_coord;

create table if not exists svc_coord.versions (
  digest text primary key,
  installed_at timestamptz not null default now()
);

create sequence if not exists svc_coord.item_ids;
create sequence if not exists svc_coord.lease_numbers;

-- state: 0 ready, 1 leased, 2 delayed, 3 parked
-- held: the fence of the last claim is still accepted, also after the lease has expired
-- woken: the item was woken since it was claimed
create table if not exists svc_coord.items (
  id bigint primary key,
  queue text collate "C" not null,
  key_hash bytea,
  priority smallint not null,
  state smallint not null,
  visible_at bigint not null,
  fence bigint not null default 0,
  held boolean not null default false,
  woken boolean not null default false,
  attempts integer not null default 0,
  max_attempts integer,
  privacy integer not null,
  holder text collate "C",
  lane text collate "C",
  error text,
  created_at bigint not null,
  body text not null
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index if not exists items_ready on svc_coord.items (queue, priority desc, id) where state = 0;
create index if not exists items_due on svc_coord.items (queue, visible_at) where state in (1, 2);
-- Expressions, so that only listings can use this index: after an analysis of the empty table, all indexes look equally
-- cheap, and each claim would read all items of its queue.
create index if not exists items_listed on svc_coord.items ((queue || ''), (id + 0));
drop index if exists svc_coord.items_queue;
create unique index if not exists items_lane_leased on svc_coord.items (queue, lane)
  where state = 1 and lane is not null;
create index if not exists items_lane_ready on svc_coord.items (queue, lane, priority desc, id)
  where state = 0 and lane is not null;
create index if not exists items_lane_lapsed on svc_coord.items (queue, lane)
  where state = 0 and held and lane is not null;
create index if not exists items_exhausted on svc_coord.items (queue, id)
  where state = 0 and attempts >= max_attempts;

-- Keys are kept for ever, except for those that an acknowledgement frees; their results for 24 hours.
create table if not exists svc_coord.keys (
  queue text collate "C" not null,
  key_hash bytea not null,
  id bigint not null,
  done_at bigint,
  result text,
  primary key (queue, key_hash)
);
create index if not exists keys_results on svc_coord.keys (done_at) where result is not null;

create table if not exists svc_coord.dead (
  id bigint primary key,
  queue text collate "C" not null,
  key_hash bytea,
  priority smallint not null,
  fence bigint not null,
  attempts integer not null,
  max_attempts integer,
  privacy integer not null,
  holder text collate "C",
  lane text collate "C",
  error text,
  created_at bigint not null,
  died_at bigint not null,
  visible_at bigint not null,
  body text not null
);
create index if not exists dead_queue on svc_coord.dead (queue, id);

create table if not exists svc_coord.distributed_locks (
  scope text collate "C" not null,
  lock_key text collate "C" not null,
  holder_node text collate "C" not null,
  fence_token bigint not null,
  expires_at bigint not null,
  primary key (scope, lock_key)
) with (fillfactor = 50);
create unique index if not exists distributed_locks_fence on svc_coord.distributed_locks (scope, fence_token);
create index if not exists distributed_locks_expiry on svc_coord.distributed_locks (expires_at);

create table if not exists svc_coord.meta (
  name text collate "C" primary key,
  value text not null,
  constraint meta_epoch check (name <> 'epoch' or value ~ '^[0-9]{1,4}$')
);

-- oldest: versions up to this one can no longer be compared, because removed nodes were forgotten.
create table if not exists svc_coord.node_scopes (
  scope text collate "C" primary key,
  version bigint not null,
  oldest bigint not null
);
create table if not exists svc_coord.nodes (
  scope text collate "C" not null,
  node_id text collate "C" not null,
  version bigint not null,
  quarantined boolean not null default false,
  maintenance boolean not null default false,
  maintenance_until bigint,
  removed_at bigint,
  record text not null,
  primary key (scope, node_id)
);
create index if not exists nodes_version on svc_coord.nodes (scope, version);
create index if not exists nodes_removed on svc_coord.nodes (removed_at) where removed_at is not null;
create table if not exists svc_coord.seen (
  scope text collate "C" not null,
  node_id text collate "C" not null,
  at bigint not null,
  primary key (scope, node_id)
) with (fillfactor = 50);

create table if not exists svc_coord.jti (
  jti_hash bytea primary key,
  exp bigint not null
);
create index if not exists jti_expiry on svc_coord.jti (exp);

create unlogged table if not exists svc_coord.rate (
  bucket text collate "C" primary key,
  tokens double precision not null,
  at bigint not null
) with (fillfactor = 50);
create index if not exists rate_age on svc_coord.rate (at);
`
