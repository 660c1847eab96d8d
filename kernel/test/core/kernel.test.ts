import { generationFlipped, type Surface, surfaces } from '@svc/contracts'
import { defineOperation, definePlugin, hook, point, ref, t as s, service } from '@svc/plugin-sdk'
import { assertNoLeaks, fake, testKernel, testPlugin } from '@svc/plugin-sdk/testing'
import t from 'tap'

const clock = service<{ now(): number }>('clock@1')
const tell = defineOperation({
  id: 'demo.tell',
  summary: 'Returns the time',
  input: s.object({}),
  output: s.object({ now: s.integer() }),
  effect: 'read'
})

const clockPlugin = (now: number, onDispose: () => void = () => {}) =>
  definePlugin({
    name: 'clock',
    provides: [clock],
    activate(ctx) {
      ctx.provide(clock, { now: () => now })
      ctx.effect('watch', onDispose)
    }
  })
const teller = definePlugin({
  name: 'teller',
  requires: { clock },
  operations: [tell],
  activate: (ctx, deps) => ctx.implement(tell, () => ({ now: deps.clock.now() }))
})

t.test('users receive a service, and are replaced when its provider is replaced', async t => {
  const kernel = await testKernel([teller, clockPlugin(1)])
  t.teardown(() => kernel.close())
  t.same(await kernel.call(tell, {}), { now: 1 })
  await kernel.replace(clockPlugin(2))
  t.same(await kernel.call(tell, {}), { now: 2 })
})

t.test('a fake replaces a service', async t => {
  const kernel = await testPlugin(teller, { services: [fake(clock, { now: () => 7 })] })
  t.teardown(() => kernel.close())
  t.same(await kernel.call(tell, {}), { now: 7 })
})

t.test('a reference uses a replaced provider without replacing its user', async t => {
  let activations = 0
  const loose = definePlugin({
    name: 'loose',
    requires: { clock: ref(clock) },
    operations: [tell],
    activate(ctx, deps) {
      activations += 1
      ctx.implement(tell, () => ({ now: deps.clock.current.now() }))
    }
  })
  const kernel = await testKernel([loose, clockPlugin(1)])
  t.teardown(() => kernel.close())
  t.same(await kernel.call(tell, {}), { now: 1 })
  await kernel.replace(clockPlugin(5))
  t.same(await kernel.call(tell, {}), { now: 5 })
  t.equal(activations, 1)
})

t.test('an error in activate keeps the old generation and disposes the started work', async t => {
  let undone = 0
  const kernel = await testKernel([clockPlugin(1), teller])
  t.teardown(() => kernel.close())
  const broken = definePlugin({
    name: 'clock',
    provides: [clock],
    activate(ctx) {
      ctx.effect('begun', () => void undone++)
      throw new Error('no hands')
    }
  })
  await t.rejects(kernel.replace(broken), {
    code: 'KRN_ACTIVATE_FAILED',
    plugin: 'clock',
    message: /no hands.*kernel\.test\.ts:\d+/
  })
  t.equal(undone, 1)
  t.same(await kernel.call(tell, {}), { now: 1 })
  t.equal(kernel.state('clock'), 'active')
  await kernel.replace(clockPlugin(3))
  t.same(await kernel.call(tell, {}), { now: 3 })
})

t.test('a plugin that does not supply its declarations fails to activate', async t => {
  await t.rejects(testPlugin(definePlugin({ name: 'lazy', provides: [clock], operations: [tell], activate() {} })), {
    code: 'KRN_IMPLEMENTATION_MISSING',
    message: /operation demo\.tell, service clock@1/
  })
})

t.test('a plugin that supplies undeclared services fails to activate', async t => {
  await t.rejects(testPlugin(definePlugin({ name: 'eager', activate: ctx => ctx.provide(clock, { now: () => 1 }) })), {
    code: 'KRN_UNDECLARED',
    hint: /provides/
  })
})

t.test('the conflict of two plugins with the same operation names both', async t => {
  const other = definePlugin({
    name: 'other',
    operations: [tell],
    activate: ctx => ctx.implement(tell, () => ({ now: 0 }))
  })
  await t.rejects(testKernel([clockPlugin(1), teller, other]), {
    code: 'KRN_CONFLICT',
    message: /demo\.tell: other and teller/
  })
})

