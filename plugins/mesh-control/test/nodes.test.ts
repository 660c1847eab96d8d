import t from 'tap'
import { MESH_TOKEN, nodeReport, openWorld } from './world.ts'

t.test('a node joins, is listed with what it sent, and leaves', async t => {
  const { get, post, join } = await openWorld(t)
  const joined = await join('n1', { labels: ['x'], quarantined: true, custom: { deep: [1] } })
  t.equal(joined.status, 200)
  t.match(joined.json, { id: 'n1', version: '1.0.0', labels: ['x'], custom: { deep: [1] } })
  t.equal(joined.json?.quarantined, undefined, 'a client cannot set it')
  t.ok((joined.json?.last_seen_unix_ms as number) > 1_000_000)
  const list = await get('/nodes')
  t.match(list.json, { schema_version: 1, nodes: [{ id: 'n1', custom: { deep: [1] } }], queue_depth: 0 })
  t.match(list.headers.get('x-populi-feature'), /exec-lease-v1/)
  t.ok(list.headers.get('x-request-id'))
  t.equal((await post('/leave', { id: 'n1' })).status, 204)
  t.match(await post('/leave', { id: 'n1' }), { status: 404, text: /^mesh: / })
  t.same((await get('/nodes')).json?.nodes, [])
  t.equal(MESH_TOKEN.length > 0 && nodeReport('n').id, 'n')
})
