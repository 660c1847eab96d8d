import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RepositoryTask, type RepositoryTasks, repositoryTasks } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import mesh from '#plugin'
import { faultsOf, leaseRow, leaseRowOf, MeshReader, nodeRow, nodeRowOf } from '#root'
import { type Browser, openWorld as openConsole } from '../../dashboard/test/world.ts'
import {
  MESH_TOKEN,
  nodeReport,
  openWorld as openPlane,
  SUBMITTER_TOKEN,
  WORKER_TOKEN,
  type World
} from '../../mesh-control/test/world.ts'

interface Answer {
  readonly status: number
  readonly body: any
}

interface Console {
  readonly owner: Browser
  readonly viewer: Browser
  readonly operator: Browser
  call(operation: string, input?: object, by?: Browser): Promise<Answer>
}

async function openPage(t: Test, others: readonly Plugin[] = []): Promise<Console> {
  const world = await openConsole({ plugins: [mesh as Plugin, ...others] })
  t.teardown(() => world.close())
  const owner = await world.signIn('owner')
  return {
    owner,
    viewer: await world.signIn('viewer'),
    operator: await world.signIn('operator'),
    async call(operation, input = {}, by = owner) {
      // The console confirms a destructive call with the name of the operation.
      const response = await by.call(operation, input, { 'x-svc-confirm': operation })
      const text = await response.text()
      return { status: response.status, body: text === '' ? null : JSON.parse(text) }
    }
  }
}

/** Opens a control plane, and a console whose project has joined it. */
async function openBoth(t: Test): Promise<Console & { readonly plane: World; readonly url: string }> {
  const plane = await openPlane(t, { mesh: { token: MESH_TOKEN }, control: { bootstrap_token: 'boot-1' } })
  const url = `http://127.0.0.1:${plane.port}`
  const page = await openPage(t)
  const joined = await page.call('mesh.join', { url, bootstrap: 'boot-1' })
  t.equal(joined.status, 200, JSON.stringify(joined.body))
  return { ...page, plane, url }
}

t.test('the console accepts the page Mesh; only owners get its actions', async t => {
  const { owner, viewer } = await openPage(t)
  const state = async (by: Browser) => (await (await by.get('/ui/api/console')).json()) as any
  const forOwner = await state(owner)
  t.same(forOwner.broken, [])
  t.ok(forOwner.pages.some(({ path }: any) => path === 'mesh/mesh'))
  t.same(
    forOwner.actions.map(({ label }: any) => label),
    ['Start maintenance', 'End maintenance', 'Quarantine', 'Admit', 'Revoke']
  )
  const forViewer = await state(viewer)
  t.ok(forViewer.pages.some(({ path }: any) => path === 'mesh/mesh'))
  t.same(forViewer.actions, [])
})

t.test('a project without a mesh sees empty tables, and how to join', async t => {
  const { call, viewer } = await openPage(t)
  t.match(await call('mesh.check', {}, viewer), {
    status: 200,
    body: { state: 'not joined', fault_count: 0, control_planes: [], text: /svc mesh join/ }
  })
  t.match(await call('mesh.nodes.feed'), { status: 200, body: { reset: true, upsert: [], more: false } })
  t.match(await call('mesh.leases.feed'), { status: 200, body: { upsert: [] } })
  t.match(await call('mesh.nodes'), { status: 409, body: { error: { code: 'MSP_NOT_JOINED', hint: /svc mesh join/ } } })
  t.match(await call('mesh.leases'), { status: 409, body: { error: { code: 'MSP_NOT_JOINED' } } })
})

