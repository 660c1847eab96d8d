import t from 'tap'
import { ControlConnection, OpenClawGateway } from '#root'
import { type Frame, fakeGateway, sendJson } from './fake-gateway.ts'
import { DEFAULTS, openGateway, TOKEN } from './open-gateway.ts'

for (const challenge of [true, false]) {
  t.test(`greets a gateway that ${challenge ? 'sends' : 'does not send'} a challenge`, async t => {
    const settings = challenge ? {} : { challenge_timeout_ms: 10 }
    const { gateway, fake } = await openGateway(t, { challenge }, settings)
    t.same(await gateway.subscribe('builds'), { method: 'subscriptions.subscribe', params: { domain: 'builds' } })
    t.match(fake.frames[0], {
      type: 'req',
      method: 'connect',
      params: {
        minProtocol: 3,
        maxProtocol: 3,
        client: { id: 'svc', version: '1.2.3', platform: process.platform, mode: String },
        role: 'operator',
        scopes: ['operator.read', 'operator.write'],
        caps: [],
        commands: [],
        permissions: {},
        auth: { token: TOKEN },
        locale: 'en-US',
        userAgent: 'svc/1.2.3'
      }
    })
  })
}

t.test('all methods use one connection, and the names of the gateway', async t => {
  const { gateway, fake } = await openGateway(t, {
    reply: ({ method }) => {
      if (method === 'subscriptions.list') return { payload: { subscriptions: [{ domain: 'builds', count: 2 }] } }
      return { payload: `did ${method}` }
    }
  })
  const answers = await Promise.all([
    gateway.execute({ skill: 'weather', command: 'today' }),
    gateway.execute({ skill: 'weather', command: 'today', sandbox: false }),
    gateway.notify('builds', 'one is red'),
    gateway.unsubscribe('builds'),
    gateway.request('anything', { a: 1 })
  ])
  t.same(
    answers,
    ['execute.skill', 'execute.skill', 'subscriptions.notify', 'subscriptions.unsubscribe', 'anything'].map(
      method => `did ${method}`
    )
  )
  t.same(await gateway.subscriptions(), [{ domain: 'builds', count: 2 }])
  t.same(
    fake.frames.slice(1).map(({ method, params }) => [method, params]),
    [
      ['execute.skill', { skill_id: 'weather', command: 'today', sandbox: true }],
      ['execute.skill', { skill_id: 'weather', command: 'today', sandbox: false }],
      ['subscriptions.notify', { domain: 'builds', description: 'one is red' }],
      ['subscriptions.unsubscribe', { domain: 'builds' }],
      ['anything', { a: 1 }],
      ['subscriptions.list', {}]
    ]
  )
  t.equal(new Set(fake.frames.map(({ id }) => id)).size, 7)
  t.equal(fake.connections, 1)
})

t.test('without a token, none is sent', async t => {
  const fake = await fakeGateway(t)
  const gateway = new OpenClawGateway({ ...DEFAULTS, url: fake.url, ws_url: fake.wsUrl }, '1.2.3')
  t.teardown(() => gateway.close())
  await gateway.subscribe('x')
  t.same(fake.frames[0]?.params.auth, {})
  t.same(
    fake.seen.map(({ authorization }) => authorization),
    [undefined]
  )
})

t.test('a call whose connection is lost is repeated once on a new one', async t => {
  const { gateway, fake } = await openGateway(t, {
    reply: (_, connection) => (connection === 1 ? 'drop' : { payload: 'there' })
  })
  t.equal(await gateway.notify('builds', 'green'), 'there')
  t.equal(fake.connections, 2)
  t.same(
    fake.frames.map(({ method }) => method),
    ['connect', 'subscriptions.notify', 'connect', 'subscriptions.notify']
  )
})

t.test('a call that loses its second connection, too, fails', async t => {
  const { gateway, fake } = await openGateway(t, { reply: () => 'drop' })
  await t.rejects(gateway.subscribe('builds'), { code: 'SKG_UNREACHABLE', message: /closed with code 1006/ })
  t.equal(fake.connections, 2)
})

t.test('a connection that was lost while idle is opened again', async t => {
  const { gateway, fake } = await openGateway(t, {
    reply: ({ method }) => (method === 'leave' ? 'drop' : { payload: 'here' })
  })
  t.equal(await gateway.request('stay', {}), 'here')
  await t.rejects(gateway.request('leave', {}), { code: 'SKG_UNREACHABLE' })
  t.equal(await gateway.request('stay', {}), 'here')
  t.equal(fake.connections, 3)
})

t.test('the error of a refused greeting does not contain the token', async t => {
  const { gateway } = await openGateway(t, { hello: { error: { code: 'UNAUTHORIZED', message: `no ${TOKEN} here` } } })
  await t.rejects(gateway.subscribe('x'), {
    code: 'SKG_UNAUTHORIZED',
    message: /refused: UNAUTHORIZED: no \*\*\* here/
  })
  const { gateway: other } = await openGateway(t, { hello: { error: 'come back later' } })
  await t.rejects(other.subscribe('x'), { code: 'SKG_REFUSED', message: /come back later/ })
})

