import type { Invocation } from '@svc/contracts'
import { openTestKernel, type UnitPolicy, World } from '@svc/kernel/testing'
import { type Call, defined, defineOperation, definePlugin, SvcError, t as s } from '@svc/plugin-sdk'
import { testPlugin } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'

const caller: Invocation = { surface: 'http', principal: { id: 'someone', role: 'user', scopes: [] } }

const echo = defineOperation({
  id: 'demo.echo',
  summary: 'Echoes',
  input: s.object({ text: s.string({ minLength: 1 }), times: s.integer({ default: 1, minimum: 1 }) }),
  output: s.object({ text: s.string() }),
  errors: { DEMO_SHOUT: { status: 418, message: 'It is too loud.' } },
  effect: 'read'
})

const demo = definePlugin({
  name: 'demo',
  operations: [echo],
  activate(ctx) {
    ctx.implement(echo, ({ text, times }, call) => {
      if (text === 'SHOUT') call.fail('DEMO_SHOUT', 'softer, please', { volume: 11 })
      if (text === 'bug') throw new TypeError('secret detail')
      if (text === 'wrong') return { text: 42 } as never
      return { text: text.repeat(times) }
    })
  }
})

t.test('input is validated and defaults are filled in, without touching the caller’s object', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  const input = { text: 'ho' }
  t.same(await kernel.call(echo, input), { text: 'ho' })
  t.same(input, { text: 'ho' })
  t.same(await kernel.call(echo, { text: 'ho', times: 3 }), { text: 'hohoho' })
})

t.test('invalid input names every problem, its field, and what is known', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  const error = await kernel
    .callById('demo.echo', { txt: 'x', times: 0 })
    .catch((caught: unknown) => caught as SvcError)
  t.match(error, { code: 'OPR_INPUT_INVALID', status: 400 })
  t.match((error as SvcError).message, /text is missing/)
  t.match((error as SvcError).message, /txt unknown key; known keys: text, times/)
  t.match((error as SvcError).message, /times must be >= 1/)
})

t.test('a declared error reaches the caller with its status and data', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  await t.rejects(kernel.call(echo, { text: 'SHOUT' }), {
    code: 'DEMO_SHOUT',
    status: 418,
    message: 'softer, please',
    data: { volume: 11 }
  })
})

t.test('anything else is a fault: logged with its cause, told to the caller without it', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  const error = (await kernel.call(echo, { text: 'bug' }).catch((caught: unknown) => caught)) as SvcError
  t.equal(error.code, 'OPR_FAILED')
  t.notMatch(error.message, /secret detail/)
  t.match(
    kernel.log.find(each => each.level === 'error'),
    {
      plugin: 'demo',
      fields: { operation: 'demo.echo', surface: 'internal', error: { cause: { message: 'secret detail' } } }
    }
  )
})

t.test('an output that the schema refuses is the plugin’s fault', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  await t.rejects(kernel.call(echo, { text: 'wrong' }), { code: 'OPR_OUTPUT_INVALID', plugin: 'demo' })
})

t.test('an unknown operation gets a suggestion', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  await t.rejects(kernel.callById('demo.ecko', {}), {
    code: 'OPR_UNKNOWN',
    status: 404,
    hint: 'did you mean demo.echo?'
  })
})

t.test('strings become numbers only where the surface asks for it', async t => {
  const handle = await openTestKernel({ plugins: [demo] })
  t.teardown(() => handle.close())
  t.same(await handle.kernel.invoke('demo.echo', { text: 'a', times: '2' }, { ...caller, coerce: true }), {
    text: 'aa'
  })
  await t.rejects(handle.kernel.invoke('demo.echo', { text: 'a', times: '2' }, caller), { code: 'OPR_INPUT_INVALID' })
})

t.test('a scope that the principal lacks is refused before the handler runs', async t => {
  let ran = false
  const guarded = defineOperation({
    id: 'demo.guarded',
    summary: 'x',
    input: s.object({}),
    output: s.object({}),
    scopes: ['admin']
  })
  const handle = await openTestKernel({
    plugins: [
      definePlugin({
        name: 'demo',
        operations: [guarded],
        activate: ctx =>
          ctx.implement(guarded, () => {
            ran = true
            return {}
          })
      })
    ]
  })
  t.teardown(() => handle.close())
  await t.rejects(handle.kernel.invoke('demo.guarded', {}, caller), {
    code: 'OPR_FORBIDDEN',
    status: 403,
    message: /admin/
  })
  t.notOk(ran)
  t.same(
    await handle.kernel.invoke(
      'demo.guarded',
      {},
      { ...caller, principal: { ...caller.principal, scopes: ['admin'] } }
    ),
    {}
  )
})

