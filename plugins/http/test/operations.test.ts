import { defineOperation, t } from '@svc/plugin-sdk'
import tap from 'tap'
import { operationPlugin, things } from './echo.ts'
import { openWorld, parseResponse, sendRequest } from './world.ts'

const nothing = defineOperation({
  id: 'void.clear',
  summary: 'Return nothing',
  input: t.object({}),
  output: t.unknown(),
  expose: { http: { method: 'POST', path: '/v1/clear', status: 204 } }
})

const parcel = defineOperation({
  id: 'parcel.send',
  summary: 'Return one field of the output as the body',
  input: t.object({}),
  output: t.object({ ok: t.boolean(), message: t.string() }),
  events: t.string(),
  expose: { http: { method: 'POST', path: '/v1/parcels', answer: 'message' } }
})

const declared = defineOperation({
  id: 'fails.always',
  summary: 'Fail with a declared error',
  effect: 'read',
  input: t.object({ how: t.string() }),
  output: t.unknown(),
  errors: { FLS_TEAPOT: { message: 'It is a teapot.', status: 418 } },
  expose: { http: { method: 'GET', path: '/v1/fail/:how' } }
})

tap.test('operations over HTTP', async tap => {
  const world = await openWorld([
    things,
    operationPlugin('void', nothing, () => undefined),
    operationPlugin('parcel', parcel, () => ({ ok: true, message: 'on its way' })),
    operationPlugin('fails', declared, ({ how }, call) => {
      if (how === 'declared') call.fail('FLS_TEAPOT', 'no coffee here', { spout: 1 })
      if (how === 'bigint') call.fail('FLS_TEAPOT', 'no JSON', { spout: 1n })
      if (how === 'unprintable') return { big: 1n }
      throw new Error('password=hunter2 is in this message')
    })
  ])
  tap.teardown(() => world.close())
  const get = async (path: string): Promise<unknown> => (await fetch(world.url(path))).json()
  const send = (method: string, path: string, body?: unknown) =>
    fetch(world.url(path), {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json; charset=utf-8' } })
    })

  tap.test('path and query are converted to typed input with defaults', async tap => {
    tap.same(await get('/v1/things/a%20b%2Fc'), { id: 'a b/c', limit: 10 })
    tap.same(await get('/v1/things/7?limit=20&deep=true'), { id: '7', limit: 20, deep: true })
  })

  tap.test('the body is one field of the output if the exposure names one', async tap => {
    const response = await send('POST', '/v1/parcels', {})
    tap.same([response.status, await response.json()], [200, 'on its way'])
    const headers = { accept: 'text/event-stream', 'content-type': 'application/json' }
    const stream = await fetch(world.url('/v1/parcels'), { method: 'POST', headers, body: '{}' })
    tap.match(await stream.text(), /event: result\ndata: "on its way"\n/)
    const { paths } = (await get('/openapi.json')) as { paths: Record<string, any> }
    const { schema } = paths['/v1/parcels'].post.responses[200].content['application/json']
    tap.same(schema, { type: 'string' })
  })

  tap.test('an array parameter may be repeated or occur once', async tap => {
    tap.same(await get('/v1/things/x?tags=a&tags=b'), { id: 'x', limit: 10, tags: ['a', 'b'] })
    tap.same(await get('/v1/things/x?tags=a'), { id: 'x', limit: 10, tags: ['a'] })
  })

  tap.test('an object in the query is written as JSON', async tap => {
    const filter = { color: 'red', sizes: [1, 2] }
    tap.same(await get(`/v1/things/x?filter=${encodeURIComponent(JSON.stringify(filter))}`), {
      id: 'x',
      limit: 10,
      filter
    })
    tap.same(await get('/v1/things/x?either=plain'), { id: 'x', limit: 10, either: 'plain' })
    tap.same(await get(`/v1/things/x?either=${encodeURIComponent('{"key":"k"}')}`), {
      id: 'x',
      limit: 10,
      either: { key: 'k' }
    })
  })

  tap.test('path and body are merged, and success has the declared status', async tap => {
    const response = await send('PUT', '/v1/shelves/3', { title: 'Æ', tags: [] })
    tap.equal(response.status, 201)
    tap.same(await response.json(), { shelf: 3, title: 'Æ', tags: [] })
  })

  tap.test('a request without a body has an empty input', async tap => {
    tap.same(await (await send('POST', '/v1/things')).json(), {})
    const announced = await fetch(world.url('/v1/things'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' }
    })
    tap.same(await announced.json(), {})
  })

  tap.test('DELETE reads its input from path and query', async tap => {
    const response = await send('DELETE', '/v1/things/9?force=true')
    tap.same(await response.json(), { id: '9', force: true })
  })

  tap.test('204 has no body', async tap => {
    const response = await send('POST', '/v1/clear')
    tap.equal(response.status, 204)
    tap.equal(response.headers.get('content-type'), null)
    tap.equal(await response.text(), '')
  })

  tap.test('text in any alphabet arrives unchanged', async tap => {
    for (const id of ['plain', 'z\u00fcrich', '\u65e5\u672c', '\u{1f600}']) {
      const path = `/v1/things/${encodeURIComponent(id)}`
      tap.match(await (await fetch(world.url(path))).json(), { id })
    }
  })

  tap.test('HEAD has the status and headers of GET, without the body', async tap => {
    const full = await fetch(world.url('/v1/things/7'))
    const head = await fetch(world.url('/v1/things/7'), { method: 'HEAD' })
    tap.equal(head.status, 200)
    tap.equal(head.headers.get('content-length'), String((await full.text()).length))
    tap.equal(await head.text(), '')
  })

  tap.test('OPTIONS lists the methods of a path', async tap => {
    const response = await send('OPTIONS', '/v1/things/7')
    tap.equal(response.status, 204)
    tap.equal(response.headers.get('allow'), 'GET, DELETE, HEAD, OPTIONS')
    tap.equal(response.headers.get('access-control-allow-origin'), null)
    const server = parseResponse(await sendRequest(world.port(), 'OPTIONS *'))
    tap.equal(server.status, 204)
  })

  tap.test('a valid request id is returned, any other is replaced', async tap => {
    const withId = (id: string) => fetch(world.url('/v1/things/7'), { headers: { 'x-request-id': id } })
    tap.equal((await withId('trace/1.2:3=4')).headers.get('x-request-id'), 'trace/1.2:3=4')
    for (const bad of ['with space', 'x'.repeat(129), '"quoted"', '<b>']) {
      const id = (await withId(bad)).headers.get('x-request-id')
      tap.match(id, /^[0-9a-z]{12}$/, `${bad.slice(0, 12)} is replaced`)
    }
  })

  tap.test('a valid trace context is returned', async tap => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const echoed = async (given: string): Promise<string | null> =>
      (await fetch(world.url('/v1/things/7'), { headers: { traceparent: given } })).headers.get('traceparent')
    const later = traceparent.replace('00-', '01-').concat('-what.comes')
    for (const good of [traceparent, later]) tap.equal(await echoed(good), good)
    const forbidden = traceparent.replace('00-', 'ff-')
    const zero = traceparent.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32))
    for (const bad of ['nonsense', forbidden, zero]) tap.equal(await echoed(bad), null)
  })

  tap.test('a declared error has its status, code and data', async tap => {
    const response = await fetch(world.url('/v1/fail/declared'), { headers: { 'x-request-id': 'r1' } })
    tap.equal(response.status, 418)
    tap.same(await response.json(), {
      error: { code: 'FLS_TEAPOT', message: 'no coffee here', data: { spout: 1 }, request_id: 'r1' }
    })
  })

  tap.test('error data that JSON cannot represent is left out', async tap => {
    const data = await fetch(world.url('/v1/fail/bigint'))
    tap.equal(data.status, 418)
    tap.notOk('data' in ((await data.json()) as { error: object }).error)
    const result = await fetch(world.url('/v1/fail/unprintable'))
    tap.equal(result.status, 500)
    tap.match(await result.json(), { error: { code: 'HTTP_INTERNAL' } })
  })

  tap.test('an undeclared error shows neither its message nor its stack', async tap => {
    const response = await fetch(world.url('/v1/fail/otherwise'))
    const text = await response.text()
    tap.equal(response.status, 500)
    tap.match(JSON.parse(text), { error: { code: 'OPR_FAILED', request_id: String } })
    tap.notMatch(text, /hunter2|at .*\.ts/)
  })
})
