import {
  kernelAdmin,
  type OperationEnd,
  type OperationStart,
  operationEnded,
  operationStarting,
  type PluginStateChange,
  pluginStateChanged
} from '@svc/contracts'
import { gate, World } from '@svc/kernel/testing'
import {
  defineOperation,
  definePlugin,
  hookKind,
  type Plugin,
  type PluginContext,
  SvcError,
  t as s
} from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'

const operation = (id: string, effect: 'read' | 'write') =>
  defineOperation({
    id,
    summary: 'x',
    input: s.object({ text: s.string(), list: s.array(s.integer(), { default: [] }) }),
    output: s.object({ text: s.string(), list: s.array(s.integer()) }),
    effect
  })

const read = operation('demo.read', 'read')
const write = operation('demo.write', 'write')

const demo = definePlugin({
  name: 'demo',
  operations: [read, write],
  activate(ctx) {
    ctx.implement(read, input => {
      if (input.text === 'break') throw new Error('it broke')
      return input
    })
    ctx.implement(write, input => ctx.call(read, input))
  }
})

const tapping = (activate: (ctx: PluginContext) => void): Plugin => definePlugin({ name: 'guard', activate })

async function open(t: Test, activate: (ctx: PluginContext) => void) {
  const kernel = await testKernel([demo, tapping(activate)])
  t.teardown(() => kernel.close())
  return kernel
}

t.test('a tap receives a call before it runs and cannot change its input', async t => {
  const starts: OperationStart[] = []
  const kernel = await open(t, ctx =>
    ctx.on(operationStarting, start => {
      starts.push(structuredClone(start))
      ;(start.input as { list: number[] }).list.push(9)
    })
  )
  t.same(await kernel.call(write, { text: 'a' }), { text: 'a', list: [] })
  t.match(starts, [
    { operation: 'demo.write', plugin: 'demo', effect: 'write', surface: 'internal', caller: null },
    { operation: 'demo.read', effect: 'read', caller: 'demo', principal: { id: 'plugin:demo' } }
  ])
  t.same(starts[0]?.input, { text: 'a', list: [] }, 'the input is validated and has defaults')
  t.match(starts[0], { requestId: /./, traceId: /^[0-9a-f]{32}$/ })
})

t.test('a tap refuses calls that match its filter by throwing', async t => {
  const refuse = (): never => {
    throw new SvcError('DEMO_FROZEN', 'nothing is written today', { status: 423 })
  }
  const kernel = await open(t, ctx =>
    ctx.on(operationStarting, refuse, { filter: { effect: ['write', 'destructive'] } })
  )
  await t.rejects(kernel.call(write, { text: 'a' }), { code: 'DEMO_FROZEN', status: 423 })
  t.same(await kernel.call(read, { text: 'a' }), { text: 'a', list: [] })
})

t.test('an unexpected error of a tap fails the call and is logged, but hidden from the caller', async t => {
  const kernel = await open(t, ctx =>
    ctx.on(operationStarting, () => {
      throw new Error('secret detail')
    })
  )
  const error = await kernel.call(read, { text: 'a' }).catch((caught: Error) => caught)
  t.match(error, { code: 'OPR_FAILED', plugin: 'guard' })
  t.match((error as Error).message, 'the tap of plugin guard on the hook kernel.operation-starting failed')
  t.notMatch((error as Error).message, 'secret detail')
  t.match(
    kernel.log.find(line => line.plugin === 'guard' && line.level === 'error'),
    { message: /kernel\.operation-starting/ }
  )
})

t.test('the time of taps counts towards the deadline of a call', async t => {
  const release = gate()
  const kernel = await open(t, ctx => ctx.on(operationStarting, () => release.passed))
  await t.rejects(kernel.call(read, { text: 'a' }, { timeoutMs: 20 }), { code: 'OPR_TIMEOUT' })
  release.open()
})