t.test('the conflict of two items with the same key names both owners', async t => {
  const seats = point<{ row: number }>('demo.seats', { keys: item => [`row ${item.row}`] })
  const sit = (name: string) => definePlugin({ name, activate: ctx => ctx.contribute(seats, { row: 1 }) })
  await t.rejects(testKernel([sit('ann'), sit('bob')]), { code: 'KRN_CONFLICT', message: /row 1: ann and bob/ })
})

t.test('running calls finish on the old unit before it is disposed', async t => {
  const events: string[] = []
  const wait = defineOperation({
    id: 'demo.wait',
    summary: 'x',
    input: s.object({}),
    output: s.object({ by: s.string() })
  })
  let release: () => void = () => {}
  const make = (by: string) =>
    definePlugin({
      name: 'demo',
      operations: [wait],
      activate(ctx) {
        ctx.effect('end', () => void events.push(`${by} disposed`))
        ctx.implement(wait, async () => {
          if (by === 'old') await new Promise<void>(resolve => (release = resolve))
          events.push(`${by} answered`)
          return { by }
        })
      }
    })
  const kernel = await testKernel([make('old')])
  const pending = kernel.call(wait, {})
  await kernel.replace(make('new'))
  t.same(await kernel.call(wait, {}), { by: 'new' })
  release()
  t.same(await pending, { by: 'old' })
  await kernel.close()
  t.same(events, ['new answered', 'old answered', 'old disposed', 'new disposed'])
})

t.test('a kept resource survives the replacement of its holder', async t => {
  const events: string[] = []
  const make = () =>
    definePlugin({
      name: 'model',
      async activate(ctx) {
        await ctx.keep(
          'weights',
          () => void events.push('open'),
          () => void events.push('close')
        )
      }
    })
  const kernel = await testKernel([make()])
  for (let reload = 0; reload < 3; reload++) await kernel.replace(make())
  await kernel.close()
  t.same(events, ['open', 'close'])
})

t.test('if one surface refuses a change, the others are aborted and nothing flips', async t => {
  const log: string[] = []
  const surface = (name: string, refuses: (generation: number) => boolean): Surface => ({
    prepare(next) {
      if (refuses(next.id)) throw new Error(`${name} cannot`)
      return {
        commit: () => void log.push(`${name} commits ${next.id}`),
        abort: () => void log.push(`${name} aborts ${next.id}`)
      }
    }
  })
  let refuse = false
  const plugin = (name: string, refuses: () => boolean) =>
    definePlugin({ name, activate: ctx => ctx.contribute(surfaces, surface(name, refuses)) })
  const kernel = await testKernel([plugin('a', () => false), plugin('b', () => refuse), clockPlugin(1), teller])
  t.teardown(() => kernel.close())
  t.same(log, ['a commits 1', 'b commits 1'])
  refuse = true
  await t.rejects(kernel.replace(clockPlugin(2)), { code: 'KRN_SURFACE_REFUSED', plugin: 'b' })
  t.same(log.slice(2), ['a aborts 2'])
  t.same(await kernel.call(tell, {}), { now: 1 })
})

t.test('a flip reports the changes', async t => {
  const diffs: unknown[] = []
  const listener = definePlugin({
    name: 'listener',
    activate: ctx => ctx.on(generationFlipped, diff => void diffs.push(diff))
  })
  const kernel = await testKernel([listener, clockPlugin(1), teller])
  t.teardown(() => kernel.close())
  await kernel.replace(clockPlugin(2))
  t.match(diffs, [
    { generation: 1, added: ['clock', 'listener', 'teller'], operations: ['demo.tell'] },
    { generation: 2, added: [], replaced: ['clock', 'teller'], removed: [], operations: [] }
  ])
})

const greet = hook<[{ name: string; lang: string }], { name: string; lang: string }>('demo.greet', 'waterfall')
const ask = hook<[string], string>('demo.ask', 'bail')
const note = hook<[string]>('demo.note', 'series', { onError: 'skip' })

