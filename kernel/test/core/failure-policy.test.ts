import { type TestConfiguration, World } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, SvcError, t as s, service } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'

const who = defineOperation({ id: 'demo.who', summary: 'x', input: s.object({}), output: s.object({ n: s.integer() }) })

/** Creates a plugin that fails while `mood.fails` is true. */
function moody() {
  const mood = { fails: true, activations: 0 }
  const plugin = definePlugin({
    name: 'demo',
    operations: [who],
    activate(ctx) {
      mood.activations += 1
      if (mood.fails) throw new Error('not today')
      const n = mood.activations
      ctx.implement(who, () => ({ n }))
    }
  })
  return { mood, plugin }
}

async function open(t: Test, plugin: Plugin, configuration: TestConfiguration = {}): Promise<World> {
  const world = new World(t).put(plugin).configure({ demo: configuration })
  await world.apply()
  return world
}

async function quarantined(t: Test, plugin: Plugin): Promise<World> {
  const world = await open(t, plugin)
  for (let failure = 1; failure < 5; failure++) await world.kernel.change({ retry: ['demo'] })
  t.equal(world.state('demo'), 'quarantined')
  return world
}

t.test('continue: a failed plugin is not retried, even by other changes', async t => {
  const { mood, plugin } = moody()
  const world = await open(t, plugin)
  await world.kernel.change({})
  await world.apply()
  t.equal(mood.activations, 1)
  t.equal(world.state('demo'), 'failed')
  t.notOk(world.kernel.records.get('demo')?.retrying)
})

t.test('retry: a failed plugin is retried automatically, with plugins that wait for it', async t => {
  const { mood, plugin } = moody()
  const world = await open(t, plugin, { policy: { onBootFailure: 'retry' } })
  t.ok(world.kernel.records.get('demo')?.retrying)
  mood.fails = false
  await world.until(() => world.kernel.current.units.has('demo'))
  t.same(await world.call('demo.who'), { n: 2 })
  t.equal(world.state('demo'), 'active')
  t.equal(world.why('demo'), null)
})

t.test('a retry has no effect if the plugin recovered before', async t => {
  const { mood, plugin } = moody()
  const world = await open(t, plugin, { policy: { onBootFailure: 'retry' } })
  mood.fails = false
  await world.apply({ clearFailures: ['demo'] })
  t.notOk(world.kernel.records.get('demo')?.retrying)
  t.same(await world.call('demo.who'), { n: 2 })
})

t.test('nothing is retried after the kernel closed', async t => {
  const { plugin } = moody()
  const world = new World(t).put(plugin).configure({ demo: { policy: { onBootFailure: 'retry' } } })
  const start = world.apply().catch(() => {})
  const closing = world.kernel.close()
  await Promise.all([start, closing])
  t.notOk(world.kernel.records.get('demo')?.retrying)
})