t.test('the page shows nodes, leases and faults; an owner changes them, an operator may not', async t => {
  const { call, operator, viewer, plane } = await openBoth(t)
  await plane.join('gpu-1', {
    capabilities: { gpu_cuda: true, labels: ['gpu-pool'], hostname: 'box' },
    gpu_total_count: 2,
    gpu_healthy_count: 1,
    gpu_readiness_ok: false,
    gpu_readiness_reason: 'driver mismatch',
    cpu_usage_pct: 50
  })
  await plane.join('cpu-1')
  const { json: lease } = await plane.post(
    '/exec/lease/grant',
    { claimer_node_id: 'cpu-1', scope_key: 'task:r:1' },
    { token: MESH_TOKEN }
  )
  const first = await call('mesh.nodes.feed', {}, viewer)
  t.match(first.body.upsert, [
    { id: 'cpu-1', state: 'ready', gpu: 'none', leases: 1 },
    {
      id: 'gpu-1',
      state: 'ready',
      gpu: 'not ready',
      gpu_detail: '1 of 2 healthy, driver mismatch',
      labels: ['gpu-pool'],
      cpu_usage: 0.5,
      leases: 0
    }
  ])
  t.match((await call('mesh.check', {}, viewer)).body, {
    state: 'degraded',
    nodes: 2,
    ready: 2,
    leases: 1,
    queue_depth: 0,
    control_planes: [{ state: 'ready' }],
    faults: [{ severity: 'warning', subject: 'gpu-1', fault: /driver mismatch/, next_step: /nvidia-smi/ }]
  })

  const quarantine = { node: 'cpu-1', state: 'on' }
  t.equal((await call('mesh.admin.quarantine', quarantine, operator)).status, 403)
  t.equal((await call('mesh.admin.quarantine', quarantine)).status, 200)
  const { body: changes } = await call('mesh.nodes.feed', { since: first.body.cursor })
  t.match(changes, { reset: false, upsert: [{ id: 'cpu-1', state: 'quarantined', quarantined: true }] })
  t.equal(changes.upsert.length, 1, 'only the changed node')
  t.match((await call('mesh.leases.feed')).body.upsert, [
    { lease_id: lease?.lease_id, scope_key: 'task:r:1', holder_node_id: 'cpu-1', holder_state: 'quarantined' }
  ])
  t.match((await call('mesh.check')).body.text, /the holder cpu-1 of task:r:1 is in quarantine\n {2}wait until it/)

  await call('mesh.admin.maintenance', { node: 'gpu-1', state: 'on', for_ms: 60_000 })
  t.match((await call('mesh.nodes', { state: 'maintenance' })).body, {
    total: 1,
    nodes: [{ id: 'gpu-1', maintenance: true, maintenance_until_unix_ms: Number }]
  })
  t.match((await call('mesh.nodes', { label: 'gpu-pool', limit: 1 })).body, { total: 1 })
  t.match((await call('mesh.nodes', { node: 'cpu-1' })).body, { total: 1, nodes: [{ id: 'cpu-1' }] })
  t.match((await call('mesh.nodes', { label: 'none' })).body, { total: 0, nodes: [] })

  t.equal((await call('mesh.admin.revoke_lease', { lease: lease?.lease_id }, operator)).status, 403)
  t.equal((await call('mesh.admin.revoke_lease', { lease: lease?.lease_id })).status, 200)
  t.match((await call('mesh.leases')).body, { total: 0, leases: [] })
  t.match(await call('mesh.admin.revoke_lease', { lease: lease?.lease_id }), {
    body: { error: { code: 'MSP_REFUSED', hint: /svc mesh leases/ } }
  })
})

t.test('a lease whose holder has left the mesh is a fault', async t => {
  const { call, plane } = await openBoth(t)
  await plane.join('n1')
  await plane.post('/exec/lease/grant', { claimer_node_id: 'n1', scope_key: 'task:r:2' }, { token: MESH_TOKEN })
  await plane.post('/leave', { id: 'n1' }, { token: MESH_TOKEN })
  t.match((await call('mesh.check')).body, {
    nodes: 0,
    faults: [{ fault: 'the holder n1 of task:r:2 has left the mesh' }]
  })
  t.match((await call('mesh.leases', { holder: 'n1' })).body, { leases: [{ holder_state: 'missing' }] })
})

