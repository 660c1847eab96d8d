import { once } from 'node:events'
import { connect } from 'node:net'
import { defineOperation, t } from '@svc/plugin-sdk'
import tap from 'tap'
import { operationPlugin } from './echo.ts'
import { gate, openWorld } from './world.ts'

const count = defineOperation({
  id: 'count.up',
  summary: 'Counts',
  input: t.object({ to: t.integer({ maximum: 100 }), how: t.optional(t.string()) }),
  output: t.object({ last: t.integer() }),
  events: t.object({ n: t.integer() }),
  errors: { CNT_TIRED: { message: 'Too far.', status: 409 } },
  scopes: [],
  expose: { http: { method: 'POST', path: '/v1/count' } }
})

tap.test('operations with events', async tap => {
  let release = gate()
  let aborted = gate<unknown>()
  const counting = operationPlugin('count', count, async ({ to, how }, call) => {
    if (how === 'refuse') call.fail('CNT_TIRED')
    if (how === 'flood') {
      while (!call.signal.aborted) {
        call.emit({ n: 1, padding: 'x'.repeat(100_000) } as never)
        await new Promise(resolve => setImmediate(resolve))
      }
      aborted.open(call.signal.reason)
      return { last: 0 }
    }
    for (let n = 1; n <= to; n++) {
      call.emit({ n })
      call.progress(n, to, 'counting')
    }
    if (how === 'fail late') call.fail('CNT_TIRED')
    if (how === 'wait') {
      call.signal.addEventListener('abort', () => aborted.open(call.signal.reason))
      await release.opened
    }
    return { last: to }
  })
  const world = await openWorld([counting], { heartbeat_ms: 20 })
  tap.teardown(() => world.close())
  tap.beforeEach(() => {
    release = gate()
    aborted = gate()
  })
  const ask = (body: object, accept = 'text/event-stream', signal?: AbortSignal) =>
    fetch(world.url('/v1/count'), {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { accept, 'content-type': 'application/json', 'x-request-id': 'r1' },
      ...(signal === undefined ? {} : { signal })
    })

  tap.test('respond with an event stream if the client accepts one', async tap => {
    const response = await ask({ to: 2 })
    tap.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    tap.equal(response.headers.get('x-request-id'), 'r1')
    tap.equal(
      await response.text(),
      [
        'event: event\ndata: {"n":1}\n',
        'event: progress\ndata: {"done":1,"total":2,"message":"counting"}\n',
        'event: event\ndata: {"n":2}\n',
        'event: progress\ndata: {"done":2,"total":2,"message":"counting"}\n',
        'event: result\ndata: {"last":2}\n\n'
      ].join('\n')
    )
  })

  tap.test('respond with JSON otherwise', async tap => {
    const response = await ask({ to: 2 }, 'application/json')
    tap.same(await response.json(), { last: 2 })
  })

  tap.test('respond with an error status before the first event', async tap => {
    const invalid = await ask({ to: 'x' })
    tap.equal(invalid.status, 400)
    tap.match(await invalid.json(), { error: { code: 'OPR_INPUT_INVALID' } })
    const declared = await ask({ to: 1, how: 'refuse' })
    tap.equal(declared.status, 409)
    tap.match(await declared.json(), { error: { code: 'CNT_TIRED' } })
  })

  tap.test('report later errors in the stream', async tap => {
    const response = await ask({ to: 1, how: 'fail late' })
    tap.equal(response.status, 200)
    const last = (await response.text()).trimEnd().split('\n\n').at(-1) as string
    tap.match(last, /^event: error\n/)
    tap.same(JSON.parse(last.split('data: ')[1] as string), {
      error: { code: 'CNT_TIRED', message: 'Too far.', request_id: 'r1' }
    })
  })

  tap.test('send the head immediately, and comments while the stream is idle', async tap => {
    const response = await ask({ to: 0, how: 'wait' })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    tap.equal(Buffer.from(value as Uint8Array).toString(), ': still at work\n\n')
    release.open()
    let rest = ''
    for (let part = await reader.read(); !part.done; part = await reader.read())
      rest += Buffer.from(part.value).toString()
    tap.match(rest, /event: result\ndata: {"last":0}\n\n$/)
  })

  tap.test('are kept alive after the http plugin is reloaded', { timeout: 10_000 }, async tap => {
    const reader = ((await ask({ to: 0, how: 'wait' })).body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    await world.reloadHttp()
    // Waits for more comments than could have been in flight when the timer of the old instance ended.
    for (let beats = 0; beats < 20; beats++) {
      const { value } = await reader.read()
      tap.match(Buffer.from(value as Uint8Array).toString(), ': still at work\n\n')
    }
    release.open()
    await reader.cancel()
  })

  tap.test('stop when the client disconnects', async tap => {
    const controller = new AbortController()
    const response = await ask({ to: 1, how: 'wait' }, 'text/event-stream', controller.signal)
    tap.equal(response.status, 200)
    controller.abort()
    tap.match(await aborted.opened, { code: 'OPR_CANCELLED' })
    release.open()
  })

  tap.test('stop when the client does not read', async tap => {
    const socket = connect(world.port(), '127.0.0.1')
    const body = '{"to":0,"how":"flood"}'
    socket.write(
      `POST /v1/count HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
    await once(socket, 'connect')
    socket.pause()
    tap.match(await aborted.opened, { code: 'OPR_CANCELLED' })
    socket.destroy()
  })
})