t.test('a tap receives the end of each call, including refused ones', async t => {
  const ends: OperationEnd[] = []
  const kernel = await open(t, ctx => ctx.on(operationEnded, end => void ends.push(structuredClone(end))))
  await kernel.call(read, { text: 'a' })
  await t.rejects(kernel.call(read, { text: 'break' }))
  await t.rejects(kernel.callById('demo.read', { text: 3 }))
  await new Promise(setImmediate)
  t.match(ends, [
    { operation: 'demo.read', error: null, output: { text: 'a', list: [] }, durationMs: Number },
    { error: { code: 'OPR_FAILED', status: 500 }, output: undefined },
    { error: { code: 'OPR_INPUT_INVALID', status: 400 } }
  ])
})

t.test('a tap does not receive calls of the plugin that registered it', async t => {
  const seen: string[] = []
  const kernel = await open(t, ctx =>
    ctx.on(operationStarting, async ({ operation }) => {
      seen.push(operation)
      await ctx.call(read, { text: 'from the tap' })
    })
  )
  await kernel.call(read, { text: 'a' })
  t.same(seen, ['demo.read'])
})

t.test('a tap receives plugin states after a change', async t => {
  const changes: PluginStateChange[] = []
  const kernel = await open(t, ctx => ctx.on(pluginStateChanged, change => void changes.push(change)))
  await kernel.replace(definePlugin({ name: 'late', activate() {} }))
  await new Promise(setImmediate)
  t.match(changes.filter(({ plugin }) => plugin === 'late').at(-1), { state: 'active', why: null })
})

t.test('hookKind depends on mode and onError', t => {
  t.equal(hookKind(operationStarting), 'refuse')
  t.equal(hookKind(operationEnded), 'observe')
  t.equal(hookKind({ mode: 'waterfall', onError: 'fail' }), 'change')
  t.equal(hookKind({ mode: 'bail', onError: 'skip' }), 'answer')
  t.end()
})

/** Starts a plugin with an operation that counts its calls and can be blocked. */
async function guarded(t: Test, activate: (ctx: PluginContext) => void, limits: { concurrency?: number } = {}) {
  const work = defineOperation({
    id: 'work.do',
    summary: 'x',
    input: s.object({ n: s.integer({ default: 1 }) }),
    output: s.object({ big: s.array(s.integer()) }),
    timeoutMs: 0,
    ...limits
  })
  const seen = { ran: 0, works: true }
  const world = new World(t)
    .put(
      definePlugin({
        name: 'work',
        operations: [work],
        activate: ctx =>
          ctx.implement(work, () => {
            seen.ran += 1
            if (!seen.works) throw new Error('it broke')
            return { big: [1, 2, 3] }
          })
      }),
      tapping(activate)
    )
    .configure({ work: { policy: { breaker: { failures: 1, windowMs: 30_000, halfOpenMs: 10_000 } } } })
  await world.apply()
  return { world, seen, unit: world.kernel.current.units.get('work')! }
}

t.test('a call that is cancelled while taps run ends without running its handler', async t => {
  const release = gate()
  const asked = gate()
  const { world, seen, unit } = await guarded(t, ctx =>
    ctx.on(operationStarting, () => {
      asked.open()
      return release.passed
    })
  )
  const controller = new AbortController()
  const call = world.call('work.do', {}, { signal: controller.signal })
  await asked.passed
  t.equal(unit.inFlight, 1)
  controller.abort()
  await t.rejects(call, { code: 'OPR_CANCELLED' })
  t.equal(unit.inFlight, 0)
  release.open()
  await new Promise(setImmediate)
  t.equal(seen.ran, 0)
})

t.test('a refused call does not occupy a slot', async t => {
  let refuses = true
  const { world, seen } = await guarded(
    t,
    ctx =>
      ctx.on(operationStarting, () => {
        if (refuses) throw new SvcError('DEMO_FROZEN', 'not now', { status: 423 })
      }),
    { concurrency: 1 }
  )
  for (let call = 0; call < 3; call++) await t.rejects(world.call('work.do'), { code: 'DEMO_FROZEN', status: 423 })
  refuses = false
  await world.call('work.do')
  t.equal(seen.ran, 1)
})

