import type { Coordination } from '@svc/contracts'
import t from 'tap'
import { KnownNodes, MeshClient, type NodeListAnswer } from '#root'
import { openControl, TOKEN } from './bed.ts'
import { json, openServer } from './http-server.ts'

const signal = new AbortController().signal
const MINUTE_MS = 60_000
const clientOf = (...controlUrls: string[]) =>
  new MeshClient({
    settings: { controlUrls, token: () => TOKEN },
    controlUrl: () => null,
    timeoutMs: () => 10_000
  })

/** Reads through a client, and keeps what the control plane answered. */
function recorded(client: MeshClient) {
  const answers: NodeListAnswer[] = []
  return {
    /** Ids of the nodes in each answer since the last call; null for an unchanged list. */
    take: () => answers.splice(0).map(({ list }) => list?.nodes.map(({ id }) => id) ?? null),
    get url() {
      return client.url
    },
    async nodesSince(...args: Parameters<MeshClient['nodesSince']>) {
      const answer = await client.nodesSince(...args)
      answers.push(answer)
      return answer
    }
  }
}

const put = async (store: Coordination, id: string, more: object = {}) => {
  const known = await store.nodes.find('default', id)
  await store.nodes.put(
    'default',
    id,
    JSON.stringify({ id, version: '1', capabilities: {}, ...more }),
    known?.version ?? null
  )
}
const idsOf = (known: KnownNodes) => known.records.map(({ id }) => id).sort()

t.test('after the first time, only changes are read, and an unchanged list has no body', async t => {
  const { url, store } = await openControl(t)
  for (const id of ['a', 'b', 'c']) await put(store, id)
  const client = recorded(clientOf(url))
  const known = new KnownNodes()
  const read = async () => {
    // The control plane keeps a list for at most a second. Joining through it ends this at once.
    await clientOf(url).leave('nobody')
    await known.read(client, MINUTE_MS, signal)
  }
  await read()
  t.same(idsOf(known), ['a', 'b', 'c'])
  t.same(client.take(), [['a', 'b', 'c']])
  await read()
  await store.nodes.seen('default', ['a'])
  await read()
  t.same(client.take().at(-1), null, 'a sign of life is no change')
  await put(store, 'b', { listen_addr: 'http://b:1' })
  await store.nodes.remove('default', 'c')
  await put(store, 'd')
  await read()
  t.same(client.take(), [['b', 'd']])
  t.same(idsOf(known), ['a', 'b', 'd'])
  t.equal(known.records.find(({ id }) => id === 'b')?.listen_addr, 'http://b:1')
  await store.nodes.flag('default', 'a', { quarantined: true })
  await read()
  t.same(client.take(), [['a']])
  t.equal(known.records.find(({ id }) => id === 'a')?.quarantined, true)
})

t.test('the clock of the control plane decides which nodes are stale', async t => {
  const { url, store } = await openControl(t)
  await put(store, 'a')
  await new Promise(resolve => setTimeout(resolve, 5))
  const known = new KnownNodes()
  const far = Date.now() + 3_600_000
  await known.read(clientOf(url), MINUTE_MS, signal)
  t.same(
    known.records.map(node => known.isStale(node, far, MINUTE_MS)),
    [false]
  )
  const strict = new KnownNodes()
  await strict.read(clientOf(url), 1, signal)
  t.same(
    strict.records.map(node => strict.isStale(node, 0, 1)),
    [true]
  )
  t.same(
    strict.records.map(node => strict.isStale(node, 0, 0)),
    [false],
    'without a threshold, none is stale'
  )
})

t.test('all nodes are read again from another control plane, and if their number does not fit', async t => {
  const one = await openControl(t)
  const two = await openControl(t)
  await put(one.store, 'a')
  // The version of the second store is higher, so that its list since the version of the first one is not complete.
  for (const id of ['x', 'y', 'z']) await put(two.store, id)
  const known = new KnownNodes()
  const client = clientOf(one.url, two.url)
  await known.read(client, 0, signal)
  t.same(idsOf(known), ['a'])
  await one.close()
  await known.read(client, 0, signal)
  t.equal(client.url, two.url)
  t.same(idsOf(known), ['x', 'y', 'z'])

  let replaced = false
  const node = (id: string) => ({ id, version: '1', capabilities: {}, last_seen_unix_ms: 1 })
  const { url } = await openServer(t, ({ path }, response) => {
    const since = Number(new URL(path, 'http://h').searchParams.get('since'))
    const nodes = !replaced ? [node('old')] : since === 0 ? [node('p'), node('q')] : []
    json(response, 200, { schema_version: 1, nodes, version: 7, complete: false, removed: [], count: replaced ? 2 : 1 })
  })
  const other = new KnownNodes()
  await other.read(clientOf(url), 0, signal)
  replaced = true
  await other.read(clientOf(url), 0, signal)
  t.same(idsOf(other), ['p', 'q'])
})

t.test('a control plane without the extension is read as a whole', async t => {
  let nodes = [{ id: 'a', version: '1', capabilities: {}, last_seen_unix_ms: 1_000 }]
  const { url } = await openServer(t, (_, response) => json(response, 200, { schema_version: 1, nodes }))
  const known = new KnownNodes()
  await known.read(clientOf(url), 500, signal)
  t.same(
    known.records.map(each => known.isStale(each, 1_501, 500)),
    [true],
    'by the own clock'
  )
  t.same(
    known.records.map(each => known.isStale(each, 1_500, 500)),
    [false]
  )
  nodes = [{ ...nodes[0], id: 'b' } as never]
  await known.read(clientOf(url), 500, signal)
  t.same(idsOf(known), ['b'])
})
