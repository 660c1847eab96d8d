import { meshStoreScope } from '@svc/contracts'
import t from 'tap'
import { nodeReport, openWorld } from './world.ts'

/** Bytes that a node reads at most in one answer. */
const READABLE = 16 * 1024 * 1024

t.test('a node with a huge record is refused, and its known record stays', async t => {
  const { join, post, get } = await openWorld(t)
  t.match(await join('n1', { junk: 'x'.repeat(33_000) }), {
    status: 413,
    text: /^mesh: the record of a node has 33\d+/
  })
  t.same((await get('/nodes')).json?.nodes, [])
  await join('n1', { junk: 'small' })
  const beat = { ...nodeReport('n1'), more: 'x'.repeat(33_000) }
  t.equal((await post('/heartbeat', beat)).status, 413)
  t.match((await get('/nodes')).json?.nodes, [{ id: 'n1', junk: 'small' }])
})

t.test(
  'a flood of nodes does not make the list too long for its readers, nor ends the heartbeats of others',
  async t => {
    const { join, post, get } = await openWorld(t)
    await join('honest')
    // Three bytes each in UTF-8.
    const junk = '€'.repeat(10_800)
    const statuses: number[] = []
    let next = 0
    const flood = async (): Promise<void> => {
      while (next < 500) statuses.push((await join(`n${next++}`, { junk })).status)
    }
    await Promise.all(Array.from({ length: 8 }, flood))
    t.same([...new Set(statuses)].sort(), [200, 503])
    t.match(await join('late', { junk }), {
      status: 503,
      text: /no room for the record of a node.*server_stale_prune_ms/
    })
    const list = await get('/nodes')
    t.ok(Buffer.byteLength(list.text) < READABLE)
    const beat = { ...nodeReport('honest'), loaded_llm_models: ['a-model'] }
    t.match(await post('/heartbeat', beat), { status: 200, json: { loaded_llm_models: ['a-model'] } })
    // Room is free again once nodes have left.
    for (let index = 0; index < 20; index += 1) await post('/leave', { id: `n${index}` })
    let status = 503
    while (status === 503) status = (await join('late', { junk })).status
    t.equal(status, 200)
  }
)

t.test('views are bounded together, and one more request reads no more than their limit', async t => {
  const { join, post, get } = await openWorld(t, { control: { http_max_body_bytes: 4_194_304 } })
  const task = (size: number) => ({
    task_id: 1,
    agent_id: 1,
    description: 'd',
    status: 'Queued',
    priority: 'Normal',
    category: 'c',
    role: 'r',
    complexity: 1,
    trace_id: 't',
    placement_reason: 'p',
    created_at_ms: 1,
    junk: 'x'.repeat(size)
  })
  const view = (node: string, size: number) => ({
    node_id: node,
    repository_id: 'r',
    store_id: 's',
    mailbox: '7',
    host: 'h',
    pid: 1,
    agents: 0,
    open: { Queued: 0, InProgress: 0, Blocked: 0, BlockedOnApproval: 0, Doubted: 0 },
    ended: { completed: 0, failed: 0, cancelled: 0 },
    tasks: [task(size)]
  })
  await join('huge')
  t.equal((await post('/x/views', view('huge', 1_100_000))).status, 413)
  const statuses: number[] = []
  for (let index = 0; index < 36; index += 1) {
    await join(`n${index}`)
    statuses.push((await post('/x/views', view(`n${index}`, 1_000_000))).status)
  }
  t.equal(statuses[0], 204)
  t.equal(statuses.at(-1), 503)
  const list = await get('/x/views?repository_id=r')
  t.equal(list.status, 200)
  t.ok(Buffer.byteLength(list.text) < READABLE)
  t.equal((await post('/x/views', view('n0', 10))).status, 204, 'a view may become smaller')
})

t.test('the list of leases stays readable, however long their keys are', async t => {
  const { join, get, store } = await openWorld(t)
  await join('n1')
  // As stored for the control plane without a scope; many requests would take a minute.
  const scope = meshStoreScope(null)
  const key = '\u0001'.repeat(1_900)
  for (let index = 0; index < 1_600; index += 1) await store.grant(scope, `${key}${index}`, 'n1', 3_600_000)
  const list = await get('/exec/leases')
  t.equal(list.status, 200)
  t.ok(Buffer.byteLength(list.text) < READABLE)
  t.ok((list.json?.leases.length as number) > 1_000, `${list.json?.leases.length} leases`)
})
