import t from 'tap'
import { LeaseHolder, MeshClient } from '#root'
import { eventually } from './bed.ts'
import { json, openServer } from './http-server.ts'

t.test('a machine that has left the mesh sends no heartbeats of its leases, and joins with the next one', async t => {
  const lease = { lease_id: '7', scope_key: 'task:repo:1', holder_node_id: 'orch-me', expires_unix_ms: 1 }
  const { url, received } = await openServer(t, ({ path, body }, response) =>
    json(response, 200, path.endsWith('/grant') ? lease : body)
  )
  const count = (path: string): number => received.filter(each => each.path === `/v1/mesh${path}`).length
  let controlUrls = [url]
  let looks = 0
  const client = new MeshClient({
    settings: {
      get controlUrls() {
        looks += 1
        return controlUrls
      },
      token: () => null
    },
    controlUrl: () => null,
    timeoutMs: () => 10_000
  })
  const lines: string[] = []
  const note = (line: string): void => void lines.push(line)
  const holder = new LeaseHolder({
    client,
    settings: { heartbeatSeconds: 0.01 },
    report: { id: 'orch-me', version: '1', capabilities: {} },
    log: { debug: note, info: note, warn: note, error: note },
    onGrant() {}
  })
  const stop = new AbortController()
  const running = holder.run(stop.signal)
  await holder.grant('task:repo:1')
  await eventually(() => (count('/heartbeat') > 1 ? true : null))
  controlUrls = []
  const before = looks
  await eventually(() => (looks > before + 5 ? true : null))
  t.same(lines, [])
  controlUrls = [url]
  await holder.grant('task:repo:1')
  t.equal(count('/join'), 2)
  const beats = count('/heartbeat')
  await eventually(() => (count('/heartbeat') > beats ? true : null))
  stop.abort()
  await running
})
