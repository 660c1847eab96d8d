/**
 * Functions that others use. A function whose text changes gets the next version suffix: processes of two versions of
 * svc share a database while they are updated.
 *
 * The fence of a grant is at least `epoch * 2^40`. The epoch is the timeline of the server, which grows when a standby is
 * promoted, plus the text `epoch` of the table meta, which an operator raises after the restore of a backup.
 * `pg_control_checkpoint()` still has the old timeline immediately after a promotion, and the name of the current WAL file
 * has the new one.
 */
export const fences = `
create or replace function svc_coord.now_v1() returns bigint
language sql volatile parallel safe as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

create or replace function svc_coord.fence_floor_v1() returns bigint
language sql volatile as $$
  select (
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
    + coalesce((select value::bigint from svc_coord.meta where name = 'epoch'), 0)
  ) << 40
$$;

-- Raises the epoch after the restore of a backup, so that no fence is granted twice. Returns the new epoch.
create or replace function svc_coord.new_epoch_v1(p_steps integer default 16) returns bigint
language plpgsql as $$
begin
  if p_steps < 1 or p_steps > 1000 then
    raise exception 'the number of steps must be from 1 to 1000, not %', p_steps using errcode = '22023';
  end if;
  insert into svc_coord.meta (name, value) values ('epoch', p_steps::text)
    on conflict (name) do update set value = (svc_coord.meta.value::bigint + p_steps)::text;
  return svc_coord.fence_floor_v1() >> 40;
end
$$;
`
