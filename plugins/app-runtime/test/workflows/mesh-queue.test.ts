import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  coordinationSql as crd,
  type DatabaseStore,
  type MeshActivities,
  type MeshActivityOutcome,
  type MeshActivityRequest
} from '@svc/contracts'
import { FileConnection, openFile } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import { databaseDurable, type MeshStep, MeshSteps, meshQueue, ownerOf, prepareStore } from '#workflows'

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
  readonly store: DatabaseStore
  readonly durable: ReturnType<typeof databaseDurable>
  readonly log: string[]
  /** Opens the steps of a process. */
  open(mesh?: MeshActivities, isEnabled?: boolean): MeshSteps
  signals(): Promise<unknown[]>
}

async function openWorld(t: Test): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'mesh-queue-'))
  const place = { file: join(folder, 'runs.db'), busyTimeoutMs: 5_000, synchronous: 'normal' } as const
  const store = await openFile(place.file, place)
  const connection = new FileConnection(place)
  await prepareStore(store)
  const opened: MeshSteps[] = []
  const log: string[] = []
  t.teardown(async () => {
    for (const each of opened) await each.close()
    connection.close()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    store,
    log,
    durable: databaseDurable(
      connection,
      { program: 'p', metricSession: null },
      () => undefined,
      () => undefined
    ),
    open(mesh, isEnabled = true) {
      const steps = new MeshSteps({
        store,
        program: 'p',
        log: { debug() {}, info() {}, warn: text => log.push(text), error: text => log.push(text) },
        activities: () => mesh,
        status: () => ({ enabled: () => isEnabled }),
        onAnswer() {}
      })
      opened.push(steps)
      steps.start()
      return steps
    },
    async signals() {
      const { rows } = await store.query('SELECT signal_key, payload_json FROM workflow_signal_log ORDER BY id', [])
      return rows.map(([key, payload]) => [key, JSON.parse(String(payload))])
    }
  }
}

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
  for (let left = 2_000; ; left--) {
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

t.test('a step that is requested twice is done once; its answer is stored, then it is forgotten', async t => {
  const { open, signals, store } = await openWorld(t)
  const mesh = new FakeMesh()
  const steps = open(mesh)
  const { until: end, ...request } = step()
  steps.request(step({ until: end }))
  steps.request(step({ until: end }))
  await begun(mesh)
  t.match(mesh.requests, [
    { key: /^[-0-9a-f]{36} r svc.mesh:w-0:1:9$/, operation: 'dispatch', labels: ['gpu'], args: { n: 1 } }
  ])
  t.ok((mesh.requests[0]?.timeoutMs ?? 0) > 3_000_000)
  mesh.end({ control: 'dispatch_ok', output: 'done' })
  t.same(await until(signals, found => found.length > 0), [
    [request.signal, { kind: 'done', outcome: { control: 'dispatch_ok', output: 'done' } }]
  ])
  await until(
    () => mesh.forgotten.length,
    length => length > 0
  )
  t.same(
    mesh.forgotten,
    mesh.requests.map(({ key }) => key)
  )
  steps.request(step({ until: end }))
  const waiting = async () => (await store.query('SELECT count(*) FROM coord_items', [])).rows[0]?.[0]
  t.equal(await until(waiting, count => count === 0), 0)
  t.equal(mesh.requests.length, 1, 'a turn that had not seen the answer requested it again')
  t.equal((await signals()).length, 1)
})

t.test('a step of a process that stops, and of one that was killed, continues in another one with its key', async t => {
  const { open, signals, store } = await openWorld(t)
  const [first, second] = [new FakeMesh(), new FakeMesh()]
  const stopping = open(first)
  stopping.request(step())
  await begun(first)
  await stopping.close()
  t.same(first.aborted, ['Error'], 'the work goes on')
  const killed = ownerOf('x').replace(/^\d+/, '4194999')
  const body = JSON.stringify(step({ runId: 'q' }))
  await store.batch(crd.putItems([{ queue: meshQueue('p'), key: 'q svc.mesh:w-0:1:9', body }]).statements)
  await store.batch(crd.claimItems(meshQueue('p'), killed, { max: 9, leaseMs: 3_600_000 }).statements)
  open(second)
  await begun(second, 2)
  const key = first.requests[0]?.key ?? ''
  t.same(second.requests.map(({ key }) => key).sort(), [key.replace(' r ', ' q '), key])
  t.same(await signals(), [])
  second.end(new Error('no memory'))
  t.match(await until(signals, found => found.length === 2), [
    [/svc.mesh/, { kind: 'failed', error: 'no memory' }],
    [/svc.mesh/, { kind: 'failed', error: 'no memory' }]
  ])
})

t.test('a step ends at its time limit, also if that passed while no process was running', async t => {
  const { open, signals } = await openWorld(t)
  const mesh = new FakeMesh()
  const steps = open(mesh)
  steps.request(step({ until: Date.now() + 100 }))
  steps.request(step({ runId: 'past', until: Date.now() - 1 }))
  t.match(await until(signals, found => found.length === 2), [
    [/svc.mesh/, { kind: 'failed', error: 'the time limit of mesh_w is over' }],
    [/svc.mesh/, { kind: 'failed', error: 'the time limit of mesh_w is over' }]
  ])
  for (const name of mesh.aborted) t.equal(name, 'TimeoutError')
})

t.test('without a mesh, the answer says why the step is skipped', async t => {
  const { open, signals } = await openWorld(t)
  open(undefined).request(step())
  t.match(await until(signals, found => found.length === 1), [
    [/svc.mesh/, { kind: 'skipped', reason: 'the plugin mesh-node is not active' }]
  ])
  const other = await openWorld(t)
  other.open(new FakeMesh(), false).request(step())
  t.match(await until(other.signals, found => found.length === 1), [
    [/svc.mesh/, { kind: 'skipped', reason: 'SVC_MESH_ENABLED is not set' }]
  ])
})

t.test('a step is cancelled when its run was cancelled', async t => {
  const { open, durable, store } = await openWorld(t)
  const mesh = new FakeMesh()
  durable.workflows.create({ runId: 'r', workflow: 'w', args: '[]', parent: null, plannedSteps: 0, isCalled: false }, 1)
  open(mesh).request(step())
  await begun(mesh)
  await store.execute("UPDATE workflow_run_log SET status = 'cancelled' WHERE run_id = 'r'", [])
  await until(
    () => mesh.aborted.length,
    length => length > 0
  )
  t.same(mesh.aborted, ['TimeoutError'])
})