t.test('an orchestrator that holds no lease is idle, and no fault', async t => {
  const plane = await openPlane(t, { mesh: { token: MESH_TOKEN } })
  await plane.join('orch-a', { workload_classes: ['orchestrator'] })
  await plane.join('orch-b', { workload_classes: ['orchestrator'] })
  await plane.post('/exec/lease/grant', { claimer_node_id: 'orch-b', scope_key: 'task:r:3' }, { token: MESH_TOKEN })
  const reader = readerOf({ urls: [`http://127.0.0.1:${plane.port}`], staleMs: 1 })
  // The control plane serves the times at which it read the nodes for up to a second.
  let reading = await reader.read(signal)
  while (reading.nodes.some(({ state }) => state === 'ready')) {
    await sleep(50)
    reader.forget()
    reading = await reader.read(signal)
  }
  t.match(reading.nodes, [
    { id: 'orch-a', state: 'idle' },
    { id: 'orch-b', state: 'stale' }
  ])
  t.match(faultsOf(reading), [{ fault: 'the holder orch-b of task:r:3 sends no heartbeats' }])
})

t.test('1,000 nodes come in pages, and a change of one as one row', async t => {
  const { call, plane } = await openBoth(t)
  const ids = Array.from({ length: 1_000 }, (_, index) => `node-${String(index).padStart(4, '0')}`)
  // As the control plane stores it: without the time, which the store keeps.
  const record = (id: string) => JSON.stringify({ ...nodeReport(id), last_seen_unix_ms: undefined })
  await Promise.all(ids.map(id => plane.store.nodes.put('default', id, record(id), null)))
  // The control plane serves a list of nodes for a moment.
  while ((await call('mesh.nodes', { limit: 1 })).body.total < ids.length) await sleep(100)
  const seen = new Map<string, any>()
  let since: string | undefined
  let pages = 0
  for (let more = true; more; pages += 1) {
    const { body } = await call('mesh.nodes.feed', { limit: 300, ...(since === undefined ? {} : { since }) })
    for (const row of body.upsert) seen.set(row.id, row)
    since = body.cursor
    more = body.more
  }
  t.same([...seen.keys()], ids)
  t.equal(pages, 4)
  t.match((await call('mesh.check')).body, { nodes: 1_000, ready: 1_000, faults: [] })
  await call('mesh.admin.quarantine', { node: 'node-0500', state: 'on' })
  t.match((await call('mesh.nodes.feed', { since })).body.upsert, [{ id: 'node-0500', state: 'quarantined' }])
  await plane.post('/leave', { id: 'node-0501' }, { token: MESH_TOKEN })
  await call('mesh.admin.quarantine', { node: 'node-0500', state: 'off' })
  t.match((await call('mesh.nodes.feed', { since })).body.remove, ['node-0501'])
})

t.test('an unreachable control plane is a fault; without any, the tables show the error', async t => {
  const { call, plane } = await openBoth(t)
  const dead = 'http://127.0.0.1:1'
  t.equal((await call('mesh.join', { url: `${dead},http://127.0.0.1:${plane.port}` })).status, 200)
  t.match((await call('mesh.check')).body, {
    state: 'degraded',
    nodes: 0,
    control_planes: [{ url: dead, state: 'unreachable' }, { state: 'ready' }],
    faults: [{ severity: 'error', subject: dead, next_step: /svc mesh serve/ }]
  })
  t.equal((await call('mesh.nodes')).status, 200, 'the other control plane answers')
  await plane.kernel.close()
  // A reading is kept for a moment, in proportion to its duration.
  while ((await call('mesh.check')).body.state !== 'unreachable') await sleep(100)
  t.match(await call('mesh.check'), {
    status: 200,
    body: { state: 'unreachable', nodes: undefined, faults: [{ subject: dead }, { severity: 'error' }] }
  })
  for (const operation of ['mesh.nodes', 'mesh.nodes.feed', 'mesh.leases', 'mesh.leases.feed'])
    t.match(await call(operation), {
      status: 503,
      body: { error: { code: 'MSP_UNREACHABLE', hint: /svc mesh serve/ } }
    })
})

