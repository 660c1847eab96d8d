import t from 'tap'
import { isHttpStatus, MeshClient } from '#root'
import { json, openServer, text } from './http-server.ts'

function clientOf(
  urls: readonly string[],
  options: { readonly timeoutMs?: number; readonly controlUrl?: string } = {}
) {
  const planes: string[] = []
  let calls = 0
  const client = new MeshClient({
    settings: {
      controlUrls: urls,
      token(plane) {
        planes.push(plane)
        calls += 1
        return `secret-${plane}-${calls}`
      }
    },
    controlUrl: () => options.controlUrl ?? null,
    timeoutMs: () => options.timeoutMs ?? 10_000
  })
  return { client, planes }
}

const CLOSED = 'http://127.0.0.1:1'

t.test('a status outside 2xx is a typed error with status, context and at most 240 characters of the body', async t => {
  const { url } = await openServer(t, (_, response) => text(response, 409, `mesh: ${'x'.repeat(1_000)}`))
  const { client } = clientOf([url])
  const error = await client.renewLease('7', 'a').catch((error: unknown) => error)
  if (!isHttpStatus(error, 409)) return t.fail(String(error))
  t.equal(error.code, 'MND_HTTP_STATUS')
  t.match(error.data, { status: 409, context: 'POST /v1/mesh/exec/lease/renew' })
  t.equal(error.data.body.length, 240)
  t.notOk(isHttpStatus(error, 403, 404))
})

t.test('an answer that repeats the token does not bring it into the error', async t => {
  const { url } = await openServer(t, ({ headers }, response) => text(response, 401, `no: ${headers.authorization}`))
  const { client } = clientOf([url])
  const error = await client.leases().catch((error: Error) => error)
  t.match(String(error), /\*\*\*/)
  t.notMatch(JSON.stringify(error) + String(error), /secret-/)
})

t.test('calls use the token of their plane, and a new one for each attempt', async t => {
  const { url, received } = await openServer(t, ({ path }, response) => {
    if (path.endsWith('/deliver')) json(response, 200, { accepted: true, message_id: 5 })
    else if (path.endsWith('/leases')) json(response, 200, { leases: [] })
    else response.writeHead(204).end()
  })
  const { client, planes } = clientOf([url])
  await client.deliver({
    sender_agent_id: '1',
    receiver_agent_id: '2',
    message_type: 'x',
    payload: '{}',
    idempotency_key: 'k'
  })
  await client.leases()
  await client.ack('2', 5)
  t.same(planes, ['submit', 'admin', 'worker'])
  t.same(
    received.map(({ headers }) => headers.authorization),
    ['Bearer secret-submit-1', 'Bearer secret-admin-2', 'Bearer secret-worker-3']
  )
})

t.test('control planes are tried in turn, and the one that answered is preferred', async t => {
  const stopping = await openServer(t, (_, response) => text(response, 503, 'mesh: stopping'))
  const good = await openServer(t, (_, response) => json(response, 200, { schema_version: 1, nodes: [] }))
  const { client } = clientOf([CLOSED, stopping.url, good.url])
  await client.nodes(null)
  await new Promise(resolve => setImmediate(resolve))
  await client.nodes(null)
  t.equal(client.url, good.url)
  t.equal(stopping.received.length, 1)
  t.equal(good.received.length, 2)
  t.equal(good.ports.size, 1, 'the connection stays open')
  good.server.closeAllConnections()
  await new Promise(resolve => good.server.close(resolve))
  const error = await client.nodes(null).catch((error: unknown) => error)
  t.ok(isHttpStatus(error, 503) || (error as { code?: string }).code === 'MND_UNREACHABLE', String(error))
})

t.test('a refusal is not repeated at another control plane', async t => {
  const first = await openServer(t, (_, response) => text(response, 403, 'mesh: no'))
  const second = await openServer(t, (_, response) => json(response, 200, { leases: [] }))
  const { client } = clientOf([first.url, second.url])
  await t.rejects(client.leases(), { code: 'MND_HTTP_STATUS' })
  t.equal(second.received.length, 0)
})

