/** Returns a statement that locks items in the order of their ids. */
function lockItems(ids: string): string {
  return `perform from (select distinct unnest(${ids}) as id order by id) t
    cross join lateral (select from svc_coord.items i where i.id = t.id for update) i;`
}

/**
 * Functions of queues. Each is one round trip and one transaction. Functions with arrays lock rows in the order of the
 * ids, so that two calls with the same items in opposite order cannot deadlock.
 *
 * A token is accepted if its fence is that of the item and of the current epoch, and the item is still held. So it is also
 * accepted after the lease has expired, until this item or another one of its lane is claimed.
 *
 * The statistics of the table can say that it is empty while it has many items, because it is empty again and again. All
 * plans then look equally cheap, and one that reads a whole index may be taken. So items of a list are found one by one:
 * by "id = any(array)", in a loop, or in a subquery that is kept apart by "offset 0"; and "state + 0" is no condition of a
 * partial index. The same goes for the table of keys. Its index has two columns, of which "key_hash = any(array)" may use only the
 * first one: keys are changed by "on conflict" or in a loop.
 */
export const items = `
-- The key is inserted first and read in a second statement: that statement also sees keys that another transaction
-- inserted while the first one waited for it.
create or replace function svc_coord.put_v1(
  p_queues text[], p_keys bytea[], p_bodies text[], p_priorities smallint[], p_delays bigint[], p_max_attempts integer[],
  p_lanes text[], p_privacy integer[]
) returns table (id bigint, fresh boolean, result text)
language plpgsql as $$
#variable_conflict use_column
declare
  v_now bigint := svc_coord.now_v1();
  v_ids bigint[] := array(select nextval('svc_coord.item_ids') from generate_series(1, cardinality(p_queues)));
begin
  if array_length(array_remove(p_keys, null), 1) is null then
    insert into svc_coord.items
      (id, queue, priority, state, visible_at, max_attempts, lane, privacy, created_at, body)
    select id, queue, priority, case when delay > 0 then 2 else 0 end, v_now + delay, max_attempts, lane, privacy, v_now, body
    from unnest(p_queues, p_bodies, p_priorities, p_delays, p_max_attempts, p_lanes, p_privacy, v_ids)
      as t (queue, body, priority, delay, max_attempts, lane, privacy, id);
    return query select unnest(v_ids), true, null::text;
    return;
  end if;
  insert into svc_coord.keys (queue, key_hash, id)
    select distinct on (t.queue, t.key_hash) t.queue, t.key_hash, t.id
    from unnest(p_queues, p_keys, v_ids) with ordinality as t (queue, key_hash, id, ord)
    where t.key_hash is not null
    order by t.queue, t.key_hash, t.ord
    on conflict do nothing;
  return query
    with t as materialized (
      select t.*, k.id as known, case when k.done_at > v_now - 86400000 then k.result end as result
      from unnest(p_queues, p_keys, p_bodies, p_priorities, p_delays, p_max_attempts, p_lanes, p_privacy, v_ids)
        with ordinality
        as t (queue, key_hash, body, priority, delay, max_attempts, lane, privacy, new_id, ord)
      left join lateral (
        select * from svc_coord.keys k where k.queue = t.queue and k.key_hash = t.key_hash offset 0
      ) k on true
    ), added as (
      insert into svc_coord.items
        (id, queue, key_hash, priority, state, visible_at, max_attempts, lane, privacy, created_at, body)
      select new_id, queue, key_hash, priority, case when delay > 0 then 2 else 0 end, v_now + delay, max_attempts, lane,
        privacy, v_now, body
      from t where known is null or known = new_id
    )
    select coalesce(t.known, t.new_id), t.known is null or t.known = t.new_id, t.result from t order by t.ord;
end
$$;

-- Claims items for several holders, in this order: p_counts[n] for p_holders[n]. With p_own, there is one holder, which also
-- gets items that it has leased already. Returns the number n with each item, in no order. In a lane, only the first ready
-- item may be claimed, and only if none is leased. Items are selected before they are changed, because a plain
-- "in (subquery)" may be evaluated again and then claim more than the limit.
create or replace function svc_coord.claim_v2(
  p_queue text, p_holders text[], p_counts integer[], p_lease bigint, p_privacy integer[], p_own boolean
) returns table (
  slot integer, id bigint, queue text, body text, priority smallint, lane text, privacy integer, attempts integer,
  max_attempts integer, fence bigint, holder text, visible_at bigint, created_at bigint
)
language plpgsql as $$
#variable_conflict use_column
declare
  v_now bigint := svc_coord.now_v1();
  v_floor bigint := svc_coord.fence_floor_v1();
  v_limit integer := p_counts[1];
  v_due boolean;
  v_exhausted boolean;
  v_dead bigint[];
  v_ids bigint[];
  v_lanes boolean;
  v_bytes bigint;
  v_slots integer[];
begin
  select
    exists (select from svc_coord.items where queue = p_queue and state in (1, 2) and visible_at <= v_now),
    exists (select from svc_coord.items where queue = p_queue and state = 0 and attempts >= max_attempts)
    into v_due, v_exhausted;
  if v_due then
    update svc_coord.items set state = 0
      where id = any(array(
        select id from svc_coord.items
        where queue = p_queue and state in (1, 2) and visible_at <= v_now
        order by visible_at limit 500
        for update skip locked
      ));
  end if;
  if v_due or v_exhausted then
    v_dead := array(
      select id from svc_coord.items where queue = p_queue and state = 0 and attempts >= max_attempts
      order by id limit 500
      for update skip locked
    );
    with gone as (delete from svc_coord.items where id = any(v_dead) returning *)
    insert into svc_coord.dead
      (id, queue, key_hash, priority, fence, attempts, max_attempts, privacy, holder, lane, error, created_at, died_at,
        visible_at, body)
    select id, queue, key_hash, priority, fence, attempts, max_attempts, privacy, holder, lane, error, created_at, v_now,
      visible_at, body
    from gone;
  end if;
  if cardinality(p_counts) > 1 then
    v_slots := array(
      select c.slot from unnest(p_counts) with ordinality c (count, slot), generate_series(1, c.count) order by c.slot
    );
    v_limit := cardinality(v_slots);
  end if;
  select array_agg(c.id), bool_or(c.lane is not null), sum(octet_length(c.body)) into v_ids, v_lanes, v_bytes
  from (
    select i.id, i.lane, i.body from svc_coord.items i
    where i.queue = p_queue and i.state = 0
      and (i.max_attempts is null or i.attempts < i.max_attempts)
      and (p_privacy is null or i.privacy = any(p_privacy))
      and (i.lane is null or (
        not exists (
          select from svc_coord.items l where l.queue = i.queue and l.lane = i.lane and l.state = 1 and l.lane is not null
        )
        and not exists (
          select from svc_coord.items e
          where e.queue = i.queue and e.lane = i.lane and e.lane is not null and e.state = 0
            and (e.max_attempts is null or e.attempts < e.max_attempts)
            and (e.priority > i.priority or (e.priority = i.priority and e.id < i.id))
            and (p_privacy is null or e.privacy = any(p_privacy))
        )
      ))
    order by i.priority desc, i.id
    limit v_limit
    for update of i skip locked
  ) c;
  if v_lanes then
    -- Two callers can see different first items of one lane. The caller that gets the lock of the lane looks again. The
    -- number of locks of a transaction is limited.
    v_ids := v_ids[1:256];
    v_ids := array(
      select i.id from svc_coord.items i
      where i.id = any(v_ids)
        and (i.lane is null or pg_try_advisory_xact_lock(hashtextextended(i.queue || chr(31) || i.lane, 0)))
    );
    v_ids := array(
      select i.id from svc_coord.items i
      where i.id = any(v_ids)
        and (i.lane is null or not exists (
          select from svc_coord.items l where l.queue = i.queue and l.lane = i.lane and l.state = 1 and l.lane is not null
        ))
    );
  end if;
  if p_own then
    v_ids := v_ids || array(
      select i.id from svc_coord.items i
      where i.queue = p_queue and i.state in (1, 2) and i.state = 1 and i.holder = p_holders[1]
        and (i.max_attempts is null or i.attempts < i.max_attempts)
        and (p_privacy is null or i.privacy = any(p_privacy))
      order by i.priority desc, i.id
      limit v_limit
      for update of i skip locked
    );
  end if;
  if v_ids is null then return; end if;
  if v_lanes or p_own or v_bytes > 67108864 then
    -- Bodies of one claim have at most 64 MiB, except for a single one.
    select array_agg(c.id order by c.priority desc, c.id), bool_or(c.lane is not null) into v_ids, v_lanes
    from (
      select i.id, i.priority, i.lane, sum(octet_length(i.body)) over (order by i.priority desc, i.id) as bytes,
        row_number() over (order by i.priority desc, i.id) as place
      from svc_coord.items i where i.id = any(v_ids)
    ) c
    where c.place = 1 or (c.bytes <= 67108864 and c.place <= v_limit);
  end if;
  return query
    update svc_coord.items i
    set state = 1, fence = greatest(i.fence + 1, v_floor), attempts = i.attempts + 1,
      holder = p_holders[case when v_slots is null then 1 else v_slots[array_position(v_ids, i.id)] end],
      visible_at = v_now + p_lease, held = true, woken = false, error = null
    where i.id = any(v_ids)
    returning case when v_slots is null then 1 else v_slots[array_position(v_ids, i.id)] end, i.id, i.queue::text, i.body,
      i.priority, i.lane::text, i.privacy, i.attempts, i.max_attempts, i.fence, i.holder::text, i.visible_at, i.created_at;
  if v_lanes then
    update svc_coord.items e set held = false
      from svc_coord.items c
      where c.id = any(v_ids) and c.lane is not null and e.lane is not null and e.queue = c.queue and e.lane = c.lane
        and e.state = 0 and e.held and e.id <> c.id;
  end if;
end
$$;

-- Runs several claims. Each group: {queue, lease_ms, privacy?, own, claims: [{request, holder, max, scope?, version?}]}; one
-- with own has one claim. With scope, the holder must be a node with this version; otherwise there is one row without an
-- id. Once the bodies have 64 MiB, further groups get nothing.
create or replace function svc_coord.claims_v3(p_groups jsonb) returns table (
  request integer, id bigint, queue text, body text, priority smallint, lane text, privacy integer, attempts integer,
  max_attempts integer, fence bigint, holder text, visible_at bigint, created_at bigint
)
language plpgsql as $$
declare
  v_group jsonb;
  v_requests integer[];
  v_holders text[];
  v_counts integer[];
  v_refused integer[];
  v_slot integer;
  v_bytes bigint := 0;
begin
  for v_group in select value from jsonb_array_elements(p_groups) loop
    select array_agg(c.request) filter (where c.known), array_agg(c.holder) filter (where c.known),
      array_agg(c.max) filter (where c.known), array_agg(c.request) filter (where not c.known)
      into v_requests, v_holders, v_counts, v_refused
    from (
      select c.*, c.scope is null or exists (
        select from svc_coord.nodes n
        where n.scope = c.scope and n.node_id = c.holder and n.version = c.version and n.removed_at is null
      ) as known
      from jsonb_to_recordset(v_group -> 'claims')
        as c (request integer, holder text, max integer, scope text, version bigint)
    ) c;
    id := null;
    foreach request in array coalesce(v_refused, '{}') loop
      return next;
    end loop;
    continue when v_requests is null;
    for v_slot, id, queue, body, priority, lane, privacy, attempts, max_attempts, fence, holder, visible_at, created_at in
      select c.* from svc_coord.claim_v2(
        v_group ->> 'queue', v_holders, v_counts, (v_group ->> 'lease_ms')::bigint,
        case when v_group ? 'privacy'
          then array(select value::integer from jsonb_array_elements_text(v_group -> 'privacy')) end,
        (v_group ->> 'own')::boolean
      ) c
    loop
      request := v_requests[v_slot];
      v_bytes := v_bytes + octet_length(body);
      return next;
    end loop;
    exit when v_bytes > 67108864;
  end loop;
end
$$;

-- Acknowledges one item, as ack_v2.
create or replace function svc_coord.ack_one_v1(p_id bigint, p_fence bigint, p_result text, p_free boolean, p_queue text)
returns table (done boolean, ready text)
language plpgsql as $$
#variable_conflict use_column
declare
  v_floor bigint := svc_coord.fence_floor_v1();
  v_queue text;
  v_key bytea;
  v_lane text;
begin
  delete from svc_coord.items
    where id = p_id and fence = p_fence and held and fence >= v_floor and (p_queue is null or queue = p_queue)
    returning queue, key_hash, lane into v_queue, v_key, v_lane;
  done := found;
  if v_key is not null and p_free then
    delete from svc_coord.keys where queue = v_queue and key_hash = v_key;
  elsif v_key is not null then
    update svc_coord.keys set done_at = svc_coord.now_v1(), result = p_result where queue = v_queue and key_hash = v_key;
  end if;
  ready := case when v_lane is not null then v_queue end;
  return next;
end
$$;

-- p_queues: the queue that an item must be in; null: any. ready: queue whose waiting items may now be claimed
create or replace function svc_coord.ack_v2(
  p_ids bigint[], p_fences bigint[], p_results text[], p_free boolean[], p_queues text[]
) returns table (done boolean, ready text)
language plpgsql as $$
#variable_conflict use_column
declare
  v_now bigint := svc_coord.now_v1();
  v_floor bigint := svc_coord.fence_floor_v1();
  v_queue text;
  v_key bytea;
begin
  ${lockItems('p_ids')}
  if true = any(p_free) then
    for v_queue, v_key in
      select i.queue, i.key_hash
      from unnest(p_ids, p_fences, p_free, p_queues) as t (id, fence, free, queue)
        cross join lateral (select * from svc_coord.items i where i.id = t.id offset 0) i
      where t.free and i.key_hash is not null and i.fence = t.fence and i.held and i.fence >= v_floor
        and (t.queue is null or i.queue = t.queue)
      order by i.queue, i.key_hash
    loop
      delete from svc_coord.keys where queue = v_queue and key_hash = v_key;
    end loop;
  end if;
  return query
    with t as materialized (
      select t.ord, t.id, t.fence, t.result, t.free, t.queue
      from unnest(p_ids, p_fences, p_results, p_free, p_queues) with ordinality
        as t (id, fence, result, free, queue, ord)
    ), hit as materialized (
      select distinct on (i.id) t.ord, i.id, i.queue, i.key_hash, i.lane, t.result, t.free
      from t cross join lateral (select * from svc_coord.items i where i.id = t.id offset 0) i
      where i.fence = t.fence and i.held and i.fence >= v_floor and (t.queue is null or i.queue = t.queue)
      order by i.id, t.ord
    ), gone as (
      delete from svc_coord.items where id = any(array(select id from hit))
    ), noted as (
      insert into svc_coord.keys (queue, key_hash, id, done_at, result)
        select distinct on (queue, key_hash) queue, key_hash, id, v_now, result from hit
        where not free and key_hash is not null
        order by queue, key_hash, ord
        on conflict (queue, key_hash) do update set done_at = excluded.done_at, result = excluded.result
    )
    select hit.id is not null, case when hit.lane is not null then hit.queue end
    from t left join hit on hit.ord = t.ord order by t.ord;
end
$$;

create or replace function svc_coord.extend_v1(p_ids bigint[], p_fences bigint[], p_leases bigint[])
returns table (done boolean)
language plpgsql as $$
declare
  v_floor bigint := svc_coord.fence_floor_v1();
  v_now bigint;
  v_place integer;
  v_done boolean[];
begin
  ${lockItems('p_ids')}
  -- The time after the wait for the locks: a lease that expired meanwhile is over.
  v_now := svc_coord.now_v1();
  -- Of several tokens for one item, that with the longest lease counts.
  for v_place in select t.place from unnest(p_leases) with ordinality t (lease, place) order by t.lease, t.place loop
    update svc_coord.items set visible_at = v_now + p_leases[v_place]
      where id = p_ids[v_place] and fence = p_fences[v_place] and state + 0 = 1 and held and fence >= v_floor
        and visible_at > v_now;
    v_done[v_place] := found;
  end loop;
  return query select unnest(v_done);
end
$$;

-- p_delays: milliseconds; null parks the item until it is woken
create or replace function svc_coord.return_v1(p_ids bigint[], p_fences bigint[], p_delays bigint[], p_errors text[])
returns table (done boolean, ready text)
language plpgsql as $$
declare
  v_now bigint := svc_coord.now_v1();
  v_floor bigint := svc_coord.fence_floor_v1();
begin
  ${lockItems('p_ids')}
  for v_place in 1 .. cardinality(p_ids) loop
    update svc_coord.items
      set state = case when woken or p_delays[v_place] = 0 then 0 when p_delays[v_place] is null then 3 else 2 end,
        visible_at = v_now + case when woken then 0 else coalesce(p_delays[v_place], 0) end,
        held = false, woken = false, error = p_errors[v_place]
      where id = p_ids[v_place] and fence = p_fences[v_place] and held and fence >= v_floor
      returning case when state = 0 or lane is not null then queue end into ready;
    done := found;
    return next;
  end loop;
end
$$;

-- An item whose lease has expired may be ready, and its holder may still park it. So the wake is kept for it, too.
create or replace function svc_coord.wake_v1(p_queue text, p_keys bytea[])
returns table (found integer, ready integer)
language plpgsql as $$
#variable_conflict use_column
declare
  v_ids bigint[];
begin
  v_ids := array(
    select k.id from (select distinct unnest(p_keys) as key_hash) t
    cross join lateral (select id from svc_coord.keys k where k.queue = p_queue and k.key_hash = t.key_hash offset 0) k
  );
  ${lockItems('v_ids')}
  return query
    with changed as (
      update svc_coord.items
      set woken = held, state = case when state = 1 then 1 else 0 end
      where id = any(v_ids)
      returning state
    )
    select count(*)::integer, (count(*) filter (where state = 0))::integer from changed;
end
$$;

create or replace function svc_coord.withdraw_v1(p_queue text, p_id bigint) returns table (outcome text, lane text)
language plpgsql as $$
#variable_conflict use_column
begin
  return query
    with gone as (delete from svc_coord.items where id = p_id and queue = p_queue returning *)
    select case when held then 'leased' else 'taken' end, lane from gone;
end
$$;

-- Deletes the oldest items of a range of queues until at most p_keep remain, but at most 5,000 in one call. Returns the
-- number of deleted items, and of those that remain to be deleted.
create or replace function svc_coord.trim_v1(p_from text, p_to text, p_keep bigint)
returns table (deleted bigint, remaining bigint)
language plpgsql as $$
#variable_conflict use_column
declare
  v_count bigint;
  v_deleted bigint;
begin
  select count(*) into v_count from svc_coord.items where queue || '' >= p_from and queue || '' < p_to;
  if v_count <= p_keep then
    return query select 0::bigint, 0::bigint;
    return;
  end if;
  with gone as (
    delete from svc_coord.items where id = any(array(
      select id from svc_coord.items
      where queue || '' >= p_from and queue || '' < p_to
      order by id limit least(v_count - p_keep, 5000)
      for update
    )) returning 1
  )
  select count(*) into v_deleted from gone;
  return query select v_deleted, greatest(v_count - p_keep - v_deleted, 0);
end
$$;

create or replace function svc_coord.revive_v1(p_queue text, p_ids bigint[]) returns integer
language plpgsql as $$
#variable_conflict use_column
declare
  v_now bigint := svc_coord.now_v1();
  v_count integer;
begin
  perform from svc_coord.dead where id = any(p_ids) and queue = p_queue order by id for update;
  with back as (delete from svc_coord.dead where id = any(p_ids) and queue = p_queue returning *)
  insert into svc_coord.items
    (id, queue, key_hash, priority, state, visible_at, fence, max_attempts, privacy, holder, lane, created_at, body)
  select id, queue, key_hash, priority, 0, v_now, fence, max_attempts, privacy, holder, lane, created_at, body
  from back;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
`
