import { randomUUID } from 'node:crypto'
import type {
  ItemToken,
  NewWorkflowRun,
  SharedWorkflowRuns,
  WorkflowChange,
  WorkflowClaim,
  WorkflowEntry,
  WorkflowHistory,
  WorkflowOutlook,
  WorkflowReset,
  WorkflowRetention,
  WorkflowRun,
  WorkflowStatus,
  WorkflowTimes
} from '@svc/contracts'
import type { Connections, Statement } from './connections.ts'
import { hashText, keyHash } from './key-hash.ts'

/** Maximum runs that one transaction deletes, so that other writers can proceed. */
const MAX_DELETED = 500
const MAX_NAME = 300
/** Prefixes of the queues of a program. Schedulers do not claim child runs. */
const QUEUES = { runs: 'wf', children: 'wf-child', mesh: 'wf-mesh' } as const
/** Queue of the keys of starts; it has no items. */
const START_QUEUE = 'wf-start'

type Row = Readonly<Record<string, unknown>>

/** Runs of workflows of one repository, in the schema `svc_workflow`. Each method is one statement, thus one transaction. */
export class WorkflowRuns implements SharedWorkflowRuns {
  readonly #connections: Connections
  readonly #repository: string

  constructor(connections: Connections, repository: string) {
    this.#connections = connections
    this.#repository = repository
  }

  get location(): string {
    return this.#connections.location
  }

  async create(run: NewWorkflowRun, now: number): Promise<boolean> {
    const queue = this.#queue(run.program, kindOf(run))
    const key = run.startKey === undefined ? null : keyHash(START_QUEUE, `${this.#repository}\u001f${run.startKey}`)
    const [row] = await this.#call(statements.create, jsonOf(run), queue, now, START_QUEUE, key)
    return row?.done === true
  }

  async find(runId: string): Promise<WorkflowRun | null> {
    const [row] = await this.#call(statements.find, runId)
    return row === undefined ? null : runOf(row)
  }

  async claim(
    runId: string,
    { owner, leaseMs, now, again }: { owner: string; leaseMs: number; now: number; again: boolean }
  ): Promise<WorkflowClaim | { readonly token: ItemToken; readonly heldBy: string } | null> {
    const found = await this.find(runId)
    if (found === null) return null
    const queue = this.#queue(found.program, kindOf(found))
    const lease = Math.max(1, Math.ceil(leaseMs))
    const [row] = await this.#call(statements.claim, runId, queue, owner, lease, again, now)
    if (row === undefined) return null
    const token = tokenOf(row)
    if (row.outcome === 'leased') return { token, heldBy: String(row.holder) }
    const run = await this.adopt(runId, token)
    return run === null ? null : { run, token, wasInterrupted: row.interrupted === true }
  }

  async adopt(runId: string, { id, fence }: ItemToken): Promise<WorkflowRun | null> {
    const [row] = await this.#call(statements.adopt, runId, id, fence)
    return row === undefined ? null : runOf(row)
  }

  async history(runId: string): Promise<WorkflowHistory> {
    const [row] = await this.#call(statements.history, runId)
    const steps = (row?.steps ?? []) as readonly StepRow[]
    const args = (row?.args ?? []) as readonly { readonly step: string; readonly hashes: string }[]
    return {
      generation: Number(row?.generation ?? 0),
      hasBegun: row?.begun === true,
      completed: steps.flatMap(({ step, status, activity, event, result }) =>
        status === 'completed' ? [{ step, activity, event, result }] : []
      ),
      scheduled: steps.flatMap(({ step, status, result }) =>
        status === 'scheduled' ? [{ step, at: Number(result) }] : []
      ),
      attempts: (row?.attempts ?? []) as WorkflowHistory['attempts'],
      args: args.map(({ step, hashes }) => ({ step, hashes: JSON.parse(hashes) as string[] }))
    }
  }

  async record(
    runId: string,
    { id, fence }: ItemToken,
    changes: readonly WorkflowChange[],
    { owner, now }: { readonly owner: string; readonly now: number }
  ): Promise<boolean> {
    const stored = changes.some(({ meshStep }) => meshStep !== undefined)
      ? await this.#withQueue(runId, changes)
      : changes
    const [row] = await this.#call(statements.record, runId, id, fence, jsonOf(stored), owner, now)
    return row?.done === true
  }