t.test('an answer that never comes is a timeout, and the caller can abort a call', async t => {
  const { url } = await openServer(t, () => {})
  const { client } = clientOf([url], { timeoutMs: 1 })
  await t.rejects(client.nodes(null), { code: 'MND_TIMEOUT', message: /500 ms/ })
  const controller = new AbortController()
  const call = client.inbox({ receiver_agent_id: '1', wait_ms: 25_000 }, controller.signal)
  controller.abort(new Error('enough'))
  await t.rejects(call, /enough/)
})

t.test('an answer that is no JSON, of a wrong shape, or endless is refused', async t => {
  const chunk = 'x'.repeat(1_000_000)
  const { url } = await openServer(t, ({ path }, response) => {
    if (path.includes('/nodes')) text(response, 200, '<html>')
    else if (path.includes('/inbox')) json(response, 200, { messages: [{ id: 'a' }] })
    else if (path.includes('/grant')) json(response, 200, { lease_id: 7 })
    else {
      response.writeHead(200)
      const more = (): void => {
        while (response.write(chunk));
        response.once('drain', more)
      }
      more()
    }
  })
  const { client } = clientOf([url])
  const refused = { code: 'MND_ANSWER_INVALID' }
  await t.rejects(client.nodes(null), refused)
  await t.rejects(client.inbox({ receiver_agent_id: '1' }), refused)
  await t.rejects(client.grant('n', 's'), refused)
  await t.rejects(client.leases(), refused)
})

t.test('without a control URL, every call says so', async t => {
  const { client } = clientOf([])
  t.notOk(client.configured)
  t.equal(client.url, null)
  await t.rejects(client.nodes(null), { code: 'MND_NOT_CONFIGURED' })
})

t.test('the URL of the orchestrator takes precedence, is normalised, and may contain the path', async t => {
  const { url, received } = await openServer(t, (_, response) => json(response, 200, { schema_version: 1, nodes: [] }))
  const { client } = clientOf([CLOSED], { controlUrl: `${url.replace('http://', '')}/v1/mesh/` })
  await client.nodes(null)
  t.equal(received[0]?.path, '/v1/mesh/nodes')
  const refused = clientOf([], { controlUrl: 'http://0.0.0.0:9847' })
  await t.rejects(refused.client.nodes(null), { code: 'MSH_URL_INVALID' })
})

t.test('pages of an inbox end at a short page, an empty one, and at the limit', async t => {
  const ids = Array.from({ length: 10 }, (_, index) => 10 - index)
  const { url, received } = await openServer(t, ({ body }, response) => {
    const { before_message_id: before = 99, max_messages: limit } = body as Record<string, number>
    const messages = ids.filter(id => id < (before as number)).slice(0, limit)
    json(response, 200, {
      messages: messages.map(id => ({
        id,
        sender_agent_id: '1',
        receiver_agent_id: '2',
        message_type: 'x',
        payload: ''
      }))
    })
  })
  const { client } = clientOf([url])
  const read = async (pageSize: number, maxPages: number): Promise<number[]> => {
    const found: number[] = []
    for await (const { messages } of client.pages('2', { pageSize, maxPages }))
      found.push(...messages.map(({ id }) => id))
    return found
  }
  t.same(await read(4, 32), ids)
  t.equal(received.length, 3)
  t.same(await read(5, 32), ids)
  t.same(await read(2, 3), ids.slice(0, 6))
})

t.test('a control plane that ignores the cursor does not hold the reader', async t => {
  const page = [3, 2].map(id => ({ id, sender_agent_id: '1', message_type: 'x', payload: '' }))
  const { url, received } = await openServer(t, (_, response) => json(response, 200, { messages: page }))
  const { client } = clientOf([url])
  for await (const _ of client.pages('2', { pageSize: 2, maxPages: 32 }));
  t.equal(received.length, 2)
})

t.test('a list of nodes that did not change is not sent again', async t => {
  const { url } = await openServer(t, ({ headers }, response) => {
    if (headers['if-none-match'] === '"a"') response.writeHead(304, { etag: '"a"' }).end()
    else json(response, 200, { schema_version: 1, nodes: [] }, { etag: '"a"' })
  })
  const { client } = clientOf([url])
  const first = await client.nodes(null)
  t.equal(first.etag, '"a"')
  t.same(await client.nodes(first.etag), { list: null, etag: '"a"' })
})