t.test('after a probe that a tap refused another is admitted immediately', async t => {
  let now = 1_000_000
  t.intercept(Date, 'now', { value: () => now })
  let refuses = false
  const { world, seen } = await guarded(t, ctx =>
    ctx.on(operationStarting, () => {
      if (refuses) throw new SvcError('DEMO_FROZEN', 'not now', { status: 423 })
    })
  )
  seen.works = false
  await t.rejects(world.call('work.do'), { code: 'OPR_FAILED' })
  await t.rejects(world.call('work.do'), { code: 'OPR_UNAVAILABLE' })
  seen.works = true
  refuses = true
  now += 10_000
  await t.rejects(world.call('work.do'), { code: 'DEMO_FROZEN' })
  refuses = false
  t.same(await world.call('work.do'), { big: [1, 2, 3] })
})

t.test('an error of a tap is no fault of the operation', async t => {
  let breaks = true
  const { world, unit } = await guarded(t, ctx =>
    ctx.on(operationStarting, () => {
      if (breaks) throw new Error('the guard fell asleep')
    })
  )
  await t.rejects(world.call('work.do'), { code: 'OPR_FAILED', cause: { message: 'the guard fell asleep' } })
  breaks = false
  t.equal(unit.state, 'active')
  t.same(await world.call('work.do'), { big: [1, 2, 3] })
})

t.test('each tap receives its own copy of the output, created on first read', async t => {
  const outputs: unknown[] = []
  const { world } = await guarded(t, ctx => {
    for (const which of ['first', 'second'])
      ctx.on(operationEnded, end => {
        const output = end.output as { big: number[] }
        output.big.push(which === 'first' ? 8 : 9)
        outputs.push(output)
      })
  })
  t.same(await world.call('work.do'), { big: [1, 2, 3] }, 'the caller receives the unchanged output')
  await new Promise(setImmediate)
  t.same(outputs, [{ big: [1, 2, 3, 8] }, { big: [1, 2, 3, 9] }])
})

t.test('operation-ended has caller, status and time, and an error of a tap does not affect the call', async t => {
  const ends: OperationEnd[] = []
  const { world, seen } = await guarded(t, ctx =>
    ctx.on(operationEnded, end => {
      ends.push(end)
      throw new Error('the book is full')
    })
  )
  await world.call('work.do', { n: 2 }, { requestId: 'r-1' })
  seen.works = false
  await t.rejects(world.call('work.do'), { code: 'OPR_FAILED' })
  await t.rejects(world.call('work.do'), { code: 'OPR_UNAVAILABLE' })
  await new Promise(setImmediate)
  t.match(ends, [
    { operation: 'work.do', plugin: 'work', surface: 'http', caller: null, requestId: 'r-1', error: null },
    { error: { code: 'OPR_FAILED', status: 500, message: /see its log, trace/ } },
    { error: { code: 'OPR_UNAVAILABLE', status: 503 } }
  ])
  t.ok(ends.every(({ durationMs }) => durationMs >= 0))
  t.equal(world.lines.filter(({ message }) => message === 'a tap on kernel.operation-ended failed').length, 3)
})

t.test('`caller` is set only for calls by plugins', async t => {
  const callers: (string | null)[] = []
  const { world } = await guarded(t, ctx => ctx.on(operationStarting, ({ caller }) => void callers.push(caller)))
  let context: PluginContext | undefined
  await world.put(definePlugin({ name: 'user', activate: ctx => void (context = ctx) })).apply()
  await context?.callById('work.do', {})
  await world.call('work.do')
  await world.call('work.do', {}, { principal: { id: 'user', role: 'user', scopes: [] } })
  await world.call('work.do', {}, { principal: { id: 'my plugin:user', role: 'user', scopes: [] } })
  t.same(callers, ['user', null, null, null])
})

