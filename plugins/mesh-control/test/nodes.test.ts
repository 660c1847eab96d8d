import type { Coordination } from '@svc/contracts'
import t from 'tap'
import { MESH_TOKEN, nodeReport, openWorld } from './world.ts'

t.test('a node joins, is listed with what it sent, and leaves', async t => {
  const { get, post, join } = await openWorld(t)
  const joined = await join('n1', { labels: ['x'], quarantined: true, custom: { deep: [1] } })
  t.equal(joined.status, 200)
  t.match(joined.json, { id: 'n1', version: '1.0.0', labels: ['x'], custom: { deep: [1] } })
  t.equal(joined.json?.quarantined, undefined, 'a client cannot set it')
  t.ok((joined.json?.last_seen_unix_ms as number) > 1_000_000, 'the server sets the time')
  const list = await get('/nodes')
  t.match(list.json, { schema_version: 1, nodes: [{ id: 'n1', custom: { deep: [1] } }], queue_depth: 0 })
  t.equal((await post('/leave', { id: 'n1' })).status, 204)
  t.match(await post('/leave', { id: 'n1' }), { status: 404, text: /^mesh: / })
  t.same((await get('/nodes')).json?.nodes, [])
})

t.test('a join replaces the record, a heartbeat merges its fields', async t => {
  const { post, join } = await openWorld(t)
  await join('n1', { gpu_total_count: 2, pool_id: 'p', mine: 1 })
  const beat = { id: 'n1', version: '2', capabilities: { gpu_cuda: true }, gpu_healthy_count: 1, mine: 2, more: null }
  const merged = (await post('/heartbeat', beat)).json
  t.match(merged, { version: '2', gpu_total_count: 2, gpu_healthy_count: 1, pool_id: 'p', mine: 2 })
  t.same(merged?.capabilities, { gpu_cuda: true })
  t.notOk('more' in (merged ?? {}), 'null means absent')
  const replaced = (await join('n1', { pool_id: 'q' })).json
  t.equal(replaced?.pool_id, 'q')
  t.equal(replaced?.gpu_total_count, undefined)
  t.match((await post('/heartbeat', nodeReport('n2'))).json, { id: 'n2' }, 'an unknown node is added')
})

t.test('quarantine and maintenance survive a join, and no client can lift the quarantine', async t => {
  const { post, join, get } = await openWorld(t)
  await join('n1')
  await post('/admin/quarantine', { node_id: 'n1', quarantined: true })
  await post('/admin/maintenance', { node_id: 'n1', maintenance: true })
  t.match((await join('n1', { quarantined: false, maintenance: false })).json, { quarantined: true, maintenance: true })
  t.match((await post('/heartbeat', { ...nodeReport('n1'), quarantined: false })).json, {
    quarantined: true,
    maintenance: true
  })
  await post('/leave', { id: 'n1' })
  t.match((await join('n1')).json, { quarantined: true }, 'also over leaving and joining')
  await post('/admin/quarantine', { node_id: 'n1', quarantined: false })
  t.equal((await get('/nodes')).json?.nodes[0].quarantined, undefined)
})

t.test('a node may switch its own maintenance by a heartbeat; timed maintenance ends by itself', async t => {
  const { post, join, get, store } = await openWorld(t)
  await join('n1')
  t.match((await post('/heartbeat', { ...nodeReport('n1'), maintenance: true })).json, { maintenance: true })
  t.match((await post('/heartbeat', nodeReport('n1'))).json, { maintenance: true }, 'absent means unchanged')
  t.equal((await post('/heartbeat', { ...nodeReport('n1'), maintenance: false })).json?.maintenance, undefined)
  const now = Math.floor(await store.now())
  const both = { maintenance_until_unix_ms: now + 86_400_000, maintenance_for_ms: 1_000 }
  await post('/admin/maintenance', { node_id: 'n1', maintenance: true, ...both })
  t.equal((await get('/nodes')).json?.nodes[0].maintenance_until_unix_ms, now + 86_400_000, 'until wins over for')
  await post('/admin/maintenance', { node_id: 'n1', maintenance: true, maintenance_until_unix_ms: now - 1 })
  const node = (await get('/nodes')).json?.nodes[0]
  t.equal(node.maintenance, undefined)
  t.equal(node.maintenance_until_unix_ms, undefined)
  t.equal((await post('/exec/lease/grant', { claimer_node_id: 'n1', scope_key: 'k' })).status, 200)
  await post('/admin/maintenance', { node_id: 'n1', maintenance: true, maintenance_for_ms: 600_000 })
  t.ok((await get('/nodes')).json?.nodes[0].maintenance_until_unix_ms > now)
  await post('/admin/maintenance', { node_id: 'n1', maintenance: false, maintenance_for_ms: 600_000 })
  t.equal((await get('/nodes')).json?.nodes[0].maintenance_until_unix_ms, undefined, 'off clears until')
})

t.test('the list has a tag, and changes after a version', async t => {
  const { get, join, post } = await openWorld(t)
  await join('n1')
  const first = await get('/nodes')
  const etag = first.headers.get('etag') as string
  const same = await get('/nodes', { headers: { 'if-none-match': `"other", ${etag}` } })
  t.equal(same.status, 304)
  t.equal(same.text, '')
  t.equal(same.headers.get('etag'), etag)
  await join('n2')
  const changed = await get('/nodes', { headers: { 'if-none-match': etag } })
  t.equal(changed.status, 200)
  const since = await get(`/nodes?since=${first.json?.version}`)
  t.match(since.json, { complete: false, nodes: [{ id: 'n2' }], removed: [] })
  t.equal(since.json?.nodes.length, 1)
  await post('/leave', { id: 'n1' })
  t.match((await get(`/nodes?since=${changed.json?.version}`)).json, { complete: false, nodes: [], removed: ['n1'] })
  t.match((await get('/nodes?since=0')).json, { nodes: [{ id: 'n2' }] })
})

