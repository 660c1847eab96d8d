/**
 * Tables and functions of the schema svc_workflow: runs of workflows. A run is an item of svc_coord.items, whose row is
 * also the lock of the run: each function that changes a run locks the item first.
 */
export const workflows = `
create schema if not exists svc_workflow;

create table if not exists svc_workflow.runs (
  repository text collate "C" not null,
  run_id text collate "C" not null,
  workflow text not null,
  program text collate "C" not null,
  status text not null,
  args text not null,
  result text,
  error text,
  wake_at bigint,
  waiting_for text,
  parent text collate "C",
  planned_steps integer not null,
  completed_steps integer not null default 0,
  plan_session text,
  plan_node text,
  plan_version integer,
  owner text,
  started_at bigint not null,
  updated_at bigint not null,
  completed_at bigint,
  generation integer not null default 0,
  generation_entry bigint not null default 0,
  item_id bigint not null,
  primary key (repository, run_id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index if not exists runs_item on svc_workflow.runs (item_id);
create index if not exists runs_started on svc_workflow.runs (repository, started_at desc, run_id);
create index if not exists runs_parent on svc_workflow.runs (repository, parent) where parent is not null;
-- No index has the status or the time of the last change: while a run is running, its changes then stay on its page.
create index if not exists runs_waited on svc_workflow.runs (repository, run_id) where waiting_for is not null;
create index if not exists runs_finished on svc_workflow.runs (repository, program, completed_at desc, run_id)
  where parent is null and completed_at is not null;
drop index if exists svc_workflow.runs_waiting, svc_workflow.runs_ended;

create table if not exists svc_workflow.steps (
  repository text collate "C" not null, run_id text collate "C" not null, step text collate "C" not null,
  status text not null, activity text not null, event text not null, result text not null, at bigint not null,
  primary key (repository, run_id, step, status)
);

create table if not exists svc_workflow.attempts (
  repository text collate "C" not null, run_id text collate "C" not null, step text collate "C" not null,
  attempt integer not null, status text not null, owner text not null, error text, at bigint not null,
  primary key (repository, run_id, step, attempt, status)
);

create table if not exists svc_workflow.step_args (
  repository text collate "C" not null, run_id text collate "C" not null, step text collate "C" not null,
  hashes text not null,
  primary key (repository, run_id, step)
);

create table if not exists svc_workflow.journal (
  id bigint generated always as identity primary key,
  repository text collate "C" not null, run_id text collate "C" not null,
  step text, entry text not null, at bigint not null
);
create index if not exists journal_run on svc_workflow.journal (repository, run_id, id);

create table if not exists svc_workflow.signals (
  id bigint generated always as identity primary key,
  repository text collate "C" not null, run_id text collate "C" not null, key text not null,
  payload text, at bigint not null, consumed_at bigint
);
create index if not exists signals_run on svc_workflow.signals (repository, run_id, id);

alter table svc_workflow.steps drop constraint if exists steps_repository_run_id_fkey;
alter table svc_workflow.attempts drop constraint if exists attempts_repository_run_id_fkey;
alter table svc_workflow.step_args drop constraint if exists step_args_repository_run_id_fkey;
alter table svc_workflow.journal drop constraint if exists journal_repository_run_id_fkey;
alter table svc_workflow.signals drop constraint if exists signals_repository_run_id_fkey;

-- Until when hosts with a mesh do the steps of a program for it. Hosts without a mesh leave them to those.
create table if not exists svc_workflow.mesh_offers (
  repository text collate "C" not null, program text collate "C" not null, until bigint not null,
  primary key (repository, program)
);

create or replace function svc_workflow.put_item_v2(p_id bigint, p_queue text, p_body text, p_delay bigint) returns bigint
language plpgsql as $$
declare
  v_now bigint := svc_coord.now_v1();
begin
  insert into svc_coord.items (id, queue, priority, state, visible_at, privacy, created_at, body)
  values (p_id, p_queue, 128, case when p_delay > 0 then 2 else 0 end, v_now + p_delay, 0, v_now, p_body);
  return p_id;
end
$$;

-- Deletes runs with all that belongs to them. The tables have no foreign keys: their checks took a third of each change.
create or replace function svc_workflow.delete_v1(p_repository text, p_runs text[]) returns void
language plpgsql as $$
begin
  delete from svc_coord.items where id = any(array(
    select item_id from svc_workflow.runs where repository = p_repository and run_id = any(p_runs)));
  delete from svc_workflow.journal where repository = p_repository and run_id = any(p_runs);
  delete from svc_workflow.steps where repository = p_repository and run_id = any(p_runs);
  delete from svc_workflow.attempts where repository = p_repository and run_id = any(p_runs);
  delete from svc_workflow.step_args where repository = p_repository and run_id = any(p_runs);
  delete from svc_workflow.signals where repository = p_repository and run_id = any(p_runs);
  delete from svc_workflow.runs where repository = p_repository and run_id = any(p_runs);
end
$$;

-- p_run: {runId, workflow, program, args, parent, plannedSteps, delayMs, plan: {session, node, version}}
-- p_start_key: null, or the hash of a key that starts one run for ever
create or replace function svc_workflow.create_v3(
  p_repository text, p_run json, p_queue text, p_now bigint, p_start_queue text, p_start_key bytea
) returns boolean
language plpgsql as $$
declare
  v_id text := p_run ->> 'runId';
  v_item bigint := nextval('svc_coord.item_ids');
begin
  if p_start_key is not null then
    insert into svc_coord.keys (queue, key_hash, id, done_at) values (p_start_queue, p_start_key, 0, svc_coord.now_v1())
      on conflict do nothing;
    if not found then return false; end if;
  end if;
  insert into svc_workflow.runs (repository, run_id, workflow, program, status, args, parent, planned_steps,
    plan_session, plan_node, plan_version, started_at, updated_at, item_id)
  values (p_repository, v_id, p_run ->> 'workflow', p_run ->> 'program', 'pending', p_run ->> 'args',
    p_run ->> 'parent', (p_run ->> 'plannedSteps')::integer, p_run #>> '{plan,session}', p_run #>> '{plan,node}',
    (p_run #>> '{plan,version}')::integer, p_now, p_now, v_item)
  on conflict (repository, run_id) do nothing;
  if not found then return false; end if;
  perform svc_workflow.put_item_v2(v_item, p_queue, v_id, (p_run ->> 'delayMs')::bigint);
  return true;
end
$$;

-- Locks the item of a run. Returns its id; null if the run does not exist, or has no item.
create or replace function svc_workflow.lock_v1(p_repository text, p_run text) returns bigint
language plpgsql as $$
declare
  v_item bigint;
  v_locked bigint;
begin
  loop
    select item_id into v_item from svc_workflow.runs where repository = p_repository and run_id = p_run;
    if not found then return null; end if;
    select id into v_locked from svc_coord.items where id = v_item for update;
    if found then return v_locked; end if;
    -- Without an item, the row of the run is the lock. The run may have got another item meanwhile.
    perform from svc_workflow.runs where repository = p_repository and run_id = p_run and item_id = v_item for update;
    if found then return null; end if;
  end loop;
end
$$;

-- outcome: claimed, leased
create or replace function svc_workflow.claim_v1(
  p_repository text, p_run text, p_queue text, p_owner text, p_lease bigint, p_again boolean, p_now bigint
) returns table (outcome text, interrupted boolean, id bigint, fence bigint, holder text)
language plpgsql as $$
#variable_conflict use_column
declare
  v_item bigint := svc_workflow.lock_v1(p_repository, p_run);
  v_status text;
  v_state smallint;
  v_time bigint := svc_coord.now_v1();
  v_until bigint;
begin
  select status into v_status from svc_workflow.runs where repository = p_repository and run_id = p_run;
  if not found or v_status in ('completed', 'cancelled') or (v_status = 'failed' and not p_again) then return; end if;
  if v_item is null then
    v_item := svc_workflow.put_item_v2(nextval('svc_coord.item_ids'), p_queue, p_run, 1000);
    update svc_workflow.runs set item_id = v_item where repository = p_repository and run_id = p_run;
  end if;
  select state, visible_at into v_state, v_until from svc_coord.items where id = v_item;
  if v_state = 1 and v_until > v_time then
    return query select 'leased', false, id, fence, holder from svc_coord.items where id = v_item;
    return;
  end if;
  update svc_coord.items set state = 1, fence = greatest(fence + 1, svc_coord.fence_floor_v1()), attempts = attempts + 1,
    holder = p_owner, visible_at = v_time + p_lease, held = true, woken = false, error = null where id = v_item;
  update svc_workflow.runs set status = 'running', owner = p_owner, updated_at = p_now, completed_at = null, error = null,
    wake_at = null, waiting_for = null where repository = p_repository and run_id = p_run;
  return query select 'claimed', v_status = 'running', id, fence, holder from svc_coord.items where id = v_item;
end
$$;

-- The first change of a turn marks the run as running: until then, its claim is no reason to say so. fresh: the run has no
-- history, and arguments that a process can keep until its turn.
create or replace function svc_workflow.claim_ready_v3(p_queue text, p_owner text, p_max integer, p_lease bigint)
returns table (
  id bigint, fence bigint, interrupted boolean, fresh boolean, run_id text, workflow text, program text, status text,
  args text, result text, error text, wake_at bigint, waiting_for text, parent text, completed_steps integer,
  started_at bigint, updated_at bigint, completed_at bigint
)
language plpgsql as $$
#variable_conflict use_column
declare
  v_claimed bigint[] := array(
    select id from svc_coord.claim_v2(p_queue, array[p_owner], array[p_max], p_lease, null, false)
  );
begin
  return query
    select i.id, i.fence, r.status = 'running',
      r.status = 'pending' and r.generation = 0 and octet_length(r.args) <= 65536 and not exists (
        select from svc_workflow.journal j where j.repository = r.repository and j.run_id = r.run_id
      ),
      r.run_id::text, r.workflow, r.program::text, r.status, case when octet_length(r.args) <= 65536 then r.args end,
      r.result, r.error, r.wake_at, r.waiting_for, r.parent::text, r.completed_steps, r.started_at, r.updated_at,
      r.completed_at
    from svc_coord.items i join svc_workflow.runs r on r.item_id = i.id where i.id = any(v_claimed) order by i.id;
end
$$;

-- p_changes: list of {entries, completed, scheduled, attempt, signal, meshStep: {queue, key, body}, turn}. False if the
-- token is not valid.
create or replace function svc_workflow.record_v3(
  p_repository text, p_run text, p_item bigint, p_fence bigint, p_changes json, p_owner text, p_now bigint
) returns boolean
language plpgsql as $$
declare
  v_change json;
  v_each json;
  v_turn json;
  v_status text;
  v_delay bigint := 0;
  v_steps integer;
begin
  perform from svc_coord.items
    where id = p_item and fence = p_fence and held and fence >= svc_coord.fence_floor_v1() for update;
  if not found then return false; end if;
  select count(*) filter (where c.value -> 'completed' is not null),
    (array_agg(c.value -> 'turn' order by c.place desc) filter (where c.value -> 'turn' is not null))[1]
    into v_steps, v_turn from json_array_elements(p_changes) with ordinality c (value, place);
  v_status := coalesce(v_turn ->> 'status', 'running');
  update svc_workflow.runs set status = v_status, owner = case when v_turn is null then p_owner end,
    error = v_turn ->> 'error', result = case when v_turn is null then result else v_turn ->> 'result' end,
    completed_at = case when v_status in ('completed', 'failed') then p_now when v_turn is null then completed_at end,
    wake_at = (v_turn ->> 'wakeAt')::bigint, waiting_for = v_turn ->> 'waitingFor', updated_at = p_now,
    completed_steps = completed_steps + v_steps
    where repository = p_repository and run_id = p_run and item_id = p_item;
  if not found then return false; end if;
  -- The entries come first: a run that continues as new keeps them, but not its steps.
  insert into svc_workflow.journal (repository, run_id, step, entry, at)
    select p_repository, p_run, e.value -> 'activity_id' #>> '{}', e.text, p_now
    from json_array_elements(p_changes) with ordinality as c (value, place),
      json_array_elements_text(c.value -> 'entries') with ordinality as t (text, number),
      lateral (select t.text, t.text::json as value) as e
    order by c.place, t.number;
  for v_change in select value from json_array_elements(p_changes) loop
    v_each := v_change -> 'completed';
    if v_each is not null then
      insert into svc_workflow.steps (repository, run_id, step, status, activity, event, result, at)
      values (p_repository, p_run, v_each ->> 'step', 'completed', v_each ->> 'activity', v_each ->> 'event',
        v_each ->> 'result', p_now)
      on conflict (repository, run_id, step, status)
        do update set activity = excluded.activity, event = excluded.event, result = excluded.result, at = excluded.at;
    end if;
    v_each := v_change -> 'scheduled';
    if v_each is not null then
      insert into svc_workflow.steps (repository, run_id, step, status, activity, event, result, at)
      values (p_repository, p_run, v_each ->> 'step', 'scheduled', v_each ->> 'activity', '', v_each ->> 'at', p_now)
      on conflict (repository, run_id, step, status)
        do update set activity = excluded.activity, result = excluded.result, at = excluded.at;
    end if;
    v_each := v_change -> 'attempt';
    if v_each is not null then
      insert into svc_workflow.attempts (repository, run_id, step, attempt, status, owner, error, at)
      values (p_repository, p_run, v_each ->> 'step', (v_each ->> 'attempt')::integer, v_each ->> 'status', p_owner,
        v_each ->> 'error', p_now)
      on conflict (repository, run_id, step, attempt, status)
        do update set owner = excluded.owner, error = excluded.error, at = excluded.at;
      if v_each -> 'args' is not null then
        insert into svc_workflow.step_args (repository, run_id, step, hashes)
        values (p_repository, p_run, v_each ->> 'step', (v_each -> 'args')::text) on conflict do nothing;
      end if;
    end if;
    if v_change -> 'signal' is not null then
      update svc_workflow.signals set consumed_at = p_now
        where id = (v_change ->> 'signal')::bigint and repository = p_repository and run_id = p_run;
    end if;
    v_each := v_change -> 'meshStep';
    if v_each is not null then
      perform svc_coord.put_v1(array[v_each ->> 'queue'], array[decode(v_each ->> 'key', 'hex')], array[v_each ->> 'body'],
        array[128]::smallint[], array[0]::bigint[], array[null]::integer[], array[null]::text[], array[0]);
    end if;
  end loop;
  if v_turn is null then return true; end if;
  if v_status = 'continued' then
    delete from svc_workflow.steps where repository = p_repository and run_id = p_run;
    delete from svc_workflow.attempts where repository = p_repository and run_id = p_run;
    delete from svc_workflow.step_args where repository = p_repository and run_id = p_run;
    -- Of the journal, the generation that ends now is kept.
    delete from svc_workflow.journal j using svc_workflow.runs r
      where r.repository = p_repository and r.run_id = p_run and j.repository = p_repository and j.run_id = p_run
        and j.id <= r.generation_entry;
    update svc_workflow.runs set status = 'pending', owner = null, args = v_turn ->> 'args', generation = generation + 1,
      generation_entry = coalesce((
        select max(id) from svc_workflow.journal where repository = p_repository and run_id = p_run), 0)
      where repository = p_repository and run_id = p_run;
    perform svc_coord.return_v1(array[p_item], array[p_fence], array[0]::bigint[], array[null]::text[]);
    return true;
  end if;
  if v_status in ('completed', 'failed') then
    perform svc_coord.ack_one_v1(p_item, p_fence, null, true, null);
    return true;
  end if;
  if v_status = 'pending' then
    v_delay := coalesce((v_turn ->> 'delayMs')::bigint, 0);
  elsif v_turn ->> 'waitingFor' is not null and exists (
    select from svc_workflow.signals where repository = p_repository and run_id = p_run
      and key = v_turn ->> 'waitingFor' and consumed_at is null
  ) then
    v_delay := 0;
  elsif v_turn ->> 'wakeAt' is not null then
    v_delay := greatest(0, (v_turn ->> 'wakeAt')::bigint - p_now);
  elsif v_turn ->> 'waitingFor' is not null then
    v_delay := null;
  end if;
  perform svc_coord.return_v1(array[p_item], array[p_fence], array[v_delay], array[null]::text[]);
  return true;
end
$$;

-- The turn of a run ended outside of the program. p_fails: the run fails; else it runs again, as interrupted.
create or replace function svc_workflow.interrupted_v1(
  p_repository text, p_run text, p_item bigint, p_fence bigint, p_error text, p_fails boolean, p_now bigint
) returns boolean
language plpgsql as $$
begin
  perform from svc_coord.items
    where id = p_item and fence = p_fence and held and fence >= svc_coord.fence_floor_v1() for update;
  if not found then return false; end if;
  update svc_workflow.runs set error = p_error, owner = null, updated_at = greatest(updated_at, p_now),
    status = case when p_fails then 'failed' else status end,
    completed_at = case when p_fails then p_now else completed_at end
    where repository = p_repository and run_id = p_run;
  if p_fails then
    perform svc_coord.ack_one_v1(p_item, p_fence, null, true, null);
  else
    perform svc_coord.return_v1(array[p_item], array[p_fence], array[0]::bigint[], array[null]::text[]);
  end if;
  return true;
end
$$;

-- Returns the status before; null if the run does not exist. An ended run gets no signal.
create or replace function svc_workflow.send_v1(p_repository text, p_run text, p_key text, p_payload text, p_now bigint)
returns text
language plpgsql as $$
declare
  v_item bigint := svc_workflow.lock_v1(p_repository, p_run);
  v_status text;
  v_waiting text;
begin
  select status, waiting_for into v_status, v_waiting from svc_workflow.runs
    where repository = p_repository and run_id = p_run;
  if not found then return null; end if;
  if v_status in ('completed', 'failed', 'cancelled') then return v_status; end if;
  insert into svc_workflow.signals (repository, run_id, key, payload, at) values (p_repository, p_run, p_key, p_payload, p_now);
  -- A running turn finds the signal itself, or is woken when it ends.
  if v_waiting is null or v_waiting = p_key then
    update svc_coord.items set woken = held, state = case when state = 1 then 1 else 0 end where id = v_item;
  end if;
  return v_status;
end
$$;

create or replace function svc_workflow.offer_mesh_v1(p_repository text, p_program text, p_for bigint) returns void
language sql volatile as $$
  insert into svc_workflow.mesh_offers as o (repository, program, until) values (p_repository, p_program, svc_coord.now_v1() + p_for)
    on conflict (repository, program) do update set until = greatest(o.until, excluded.until)
$$;

-- Stores the answer to a step for the mesh, and removes the step. p_run: null for no answer. False if the token is not valid.
create or replace function svc_workflow.answer_mesh_v1(
  p_repository text, p_item bigint, p_fence bigint, p_run text, p_key text, p_payload text, p_now bigint
) returns boolean
language plpgsql as $$
begin
  perform from svc_coord.items
    where id = p_item and fence = p_fence and held and fence >= svc_coord.fence_floor_v1() for update;
  if not found then return false; end if;
  if p_run is not null then perform svc_workflow.send_v1(p_repository, p_run, p_key, p_payload, p_now); end if;
  perform svc_coord.ack_one_v1(p_item, p_fence, null, true, null);
  return true;
end
$$;

create or replace function svc_workflow.cancel_v1(p_repository text, p_run text, p_now bigint) returns text
language plpgsql as $$
declare
  v_item bigint := svc_workflow.lock_v1(p_repository, p_run);
begin
  update svc_workflow.runs set status = 'cancelled', owner = null, completed_at = p_now
    where repository = p_repository and run_id = p_run and status not in ('completed', 'failed', 'cancelled');
  -- The owner notices at its next write, because the item is gone.
  delete from svc_coord.items where id = v_item;
  return (select status from svc_workflow.runs where repository = p_repository and run_id = p_run);
end
$$;

-- kind: reset, unknown_run, unknown_step, running (detail: the run)
create or replace function svc_workflow.reset_v1(
  p_repository text, p_run text, p_step text, p_queue text, p_now bigint
) returns table (kind text, detail text, workflow text, dropped integer)
language plpgsql as $$
#variable_conflict use_column
declare
  v_item bigint := svc_workflow.lock_v1(p_repository, p_run);
  v_run svc_workflow.runs;
  v_steps text[];
  v_first bigint;
  v_family text[];
  v_busy text;
begin
  select * into v_run from svc_workflow.runs where repository = p_repository and run_id = p_run;
  if not found then return query select 'unknown_run', null::text, null::text, 0; return; end if;
  with begun as (
    select step, min(id) as first_id, min(at) as first_at from svc_workflow.journal
    where repository = p_repository and run_id = p_run and step is not null and id > v_run.generation_entry group by step
  ), wanted as (
    select * from begun where p_step is null or first_id >= (select b.first_id from begun b where b.step = p_step)
  )
  select coalesce(array_agg(step), '{}'), coalesce((select w.first_at from wanted w order by w.first_id limit 1), 0)
    into v_steps, v_first from wanted;
  if p_step is not null and not p_step = any(v_steps) then
    return query select 'unknown_step', null::text, v_run.workflow, 0;
    return;
  end if;
  with recursive family (id) as (
    select run_id from svc_workflow.runs where repository = p_repository and parent = p_run and started_at >= v_first
    union all
    select r.run_id from family f join svc_workflow.runs r on r.repository = p_repository and r.parent = f.id
  ) select coalesce(array_agg(id), '{}') into v_family from family;
  perform from svc_coord.items where id in (
    select item_id from svc_workflow.runs where repository = p_repository and run_id = any(v_family)) order by id for update;
  select r.run_id into v_busy from svc_workflow.runs r join svc_coord.items i on i.id = r.item_id
    where r.repository = p_repository and (r.run_id = p_run or r.run_id = any(v_family))
      and i.state = 1 and i.visible_at > svc_coord.now_v1() limit 1;
  if found then return query select 'running', v_busy, v_run.workflow, 0; return; end if;
  delete from svc_workflow.steps where repository = p_repository and run_id = p_run and step = any(v_steps);
  delete from svc_workflow.attempts where repository = p_repository and run_id = p_run and step = any(v_steps);
  delete from svc_workflow.step_args where repository = p_repository and run_id = p_run and step = any(v_steps);
  update svc_workflow.signals set consumed_at = null
    where repository = p_repository and run_id = p_run and consumed_at >= v_first;
  delete from svc_coord.items where id = v_item;
  perform svc_workflow.delete_v1(p_repository, v_family);
  update svc_workflow.runs set status = 'pending', error = null, owner = null, completed_at = null, updated_at = p_now,
    result = null, wake_at = null, waiting_for = null,
    item_id = svc_workflow.put_item_v2(nextval('svc_coord.item_ids'), p_queue, p_run, 0),
    completed_steps = (select count(*) from svc_workflow.steps s
      where s.repository = p_repository and s.run_id = p_run and s.status = 'completed')
    where repository = p_repository and run_id = p_run;
  insert into svc_workflow.journal (repository, run_id, entry, at) values (p_repository, p_run, json_build_object(
    'event', 'WorkflowReset', 'journal_version', 2, 'workflow', v_run.workflow, 'steps', cardinality(v_steps))::text, p_now);
  return query select 'reset', null::text, v_run.workflow, cardinality(v_steps);
end
$$;

-- Runs to delete; child runs are deleted with their parents.
create or replace function svc_workflow.expendable_v1(
  p_repository text, p_program text, p_keep bigint, p_before bigint, p_limit integer
) returns setof text
language sql stable as $$
  select run_id from (
    select run_id, completed_at as at, row_number() over (partition by program order by completed_at desc, run_id) as place
    from svc_workflow.runs
    where repository = p_repository and parent is null and completed_at is not null
      and status in ('completed', 'failed', 'cancelled')
      and (p_program is null or program = p_program)
  ) ended
  where (place > p_keep or at < p_before) and not exists (
    with recursive family (id) as (
      select ended.run_id
      union all
      select r.run_id from family f join svc_workflow.runs r on r.repository = p_repository and r.parent = f.id
    )
    select from family f join svc_workflow.runs r on r.repository = p_repository and r.run_id = f.id
      join svc_coord.items i on i.id = r.item_id
    where i.state = 1 and i.visible_at > svc_coord.now_v1()
  ) limit p_limit
$$;

create or replace function svc_workflow.prune_v1(
  p_repository text, p_program text, p_keep bigint, p_before bigint, p_limit integer
) returns integer
language plpgsql as $$
declare
  v_roots text[] := array(select * from svc_workflow.expendable_v1(p_repository, p_program, p_keep, p_before, p_limit));
  v_family text[];
begin
  -- A failed run may have been resumed meanwhile.
  v_roots := array(
    select run_id from svc_workflow.runs where repository = p_repository and run_id = any(v_roots)
      and status in ('completed', 'failed', 'cancelled') for update
  );
  with recursive family (id) as (
    select unnest(v_roots) collate "C"
    union all
    select r.run_id from family f join svc_workflow.runs r on r.repository = p_repository and r.parent = f.id
  ) select coalesce(array_agg(id), '{}') into v_family from family;
  perform svc_workflow.delete_v1(p_repository, v_family);
  return cardinality(v_roots);
end
$$;
`