t.test('state changes within one turn of the event loop are announced once', async t => {
  const changes: PluginStateChange[] = []
  const world = new World(t).put(tapping(ctx => ctx.on(pluginStateChanged, change => void changes.push(change))))
  await world.apply()
  await new Promise(setImmediate)
  t.same(changes, [{ plugin: 'guard', state: 'active', why: null }], 'only the last state is announced')
  await world
    .put(
      definePlugin({ name: 'good', activate() {} }),
      definePlugin({
        name: 'bad',
        activate() {
          throw new Error('no hands')
        }
      })
    )
    .apply()
  await new Promise(setImmediate)
  const of = (name: string) => changes.filter(({ plugin }) => plugin === name)
  t.match(of('good').at(-1), { plugin: 'good', state: 'active', why: null })
  t.match(of('bad').at(-1), { plugin: 'bad', state: 'failed', why: /no hands/ })
  changes.length = 0
  await world.remove('good').apply()
  await new Promise(setImmediate)
  t.same(of('good'), [], 'a removed plugin has no state to announce')
})

t.test('an error of a tap on plugin states is logged', async t => {
  const world = new World(t).put(
    tapping(ctx =>
      ctx.on(pluginStateChanged, () => {
        throw new Error('deaf')
      })
    )
  )
  await world.apply()
  await world.put(definePlugin({ name: 'late', activate() {} })).apply()
  await world.until(() => world.lines.some(({ message }) => message === `a tap on ${pluginStateChanged.id} failed`))
  t.equal(world.state('late'), 'active')
})

t.test('a tap cannot change the caller of a call', async t => {
  const principal = { id: 'ada', role: 'user', scopes: ['work'] }
  const { world } = await guarded(t, ctx => {
    ctx.on(operationStarting, start => void (start.principal.scopes as string[]).push('*'))
    ctx.on(operationEnded, end => void (end.principal.scopes as string[]).push('*'))
  })
  await world.call('work.do', {}, { principal })
  t.same(principal.scopes, ['work'])
})

/** Starts a plugin that manages plugins, and two plugins whose taps never settle. */
async function managed(t: Test, requires: { readonly admin?: typeof kernelAdmin }) {
  const manage = (id: string, untapped: true | string) =>
    defineOperation({
      id,
      summary: 'x',
      input: s.object({ names: s.array(s.string(), { default: [] }) }),
      output: s.object({}),
      untapped
    })
  const [ping, disable] = [manage('manage.ping', true), manage('manage.disable', 'names')]
  const hanging = (name: string): Plugin =>
    definePlugin({ name, activate: ctx => ctx.on(operationStarting, () => new Promise(() => {})) })
  const world = new World(t, { tapTimeoutMs: 5 }).put(
    definePlugin({
      name: 'manager',
      requires,
      operations: [ping, disable],
      activate(ctx) {
        ctx.implement(ping, () => ({}))
        ctx.implement(disable, () => ({}))
      }
    }),
    ...(requires.admin === undefined ? [] : [provider]),
    hanging('one'),
    hanging('two')
  )
  await world.apply()
  return world
}

const provider = definePlugin({
  name: 'provider',
  provides: [kernelAdmin],
  activate: ctx => ctx.provide(kernelAdmin, {} as never)
})

t.test('a tap cannot prevent calls that manage its own plugin, or that no tap receives', async t => {
  const world = await managed(t, { admin: kernelAdmin })
  t.same(await world.call('manage.ping'), {})
  t.same(await world.call('manage.disable', { names: ['one', 'two'] }), {})
  await t.rejects(world.call('manage.disable', { names: ['one'] }), { code: 'KRN_TAP_TIMEOUT', plugin: 'two' })
})

t.test('only a plugin that uses the administration of the kernel can have operations without taps', async t => {
  const world = await managed(t, {})
  for (const id of ['manage.ping', 'manage.disable'])
    await t.rejects(world.call(id, { names: ['one', 'two'] }), { code: 'KRN_TAP_TIMEOUT', plugin: 'one' }, id)
})
