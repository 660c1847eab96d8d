import type { Coordination } from '@svc/contracts'
import t from 'tap'
import { MESH_TOKEN, message, nodeReport, openWorld, TOKENS } from './world.ts'

const token = { token: MESH_TOKEN }

/** Counts the reads of nodes. */
function counted() {
  const count = { finds: 0, puts: 0 }
  const wrap = (store: Coordination): Coordination => {
    const nodes: Coordination['nodes'] = {
      ...store.nodes,
      find: (...args) => {
        count.finds += 1
        return store.nodes.find(...args)
      },
      put: (...args) => {
        count.puts += 1
        return store.nodes.put(...args)
      }
    }
    return new Proxy(store, {
      get(on, key) {
        if (key === 'nodes') return nodes
        const value = Reflect.get(on, key)
        return typeof value === 'function' ? value.bind(on) : value
      }
    })
  }
  return { count, wrap }
}

t.test('a claim reads the record of its node only after a change, which counts at once', async t => {
  const { count, wrap } = counted()
  const { post, join, store } = await openWorld(t, { mesh: TOKENS, wrap })
  await join('n1')
  for (let sent = 0; sent < 6; sent += 1)
    await post('/a2a/deliver', message('2', { idempotency_key: `k${sent}` }), token)
  const claim = async () => {
    const body = { receiver_agent_id: '2', claimer_node_id: 'n1', own: false }
    const { status, json } = await post('/a2a/inbox', body, token)
    return status === 200 ? json?.messages.length : status
  }
  t.equal(await claim(), 1)
  const { finds } = count
  t.equal(await claim(), 1)
  t.equal(count.finds, finds)
  // As another control plane on the same store does.
  await store.nodes.flag('default', 'n1', { quarantined: true })
  t.equal(await claim(), 0)
  await store.nodes.flag('default', 'n1', { quarantined: false })
  t.equal(await claim(), 1)
  await store.nodes.flag('default', 'n1', { maintenance: true })
  t.equal(await claim(), 0)
  await store.nodes.flag('default', 'n1', { maintenance: false })
  t.equal(await claim(), 1)
  await store.nodes.remove('default', 'n1')
  t.equal(await claim(), 403)
  await store.nodes.put('default', 'n1', JSON.stringify({ ...nodeReport('n1'), visibility: 'public' }), null)
  t.equal(await claim(), 1)
})

t.test('a heartbeat that changes nothing reads and stores no record', async t => {
  const { count, wrap } = counted()
  const { post, join, store } = await openWorld(t, { mesh: TOKENS, wrap })
  await join('n1')
  const before = { ...count }
  const beat = async (fields: object = {}) =>
    (await post('/heartbeat', { ...nodeReport('n1'), ...fields }, token)).json as Record<string, unknown>
  const first = (await beat()).last_seen_unix_ms as number
  await new Promise(resolve => setTimeout(resolve, 5))
  t.ok(((await beat()).last_seen_unix_ms as number) > first)
  t.same(count, before)
  // As another control plane on the same store does.
  const known = await store.nodes.find('default', 'n1')
  await store.nodes.put(
    'default',
    'n1',
    JSON.stringify({ ...nodeReport('n1'), listen_addr: 'http://x:1' }),
    known?.version ?? 0
  )
  t.match(await beat(), { listen_addr: 'http://x:1' }, 'a heartbeat merges into the record of another control plane')
  t.match(await beat({ visibility: 'public' }), { listen_addr: 'http://x:1', visibility: 'public' })
  await store.nodes.remove('default', 'n1')
  t.match(await beat(), { id: 'n1' })
  t.equal((await store.nodes.find('default', 'n1'))?.record.includes('http://x:1'), false)
})
