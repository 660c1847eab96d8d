/** Functions that show items without changing them. */
export const itemListings = `
-- Returns items of a queue without a claim, the newest first, with at most 64 MiB of bodies except for a single item.
create or replace function svc_coord.look_v1(p_queue text, p_before bigint, p_limit integer) returns table (
  id bigint, queue text, body text, priority smallint, lane text, privacy integer, state smallint, attempts integer,
  max_attempts integer, fence bigint, holder text, visible_at bigint, created_at bigint
)
language sql stable as $$
  select id, queue, body, priority, lane, privacy, state, attempts, max_attempts, fence, holder, visible_at, created_at
  from (
    select i.*, sum(octet_length(i.body)) over (order by i.id desc) as bytes, row_number() over (order by i.id desc) as place
    from (
      select * from svc_coord.items where queue || '' = p_queue and (p_before is null or id + 0 < p_before)
      order by id + 0 desc limit p_limit
    ) i
  ) p
  where place = 1 or bytes <= 67108864
  order by id desc
$$;

create or replace function svc_coord.dead_v1(p_queue text, p_before bigint, p_limit integer) returns table (
  id bigint, queue text, body text, priority smallint, lane text, privacy integer, attempts integer,
  max_attempts integer, fence bigint, holder text, visible_at bigint, created_at bigint, error text, died_at bigint
)
language sql stable as $$
  select id, queue, body, priority, lane, privacy, attempts, max_attempts, fence, holder, visible_at, created_at, error,
    died_at
  from (
    select d.*, sum(octet_length(d.body)) over (order by d.id desc) as bytes, row_number() over (order by d.id desc) as place
    from (
      select * from svc_coord.dead where queue = p_queue and (p_before is null or id < p_before)
      order by id desc limit p_limit
    ) d
  ) p
  where place = 1 or bytes <= 67108864
  order by id desc
$$;

-- Returns items by id. If their bodies have more than 64 MiB, returns only the sum of their bytes, in a row without id.
create or replace function svc_coord.read_v1(p_queue text, p_ids bigint[]) returns table (
  id bigint, queue text, body text, priority smallint, lane text, privacy integer, state smallint, attempts integer,
  max_attempts integer, fence bigint, holder text, visible_at bigint, created_at bigint, bytes bigint
)
language plpgsql stable as $$
#variable_conflict use_column
declare
  v_bytes bigint := (select sum(octet_length(body)) from svc_coord.items where id = any(p_ids) and queue = p_queue);
begin
  if v_bytes > 67108864 then
    bytes := v_bytes;
    return next;
    return;
  end if;
  return query
    select i.id, i.queue::text, i.body, i.priority, i.lane::text, i.privacy, i.state, i.attempts, i.max_attempts, i.fence,
      i.holder::text, i.visible_at, i.created_at, v_bytes
    from svc_coord.items i where i.id = any(p_ids) and i.queue = p_queue order by i.id;
end
$$;

-- Returns those of the queues that have ready items, or items whose delay or lease has ended. In a lane with a leased item,
-- no other item is ready. The time is read once: compared with the function itself, it would be no condition of an index.
create or replace function svc_coord.ready_v1(p_queues text[]) returns setof text
language sql stable as $$
  select distinct q.queue from unnest(p_queues) as q (queue)
  where exists (
      select from svc_coord.items i
      where i.queue = q.queue and i.state in (1, 2) and i.visible_at <= (select svc_coord.now_v1())
        and (i.max_attempts is null or i.attempts < i.max_attempts)
    ) or exists (
      select from svc_coord.items i
      where i.queue = q.queue and i.state = 0 and (i.max_attempts is null or i.attempts < i.max_attempts)
        and (i.lane is null or not exists (
          select from svc_coord.items l where l.queue = i.queue and l.lane = i.lane and l.state = 1 and l.lane is not null
        ))
    )
$$;
`
