import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { defineOperation, definePlugin, type Plugin, SvcError, t } from '@svc/plugin-sdk'
import tap from 'tap'
import { codeOf, openWorld } from './world.ts'

const input = t.object({ text: t.string({ default: '' }) })
const output = t.object({ text: t.string() })
const define = <const Id extends string>(
  id: Id,
  effect: 'read' | 'write' | 'destructive',
  scopes: readonly string[] = []
) => defineOperation({ id, summary: `An operation with the effect ${effect}`, effect, scopes, input, output })

const read = define('shop.read', 'read')
const readScoped = define('shop.readScoped', 'read', ['shop.admin'])
const write = define('shop.write', 'write')
const writeScoped = define('shop.writeScoped', 'write', ['shop.admin'])
const destroy = define('shop.destroy', 'destructive')
const fail = define('shop.fail', 'read')
const crash = define('shop.crash', 'read')
const stream = defineOperation({
  id: 'shop.stream',
  summary: 'Emit events, then end or fail',
  effect: 'read',
  input,
  output,
  events: t.object({ step: t.integer() })
})
const wait = defineOperation({
  id: 'shop.wait',
  summary: 'Wait for the caller to leave',
  effect: 'read',
  input,
  output
})

interface Shop {
  readonly plugin: Plugin
  readonly principals: unknown[]
  readonly cancelled: Promise<void>
  readonly waiting: Promise<void>
}

function shop(): Shop {
  const principals: unknown[] = []
  let cancel = (): void => {}
  let begin = (): void => {}
  const cancelled = new Promise<void>(resolve => {
    cancel = resolve
  })
  const waiting = new Promise<void>(resolve => {
    begin = resolve
  })
  const plugin = definePlugin({
    name: 'shop',
    operations: [read, readScoped, write, writeScoped, destroy, fail, crash, stream, wait],
    activate(ctx) {
      for (const operation of [read, readScoped, write, writeScoped, destroy])
        ctx.implement(operation, ({ text }, { principal, surface }) => {
          principals.push({ principal, surface })
          return { text }
        })
      ctx.implement(fail, () => {
        throw new SvcError('SHOP_CLOSED', 'the shop is closed', {
          status: 409,
          hint: 'come back tomorrow',
          data: { day: 1 }
        })
      })
      ctx.implement(crash, () => {
        throw new Error('password=abc')
      })
      ctx.implement(stream, async ({ text }, call) => {
        await new Promise(resolve => setImmediate(resolve))
        call.emit({ step: 1 })
        call.progress(1, 2, 'half')
        if (text === 'fail') throw new SvcError('SHOP_CLOSED', 'the shop is closed', { status: 409 })
        return { text }
      })
      ctx.implement(wait, async (_input, { signal }) => {
        begin()
        await once(signal, 'abort')
        cancel()
        throw signal.reason
      })
    }
  }) as Plugin
  return { plugin, principals, cancelled, waiting }
}

tap.test('a role may call what its rights allow, and the page knows it', async t => {
  const { plugin } = shop()
  const world = await openWorld({ plugins: [plugin] })
  t.teardown(() => world.close())
  const ids = ['shop.read', 'shop.readScoped', 'shop.write', 'shop.writeScoped', 'shop.destroy']
  const allowed = {
    viewer: ['shop.read'],
    operator: ['shop.read', 'shop.write'],
    owner: ids
  }
  for (const role of ['viewer', 'operator', 'owner'] as const) {
    const browser = await world.signIn(role)
    const state = (await (await browser.get('/ui/api/console')).json()) as {
      operations: { id: string; allowed: boolean }[]
    }
    for (const id of ids) {
      const isAllowed = allowed[role].includes(id)
      const response = await browser.call(id, { text: 'a' }, { 'x-svc-confirm': id })
      t.equal(response.status, isAllowed ? 200 : 403, `${role} calls ${id}`)
      if (!isAllowed) t.equal(await codeOf(response), 'DSH_ROLE_FORBIDDEN')
      t.equal(state.operations.find(each => each.id === id)?.allowed, isAllowed)
    }
  }
})

tap.test('the operation sees the session, its role and the surface', async t => {
  const { plugin, principals } = shop()
  const world = await openWorld({ plugins: [plugin] })
  t.teardown(() => world.close())
  for (const role of ['viewer', 'owner'] as const) await (await world.signIn(role)).call('shop.read')
  t.match(principals, [
    { surface: 'console', principal: { id: /^console:[0-9a-f]{16}$/, role: 'viewer', scopes: [] } },
    { surface: 'console', principal: { id: /^console:[0-9a-f]{16}$/, role: 'owner', scopes: ['*'] } }
  ])
})

tap.test('a destructive operation needs its id as confirmation', async t => {
  const { plugin } = shop()
  const world = await openWorld({ plugins: [plugin] })
  t.teardown(() => world.close())
  const owner = await world.signIn()
  for (const headers of [{}, { 'x-svc-confirm': 'yes' }]) {
    const response = await owner.call('shop.destroy', {}, headers)
    t.equal(response.status, 428)
    t.equal(await codeOf(response), 'DSH_CONFIRM_REQUIRED')
  }
  t.equal((await owner.call('shop.destroy', {}, { 'x-svc-confirm': 'shop.destroy' })).status, 200)
})

