/** Functions of nodes, named texts, values for one use, token buckets, and of the removal of what is no longer needed. */
export const sharedState = `
create or replace function svc_coord.node_v1(p_scope text, p_id text) returns table (
  id text, record text, version bigint, quarantined boolean, maintenance boolean, maintenance_until bigint, seen_at bigint
)
language sql stable as $$
  select n.node_id, n.record, n.version, n.quarantined,
    n.maintenance and (n.maintenance_until is null or n.maintenance_until > svc_coord.now_v1()),
    n.maintenance_until, coalesce(s.at, 0)
  from svc_coord.nodes n left join svc_coord.seen s on s.scope = n.scope and s.node_id = n.node_id
  where n.scope = p_scope and n.node_id = p_id and n.removed_at is null
$$;

-- Locks a scope and returns its next version. Versions of an older epoch are lower, as with fences.
create or replace function svc_coord.next_version_v1(p_scope text) returns bigint
language plpgsql as $$
declare
  v_version bigint;
begin
  insert into svc_coord.node_scopes as s (scope, version, oldest)
    values (p_scope, svc_coord.fence_floor_v1() + 1, 0)
    on conflict (scope) do update set version = greatest(s.version, svc_coord.fence_floor_v1()) + 1
    returning s.version into v_version;
  return v_version;
end
$$;

-- p_expected: version of the record that is replaced; null: the node must not exist. Returns no row if it is another one.
create or replace function svc_coord.node_put_v1(p_scope text, p_id text, p_record text, p_expected bigint)
returns table (
  id text, record text, version bigint, quarantined boolean, maintenance boolean, maintenance_until bigint, seen_at bigint
)
language plpgsql as $$
#variable_conflict use_column
declare
  v_version bigint := svc_coord.next_version_v1(p_scope);
  v_now bigint := svc_coord.now_v1();
  v_count integer;
begin
  if p_expected is null then
    insert into svc_coord.nodes as n (scope, node_id, version, record) values (p_scope, p_id, v_version, p_record)
      on conflict (scope, node_id) do update
        set version = excluded.version, record = excluded.record, removed_at = null, maintenance = false,
          maintenance_until = null
        where n.removed_at is not null;
  else
    update svc_coord.nodes set version = v_version, record = p_record
      where scope = p_scope and node_id = p_id and removed_at is null and version = p_expected;
  end if;
  get diagnostics v_count = row_count;
  if v_count = 0 then return; end if;
  insert into svc_coord.seen (scope, node_id, at) values (p_scope, p_id, v_now)
    on conflict (scope, node_id) do update set at = excluded.at;
  return query select * from svc_coord.node_v1(p_scope, p_id);
end
$$;

-- p_with_until: true if p_until is the new end. A maintenance that is switched on without an end has none.
create or replace function svc_coord.node_flag_v1(
  p_scope text, p_id text, p_quarantined boolean, p_maintenance boolean, p_with_until boolean, p_until bigint
) returns boolean
language plpgsql as $$
begin
  update svc_coord.nodes n
    set version = svc_coord.next_version_v1(p_scope),
      quarantined = coalesce(p_quarantined, n.quarantined),
      maintenance = coalesce(p_maintenance, n.maintenance),
      maintenance_until = case
        when p_maintenance is false then null
        when p_with_until then p_until
        when p_maintenance then null
        else n.maintenance_until
      end
    where n.scope = p_scope and n.node_id = p_id and n.removed_at is null;
  return found;
end
$$;

create or replace function svc_coord.node_remove_v1(p_scope text, p_id text) returns boolean
language plpgsql as $$
begin
  update svc_coord.nodes n
    set version = svc_coord.next_version_v1(p_scope), removed_at = svc_coord.now_v1(), record = ''
    where n.scope = p_scope and n.node_id = p_id and n.removed_at is null;
  if not found then return false; end if;
  delete from svc_coord.seen s where s.scope = p_scope and s.node_id = p_id;
  return true;
end
$$;

-- Returns one row with the version of the list first; its id is null. removed: the node was removed.
create or replace function svc_coord.nodes_v1(p_scope text, p_since bigint) returns table (
  complete boolean, id text, record text, version bigint, quarantined boolean, maintenance boolean,
  maintenance_until bigint, seen_at bigint, removed boolean
)
language plpgsql as $$
#variable_conflict use_column
declare
  v_scope svc_coord.node_scopes%rowtype;
  v_complete boolean;
  v_now bigint := svc_coord.now_v1();
begin
  select * into v_scope from svc_coord.node_scopes where scope = p_scope;
  v_complete := p_since is null or p_since < coalesce(v_scope.oldest, 0) or p_since > coalesce(v_scope.version, 0);
  return query
    select v_complete, null::text, null::text, coalesce(v_scope.version, 0::bigint), false, false, null::bigint,
      0::bigint, false;
  return query
    select v_complete, n.node_id::text, n.record, n.version, n.quarantined,
      n.maintenance and (n.maintenance_until is null or n.maintenance_until > v_now),
      n.maintenance_until, coalesce(s.at, 0::bigint), n.removed_at is not null
    from svc_coord.nodes n left join svc_coord.seen s on s.scope = n.scope and s.node_id = n.node_id
    where n.scope = p_scope
      and case when v_complete then n.removed_at is null else n.version > p_since end
      and n.version <= coalesce(v_scope.version, 0)
    order by n.node_id;
end
$$;

-- Marks nodes as seen and returns them; request: index of the parameters. Sightings of the last second may be lost if the
-- server crashes.
create or replace function svc_coord.see_v1(p_scopes text[], p_ids text[]) returns table (
  request integer, id text, record text, version bigint, quarantined boolean, maintenance boolean,
  maintenance_until bigint, seen_at bigint
)
language plpgsql as $$
#variable_conflict use_column
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into svc_coord.seen (scope, node_id, at)
    select distinct n.scope, n.node_id, svc_coord.now_v1()
    from unnest(p_scopes, p_ids) as t (scope, id)
    join svc_coord.nodes n on n.scope = t.scope and n.node_id = t.id and n.removed_at is null
    order by n.scope, n.node_id
    on conflict (scope, node_id) do update set at = greatest(svc_coord.seen.at, excluded.at);
  return query
    select t.ord::integer - 1, n.*
    from unnest(p_scopes, p_ids) with ordinality as t (scope, id, ord)
    cross join lateral svc_coord.node_v1(t.scope, t.id) n;
end
$$;

create or replace function svc_coord.meta_swap_v1(p_name text, p_from text, p_to text) returns boolean
language plpgsql as $$
begin
  if p_from is null and p_to is null then
    return not exists (select from svc_coord.meta where name = p_name);
  elsif p_from is null then
    insert into svc_coord.meta (name, value) values (p_name, p_to) on conflict (name) do nothing;
  elsif p_to is null then
    delete from svc_coord.meta where name = p_name and value = p_from;
  else
    update svc_coord.meta set value = p_to where name = p_name and value = p_from;
  end if;
  return found;
end
$$;

-- Records of the last second may be lost if the server crashes.
create or replace function svc_coord.use_once_v1(p_hashes bytea[], p_expires bigint[])
returns table (fresh boolean)
language plpgsql as $$
#variable_conflict use_column
declare
  v_now bigint := svc_coord.now_v1();
begin
  perform set_config('synchronous_commit', 'off', true);
  return query
    with t as materialized (
      select t.*, row_number() over (partition by t.hash order by t.ord) as place
      from unnest(p_hashes, p_expires) with ordinality as t (hash, exp, ord)
    ), used as (
      insert into svc_coord.jti as j (jti_hash, exp)
        select hash, exp from t where place = 1 order by hash
        on conflict (jti_hash) do update set exp = excluded.exp where j.exp <= v_now
        returning jti_hash
    )
    select t.place = 1 and used.jti_hash is not null
    from t left join used on used.jti_hash = t.hash order by t.ord;
end
$$;

create or replace function svc_coord.take_tokens_v1(
  p_bucket text, p_per_second double precision, p_burst double precision, p_wanted integer
) returns integer
language plpgsql as $$
declare
  v_now bigint;
  v_tokens double precision;
  v_at bigint;
  v_taken integer;
begin
  insert into svc_coord.rate (bucket, tokens, at) values (p_bucket, p_burst, svc_coord.now_v1())
    on conflict (bucket) do nothing;
  select tokens, at into v_tokens, v_at from svc_coord.rate where bucket = p_bucket for update;
  if not found then return 0; end if;
  v_now := greatest(svc_coord.now_v1(), v_at);
  v_tokens := least(p_burst, v_tokens + (v_now - v_at) / 1000.0 * p_per_second);
  v_taken := least(floor(v_tokens), p_wanted);
  update svc_coord.rate set tokens = v_tokens - v_taken, at = v_now where bucket = p_bucket;
  return v_taken;
end
$$;

-- Deletes at most p_limit rows of each kind. Returns the number of deleted rows; null if another process is at it.
create or replace function svc_coord.clean_v1(p_limit integer) returns integer
language plpgsql as $$
declare
  v_now bigint := svc_coord.now_v1();
  v_total integer := 0;
  v_count integer;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('svc_coord.clean', 2)) then return null; end if;
  perform set_config('synchronous_commit', 'off', true);
  update svc_coord.keys set result = null where ctid = any(array(
    select ctid from svc_coord.keys where result is not null and done_at <= v_now - 86400000
    limit p_limit for update skip locked));
  get diagnostics v_count = row_count;
  v_total := v_total + v_count;
  delete from svc_coord.jti where jti_hash = any(array(
    select jti_hash from svc_coord.jti where exp <= v_now limit p_limit for update skip locked));
  get diagnostics v_count = row_count;
  v_total := v_total + v_count;
  delete from svc_coord.rate where bucket = any(array(
    select bucket from svc_coord.rate where at <= v_now - 3600000 limit p_limit for update skip locked));
  get diagnostics v_count = row_count;
  v_total := v_total + v_count;
  delete from svc_coord.distributed_locks l using (
    select scope, lock_key from svc_coord.distributed_locks where expires_at <= v_now - 3600000
    limit p_limit for update skip locked
  ) old where l.scope = old.scope and l.lock_key = old.lock_key;
  get diagnostics v_count = row_count;
  v_total := v_total + v_count;
  with gone as (
    delete from svc_coord.nodes n using (
      -- The quarantine of a removed node is kept for its return.
      select scope, node_id from svc_coord.nodes where removed_at <= v_now - 86400000 and not quarantined
      limit p_limit for update skip locked
    ) old where n.scope = old.scope and n.node_id = old.node_id
    returning n.scope, n.version
  ), latest as (select scope, max(version) as version from gone group by scope)
  update svc_coord.node_scopes s set oldest = greatest(s.oldest, latest.version) from latest where s.scope = latest.scope;
  get diagnostics v_count = row_count;
  return v_total + v_count;
end
$$;
`