const slow = defineOperation({
  id: 'demo.slow',
  summary: 'Waits for its signal',
  input: s.object({}),
  output: s.object({}),
  timeoutMs: 30,
  events: s.string()
})

t.test('a deadline aborts the signal and answers 504, also when the handler never listens', async t => {
  let aborted = false
  const kernel = await testPlugin(
    definePlugin({
      name: 'demo',
      operations: [slow],
      activate: ctx =>
        ctx.implement(slow, (_, call) => {
          call.signal.addEventListener('abort', () => {
            aborted = true
          })
          return new Promise(() => {})
        })
    })
  )
  t.teardown(() => kernel.close())
  await t.rejects(kernel.call(slow, {}), { code: 'OPR_TIMEOUT', status: 504 })
  t.ok(aborted)
})

t.test('a caller that leaves aborts the call', async t => {
  const controller = new AbortController()
  const seen: string[] = []
  const kernel = await testPlugin(
    definePlugin({
      name: 'demo',
      operations: [slow],
      activate: ctx =>
        ctx.implement(slow, async (_, call) => {
          call.emit('begun')
          await new Promise((_resolve, reject) =>
            call.signal.addEventListener('abort', () => reject(call.signal.reason))
          )
          return {}
        })
    })
  )
  t.teardown(() => kernel.close())
  const call = kernel.call(
    slow,
    {},
    {
      signal: controller.signal,
      onEvent: event => {
        seen.push(String(event))
        controller.abort()
      }
    }
  )
  await t.rejects(call, { code: 'OPR_CANCELLED' })
  t.same(seen, ['begun'])
})

t.test('concurrency limits how many calls run at once, in the order of asking', async t => {
  const one = defineOperation({
    id: 'demo.one',
    summary: 'x',
    input: s.object({ n: s.integer() }),
    output: s.object({}),
    concurrency: 2
  })
  let running = 0
  let most = 0
  const order: number[] = []
  const kernel = await testPlugin(
    definePlugin({
      name: 'demo',
      operations: [one],
      activate: ctx =>
        ctx.implement(one, async ({ n }) => {
          order.push(n)
          running += 1
          most = Math.max(most, running)
          await new Promise(resolve => setImmediate(resolve))
          running -= 1
          return {}
        })
    })
  )
  t.teardown(() => kernel.close())
  await Promise.all([1, 2, 3, 4, 5, 6].map(n => kernel.call(one, { n })))
  t.equal(most, 2)
  t.same(order, [1, 2, 3, 4, 5, 6])
})

t.test('five faults open the breaker of only that operation and degrade the plugin', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  for (let fault = 0; fault < 5; fault++) await t.rejects(kernel.call(echo, { text: 'bug' }), { code: 'OPR_FAILED' })
  await t.rejects(kernel.call(echo, { text: 'fine' }), { code: 'OPR_UNAVAILABLE', status: 503 })
  t.equal(kernel.state('demo'), 'degraded')
})

t.test('declared errors and bad input never open the breaker', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  for (let call = 0; call < 20; call++) {
    await t.rejects(kernel.call(echo, { text: 'SHOUT' }), { code: 'DEMO_SHOUT' })
    await t.rejects(kernel.callById('demo.echo', {}), { code: 'OPR_INPUT_INVALID' })
  }
  t.same(await kernel.call(echo, { text: 'fine' }), { text: 'fine' })
})