tap.test('a read-only console allows only reads, even to an owner', async t => {
  const { plugin } = shop()
  const world = await openWorld({ plugins: [plugin], settings: { read_only: true } })
  t.teardown(() => world.close())
  const owner = await world.signIn()
  t.equal((await owner.call('shop.readScoped')).status, 200)
  for (const id of ['shop.write', 'shop.destroy']) {
    const response = await owner.call(id, {}, { 'x-svc-confirm': id })
    t.equal(await codeOf(response), 'DSH_READ_ONLY')
  }
  const { session } = (await (await owner.get('/ui/api/session')).json()) as { session: { readOnly: boolean } }
  t.equal(session.readOnly, true)
})

tap.test('each call that may change something leaves a line in the log, without its input', async t => {
  const { plugin } = shop()
  const world = await openWorld({ plugins: [plugin] })
  t.teardown(() => world.close())
  const owner = await world.signIn()
  await owner.call('shop.read', { text: 'secret-1' })
  const response = await owner.call('shop.write', { text: 'secret-2' })
  const lines = world.kernel.log.filter(({ fields }) => fields.operation !== undefined)
  t.match(lines, [
    {
      plugin: 'dashboard',
      level: 'info',
      fields: {
        operation: 'shop.write',
        session: owner.session,
        role: 'owner',
        request_id: response.headers.get('x-request-id')
      }
    }
  ])
  t.equal(lines.length, 1)
  t.notMatch(JSON.stringify(world.kernel.log), /secret-/)
})

tap.test('errors have their status, code, hint and request id; those of bugs show no detail', async t => {
  const { plugin } = shop()
  const world = await openWorld({ plugins: [plugin] })
  t.teardown(() => world.close())
  const viewer = await world.signIn('viewer')
  const failed = await viewer.call('shop.fail')
  t.equal(failed.status, 409)
  t.match(await failed.json(), {
    error: {
      code: 'SHOP_CLOSED',
      message: 'the shop is closed',
      hint: 'come back tomorrow',
      data: { day: 1 },
      request_id: failed.headers.get('x-request-id')
    }
  })
  const crashed = await viewer.call('shop.crash')
  t.equal(crashed.status, 500)
  t.notMatch(await crashed.text(), /password/)
  const unknown = await viewer.call('shop.none')
  t.equal(unknown.status, 404)
  t.equal(await codeOf(unknown), 'DSH_OPERATION_UNKNOWN')
  t.equal((await viewer.call('shop.read', { txt: 1 })).status, 400)
  t.equal((await viewer.call('shop.read', '{"text":"a","text":"b"}')).status, 400, 'a key twice')
  t.equal((await viewer.call('shop.read', '{')).status, 400)
  t.equal((await viewer.call('shop.read', 'text=a', { 'content-type': 'text/plain' })).status, 415)
  t.equal((await viewer.call('shop.read', { text: 'x'.repeat(1_100_000) })).status, 413)
  t.same(await (await viewer.send('POST', '/ui/api/call/shop.read')).json(), { text: '' }, 'no body is an empty input')
})

tap.test('markup in data passes through as data, and no answer can be taken for a page', async t => {
  const { plugin } = shop()
  const world = await openWorld({ plugins: [plugin] })
  t.teardown(() => world.close())
  const text = '</script><img src=x onerror=alert(1)>'
  const response = await (await world.signIn('viewer')).call('shop.read', { text })
  t.same(await response.json(), { text })
  t.match(response.headers.get('content-type'), /^application\/json/)
  t.equal(response.headers.get('x-content-type-options'), 'nosniff')
})

tap.test('a call with an event stream sends events, progress, and its result or error', async t => {
  const { plugin } = shop()
  const world = await openWorld({ plugins: [plugin] })
  t.teardown(() => world.close())
  const viewer = await world.signIn('viewer')
  const accept = { accept: 'text/event-stream' }
  const done = await viewer.call('shop.stream', { text: 'done' }, accept)
  t.match(done.headers.get('content-type'), /^text\/event-stream/)
  t.equal(
    await done.text(),
    [
      'event: event\ndata: {"step":1}',
      'event: progress\ndata: {"done":1,"total":2,"message":"half"}',
      'event: result\ndata: {"text":"done"}',
      ''
    ].join('\n\n')
  )
  const failed = await viewer.call('shop.stream', { text: 'fail' }, accept)
  t.match(
    await failed.text(),
    /event: error\ndata: {"code":"SHOP_CLOSED","message":"the shop is closed","request_id":"[^"]+"}\n\n$/
  )
  const refused = await viewer.call('shop.stream', { text: 7 }, accept)
  t.equal(refused.status, 400, 'an invalid input has a status')
  t.equal((await viewer.call('shop.write', {}, accept)).status, 403)
})

tap.test('a call is cancelled when its page disconnects', async t => {
  const { plugin, waiting, cancelled } = shop()
  const world = await openWorld({ plugins: [plugin] })
  t.teardown(() => world.close())
  const viewer = await world.signIn('viewer')
  const request = httpRequest(world.url('/ui/api/call/shop.wait'), { method: 'POST', headers: viewer.headers })
  request.on('error', () => {})
  request.end()
  await waiting
  request.destroy()
  await cancelled
  t.pass('the handler was aborted')
})

tap.test('an operation is described with its schemas and the name of its tool', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const viewer = await world.signIn('viewer')
  t.match(await (await viewer.get('/ui/api/operations/dashboard.inbox')).json(), {
    id: 'dashboard.inbox',
    plugin: 'dashboard',
    allowed: true,
    input: { type: 'object' },
    mcp: 'dashboard_inbox'
  })
  t.equal((await viewer.get('/ui/api/operations/none')).status, 404)
})