interface ReaderOptions {
  readonly urls: readonly string[]
  readonly token?: string
  readonly staleMs?: number
}

function readerOf({ urls, token = MESH_TOKEN, staleMs = 60_000 }: ReaderOptions): MeshReader {
  return new MeshReader({
    settings: { controlUrls: urls, nodeId: 'own', token: () => token },
    staleMs: () => staleMs
  })
}

const { signal } = new AbortController()

t.test('a node is stale by the clock of the control plane', async t => {
  const plane = await openPlane(t, { mesh: { token: MESH_TOKEN } })
  await plane.join('own')
  const urls = [`http://127.0.0.1:${plane.port}`]
  const reader = readerOf({ urls, staleMs: 200 })
  const now = Date.now
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() + 3_600_000
  t.match(await readerOf({ urls }).read(signal), { nodes: [{ id: 'own', own: true, state: 'ready' }] })
  for (;;) {
    reader.forget()
    const { nodes } = await reader.read(signal)
    if (nodes[0]?.state === 'stale') break
    await sleep(50)
  }
  await plane.join('own')
  reader.forget()
  t.match((await readerOf({ urls, staleMs: 0 }).read(signal)).nodes, [{ state: 'ready' }])
})

t.test('a token without the right to list leases sees the nodes; a wrong token sees the reason', async t => {
  const plane = await openPlane(t, {
    mesh: { token: MESH_TOKEN, worker_token: WORKER_TOKEN, submitter_token: SUBMITTER_TOKEN }
  })
  const urls = [`http://127.0.0.1:${plane.port}`]
  await plane.join('n1')
  const worker = await readerOf({ urls, token: WORKER_TOKEN }).read(signal)
  t.match(worker, { nodes: [{ id: 'n1' }], error: null, leases: [], leasesError: { code: 'MSP_REFUSED' } })
  t.match(worker.leasesError?.hint, /SVC_MESH_ADMIN_TOKEN/)
  t.notOk('leases' in (worker.nodes[0] as object), 'an unknown number is not 0')
  const wrong = await readerOf({ urls, token: 'wrong' }).read(signal)
  t.match(wrong, { nodes: [], error: { code: 'MSP_REFUSED', message: /401/ } })
  t.notMatch(wrong.error?.message, /wrong/)
})