  async #withQueue(runId: string, changes: readonly WorkflowChange[]): Promise<readonly object[]> {
    const run = await this.find(runId)
    if (run === null) return changes
    const queue = this.#queue(run.program, 'mesh')
    return changes.map(({ meshStep, ...change }) => {
      if (meshStep === undefined) return change
      return { ...change, meshStep: { queue, key: keyHash(queue, meshStep.key).toString('hex'), body: meshStep.body } }
    })
  }

  async signal(runId: string, key: string): Promise<{ readonly id: number; readonly payload: string | null } | null> {
    const [row] = await this.#call(statements.signal, runId, storable(key))
    return row === undefined ? null : { id: Number(row.id), payload: row.payload as string | null }
  }

  async outlook(program: string, of: 'runs' | 'mesh' = 'runs'): Promise<WorkflowOutlook> {
    const rows = await this.#connections.call(statements.outlook, [this.#queue(program, of)])
    const [first] = rows
    return {
      isReady: first?.ready === true,
      nextInMs: (first?.next_in as number | null | undefined) ?? null,
      leased: rows.flatMap(row => (row.id === null ? [] : [{ ...tokenOf(row), holder: String(row.holder) }]))
    }
  }

  async claimReady(program: string, owner: string, { max, leaseMs }: { max: number; leaseMs: number }) {
    const rows = await this.#connections.call(statements.claimReady, [
      this.#queue(program, 'runs'),
      owner,
      max,
      leaseMs
    ])
    return rows.map(row => ({
      runId: String(row.run_id),
      token: tokenOf(row),
      wasInterrupted: row.interrupted === true,
      completedSteps: Number(row.completed_steps),
      fresh: row.fresh === true ? runOf(row) : null
    }))
  }

  async extend(tokens: readonly ItemToken[], leaseMs: number): Promise<void> {
    if (tokens.length > 0)
      await this.#connections.call(statements.extend, [...tokenArrays(tokens), tokens.map(() => leaseMs)])
  }

  async giveBack(tokens: readonly ItemToken[]): Promise<void> {
    if (tokens.length > 0)
      await this.#connections.call(statements.giveBack, [
        ...tokenArrays(tokens),
        tokens.map(() => 0),
        tokens.map(() => null)
      ])
  }

  async interrupted(
    runId: string,
    { id, fence }: ItemToken,
    { error, fails, now }: { readonly error: string; readonly fails: boolean; readonly now: number }
  ): Promise<void> {
    await this.#call(statements.interrupted, runId, id, fence, storable(error), fails, now)
  }

  async meshId(): Promise<string> {
    const name = `workflow.mesh-id ${this.#repository}`
    const [row] = await this.#connections.call(statements.meshId, [name, randomUUID()])
    return String(row?.value)
  }

  async offerMesh(program: string, forMs: number): Promise<void> {
    await this.#call(statements.offerMesh, program, forMs)
  }

  async isMeshOffered(program: string): Promise<boolean> {
    return (await this.#call(statements.isMeshOffered, program)).length > 0
  }

  async claimMesh(program: string, owner: string, { max, leaseMs }: { max: number; leaseMs: number }) {
    const rows = await this.#connections.call(statements.claimMesh, [this.#queue(program, 'mesh'), owner, max, leaseMs])
    return rows.map(row => ({ body: String(row.body), token: tokenOf(row) }))
  }

  async isSignalled(runId: string, key: string): Promise<boolean> {
    return (await this.#call(statements.isSignalled, runId, storable(key))).length > 0
  }

  async answerMesh(
    { id, fence }: ItemToken,
    signal: { readonly runId: string; readonly key: string; readonly payload: string } | null,
    now: number
  ): Promise<boolean> {
    const [key, payload] = signal === null ? [null, null] : [storable(signal.key), storable(signal.payload)]
    const [row] = await this.#call(statements.answerMesh, id, fence, signal?.runId ?? null, key, payload, now)
    return row?.done === true
  }

  async states(runIds: readonly string[]) {
    return (await this.#call(statements.states, runIds)).map(row => ({
      runId: String(row.run_id),
      status: row.status as WorkflowStatus,
      waitingFor: row.waiting_for as string | null
    }))
  }

  async list(filter: {
    readonly workflow: string | null
    readonly status: string | null
    readonly program: string | null
    readonly active: boolean
    readonly limit: number
  }): Promise<readonly WorkflowRun[]> {
    const { workflow, status, program, active, limit } = filter
    return (await this.#call(statements.list, workflow, status, program, active, limit)).map(runOf)
  }

  async journal(runId: string, limit: number | null) {
    const rows = await this.#call(statements.journal, runId, limit)
    const entries = rows.map((row): WorkflowEntry => ({ entry: String(row.entry), at: Number(row.at) }))
    return { total: Number(rows[0]?.total ?? 0), entries: entries.reverse() }
  }

  async times(runId: string, limit: number): Promise<WorkflowTimes> {
    const [starts, waits, signals, children] = await Promise.all([
      this.#call(statements.starts, runId, limit),
      this.#call(statements.waits, runId, limit),
      this.#call(statements.signals, runId, limit),
      this.#call(statements.children, runId, limit)
    ])
    return {
      starts: starts as unknown as WorkflowTimes['starts'],
      waits: waits as unknown as WorkflowTimes['waits'],
      signals: signals as unknown as WorkflowTimes['signals'],
      children: children.map(runOf)
    }
  }

  async send(runId: string, key: string, payload: string | null, now: number): Promise<WorkflowStatus | null> {
    const [row] = await this.#call(statements.send, runId, storable(key), payload, now)
    return (row?.status ?? null) as WorkflowStatus | null
  }

  async cancel(runId: string, now: number): Promise<WorkflowStatus | null> {
    const [row] = await this.#call(statements.cancel, runId, now)
    return (row?.status ?? null) as WorkflowStatus | null
  }

  async reset(runId: string, step: string | null, now: number): Promise<WorkflowReset> {
    const run = await this.find(runId)
    if (run === null) return { kind: 'unknown_run' }
    const queue = this.#queue(run.program, kindOf(run))
    const [row] = await this.#call(statements.reset, runId, step, queue, now)
    const { kind, detail, dropped } = row as { kind: WorkflowReset['kind']; detail: string | null; dropped: number }
    if (kind === 'reset') return { kind, dropped }
    return kind === 'running' ? { kind, runId: String(detail) } : { kind }
  }

  async prune({ program, runs, before, dryRun }: WorkflowRetention & { readonly dryRun: boolean }): Promise<number> {
    const keep = Math.min(runs, Number.MAX_SAFE_INTEGER)
    const bound = Math.max(Math.trunc(before), Number.MIN_SAFE_INTEGER)
    if (dryRun) {
      const [row] = await this.#call(statements.expendable, program, keep, bound)
      return Number(row?.count)
    }
    for (let deleted = 0; ; ) {
      const [row] = await this.#call(statements.prune, program, keep, bound, MAX_DELETED)
      const count = Number(row?.count)
      deleted += count
      if (count === 0) return deleted
    }
  }

  async waiting({ limit, argsLength, hiddenPrefix }: { limit: number; argsLength: number; hiddenPrefix: string }) {
    const rows = await this.#call(statements.waiting, limit, hiddenPrefix)
    return rows.map(runOf).map(run => ({ ...run, args: run.args.slice(0, argsLength) }))
  }

  async search(text: string, limit: number) {
    return (await this.#call(statements.search, storable(text), limit)).map(runOf)
  }

  async family(runId: string, limit: number): Promise<readonly string[]> {
    return (await this.#call(statements.family, runId, limit)).map(({ run_id }) => String(run_id))
  }

  /** Calls a statement whose first parameter is the repository. */
  #call(statement: Statement, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#connections.call(statement, [this.#repository, ...values])
  }

  #queue(program: string, kind: keyof typeof QUEUES): string {
    const name = `${this.#repository}\u001e${program}`
    return `${QUEUES[kind]}:${name.length <= MAX_NAME ? name : hashText(name).toString('hex')}`
  }
}