t.test('hooks: waterfall, bail, order, filter and skipped errors', async t => {
  const seen: string[] = []
  const kernel = await testKernel([
    definePlugin({
      name: 'a',
      hooks: [greet, ask, note],
      activate(ctx) {
        ctx.on(greet, value => ({ ...value, name: `${value.name}!` }), { order: 2 })
        ctx.on(ask, () => undefined)
        ctx.on(note, () => {
          throw new Error('cannot write')
        })
      }
    }),
    definePlugin({
      name: 'b',
      activate(ctx) {
        ctx.on(greet, value => ({ ...value, name: value.name.toUpperCase() }), { order: 1 })
        ctx.on(greet, value => ({ ...value, name: `¡${value.name}` }), { filter: { lang: 'es' } })
        ctx.on(ask, () => 'b knows')
        ctx.on(note, text => void seen.push(text))
      }
    })
  ])
  t.teardown(() => kernel.close())
  t.same(await kernel.trigger(greet, { name: 'ada', lang: 'en' }), { name: 'ADA!', lang: 'en' })
  t.same(await kernel.trigger(greet, { name: 'ada', lang: 'es' }), { name: '¡ADA!', lang: 'es' })
  t.equal(await kernel.trigger(ask, 'who?'), 'b knows')
  await kernel.trigger(note, 'hello')
  t.same(seen, ['hello'])
  t.match(
    kernel.log.find(line => line.message.includes('demo.note')),
    { plugin: 'a', level: 'error' }
  )
})

t.test('all context methods throw after disposal', async t => {
  let leaked:
    | { effect(label: string, dispose: () => void): unknown; callById(id: string, input: unknown): Promise<unknown> }
    | undefined
  const kernel = await testPlugin(
    definePlugin({
      name: 'demo',
      activate(ctx) {
        leaked = ctx
      }
    })
  )
  await kernel.close()
  t.throws(() => leaked?.effect('late', () => {}), { code: 'KRN_SCOPE_CLOSED' })
  t.throws(() => leaked?.callById('x', {}), { code: 'KRN_SCOPE_CLOSED' })
})

t.test('a plugin cannot contribute after activation', async t => {
  let later: (() => void) | undefined
  const kernel = await testPlugin(
    definePlugin({
      name: 'demo',
      operations: [tell],
      activate(ctx) {
        ctx.implement(tell, () => ({ now: 1 }))
        later = () => ctx.implement(tell, () => ({ now: 2 }))
      }
    })
  )
  t.teardown(() => kernel.close())
  t.throws(() => later?.(), { code: 'KRN_UNDECLARED', message: /after activation/ })
})

t.test('draining cancels background work and awaits tasks', async t => {
  const events: string[] = []
  let finish: () => void = () => {}
  const kernel = await testPlugin(
    definePlugin({
      name: 'demo',
      activate(ctx) {
        ctx.task('write', async () => {
          await new Promise<void>(resolve => (finish = resolve))
          events.push('task done')
        })
        ctx.background('poll', async signal => {
          await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
          events.push('background cancelled')
        })
      }
    })
  )
  const closing = kernel.close()
  await new Promise(resolve => setImmediate(resolve))
  finish()
  await closing
  t.same(events, ['background cancelled', 'task done'])
})

t.test('settings are validated with defaults, and the error names the invalid key', async t => {
  const plugin = definePlugin({
    name: 'demo',
    config: s.object({ port: s.integer({ default: 80, maximum: 65535 }) }),
    operations: [tell],
    activate: ctx => ctx.implement(tell, () => ({ now: ctx.config.port }))
  })
  const kernel = await testPlugin(plugin)
  t.same(await kernel.call(tell, {}), { now: 80 })
  await kernel.close()
  await t.rejects(testPlugin(plugin, { settings: { port: 70_000 } }), {
    plugin: 'demo',
    message: /port must be <= 65535/
  })
})

t.test('opening and closing a kernel leaks no resources', async () => {
  await assertNoLeaks(async () => {
    const kernel = await testKernel([clockPlugin(1), teller])
    await kernel.call(tell, {})
    await kernel.close()
  })
})

t.test('the leak assertion finds a timer, a listener and a global variable', async t => {
  const timer: { handle?: NodeJS.Timeout } = {}
  const listener = (): void => {}
  t.teardown(() => {
    clearInterval(timer.handle)
    process.off('SIGUSR2', listener)
    Reflect.deleteProperty(globalThis, 'forgotten')
  })
  const leak = assertNoLeaks(async () => {
    timer.handle = setInterval(() => {}, 1000)
    process.on('SIGUSR2', listener)
    Object.assign(globalThis, { forgotten: 1 })
  })
  await t.rejects(leak, { message: /Timeout.*SIGUSR2.*forgotten/ })
})
