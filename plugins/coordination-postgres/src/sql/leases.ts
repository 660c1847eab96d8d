/**
 * Functions of named leases. A fence is a number of a sequence above the floor of the epoch, so it also grows over the
 * deletion of a lease. Functions with arrays lock in the order of scope and key.
 */
export const leases = `
create or replace function svc_coord.grant_v1(p_scopes text[], p_keys text[], p_holders text[], p_leases bigint[])
returns table (ord bigint, granted boolean, holder text, fence bigint, expires_at bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  v_floor bigint := svc_coord.fence_floor_v1();
  v_now bigint;
  r record;
  v_held svc_coord.distributed_locks%rowtype;
  v_fence bigint;
begin
  for r in
    select t.* from unnest(p_scopes, p_keys, p_holders, p_leases) with ordinality as t (scope, key, holder, lease, ord)
    order by t.scope collate "C", t.key collate "C", t.ord
  loop
    -- Two callers that both see no row would otherwise take their numbers in another order than they insert.
    perform pg_advisory_xact_lock(hashtextextended(r.scope || chr(31) || r.key, 1));
    select * into v_held from svc_coord.distributed_locks l where l.scope = r.scope and l.lock_key = r.key for update;
    v_now := svc_coord.now_v1();
    if v_held.fence_token is not null and v_held.expires_at > v_now and v_held.holder_node <> r.holder then
      return query select r.ord, false, v_held.holder_node, v_held.fence_token, v_held.expires_at;
      continue;
    end if;
    v_fence := v_held.fence_token;
    if v_fence is null or v_held.expires_at <= v_now or v_fence < v_floor then
      v_fence := greatest(v_fence + 1, v_floor + nextval('svc_coord.lease_numbers'));
    end if;
    insert into svc_coord.distributed_locks (scope, lock_key, holder_node, fence_token, expires_at)
      values (r.scope, r.key, r.holder, v_fence, v_now + r.lease)
      on conflict (scope, lock_key) do update
        set holder_node = excluded.holder_node, fence_token = excluded.fence_token, expires_at = excluded.expires_at;
    return query select r.ord, true, r.holder::text, v_fence, v_now + r.lease;
  end loop;
end
$$;

-- p_leases: milliseconds; null releases the lease, also if another element renews it
create or replace function svc_coord.renew_v1(p_scopes text[], p_fences bigint[], p_holders text[], p_leases bigint[])
returns table (outcome text)
language plpgsql as $$
#variable_conflict use_column
declare
  v_floor bigint := svc_coord.fence_floor_v1();
  v_now bigint;
begin
  perform from svc_coord.distributed_locks l
    join (select distinct t.scope, t.fence from unnest(p_scopes, p_fences) as t (scope, fence)) t
      on l.scope = t.scope and l.fence_token = t.fence
    order by l.scope, l.lock_key for update of l;
  v_now := svc_coord.now_v1();
  return query
    with t as materialized (
      select t.* from unnest(p_scopes, p_fences, p_holders, p_leases) with ordinality
        as t (scope, fence, holder, lease, ord)
    ), hit as materialized (
      select t.ord, t.lease, l.scope, l.lock_key, l.holder_node = t.holder as own,
        row_number() over (partition by l.scope, l.lock_key, l.holder_node = t.holder order by t.ord) as repeat
      from t join svc_coord.distributed_locks l on l.scope = t.scope and l.fence_token = t.fence
      where l.expires_at > v_now and l.fence_token >= v_floor
    ), renewed as (
      update svc_coord.distributed_locks l set expires_at = v_now + hit.lease
      from (
        select scope, lock_key, max(lease) as lease from hit where own
        group by scope, lock_key having bool_and(lease is not null)
      ) hit
      where l.scope = hit.scope and l.lock_key = hit.lock_key
    ), released as (
      delete from svc_coord.distributed_locks l using hit
      where hit.own and hit.lease is null and l.scope = hit.scope and l.lock_key = hit.lock_key
    )
    select case
      when hit.ord is null then 'gone'
      when not hit.own then 'other'
      when hit.lease is null and hit.repeat > 1 then 'gone'
      else 'ok'
    end
    from t left join hit on hit.ord = t.ord order by t.ord;
end
$$;
`
