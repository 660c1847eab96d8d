import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  coordinationSql as crd,
  type MeshActivities,
  type MeshActivityOutcome,
  type MeshActivityRequest
} from '@svc/contracts'
import {
  noPostgres,
  PostgresCoordination,
  PostgresServer,
  parseServerAddress
} from '@svc/plugin-coordination-postgres/testing'
import { FileConnection, openFile } from '@svc/plugin-database/testing'
import type { Logger } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import {
  databaseDurable,
  databaseMeshQueue,
  type MeshQueue,
  type MeshStep,
  MeshSteps,
  meshItem,
  meshQueue,
  ownerOf,
  prepareStore,
  sharedMeshQueue
} from '#workflows'

/** A mesh whose steps the test ends. */
class FakeMesh implements MeshActivities {
  readonly requests: MeshActivityRequest[] = []
  readonly aborted: string[] = []
  readonly forgotten: string[] = []
  #ends: ((end: MeshActivityOutcome | Error) => void)[] = []

  run(request: MeshActivityRequest, signal: AbortSignal): Promise<MeshActivityOutcome> {
    this.requests.push(request)
    return new Promise((resolve, reject) => {
      this.#ends.push(end => (end instanceof Error ? reject(end) : resolve(end)))
      signal.addEventListener('abort', () => {
        this.aborted.push((signal.reason as Error).name)
        reject(signal.reason as Error)
      })
    })
  }

  async forget(key: string): Promise<void> {
    this.forgotten.push(key)
  }