t.test('a server that is no control plane is named as such', async t => {
  const server = createServer((_request, response) => response.writeHead(404).end('no'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.match(await readerOf({ urls: [url] }).read(signal), {
    planes: [{ url, state: 'invalid', detail: /answers \/ready with 404/ }],
    error: { code: 'MSP_REFUSED' }
  })
})

t.test('rows have valid fields, whatever another program sends', t => {
  const [checkNode, checkLease] = [schemaCheck(nodeRow), schemaCheck(leaseRow)]
  const junk = fc.record(
    {
      id: fc.string({ minLength: 1 }),
      capabilities: fc.oneof(fc.jsonValue(), fc.record({ labels: fc.jsonValue(), gpu_cuda: fc.jsonValue() })),
      workload_classes: fc.jsonValue(),
      gpu_total_count: fc.jsonValue(),
      gpu_healthy_count: fc.jsonValue(),
      gpu_readiness_ok: fc.jsonValue(),
      gpu_readiness_reason: fc.jsonValue(),
      loaded_llm_models: fc.jsonValue(),
      cpu_usage_pct: fc.jsonValue(),
      memory_free_bytes: fc.jsonValue(),
      last_seen_unix_ms: fc.jsonValue(),
      maintenance: fc.jsonValue(),
      maintenance_until_unix_ms: fc.jsonValue(),
      quarantined: fc.jsonValue(),
      version: fc.jsonValue()
    },
    { requiredKeys: ['id'] }
  )
  const context = { ownId: 'own', stale: new Set<string>(), leases: null, now: 1_000 }
  fc.assert(
    fc.property(junk, node => {
      const checked = checkNode(nodeRowOf(node as never, context))
      return checked.ok || t.fail(checked.text)
    })
  )
  fc.assert(
    fc.property(fc.record({ scope_key: fc.jsonValue(), expires_unix_ms: fc.jsonValue() }), fields => {
      const lease = { lease_id: '1', holder_node_id: 'n1', ...fields }
      const checked = checkLease(leaseRowOf(lease as never, new Map()))
      return checked.ok || t.fail(checked.text)
    })
  )
  t.end()
})

t.test('times beyond the range of dates are left out, since no page can show them', async t => {
  const context = { ownId: 'own', stale: new Set<string>(), leases: null, now: 1_000 }
  const node = { id: 'n1', maintenance: true, maintenance_until_unix_ms: 9e15, last_seen_unix_ms: -9e15 }
  const row = nodeRowOf(node as never, context)
  t.match(row, { state: 'maintenance', seen_unix_ms: 0 })
  t.notOk('maintenance_until_unix_ms' in row)
  const lease = { lease_id: '1', holder_node_id: 'n1', scope_key: 'k', expires_unix_ms: 9e15 }
  const leaseOf = leaseRowOf(lease, new Map())
  t.equal(leaseOf.expires_unix_ms, 0)
  t.notOk('expires' in leaseOf)
})

t.test('placement shows tasks that were sent away and received; without an orchestrator, it says so', async t => {
  const without = await openPage(t)
  t.match(await without.call('mesh.placement'), {
    status: 503,
    body: { error: { code: 'MSP_NO_TASKS', hint: /svc orch tasks/ } }
  })
  const process = { host: 'box', pid: 7, seat: 1, alive: true, own: true }
  const task = (id: number, fields: object) =>
    ({ id, description: `work\nmore`, process, placement_reason: 'local_queue_default', ...fields }) as RepositoryTask
  const items = [
    task(1, {}),
    task(2, {
      placement_reason: 'mesh_remote_lease_hold',
      started_at_ms: 5,
      remote: { idempotency_key: 'k', placer: 'mesh', confirmed: true, lease_id: '9', mesh_node_id: 'gpu-1' }
    }),
    task(3, { remote_origin: { idempotency_key: 'k', submitter_node_id: 'laptop' } }),
    task(4, {
      placement_reason: 'mesh_remote_lease_hold',
      process: { ...process, host: 'other', seat: null, own: false }
    })
  ]
  const asked: unknown[] = []
  const tasks = {
    list: async (filter: unknown) => {
      asked.push(filter)
      return { items, failed: [] }
    }
  } as unknown as RepositoryTasks
  const orchestrator = definePlugin({
    name: 'tasks',
    provides: [repositoryTasks],
    activate: ctx => ctx.provide(repositoryTasks, tasks)
  })
  const { call, viewer } = await openPage(t, [orchestrator as Plugin])
  t.same((await call('mesh.placement', {}, viewer)).body.tasks, [
    {
      key: '2',
      task: 'T-0002',
      description: 'work',
      direction: 'sent',
      process: '7 on box',
      node: 'gpu-1',
      placement_reason: 'mesh_remote_lease_hold',
      lease_id: '9',
      confirmed: true,
      started_at_ms: 5
    },
    {
      key: '3',
      task: 'T-0003',
      description: 'work',
      direction: 'received',
      process: '7 on box',
      node: 'laptop',
      placement_reason: 'local_queue_default'
    },
    {
      key: '4@other',
      task: 'T-0004',
      description: 'work',
      direction: 'sent',
      process: '7 on other',
      placement_reason: 'mesh_remote_lease_hold'
    }
  ])
  t.same(asked, [{ status: 'InProgress' }])
  t.equal((await call('mesh.placement', { limit: 1 })).body.tasks.length, 1)
})
