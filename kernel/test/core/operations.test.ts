import { setImmediate as turn } from 'node:timers/promises'
import type { Invocation } from '@svc/contracts'
import { openTestKernel, World } from '@svc/kernel/testing'
import { defined, defineOperation, definePlugin, SvcError, t as s } from '@svc/plugin-sdk'
import { testPlugin } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t from 'tap'

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

t.test('input is validated and receives defaults without changing the caller’s object', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  const input = { text: 'ho' }
  t.same(await kernel.call(echo, input), { text: 'ho' })
  t.same(input, { text: 'ho' })
  t.same(await kernel.call(echo, { text: 'ho', times: 3 }), { text: 'hohoho' })
})

t.test('the error for invalid input names each problem, its field and the known keys', async t => {
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

t.test('an undeclared error is logged with its cause, and the caller receives it without', async t => {
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

t.test('an invalid output is a fault of the plugin', async t => {
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

t.test('converts strings to numbers only if the surface requests coercion', async t => {
  const handle = await openTestKernel({ plugins: [demo] })
  t.teardown(() => handle.close())
  t.same(await handle.kernel.invoke('demo.echo', { text: 'a', times: '2' }, { ...caller, coerce: true }), {
    text: 'aa'
  })
  await t.rejects(handle.kernel.invoke('demo.echo', { text: 'a', times: '2' }, caller), { code: 'OPR_INPUT_INVALID' })
})

t.test('a call without the required scope is rejected before the handler runs', async t => {
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

t.test(
  'at the deadline the signal is aborted and the call fails with 504, even if the handler ignores the signal',
  async t => {
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
  }
)

t.test('the caller’s signal aborts the call', async t => {
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

t.test('`concurrency` limits concurrent calls, which run in call order', async t => {
  const one = defineOperation({
    id: 'demo.one',
    summary: 'x',
    input: s.object({ n: s.integer() }),
    output: s.object({}),
    concurrency: 2
  })
  let running = 0
  let maxRunning = 0
  const order: number[] = []
  const kernel = await testPlugin(
    definePlugin({
      name: 'demo',
      operations: [one],
      activate: ctx =>
        ctx.implement(one, async ({ n }) => {
          order.push(n)
          running += 1
          maxRunning = Math.max(maxRunning, running)
          await new Promise(resolve => setImmediate(resolve))
          running -= 1
          return {}
        })
    })
  )
  t.teardown(() => kernel.close())
  await Promise.all([1, 2, 3, 4, 5, 6].map(n => kernel.call(one, { n })))
  t.equal(maxRunning, 2)
  t.same(order, [1, 2, 3, 4, 5, 6])
})

t.test('five faults open the breaker of only that operation and degrade the plugin', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  for (let fault = 0; fault < 5; fault++) await t.rejects(kernel.call(echo, { text: 'bug' }), { code: 'OPR_FAILED' })
  await t.rejects(kernel.call(echo, { text: 'fine' }), { code: 'OPR_UNAVAILABLE', status: 503 })
  t.equal(kernel.state('demo'), 'degraded')
})

t.test('declared errors and invalid input never open the breaker', async t => {
  const kernel = await testPlugin(demo)
  t.teardown(() => kernel.close())
  for (let call = 0; call < 20; call++) {
    await t.rejects(kernel.call(echo, { text: 'SHOUT' }), { code: 'DEMO_SHOUT' })
    await t.rejects(kernel.callById('demo.echo', {}), { code: 'OPR_INPUT_INVALID' })
  }
  t.same(await kernel.call(echo, { text: 'fine' }), { text: 'fine' })
})

t.test('the trace id of the caller is used, or created if there is none', async t => {
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

t.test('a declared error has the status and message of its declaration', async t => {
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

t.test('the error for an unavailable operation names the plugin that declares it', async t => {
  const world = new World(t).put(demo).configure({ demo: { enabled: false } })
  await world.apply()
  await t.rejects(world.call('demo.echo'), {
    code: 'OPR_UNKNOWN',
    message: 'no plugin offers the operation demo.echo: demo declares it and is disabled',
    hint: 'svc plugins why demo'
  })
  await t.rejects(world.call('zzzzzzzzzz'), {
    message: 'no plugin offers the operation zzzzzzzzzz',
    hint: 'svc plugins list shows the active plugins'
  })
})

t.test('scopes: `*` grants all, no requirement admits all, and the error names the missing scopes', async t => {
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
  await t.rejects(ask('read'), { message: 'demo.guarded requires the scope write, which someone does not have' })
  await t.rejects(ask(), { message: 'demo.guarded requires the scope read, write, which someone does not have' })
})

t.test('calls with and without coercion do not affect each other', async t => {
  const handle = await openTestKernel({ plugins: [demo] })
  t.teardown(() => handle.close())
  for (const coerce of [true, false, true, false]) {
    const call = handle.kernel.invoke('demo.echo', { text: 'a', times: '2' }, { ...caller, coerce })
    if (coerce) t.same(await call, { text: 'aa' })
    else await t.rejects(call, { code: 'OPR_INPUT_INVALID', message: /times must be integer/ })
  }
})

type Step = { readonly kind: 'start' } | { readonly kind: 'answer' | 'throw' | 'leave'; readonly at: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step>({ kind: 'start' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('answer' as const, 'throw' as const, 'leave' as const),
      at: fc.nat(9)
    })
  }
)

t.test('for any calls: concurrency is limited, waiting calls run in order, and each has its own outcome', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.integer({ min: 1, max: 3 }), async (steps, concurrency) => {
      const begun: number[] = []
      const ends = new Map<number, (works: boolean) => void>()
      const operation = defineOperation({
        id: 'demo.work',
        summary: 'x',
        output: s.object({}),
        input: s.object({ n: s.integer() }),
        errors: { DEMO_NO: { message: 'no' } },
        concurrency,
        timeoutMs: 0
      })
      const handle = await openTestKernel({
        plugins: [
          definePlugin({
            name: 'demo',
            operations: [operation],
            activate: ctx =>
              ctx.implement(operation, ({ n }) => {
                begun.push(n)
                return new Promise((resolve, reject) =>
                  ends.set(n, works => {
                    if (works) resolve({})
                    else reject(new SvcError('DEMO_NO', 'no'))
                  })
                )
              })
          })
        ]
      })
      const outcomes = new Map<number, string>()
      const expected = new Map<number, string>()
      const controllers: AbortController[] = []
      let running: number[] = []
      let waiting: number[] = []
      const shift = (): void => {
        while (running.length < concurrency && waiting.length > 0) running.push(waiting.shift() as number)
      }
      const order: number[] = []
      for (const each of steps) {
        if (each.kind === 'start') {
          const n = controllers.length
          const controller = new AbortController()
          controllers.push(controller)
          const call = { ...caller, signal: controller.signal }
          handle.kernel.invoke('demo.work', { n }, call).then(
            () => outcomes.set(n, 'done'),
            (error: SvcError) => outcomes.set(n, error.code)
          )
          waiting.push(n)
        } else if (each.kind === 'leave') {
          const open = [...running, ...waiting].sort((a, b) => a - b)
          const n = open[each.at % Math.max(open.length, 1)]
          if (n === undefined) continue
          controllers[n]!.abort()
          expected.set(n, 'OPR_CANCELLED')
          running = running.filter(other => other !== n)
          waiting = waiting.filter(other => other !== n)
        } else if (running.length > 0) {
          const n = running[each.at % running.length]!
          ends.get(n)?.(each.kind === 'answer')
          expected.set(n, each.kind === 'answer' ? 'done' : 'DEMO_NO')
          running = running.filter(other => other !== n)
        }
        shift()
        for (const n of running) if (!order.includes(n)) order.push(n)
        await turn()
        if (begun.join() !== order.join()) return false
        if (JSON.stringify([...outcomes].sort()) !== JSON.stringify([...expected].sort())) return false
      }
      const unit = handle.kernel.current.units.get('demo')!
      if (unit.inFlight !== running.length + waiting.length) return false
      for (const end of ends.values()) end(true)
      for (const controller of controllers) controller.abort()
      await turn()
      if (unit.inFlight !== 0) return false
      await handle.close()
      return true
    }),
    { numRuns: 25 }
  )
  t.pass()
})