t.test('signs of life are no changes, and stale nodes are named on request', async t => {
  const wrap = (store: Coordination): Coordination =>
    ({ ...bound(store), now: async () => (await store.now()) + 60_000 }) as unknown as Coordination
  const { get, join, post } = await openWorld(t, { wrap })
  await join('n1')
  const { version } = (await get('/nodes')).json ?? {}
  const before = (await get('/nodes')).json?.nodes[0].last_seen_unix_ms
  t.equal((await post('/heartbeat', nodeReport('n1'))).status, 200)
  const idle = (await get(`/nodes?since=${version}&stale_ms=30000`)).json
  t.same(idle, { schema_version: 1, nodes: [], version, complete: false, removed: [], stale: ['n1'], count: 1 })
  t.same((await get(`/nodes?since=${version}&stale_ms=90000`)).json?.stale, [])
  t.equal((await get(`/nodes?since=${version}&stale_ms=x`)).status, 400)
  let seen = before
  while (seen === before) seen = (await get('/nodes')).json?.nodes[0].last_seen_unix_ms
  t.ok(seen > before, 'the complete list has the new time')
})

t.test('nodes that were not seen for too long are left out of the list, and still known', async t => {
  const wrap = (store: Coordination): Coordination =>
    ({ ...bound(store), now: async () => (await store.now()) + 60_000 }) as unknown as Coordination
  const { get, join, post } = await openWorld(t, { control: { server_stale_prune_ms: 30_000 }, wrap })
  await join('n1')
  t.same((await get('/nodes')).json?.nodes, [])
  t.equal((await post('/leave', { id: 'n1' })).status, 204)
})

t.test('concurrent heartbeats and joins of one node all succeed, and none is lost', async t => {
  const { post, get } = await openWorld(t)
  const replies = await Promise.all(
    Array.from({ length: 30 }, (_, index) => post('/heartbeat', { ...nodeReport('n1'), [`field${index}`]: index }))
  )
  t.ok(
    replies.every(({ status }) => status === 200),
    `${replies.map(({ status }) => status)}`
  )
  const node = (await get('/nodes')).json?.nodes[0]
  for (let index = 0; index < 30; index += 1) t.equal(node[`field${index}`], index)
})

t.test('a one-time token is exchanged once, also by racing callers', async t => {
  const control = { bootstrap_token: 'boot-0123456789abcdef' }
  const { post } = await openWorld(t, { mesh: { token: MESH_TOKEN, scope_id: 's' }, control })
  t.match(await post('/bootstrap/exchange', { bootstrap_token: 'wrong' }), { status: 401, text: 'mesh: unauthorized' })
  t.equal((await post('/bootstrap/exchange', {})).status, 400)
  const replies = await Promise.all(
    Array.from({ length: 6 }, () => post('/bootstrap/exchange', { bootstrap_token: control.bootstrap_token }))
  )
  t.same(replies.map(({ status }) => status).sort(), [200, 410, 410, 410, 410, 410])
  t.same(replies.find(({ status }) => status === 200)?.json, { mesh_token: MESH_TOKEN, scope_id: 's' })
})

t.test('the exchange needs a token, a mesh token, and a token that has not expired', async t => {
  const none = await openWorld(t, { mesh: { token: MESH_TOKEN } })
  t.equal((await none.post('/bootstrap/exchange', { bootstrap_token: 'x' })).status, 404)
  const late = await openWorld(t, {
    mesh: { token: MESH_TOKEN },
    control: { bootstrap_token: 'boot', bootstrap_expires_unix_ms: 1 }
  })
  t.equal((await late.post('/bootstrap/exchange', { bootstrap_token: 'boot' })).status, 410)
  const poor = await openWorld(t, { control: { bootstrap_token: 'boot' } })
  t.equal((await poor.post('/bootstrap/exchange', { bootstrap_token: 'boot' })).status, 503)
  t.equal((await poor.post('/x/pair', {})).status, 503)
})

t.test('an administrator creates further one-time tokens', async t => {
  const { post } = await openWorld(t, { mesh: { token: MESH_TOKEN } })
  const paired = await post('/x/pair', {}, { token: MESH_TOKEN })
  t.equal(paired.status, 200)
  const { bootstrap_token } = paired.json as { bootstrap_token: string }
  t.equal((await post('/bootstrap/exchange', { bootstrap_token: 'guess' })).status, 401)
  t.equal((await post('/bootstrap/exchange', { bootstrap_token })).status, 200)
  t.equal((await post('/bootstrap/exchange', { bootstrap_token })).status, 410)
})

t.test('many wrong one-time tokens of a client are refused without a comparison', async t => {
  const { post } = await openWorld(t, { mesh: { token: MESH_TOKEN }, control: { bootstrap_token: 'boot' } })
  const statuses = new Set<number>()
  for (let guess = 0; guess < 70; guess += 1)
    statuses.add((await post('/bootstrap/exchange', { bootstrap_token: `guess${guess}` })).status)
  t.same([...statuses], [401, 429])
})

/** Returns a store whose methods can be replaced. */
function bound(store: Coordination): Record<string, unknown> {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(store)).filter(name => name !== 'constructor')
  return Object.fromEntries(
    [...names, ...Object.keys(store)].map(name => {
      const value = store[name as keyof Coordination] as unknown
      return [name, typeof value === 'function' ? value.bind(store) : value]
    })
  )
}