t.test('five failures quarantine a plugin until the user or a change retries it', async t => {
  const { mood, plugin } = moody()
  const world = await quarantined(t, plugin)
  t.match(world.why('demo'), /not today.*\(5 failures.*svc plugins enable demo/)
  mood.fails = false
  await world.apply()
  await world.kernel.change({ forced: ['demo'] })
  t.equal(mood.activations, 5)
  await world.kernel.change({ clearFailures: ['demo'], mustSucceed: ['demo'] })
  t.same(await world.call('demo.who'), { n: 6 })
})

for (const [what, change] of [
  ['a changed setting', (world: World) => world.configure({ demo: { fingerprint: 'other' } }).apply()],
  ['new code', (world: World) => world.apply({ stale: ['demo'] })],
  [
    'a switch off and on',
    (world: World) =>
      world
        .configure({ demo: { enabled: false } })
        .apply()
        .then(() => world.configure({ demo: {} }).apply())
  ]
] as const) {
  t.test(`${what} retries it`, async t => {
    const { mood, plugin } = moody()
    const world = await quarantined(t, plugin)
    mood.fails = false
    await change(world)
    t.same(await world.call('demo.who'), { n: 6 })
  })
}

t.test('a repeated failure is logged in full once, and again after a requested retry', async t => {
  const { plugin } = moody()
  const world = await quarantined(t, plugin)
  const messages = () => world.lines.filter(({ plugin }) => plugin === 'demo').map(({ message }) => message)
  t.match(messages(), [
    /demo failed to activate: not today/,
    'failed again',
    'failed again',
    'failed again',
    'failed again',
    'quarantined after 5 failures in 10 minutes'
  ])
  t.match(world.lines.at(-1), { level: 'error', fields: { hint: /svc plugins enable demo/ } })
  await world.apply({ stale: ['demo'] })
  t.match(messages()[6], /not today/, 'a failure of new code is logged in full')
})

t.test('a quarantined plugin that fails again stays quarantined', async t => {
  const { plugin } = moody()
  const world = await quarantined(t, plugin)
  await t.rejects(world.kernel.change({ clearFailures: ['demo'], mustSucceed: ['demo'] }), { message: /not today/ })
  t.equal(world.state('demo'), 'quarantined')
  t.match(world.why('demo'), /last change refused/)
})

t.test('a failed plugin that is disabled has the state disabled', async t => {
  const { plugin } = moody()
  const world = await open(t, plugin, { policy: { onBootFailure: 'retry' } })
  await world.configure({ demo: { enabled: false } }).apply()
  t.equal(world.state('demo'), 'disabled')
  t.notOk(world.kernel.records.get('demo')?.retrying)
})

async function serving(t: Test, configuration: TestConfiguration): Promise<World> {
  const { mood, plugin } = moody()
  mood.fails = false
  return open(t, plugin, configuration)
}

t.test('uncaught, degrade: the plugin continues to serve and shows the error until it is replaced', async t => {
  const world = await serving(t, {})
  const unit = world.kernel.current.units.get('demo')!
  world.kernel.uncaught(unit, new Error('lost promise'))
  t.equal(world.state('demo'), 'degraded')
  t.match(world.why('demo'), /uncaught: lost promise/)
  t.same(await world.call('demo.who'), { n: 1 })
  t.equal(world.state('demo'), 'degraded', 'a successful call does not clear the error')
  await world.kernel.change({ forced: ['demo'] })
  t.equal(world.state('demo'), 'active')
  t.equal(world.why('demo'), null)
})

t.test('an uncaught error of a disposed unit is only logged', async t => {
  const world = await serving(t, { policy: { uncaught: 'restart' } })
  const old = world.kernel.current.units.get('demo')!
  await world.kernel.change({ forced: ['demo'] })
  world.kernel.uncaught(old, new Error('straggler'))
  t.equal(world.state('demo'), 'active')
  t.notOk(world.kernel.records.get('demo')?.retrying)
  t.match(world.lines.at(-1), { plugin: 'demo', level: 'error', fields: { error: { message: 'straggler' } } })
})

t.test('uncaught, restart: many errors cause one restart, and the old instance serves until then', async t => {
  const world = await serving(t, { policy: { uncaught: 'restart' } })
  const unit = world.kernel.current.units.get('demo')!
  for (let error = 0; error < 20; error++) world.kernel.uncaught(unit, new Error('again'))
  t.same(await world.call('demo.who'), { n: 1 })
  t.equal(world.state('demo'), 'degraded')
  await world.until(() => world.kernel.current.units.get('demo') !== unit)
  t.same(await world.call('demo.who'), { n: 2 })
  t.equal(world.state('demo'), 'active')
})

t.test('uncaught, restart: a plugin that keeps throwing is quarantined', async t => {
  const world = await serving(t, { policy: { uncaught: 'restart' } })
  const record = world.kernel.records.get('demo')!
  for (let error = 0; error < 5; error++) {
    record.cancelRetry()
    world.kernel.uncaught(record.unit!, new Error('again'))
  }
  await world.until(() => !world.kernel.current.units.has('demo'))
  t.equal(world.state('demo'), 'quarantined')
  t.match(world.why('demo'), /uncaught: again/)
})

t.test('uncaught, abort-process: calls onFatal with the error', async t => {
  const world = await serving(t, { policy: { uncaught: 'abort-process' } })
  const error = new Error('beyond repair')
  world.kernel.uncaught(world.kernel.current.units.get('demo')!, error)
  t.same(world.fatal, [error])
})

t.test('retry: each failure schedules a later retry until the plugin works', async t => {
  const { mood, plugin } = moody()
  const world = await open(t, plugin, { policy: { onBootFailure: 'retry' } })
  const tries = () => world.lines.filter(({ message }) => /^next retry in \d+ ms$/.test(message)).length
  t.equal(tries(), 1)
  await world.kernel.change({ retry: ['demo'] })
  t.equal(tries(), 2)
  t.equal(world.kernel.records.get('demo')?.retrying, true)
  mood.fails = false
  await world.kernel.change({ retry: ['demo'] })
  t.equal(world.kernel.records.get('demo')?.retrying, false)
  t.equal(tries(), 2)
})

t.test('a quarantined plugin is not retried under any policy', async t => {
  const { plugin } = moody()
  const world = await open(t, plugin, { policy: { onBootFailure: 'retry' } })
  for (let failure = 1; failure < 5; failure++) await world.kernel.change({ retry: ['demo'] })
  t.equal(world.state('demo'), 'quarantined')
  t.notOk(world.kernel.records.get('demo')?.retrying)
})

t.test('a change without a failed plugin still applies to the others', async t => {
  const service1 = service<number>('held@1')
  const events: string[] = []
  const holder = definePlugin({
    name: 'holder',
    optional: { held: service1 },
    activate(ctx, deps) {
      events.push(`holder with ${deps.held}`)
      ctx.effect('life', () => void events.push('holder disposed'))
    }
  })
  const provider = definePlugin({
    name: 'provider',
    provides: [service1],
    operations: [who],
    activate(ctx) {
      events.push('provider')
      ctx.effect('life', () => void events.push('provider disposed'))
      ctx.provide(service1, 7)
      ctx.implement(who, () => ({ n: 7 }))
    }
  })
  const owner = definePlugin({
    name: 'owner',
    operations: [who],
    activate: ctx => ctx.implement(who, () => ({ n: 1 }))
  })
  const world = new World(t).put(owner)
  await world.apply()
  await world.put(holder, provider).apply()
  // The conflict is found only after both were activated; the holder is then built again without the service.
  t.same(events, ['provider', 'holder with 7', 'holder disposed', 'provider disposed', 'holder with undefined'])
  t.match([world.state('provider'), world.state('holder')], ['failed', 'active'])
  t.same(await world.call('demo.who'), { n: 1 })
})

t.test('a plugin that fails in a change that retries it keeps its failure count', async t => {
  const { plugin } = moody()
  const world = await open(t, plugin)
  for (let failure = 1; failure < 4; failure++) await world.kernel.change({ clearFailures: ['demo'] })
  t.equal(world.state('demo'), 'failed')
  await world.kernel.change({ clearFailures: ['demo'] })
  t.equal(world.state('demo'), 'quarantined', 'the fifth failure counts with the others')
})

t.test('an uncaught error is logged with its policy and shown as the fault of the plugin', async t => {
  const world = await serving(t, {})
  const unit = world.kernel.current.units.get('demo')!
  const error = new Error('lost promise')
  world.kernel.uncaught(unit, error)
  t.match(world.lines.at(-1), {
    plugin: 'demo',
    level: 'error',
    message: 'uncaught error',
    fields: { error, policy: 'degrade' }
  })
  t.notOk(world.kernel.records.get('demo')?.retrying, 'degrade restarts nothing')
})

t.test('a failed restart is logged, and the old instance continues to serve', async t => {
  const { mood, plugin } = moody()
  mood.fails = false
  const world = await open(t, plugin, { policy: { uncaught: 'restart' } })
  const unit = world.kernel.current.units.get('demo')!
  mood.fails = true
  world.kernel.uncaught(unit, new Error('again'))
  t.ok(world.lines.some(({ message }) => /^restart in \d+ ms$/.test(message)))
  await world.until(() => world.lines.some(({ message }) => message === 'restart failed'))
  t.equal(world.kernel.current.units.get('demo'), unit)
  t.same(await world.call('demo.who'), { n: 1 })
})

t.test('an error without a plugin fails the whole change', async t => {
  const world = new World(t).put(
    definePlugin({
      name: 'demo',
      activate() {
        throw new Error('no hands')
      }
    })
  )
  const configuration = (): never => {
    throw new Error('the file cannot be read')
  }
  await t.rejects(world.apply({ configuration }), { message: 'the file cannot be read' })
  t.equal(world.kernel.current.id, 0)
})

t.test('the reason of a refused change is cleared by the next successful change of the plugin', async t => {
  const { mood, plugin } = moody()
  mood.fails = false
  const world = await open(t, plugin)
  mood.fails = true
  await t.rejects(world.kernel.change({ forced: ['demo'] }), { message: /not today/ })
  t.match(world.why('demo'), /^last change refused: demo failed to activate: not today/)
  await world.kernel.change({})
  t.match(world.why('demo'), /last change refused/, 'a change of other plugins does not clear it')
  await world.apply()
  t.equal(world.why('demo'), null)
})

t.test('abort applies only to the start: later, a new plugin that fails is left out', async t => {
  const world = new World(t)
  await world.apply()
  const { plugin } = moody()
  const abort: TestConfiguration = { policy: { onBootFailure: 'abort' } }
  t.match(await world.put(plugin).configure({ demo: abort }).apply(), { applied: true, add: [] })
  t.equal(world.state('demo'), 'failed')
  await t.rejects(new World(t).put(plugin).configure({ demo: abort }).apply(), { message: /not today/ })
})

t.test('a new failure reason of a plugin is logged in full', async t => {
  const reasons = ['no room', 'no hands', 'no hands']
  const plugin = definePlugin({
    name: 'demo',
    activate() {
      throw new SvcError('DEMO_FAILED', reasons.shift() as string, { plugin: 'demo' })
    }
  })
  const world = await open(t, plugin)
  await world.kernel.change({ retry: ['demo'] })
  await world.kernel.change({ retry: ['demo'] })
  const messages = world.lines
    .filter(({ plugin }) => plugin === 'demo')
    .map(({ level, message }) => `${level} ${message}`)
  t.same(messages, ['error no room', 'error no hands', 'info failed again'])
})

t.test('a conflict is attributed to the changed plugin, in any order', async t => {
  const make = (name: string, also: boolean): Plugin =>
    definePlugin({
      name,
      operations: also ? [who] : [],
      activate(ctx) {
        if (also) ctx.implement(who, () => ({ n: 1 }))
      }
    })
  for (const [holder, taker] of [
    ['a', 'z'],
    ['z', 'a']
  ] as const) {
    const world = new World(t).put(make(holder, true), make(taker, false))
    await world.apply()
    await t.rejects(world.put(make(taker, true)).apply(), { code: 'KRN_CONFLICT' })
    t.match(world.why(taker), /last change refused: conflict on operation demo\.who/)
    t.equal(world.why(holder), null)
  }
})