function kindOf({ parent }: Pick<WorkflowRun, 'parent'>): 'runs' | 'children' {
  return parent === null ? 'runs' : 'children'
}

interface StepRow {
  readonly step: string
  readonly status: string
  readonly activity: string
  readonly event: string
  readonly result: string
}

/** Texts of PostgreSQL have no NUL, and no half of a surrogate pair. */
function storable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd')
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'string' ? storable(each) : each))
}

function tokenOf(row: Row): ItemToken {
  return { id: Number(row.id), fence: Number(row.fence) }
}

function tokenArrays(tokens: readonly ItemToken[]): [number[], number[]] {
  return [tokens.map(({ id }) => id), tokens.map(({ fence }) => fence)]
}

function runOf(row: Row): WorkflowRun {
  return {
    runId: String(row.run_id),
    workflow: String(row.workflow),
    program: String(row.program),
    status: row.status as WorkflowStatus,
    args: String(row.args),
    result: row.result as string | null,
    error: row.error as string | null,
    wakeAt: row.wake_at as number | null,
    waitingFor: row.waiting_for as string | null,
    parent: row.parent as string | null,
    completedSteps: Number(row.completed_steps),
    startedAt: Number(row.started_at),
    updatedAt: Number(row.updated_at),
    completedAt: row.completed_at as number | null
  }
}

