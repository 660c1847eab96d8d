import { type Said, World } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, SvcError, t as s, service } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'

const who = defineOperation({ id: 'demo.who', summary: 'x', input: s.object({}), output: s.object({ n: s.integer() }) })

/** Fails until told otherwise. */
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

async function open(t: Test, plugin: Plugin, said: Said = {}): Promise<World> {
  const world = new World(t).put(plugin).say({ demo: said })
  await world.apply()
  return world
}

async function quarantined(t: Test, plugin: Plugin): Promise<World> {
  const world = await open(t, plugin)
  for (let failure = 1; failure < 5; failure++) await world.kernel.change({ retry: ['demo'] })
  t.equal(world.state('demo'), 'quarantined')
  return world
}

t.test('continue: a plugin that failed stays away, and other changes leave it alone', async t => {
  const { mood, plugin } = moody()
  const world = await open(t, plugin)
  await world.kernel.change({})
  await world.apply()
  t.equal(mood.activations, 1)
  t.equal(world.state('demo'), 'failed')
  t.notOk(world.kernel.records.get('demo')?.retrying)
})

t.test('retry: it is tried again by itself, with those that wait for it', async t => {
  const { mood, plugin } = moody()
  const world = await open(t, plugin, { policy: { onBootFailure: 'retry' } })
  t.ok(world.kernel.records.get('demo')?.retrying)
  mood.fails = false
  await world.until(() => world.kernel.current.units.has('demo'))
  t.same(await world.call('demo.who'), { n: 2 })
  t.equal(world.state('demo'), 'active')
  t.equal(world.why('demo'), null)
})

t.test('a retry does nothing when the failure was settled before', async t => {
  const { mood, plugin } = moody()
  const world = await open(t, plugin, { policy: { onBootFailure: 'retry' } })
  mood.fails = false
  await world.apply({ clearFailures: ['demo'] })
  t.notOk(world.kernel.records.get('demo')?.retrying)
  t.same(await world.call('demo.who'), { n: 2 })
})

t.test('after the end nothing is tried again', async t => {
  const { plugin } = moody()
  const world = new World(t).put(plugin).say({ demo: { policy: { onBootFailure: 'retry' } } })
  const start = world.apply().catch(() => {})
  const closing = world.kernel.close()
  await Promise.all([start, closing])
  t.notOk(world.kernel.records.get('demo')?.retrying)
})