t.test('the trace id of the caller is kept, and one is made when it has none', async t => {
  const traced = defineOperation({
    id: 'demo.trace',
    summary: 'x',
    input: s.object({}),
    output: s.object({ id: s.string() })
  })
  const handle = await openTestKernel({
    plugins: [
      definePlugin({
        name: 'demo',
        operations: [traced],
        activate: ctx => ctx.implement(traced, (_, call) => ({ id: call.traceId }))
      })
    ]
  })
  t.teardown(() => handle.close())
  const id = 'a'.repeat(32)
  const ask = (traceparent?: string) =>
    handle.kernel.invoke('demo.trace', {}, { ...caller, ...defined({ traceparent }) })
  t.same(await ask(`00-${id}-00f067aa0ba902b7-01`), { id })
  for (const bad of [undefined, 'nonsense', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`]) {
    t.match(((await ask(bad)) as { id: string }).id, /^[0-9a-f]{32}$/)
  }
})

/** A plugin whose one operation does what its input says. */
async function probe(t: Test, policy: Partial<UnitPolicy> = {}) {
  const inner = defineOperation({
    id: 'inner.work',
    summary: 'x',
    input: s.object({ n: s.integer() }),
    output: s.object({}),
    timeoutMs: 0
  })
  const world = new World(t)
    .put(
      definePlugin({
        name: 'inner',
        operations: [inner],
        activate: ctx => ctx.implement(inner, () => new Promise(() => {}))
      }),
      definePlugin({
        name: 'demo',
        operations: [echo],
        activate(ctx) {
          ctx.implement(echo, async ({ text }, call) => {
            const fail: Record<string, () => unknown> = {
              bug: () => Promise.reject(new Error('bug')),
              wrong: () => ({ text: 42 }),
              own: () => call.fail('DEMO_SHOUT'),
              undeclared: () => (call as Call<any, any>).fail('DEMO_OTHER'),
              nested: () => ctx.callById('inner.work', { n: 'x' }),
              slow: () => ctx.callById('inner.work', { n: 1 }, { timeoutMs: 1 }),
              unknown: () => ctx.callById('no.such', {}),
              foreign: () => Promise.reject(new SvcError('OTHER_CODE', 'of another plugin', { plugin: 'other' }))
            }
            return ((await fail[text]?.()) as never) ?? { text }
          })
        }
      })
    )
    .say({ demo: { policy: { breaker: { failures: 2, windowMs: 30_000, halfOpenMs: 10_000 }, ...policy } } })
  await world.apply()
  const unit = world.kernel.current.units.get('demo')!
  const ask = (text: string): Promise<string> =>
    world.call('demo.echo', { text }).then(
      () => 'done',
      (error: SvcError) => error.code
    )
  return { world, unit, ask, breaker: unit.operations.get('demo.echo')!.breaker }
}

t.test('which ends of a call are faults of its plugin', async t => {
  for (const [text, code, isFault] of [
    ['fine', 'done', false],
    ['own', 'DEMO_SHOUT', false],
    ['foreign', 'OTHER_CODE', false],
    ['unknown', 'OPR_UNKNOWN', false],
    ['nested', 'OPR_INPUT_INVALID', false],
    ['', 'OPR_INPUT_INVALID', false],
    ['bug', 'OPR_FAILED', true],
    ['undeclared', 'OPR_FAILED', true],
    ['wrong', 'OPR_OUTPUT_INVALID', true],
    ['slow', 'OPR_TIMEOUT', true]
  ] as const) {
    const { ask, breaker } = await probe(t)
    t.same([await ask(text), await ask(text)], [code, code], text)
    t.equal(breaker.open, isFault, `${text} ${isFault ? 'opens' : 'does not open'} the breaker`)
  }
})

t.test('an operation that is switched off says for how long, and a plugin that recovers is active again', async t => {
  let now = 1_000_000
  t.intercept(Date, 'now', { value: () => now })
  const { world, unit, ask } = await probe(t)
  await ask('bug')
  t.equal(unit.state, 'active')
  await ask('bug')
  t.equal(unit.state, 'degraded')
  t.same(unit.openBreakers(), ['demo.echo'])
  now += 1_500
  await t.rejects(world.call('demo.echo', { text: 'fine' }), {
    code: 'OPR_UNAVAILABLE',
    status: 503,
    plugin: 'demo',
    message: 'demo.echo is switched off for 9 s after repeated faults of plugin demo',
    hint: 'svc plugins why demo',
    data: { retryAfterMs: 8_500 }
  })
  now += 8_500
  t.equal(await ask('fine'), 'done')
  t.equal(unit.state, 'active')
  t.same(unit.openBreakers(), [])
})

t.test(
  'a declared error of a probe closes the breaker, and a call that says nothing leaves it to the next',
  async t => {
    let now = 1_000_000
    t.intercept(Date, 'now', { value: () => now })
    const { unit, ask, breaker } = await probe(t)
    await ask('bug')
    await ask('bug')
    now += 10_000
    t.equal(await ask('nested'), 'OPR_INPUT_INVALID')
    t.ok(breaker.open)
    t.equal(await ask('own'), 'DEMO_SHOUT', 'it is let through at once')
    t.notOk(breaker.open)
    t.equal(unit.state, 'active')
  }
)

t.test('a breaker of zero failures never opens', async t => {
  const { ask, unit } = await probe(t, { breaker: { failures: 0, windowMs: 1, halfOpenMs: 1 } })
  for (let fault = 0; fault < 8; fault++) t.equal(await ask('bug'), 'OPR_FAILED')
  t.equal(unit.state, 'active')
})

t.test('every call is counted for its plugin, over all its instances', async t => {
  const { world, unit, ask } = await probe(t)
  for (const text of ['fine', 'own', 'fine', '']) await ask(text)
  t.match(unit.stats, { calls: 4, failures: 2, totalMs: Number })
  await world.kernel.change({ forced: ['demo'] })
  await ask('fine')
  t.match(world.kernel.records.get('demo')?.stats, { calls: 5, failures: 2 })
  t.match(world.kernel.records.get('inner')?.stats, { calls: 0, failures: 0, totalMs: 0 })
})

t.test('faults are logged with what finds the call again; other errors are the caller’s', async t => {
  const { world, ask } = await probe(t, { breaker: { failures: 0, windowMs: 1, halfOpenMs: 1 } })
  const logged: [string, boolean][] = []
  for (const text of ['own', 'foreign', 'nested', 'unknown', 'bug', 'wrong', 'slow']) {
    const before = world.lines.length
    await ask(text)
    const lines = world.lines.slice(before).filter(({ plugin, level }) => plugin === 'demo' && level === 'error')
    logged.push([text, lines.length > 0])
    for (const line of lines)
      t.match(line.fields, {
        operation: 'demo.echo',
        surface: 'http',
        request_id: /^[0-9a-f]{16}$/,
        trace_id: /^[0-9a-f]{32}$/,
        error: { code: /^OPR_/ }
      })
  }
  t.same(logged, [
    ['own', false],
    ['foreign', false],
    ['nested', false],
    ['unknown', false],
    ['bug', true],
    ['wrong', true],
    ['slow', true]
  ])
})

t.test('an error that its operation declares has the status and the text of the declaration', async t => {
  const declared = defineOperation({
    id: 'demo.fails',
    summary: 'x',
    input: s.object({}),
    output: s.object({}),
    errors: { DEMO_PLAIN: { message: 'It is plain.' }, DEMO_TEAPOT: { status: 418, message: 'It is a teapot.' } }
  })
  const codes = ['DEMO_PLAIN', 'DEMO_TEAPOT'] as const
  let turn = 0
  const handle = await openTestKernel({
    plugins: [
      definePlugin({
        name: 'demo',
        operations: [declared],
        activate: ctx => ctx.implement(declared, (_, call) => call.fail(codes[turn++ % 2]!))
      })
    ]
  })
  t.teardown(() => handle.close())
  const fail = () => handle.kernel.invoke('demo.fails', {}, caller).catch((caught: SvcError) => caught)
  t.match(await fail(), { code: 'DEMO_PLAIN', status: 422, message: 'It is plain.', data: undefined })
  t.match(await fail(), { code: 'DEMO_TEAPOT', status: 418, message: 'It is a teapot.' })
})

t.test('an unknown operation names the plugin that would have it', async t => {
  const world = new World(t).put(demo).say({ demo: { enabled: false } })
  await world.apply()
  await t.rejects(world.call('demo.echo'), {
    code: 'OPR_UNKNOWN',
    message: 'no plugin offers the operation demo.echo: demo has it and is disabled',
    hint: 'svc plugins why demo'
  })
  await t.rejects(world.call('zzzzzzzzzz'), {
    message: 'no plugin offers the operation zzzzzzzzzz',
    hint: 'svc plugins list shows what is active'
  })
})

t.test('scopes: a star and no demand let everyone in, and what lacks is named with the caller', async t => {
  const guarded = defineOperation({
    id: 'demo.guarded',
    summary: 'x',
    input: s.object({}),
    output: s.object({}),
    scopes: ['read', 'write']
  })
  const handle = await openTestKernel({
    plugins: [
      definePlugin({ name: 'demo', operations: [guarded], activate: ctx => ctx.implement(guarded, () => ({})) })
    ]
  })
  t.teardown(() => handle.close())
  const ask = (...scopes: string[]) =>
    handle.kernel.invoke('demo.guarded', {}, { ...caller, principal: { ...caller.principal, scopes } })
  t.same(await ask('*'), {})
  t.same(await ask('write', 'other', 'read'), {})
  await t.rejects(ask('read'), { message: 'demo.guarded needs the scope write, which someone lacks' })
  await t.rejects(ask(), { message: 'demo.guarded needs the scope read, write, which someone lacks' })
})