const RUN = `r.run_id, r.workflow, r.program, r.status, r.args, r.result, r.error, r.wake_at, r.waiting_for, r.parent,
  r.completed_steps, r.started_at, r.updated_at, r.completed_at`

function named(name: string, text: string): Statement {
  return { name: `svc_workflow.${name}`, text }
}

const statements = {
  create: named('create', 'select svc_workflow.create_v3($1, $2, $3, $4, $5, $6) as done'),
  find: named('find', `select ${RUN} from svc_workflow.runs r where repository = $1 and run_id = $2`),
  claim: named('claim', 'select * from svc_workflow.claim_v1($1, $2, $3, $4, $5, $6, $7)'),
  adopt: named(
    'adopt',
    `select ${RUN} from svc_workflow.runs r join svc_coord.items i on i.id = r.item_id
      where r.repository = $1 and r.run_id = $2 and i.id = $3 and i.fence = $4 and i.held
        and i.fence >= svc_coord.fence_floor_v1()`
  ),
  history: named(
    'history',
    `select r.generation, exists (select from svc_workflow.journal j where j.repository = $1 and j.run_id = $2
        and j.id > r.generation_entry) as begun,
      (select json_agg(json_build_object('step', step, 'status', status, 'activity', activity, 'event', event,
        'result', result)) from svc_workflow.steps where repository = $1 and run_id = $2) as steps,
      (select json_agg(json_build_object('step', step, 'attempt', attempt, 'status', status)) from (
        select distinct on (step) step, attempt, status from svc_workflow.attempts where repository = $1 and run_id = $2
        order by step, attempt desc, status = 'failed' desc) a) as attempts,
      (select json_agg(json_build_object('step', step, 'hashes', hashes))
        from svc_workflow.step_args where repository = $1 and run_id = $2) as args
    from svc_workflow.runs r where repository = $1 and run_id = $2`
  ),
  record: named('record', 'select svc_workflow.record_v3($1, $2, $3, $4, $5, $6, $7) as done'),
  signal: named(
    'signal',
    `select id, payload from svc_workflow.signals
      where repository = $1 and run_id = $2 and key = $3 and consumed_at is null order by id limit 1`
  ),
  outlook: named(
    'outlook',
    `select q.ready, q.next_in, i.id, i.fence, i.holder from (
      select exists (select from svc_coord.items where queue = $1 and state = 0) or exists (
          select from svc_coord.items where queue = $1 and state in (1, 2) and visible_at <= svc_coord.now_v1()) as ready,
        (select min(visible_at) from svc_coord.items where queue = $1 and state in (1, 2)) - svc_coord.now_v1() as next_in
    ) q left join svc_coord.items i on i.queue = $1 and i.state = 1 and i.state in (1, 2)`
  ),
  claimReady: named('claim_ready', 'select * from svc_workflow.claim_ready_v3($1, $2, $3, $4)'),
  extend: named('extend', 'select * from svc_coord.extend_v1($1, $2, $3)'),
  giveBack: named('give_back', 'select * from svc_coord.return_v1($1, $2, $3, $4)'),
  interrupted: named('interrupted', 'select svc_workflow.interrupted_v1($1, $2, $3, $4, $5, $6, $7) as done'),
  meshId: {
    name: 'svc_workflow.mesh_id',
    text: `insert into svc_coord.meta (name, value) values ($1, $2)
      on conflict (name) do update set value = svc_coord.meta.value returning value`
  },
  offerMesh: named('offer_mesh', 'select svc_workflow.offer_mesh_v1($1, $2, $3)'),
  isMeshOffered: named(
    'is_mesh_offered',
    `select from svc_workflow.mesh_offers where repository = $1 and program = $2 and until > svc_coord.now_v1()`
  ),
  claimMesh: named(
    'claim_mesh',
    'select id, fence, body from svc_coord.claim_v2($1, array[$2], array[$3::integer], $4, null, false) order by id'
  ),
  isSignalled: named(
    'is_signalled',
    'select from svc_workflow.signals where repository = $1 and run_id = $2 and key = $3 limit 1'
  ),
  answerMesh: named('answer_mesh', 'select svc_workflow.answer_mesh_v1($1, $2, $3, $4, $5, $6, $7) as done'),
  states: named(
    'states',
    'select run_id, status, waiting_for from svc_workflow.runs where repository = $1 and run_id = any($2)'
  ),
  list: named(
    'list',
    `select ${RUN} from svc_workflow.runs r where repository = $1 and ($2::text is null or workflow = $2)
      and ($3::text is null or status = $3) and ($4::text is null or program = $4)
      and (not $5::boolean or status not in ('completed', 'failed', 'cancelled'))
      order by started_at desc, run_id limit $6`
  ),
  journal: named(
    'journal',
    `select entry, at, (select count(*) from svc_workflow.journal where repository = $1 and run_id = $2) as total
      from svc_workflow.journal where repository = $1 and run_id = $2 order by id desc limit $3`
  ),
  starts: named(
    'starts',
    `select step, attempt, at from svc_workflow.attempts
      where repository = $1 and run_id = $2 and status = 'started' order by at desc limit $3`
  ),
  waits: named(
    'waits',
    `select step, activity, at, result::bigint as due from svc_workflow.steps
      where repository = $1 and run_id = $2 and status = 'scheduled' order by at desc limit $3`
  ),
  signals: named(
    'signals',
    `select key, at, consumed_at as consumed from svc_workflow.signals
      where repository = $1 and run_id = $2 order by id desc limit $3`
  ),
  children: named(
    'children',
    `select ${RUN} from svc_workflow.runs r where repository = $1 and parent = $2 order by started_at desc limit $3`
  ),
  send: named('send', 'select svc_workflow.send_v1($1, $2, $3, $4, $5) as status'),
  cancel: named('cancel', 'select svc_workflow.cancel_v1($1, $2, $3) as status'),
  reset: named('reset', 'select * from svc_workflow.reset_v1($1, $2, $3, $4, $5)'),
  expendable: named('expendable', 'select count(*) as count from svc_workflow.expendable_v1($1, $2, $3, $4, null)'),
  prune: named('prune', 'select svc_workflow.prune_v1($1, $2, $3, $4, $5) as count'),
  waiting: named(
    'waiting',
    `select ${RUN} from svc_workflow.runs r
      where repository = $1 and status = 'waiting' and waiting_for is not null and not starts_with(waiting_for, $3)
        and not exists (select from svc_workflow.signals s where s.repository = $1 and s.run_id = r.run_id
          and s.key = r.waiting_for and s.consumed_at is null)
      order by updated_at, run_id limit $2`
  ),
  search: named(
    'search',
    `select ${RUN} from svc_workflow.runs r
      where repository = $1 and (strpos(lower(run_id), lower($2)) > 0 or strpos(lower(workflow), lower($2)) > 0)
      order by started_at desc, run_id limit $3`
  ),
  family: named(
    'family',
    `with recursive family (run_id) as (
      select run_id from svc_workflow.runs where repository = $1 and run_id = $2
      union all
      select r.run_id from family f join svc_workflow.runs r on r.repository = $1 and r.parent = f.run_id
    ) select run_id from family limit $3`
  )
} as const satisfies Record<string, Statement>