t.test('five failures put it into quarantine, where nothing but a person or a change reaches it', async t => {
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
  ['a changed setting', (world: World) => world.say({ demo: { fingerprint: 'other' } }).apply()],
  ['new code', (world: World) => world.apply({ stale: ['demo'] })],
  [
    'a switch off and on',
    (world: World) =>
      world
        .say({ demo: { enabled: false } })
        .apply()
        .then(() => world.say({ demo: {} }).apply())
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

t.test('a repeated failure is logged once with its hint, and again after a requested retry', async t => {
  const { plugin } = moody()
  const world = await quarantined(t, plugin)
  const told = () => world.lines.filter(({ plugin }) => plugin === 'demo').map(({ message }) => message)
  t.match(told(), [
    /demo failed to activate: not today/,
    'failed again',
    'failed again',
    'failed again',
    'failed again',
    'quarantined after 5 failures in 10 minutes'
  ])
  t.match(world.lines.at(-1), { level: 'error', fields: { hint: /svc plugins enable demo/ } })
  await world.apply({ stale: ['demo'] })
  t.match(told()[6], /not today/, 'new code that fails likewise')
})

t.test('who fails in quarantine once more stays in it', async t => {
  const { plugin } = moody()
  const world = await quarantined(t, plugin)
  await t.rejects(world.kernel.change({ clearFailures: ['demo'], mustSucceed: ['demo'] }), { message: /not today/ })
  t.equal(world.state('demo'), 'quarantined')
  t.match(world.why('demo'), /last change refused/)
})

t.test('a plugin that failed and is switched off is off', async t => {
  const { plugin } = moody()
  const world = await open(t, plugin, { policy: { onBootFailure: 'retry' } })
  await world.say({ demo: { enabled: false } }).apply()
  t.equal(world.state('demo'), 'disabled')
  t.notOk(world.kernel.records.get('demo')?.retrying)
})

async function serving(t: Test, said: Said): Promise<World> {
  const { mood, plugin } = moody()
  mood.fails = false
  return open(t, plugin, said)
}

t.test('uncaught, degrade: it goes on serving, and says what happened until it is replaced', async t => {
  const world = await serving(t, {})
  const unit = world.kernel.current.units.get('demo')!
  world.kernel.uncaught(unit, new Error('lost promise'))
  t.equal(world.state('demo'), 'degraded')
  t.match(world.why('demo'), /uncaught: lost promise/)
  t.same(await world.call('demo.who'), { n: 1 })
  t.equal(world.state('demo'), 'degraded', 'an answer does not make up for it')
  await world.kernel.change({ forced: ['demo'] })
  t.equal(world.state('demo'), 'active')
  t.equal(world.why('demo'), null)
})

t.test('uncaught, from code that serves no longer: only logged', async t => {
  const world = await serving(t, { policy: { uncaught: 'restart' } })
  const old = world.kernel.current.units.get('demo')!
  await world.kernel.change({ forced: ['demo'] })
  world.kernel.uncaught(old, new Error('straggler'))
  t.equal(world.state('demo'), 'active')
  t.notOk(world.kernel.records.get('demo')?.retrying)
  t.match(world.lines.at(-1), { plugin: 'demo', level: 'error', fields: { error: { message: 'straggler' } } })
})

t.test('uncaught, restart: many errors at once are one restart, and the old instance serves until then', async t => {
  const world = await serving(t, { policy: { uncaught: 'restart' } })
  const unit = world.kernel.current.units.get('demo')!
  for (let error = 0; error < 20; error++) world.kernel.uncaught(unit, new Error('again'))
  t.same(await world.call('demo.who'), { n: 1 })
  t.equal(world.state('demo'), 'degraded')
  await world.until(() => world.kernel.current.units.get('demo') !== unit)
  t.same(await world.call('demo.who'), { n: 2 })
  t.equal(world.state('demo'), 'active')
})

t.test('uncaught, restart: one that never stops throwing ends in quarantine', async t => {
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

t.test('uncaught, abort-process: the process gets the fatal error', async t => {
  const world = await serving(t, { policy: { uncaught: 'abort-process' } })
  const error = new Error('beyond repair')
  world.kernel.uncaught(world.kernel.current.units.get('demo')!, error)
  t.same(world.fatal, [error])
})

t.test('retry: each failure is followed by a later try, until it works', async t => {
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

t.test('a plugin in quarantine is tried no more, whatever its policy', async t => {
  const { plugin } = moody()
  const world = await open(t, plugin, { policy: { onBootFailure: 'retry' } })
  for (let failure = 1; failure < 5; failure++) await world.kernel.change({ retry: ['demo'] })
  t.equal(world.state('demo'), 'quarantined')
  t.notOk(world.kernel.records.get('demo')?.retrying)
})

t.test('a plugin that is left out does not keep the others from the change that it came with', async t => {
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
  // The conflict shows only after both were activated; the holder is built again without the service.
  t.same(events, ['provider', 'holder with 7', 'holder disposed', 'provider disposed', 'holder with undefined'])
  t.match([world.state('provider'), world.state('holder')], ['failed', 'active'])
  t.same(await world.call('demo.who'), { n: 1 })
})

t.test('a plugin that fails in a change that asks to forgive it is not forgiven', async t => {
  const { plugin } = moody()
  const world = await open(t, plugin)
  for (let failure = 1; failure < 4; failure++) await world.kernel.change({ clearFailures: ['demo'] })
  t.equal(world.state('demo'), 'failed')
  await world.kernel.change({ clearFailures: ['demo'] })
  t.equal(world.state('demo'), 'quarantined', 'the fifth failure counts with the others')
})

t.test('an uncaught error is logged with its policy, and counted as a fault that a person sees', async t => {
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

t.test('a restart that fails leaves the old instance serving, and says so', async t => {
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

t.test('a failure without a plugin’s name refuses the change for everyone', async t => {
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

t.test('the reason of a refused change is taken back by the next change that goes through', async t => {
  const { mood, plugin } = moody()
  mood.fails = false
  const world = await open(t, plugin)
  mood.fails = true
  await t.rejects(world.kernel.change({ forced: ['demo'] }), { message: /not today/ })
  t.match(world.why('demo'), /^last change refused: demo failed to activate: not today/)
  await world.kernel.change({})
  t.match(world.why('demo'), /last change refused/, 'a change that does not concern it says nothing of it')
  await world.apply()
  t.equal(world.why('demo'), null)
})

t.test('abort concerns the start: later, a new plugin that fails is left out', async t => {
  const world = new World(t)
  await world.apply()
  const { plugin } = moody()
  const abort: Said = { policy: { onBootFailure: 'abort' } }
  t.match(await world.put(plugin).say({ demo: abort }).apply(), { applied: true, add: [] })
  t.equal(world.state('demo'), 'failed')
  await t.rejects(new World(t).put(plugin).say({ demo: abort }).apply(), { message: /not today/ })
})

t.test('a plugin that fails for another reason is logged with it', async t => {
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
  const told = world.lines.filter(({ plugin }) => plugin === 'demo').map(({ level, message }) => `${level} ${message}`)
  t.same(told, ['error no room', 'error no hands', 'info failed again'])
})

t.test('a conflict is the fault of the plugin that the change is about, whatever their order', async t => {
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
