/**
 * Functions that others use. A function whose parameters, result or effects change gets the next version suffix: processes
 * of two versions of svc share a database while they are updated.
 *
 * The fence of a grant is at least `epoch * 2^40`. The epoch is the timeline of the server, which grows when a standby is
 * promoted, plus the text `epoch` of the table meta, which an operator raises after the restore of a backup. A token of an
 * earlier epoch is refused: what happened to it since may be lost, for example that another holder got the item.
 * `pg_control_checkpoint()` still has the old timeline immediately after a promotion, and the name of the current WAL file
 * has the new one.
 */
export const fences = `
create or replace function svc_coord.now_v1() returns bigint
language sql volatile parallel safe as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

-- In PL/pgSQL, which keeps its plan: a function in SQL would be planned again in each transaction.
create or replace function svc_coord.fence_floor_v1() returns bigint
language plpgsql volatile as $$
begin
  return (
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
    + coalesce((select value::bigint from svc_coord.meta where name = 'epoch'), 0)
  ) << 40;
end
$$;

-- Begins an epoch after the restore of a backup: no fence is granted twice, no earlier token is valid, and leased items
-- are ready. The epoch is at least p_epoch; by default, it is above that of all restores of earlier days. Returns it.
create or replace function svc_coord.new_epoch_v1(p_epoch integer default null) returns bigint
language plpgsql as $$
declare
  v_now bigint := svc_coord.fence_floor_v1() >> 40;
  v_next bigint := greatest(v_now + 1, coalesce(p_epoch, current_date - date '2026-01-01'));
begin
  if v_next > 8190 then
    raise exception 'the epoch % is above the limit of 8190', v_next using errcode = '22023';
  end if;
  insert into svc_coord.meta (name, value) values ('epoch', (v_next - v_now)::text)
    on conflict (name) do update set value = (svc_coord.meta.value::bigint + v_next - v_now)::text;
  update svc_coord.items set held = false where held;
  update svc_coord.items set state = 0 where state = 1;
  delete from svc_coord.distributed_locks;
  return v_next;
end
$$;
`