t.test('a gateway with another protocol is reported as SKG_PROTOCOL', async t => {
  const { gateway } = await openGateway(t, { hello: { payload: { type: 'hello-ok', protocol: 4 } } })
  await t.rejects(gateway.subscribe('x'), { code: 'SKG_PROTOCOL', message: /protocol 4.*protocol 3/ })
  const { gateway: odd } = await openGateway(t, { hello: { payload: { type: 'welcome' } } })
  await t.rejects(odd.subscribe('x'), { code: 'SKG_PROTOCOL', message: /no hello-ok/ })
  const { gateway: told, fake } = await openGateway(t, {
    http: { '/.well-known/openclaw.json': sendJson({ protocol: { minVersion: 4, maxVersion: 5 } }) }
  })
  await t.rejects(told.subscribe('x'), { code: 'SKG_PROTOCOL', message: /4 to 5/ })
  t.equal(fake.connections, 0)
})

t.test('the error of a refused method has the reason, and the connection stays open', async t => {
  const { gateway, fake } = await openGateway(t, {
    reply: ({ params }) =>
      params.domain === 'secret' ? { error: { code: 'INVALID', message: 'no such domain' } } : { payload: null }
  })
  await t.rejects(gateway.subscribe('secret'), {
    code: 'SKG_REFUSED',
    message: /INVALID: no such domain/,
    data: { code: 'INVALID' }
  })
  t.equal(await gateway.subscribe('open'), null)
  t.equal(fake.connections, 1)
})

t.test('a response without a list of subscriptions is an error', async t => {
  for (const payload of [null, {}, { subscriptions: [{ domain: 1 }] }]) {
    const { gateway } = await openGateway(t, { reply: () => ({ payload }) })
    await t.rejects(gateway.subscriptions(), { code: 'SKG_ANSWER_INVALID' })
  }
})

t.test('an unanswered call times out, and a silent connection is closed', async t => {
  const fake = await fakeGateway(t, { reply: () => 'silence' })
  const options = {
    url: fake.wsUrl,
    token: undefined,
    requestTimeoutMs: 30_000,
    challengeTimeoutMs: 30_000,
    version: '1.2.3',
    closing: new AbortController().signal
  }
  const connection = await ControlConnection.open(options)
  options.requestTimeoutMs = 20
  await t.rejects(connection.request('wait', {}), {
    code: 'SKG_TIMEOUT',
    message: /wait at .* took longer than 20 ms/
  })
  await fake.idle()
  while (!connection.isLost) await new Promise(resolve => setImmediate(resolve))
  await t.rejects(connection.request('wait', {}), { message: /closed with code 1006/ })
})

t.test('the error of a missing control plane names its address', async t => {
  const { gateway, fake } = await openGateway(t)
  await fake.close()
  await t.rejects(gateway.subscribe('x'), { code: 'SKG_UNREACHABLE', message: `${fake.wsUrl}/: connection refused` })
})

t.test('an abort ends only the call of that caller', async t => {
  const waiting: Frame[] = []
  const { gateway, fake } = await openGateway(t, {
    reply: frame => {
      if (frame.method !== 'wait') return { payload: 'done' }
      waiting.push(frame)
      return 'silence'
    }
  })
  const controller = new AbortController()
  const call = gateway.request('wait', {}, controller.signal)
  while (waiting.length === 0) await new Promise(resolve => setImmediate(resolve))
  controller.abort(new Error('enough'))
  await t.rejects(call, { message: 'enough' })
  t.equal(await gateway.request('go', {}), 'done')
  t.equal(fake.connections, 1)
})

t.test('closing releases everything, even during a greeting or a call', async t => {
  const { gateway, fake } = await openGateway(t, { reply: () => 'silence' })
  const call = gateway.subscribe('x')
  while (fake.frames.length < 2) await new Promise(resolve => setImmediate(resolve))
  const refused = t.rejects(call, { code: 'SKG_UNREACHABLE' })
  await gateway.close()
  await refused
  await fake.idle()

  const { gateway: early, fake: mute } = await openGateway(t, { hello: 'silence' })
  const greeting = t.rejects(early.subscribe('x'), { code: 'SKG_UNREACHABLE' })
  while (mute.frames.length === 0) await new Promise(resolve => setImmediate(resolve))
  await early.close()
  await greeting
  await mute.idle()
  await t.rejects(early.subscribe('x'), { code: 'SKG_UNREACHABLE' })
})

t.test('closing before the connection starts prevents it', async t => {
  const fake = await fakeGateway(t, { hello: 'silence' })
  const controller = new AbortController()
  const opening = ControlConnection.open({
    url: fake.wsUrl,
    token: undefined,
    requestTimeoutMs: 30_000,
    challengeTimeoutMs: 30_000,
    version: '1.2.3',
    closing: controller.signal
  })
  controller.abort()
  await t.rejects(opening, { message: /was disposed/ })
  t.equal(fake.connections, 0)
})