  end(end: MeshActivityOutcome | Error): void {
    for (const each of this.#ends.splice(0)) each(end)
  }
}

interface World {
  readonly log: string[]
  /** Opens the steps of a process. */
  open(mesh?: MeshActivities, isEnabled?: boolean): MeshSteps
  /** Lets a new run wait for a step, and returns the step. */
  begin(step: MeshStep): Promise<void>
  /** Stores a step of a run once more, as a turn does that has not seen its answer. */
  again(step: MeshStep): Promise<void>
  /** Claims the stored steps for a process that does not end them. */
  claim(owner: string): Promise<void>
  cancel(runId: string): Promise<void>
  /** Number of stored steps. */
  count(): Promise<number>
  signals(): Promise<[key: string, payload: unknown][]>
}

const QUIET = { debug() {}, info() {}, warn() {}, error() {} }
const LEASE_MS = 3_600_000

/** Returns a function that opens the steps of processes on a queue. */
function opener(t: Test, queue: MeshQueue, log: string[]): World['open'] {
  const opened: MeshSteps[] = []
  t.teardown(async () => {
    for (const each of opened) await each.close()
  })
  return (mesh, isEnabled = true) => {
    const steps = new MeshSteps({
      queue,
      log: { ...QUIET, warn: text => log.push(text), error: text => log.push(text) },
      activities: () => mesh,
      status: () => ({ enabled: () => isEnabled }),
      onAnswer() {}
    })
    opened.push(steps)
    steps.start()
    return steps
  }
}

const newRun = (runId: string) => ({ runId, workflow: 'w', args: '[]', parent: null, plannedSteps: 0 })
const waitFor = (each: MeshStep) => ({
  turn: { status: 'waiting', wakeAt: each.until, waitingFor: each.signal } as const,
  meshStep: meshItem(each)
})

/** Runs in the database of the program. */
async function inDatabase(t: Test): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'mesh-queue-'))
  const place = { file: join(folder, 'runs.db'), busyTimeoutMs: 5_000, synchronous: 'normal' } as const
  const store = await openFile(place.file, place)
  const connection = new FileConnection(place)
  t.teardown(async () => {
    connection.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await prepareStore(store)
  const log: string[] = []
  const none = () => undefined
  const { workflows } = databaseDurable(connection, { program: 'p', metricSession: null }, none, none)
  const again: World['again'] = async each => {
    const now = Date.now()
    workflows.claim(each.runId, { owner: 'turn', now, until: now + LEASE_MS })
    workflows.record(each.runId, 'turn', [waitFor(each)], now)
  }
  return {
    log,
    open: opener(t, databaseMeshQueue(store, 'p'), log),
    async begin(each) {
      workflows.create({ ...newRun(each.runId), isCalled: false }, 1)
      await again(each)
    },
    again,
    async claim(owner) {
      await store.batch(crd.claimItems(meshQueue('p'), owner, { max: 9, leaseMs: LEASE_MS }).statements)
    },
    async cancel(runId) {
      await store.execute("UPDATE workflow_run_log SET status = 'cancelled' WHERE run_id = ?", [runId])
    },
    async count() {
      const { rows } = await store.query('SELECT count(*) FROM coord_items WHERE queue = ?', [meshQueue('p')])
      return Number(rows[0]?.[0])
    },
    async signals() {
      const { rows } = await store.query('SELECT signal_key, payload_json FROM workflow_signal_log ORDER BY id', [])
      return rows.map(([key, payload]) => [String(key), JSON.parse(String(payload))])
    }
  }
}

let server: PostgresServer | null = null
let repositories = 0
t.teardown(() => server?.remove())

/** Runs on a server that hosts share. */
async function shared(t: Test): Promise<World> {
  server ??= await PostgresServer.start({ fsync: 'off' })
  const address = parseServerAddress({ url: server.url(), folder: '/' })
  const store = new PostgresCoordination({ address, connections: 4, fanout: null, log: QUIET as unknown as Logger })
  t.teardown(() => store.close())
  const runs = store.workflows(`r${++repositories}`)
  const log: string[] = []
  const known: MeshStep[] = []
  const again: World['again'] = async each => {
    const now = Date.now()
    const claim = await runs.claim(each.runId, { owner: 'turn', leaseMs: LEASE_MS, now, again: false })
    if (claim === null || 'heldBy' in claim) throw new Error('not claimed')
    await runs.record(each.runId, claim.token, [waitFor(each)], { owner: 'turn', now })
  }
  return {
    log,
    open: opener(t, sharedMeshQueue(runs, 'p'), log),
    async begin(each) {
      known.push(each)
      const plan = { session: null, node: null, version: null }
      await runs.create({ ...newRun(each.runId), program: 'p', delayMs: 0, plan }, 1)
      await again(each)
    },
    again,
    claim: async owner => void (await runs.claimMesh('p', owner, { max: 9, leaseMs: LEASE_MS })),
    cancel: async runId => void (await runs.cancel(runId, 1)),
    async count() {
      const { isReady, leased } = await runs.outlook('p', 'mesh')
      return leased.length + (isReady ? 1 : 0)
    },
    async signals() {
      const found: [string, unknown][] = []
      for (const { runId, signal } of known) {
        const { payload = null } = (await runs.signal(runId, signal)) ?? {}
        if (payload !== null) found.push([signal, JSON.parse(payload)])
      }
      return found
    }
  }
}

const STORES = { 'the database': [inDatabase, false], 'a server': [shared, noPostgres] } as const

const step = (more: Partial<MeshStep> = {}): MeshStep => ({
  runId: 'r',
  signal: 'svc.mesh:w-0:1:9',
  until: Date.now() + 3_600_000,
  operation: 'dispatch',
  workflow: 'w',
  activity: 'mesh_w',
  labels: ['gpu'],
  args: { n: 1 },
  ...more
})

async function until<A>(look: () => A | Promise<A>, is: (found: A) => boolean): Promise<A> {
  for (let left = 4_800; ; left--) {
    const found = await look()
    if (is(found) || left === 0) return found
    await sleep(25)
  }
}

const begun = (mesh: FakeMesh, count = 1) =>
  until(
    () => mesh.requests.length,
    length => length >= count
  )

for (const [name, [openWorld, skip]] of Object.entries(STORES)) {
  t.test(
    `steps in ${name}: one that is stored twice is done once; its answer is stored, then it is forgotten`,
    { skip },
    async t => {
      const { open, begin, again, signals, count } = await openWorld(t)
      const mesh = new FakeMesh()
      const steps = open(mesh)
      const request = step()
      await begin(request)
      steps.poke()
      await begun(mesh)
      await again(request)
      t.match(mesh.requests, [
        { key: /^[-0-9a-f]{36} r svc.mesh:w-0:1:9$/, operation: 'dispatch', labels: ['gpu'], args: { n: 1 } }
      ])
      t.ok((mesh.requests[0]?.timeoutMs ?? 0) > 3_000_000)
      mesh.end({ control: 'dispatch_ok', output: 'done' })
      const answer = [request.signal, { kind: 'done', outcome: { control: 'dispatch_ok', output: 'done' } }]
      t.same(await until(signals, found => found.length > 0), [answer])
      await until(
        () => mesh.forgotten.length,
        length => length > 0
      )
      t.same(
        mesh.forgotten,
        mesh.requests.map(({ key }) => key)
      )
      await again(request)
      t.equal(await until(count, left => left === 0), 0)
      t.equal(mesh.requests.length, 1, 'a turn that had not seen the answer stored it again')
      t.same(await signals(), [answer])
    }
  )

  t.test(
    `steps in ${name}: those of a process that stops, and of one that was killed, continue in another`,
    { skip },
    async t => {
      const { open, begin, claim, signals } = await openWorld(t)
      const [first, second] = [new FakeMesh(), new FakeMesh()]
      await begin(step())
      const stopping = open(first)
      await begun(first)
      await stopping.close()
      t.same(first.aborted, ['Error'], 'the work goes on')
      await begin(step({ runId: 'q' }))
      await claim(ownerOf('x').replace(/^\d+/, '4194999'))
      open(second)
      await begun(second, 2)
      const key = first.requests[0]?.key ?? ''
      t.same(second.requests.map(({ key }) => key).sort(), [key.replace(' r ', ' q '), key], 'with the same key')
      t.same(await signals(), [])
      second.end(new Error('no memory'))
      t.match(await until(signals, found => found.length === 2), [
        [/svc.mesh/, { kind: 'failed', error: 'no memory' }],
        [/svc.mesh/, { kind: 'failed', error: 'no memory' }]
      ])
    }
  )

  t.test(
    `steps in ${name}: one ends at its time limit, also if that passed while no process was running`,
    { skip },
    async t => {
      const { open, begin, signals } = await openWorld(t)
      const mesh = new FakeMesh()
      await begin(step({ until: Date.now() + 100 }))
      await begin(step({ runId: 'past', until: Date.now() - 1 }))
      open(mesh)
      t.match(await until(signals, found => found.length === 2), [
        [/svc.mesh/, { kind: 'failed', error: 'the time limit of mesh_w is over' }],
        [/svc.mesh/, { kind: 'failed', error: 'the time limit of mesh_w is over' }]
      ])
      for (const name of mesh.aborted) t.equal(name, 'TimeoutError')
    }
  )

  t.test(`steps in ${name}: without a mesh, the answer says why the step is skipped`, { skip }, async t => {
    const { open, begin, signals } = await openWorld(t)
    await begin(step())
    open(undefined)
    t.match(await until(signals, found => found.length === 1), [
      [/svc.mesh/, { kind: 'skipped', reason: 'the plugin mesh-node is not active' }]
    ])
    const other = await openWorld(t)
    await other.begin(step())
    other.open(new FakeMesh(), false)
    t.match(await until(other.signals, found => found.length === 1), [
      [/svc.mesh/, { kind: 'skipped', reason: 'SVC_MESH_ENABLED is not set' }]
    ])
  })

  t.test(`steps in ${name}: one is cancelled when its run was cancelled`, { skip }, async t => {
    const { open, begin, cancel } = await openWorld(t)
    const mesh = new FakeMesh()
    await begin(step())
    open(mesh)
    await begun(mesh)
    await cancel('r')
    await until(
      () => mesh.aborted.length,
      length => length > 0
    )
    t.same(mesh.aborted, ['TimeoutError'])
  })
}

t.test('a host without a mesh leaves steps to one that has a mesh', { skip: noPostgres }, async t => {
  const { open, begin, signals } = await shared(t)
  const mesh = new FakeMesh()
  const capable = open(mesh)
  const lacking = open(undefined)
  await begin(step({ runId: 'first' }))
  capable.poke()
  await begun(mesh)
  for (let each = 0; each < 9; each++) {
    await begin(step({ runId: `run ${each}` }))
    lacking.poke()
  }
  await begun(mesh, 10)
  mesh.end({ control: 'dispatch_ok' })
  const found = await until(signals, all => all.length === 10)
  t.equal(found.length, 10)
  for (const [, answer] of found) t.match(answer, { kind: 'done' })
})
