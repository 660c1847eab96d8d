import { type KernelAdmin, type Surface, surfaces } from '@svc/contracts'
import { gate, inlineSource, World } from '@svc/kernel/testing'
import { defineOperation, definePlugin, hook, point, ref, t as s, service } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { createAdmin } from '#host'

const clock = service<number>('clock@1')
const greet = hook<[string]>('demo.greet')
const seats = point<{ row: number }>('demo.seats', { keys: item => [`row ${item.row}`] })
const tell = defineOperation({
  id: 'teller.tell',
  summary: 'x',
  input: s.object({ fail: s.boolean({ default: false }) }),
  output: s.object({})
})

const clockPlugin = definePlugin({
  name: 'clock',
  summary: 'Knows the time',
  provides: [clock],
  activate: ctx => ctx.provide(clock, 1)
})
const teller = definePlugin({
  name: 'teller',
  requires: { clock },
  hooks: [greet],
  operations: [tell],
  commands: [{ command: 'tell', summary: 'x', input: s.object({}) }],
  activate(ctx) {
    ctx.implement(tell, ({ fail }) => {
      if (fail) throw new Error('broken')
      return {}
    })
    ctx.contribute(seats, { row: 3 })
    ctx.on(greet, () => {}, { label: 'politely' })
    ctx.command('tell', () => {})
    ctx.health('pulse', () => ({ status: 'ok' }))
    ctx.effect('socket', () => {})
  }
})

function adminOf(world: World): KernelAdmin {
  const nothing = (): never => {
    throw new Error('not here')
  }
  return createAdmin({
    kernel: () => world.kernel,
    serves: true,
    isServer: true,
    config: nothing,
    read: nothing,
    apply: nothing,
    findings: () => [],
    catalog: nothing,
    generations: () => [],
    editor: { read: nothing, preview: nothing, write: nothing, history: nothing },
    activate: nothing,
    readAgain: nothing,
    build: nothing,
    configSchema: nothing,
    stop: nothing,
    ownerOf: () => undefined,
    isBundled: () => false,
    healthTimeoutMs: 20
  })
}

async function open(t: Test): Promise<{ world: World; admin: KernelAdmin }> {
  const world = new World(t).put(
    teller,
    clockPlugin,
    definePlugin({ name: 'waits', requires: { tea: service('tea@1') }, activate() {} }),
    definePlugin({ name: 'refers', requires: { clock: ref(clock) }, activate() {} })
  )
  await world
    .configure({ off: { enabled: false } })
    .put(definePlugin({ name: 'off', activate() {} }))
    .apply()
  return { world, admin: adminOf(world) }
}

t.test('lists running plugins in activation order, then the others', async t => {
  const { world, admin } = await open(t)
  t.same(
    admin.plugins().map(({ name, state, why }) => [name, state, why]),
    [
      ['clock', 'active', null],
      ['refers', 'active', null],
      ['teller', 'active', null],
      ['off', 'disabled', null],
      ['waits', 'waiting', 'needs tea@1: no known plugin provides it']
    ]
  )
  t.match(admin.plugins()[2], {
    operations: 1,
    hooks: 1,
    generation: 1,
    inFlight: 0,
    isolation: 'in-process',
    activateMs: Number
  })
  for (let fault = 0; fault < 5; fault++) await world.call('teller.tell', { fail: true }).catch(() => {})
  t.match(admin.plugins()[2], { state: 'degraded', why: 'breaker open: teller.tell' })
})

t.test('why: a plugin shows its requirements and its users', async t => {
  const { admin } = await open(t)
  t.same(admin.why('teller'), ['teller is active', 'it requires clock@1 from clock (active)'])
  t.same(admin.why('clock'), [
    'clock is active',
    'it is used by teller (clock@1, requires), refers (clock@1, requires), refers (clock@1, ref)'
  ])
  t.same(admin.why('waits'), [
    'waits is waiting: needs tea@1: no known plugin provides it',
    'it requires tea@1 from no plugin (missing)'
  ])
  t.throws(() => admin.why('tellr'), { code: 'KRN_PLUGIN_UNKNOWN', hint: 'did you mean teller?' })
})

t.test('why: a service shows its provider, or that there is none', async t => {
  const { admin } = await open(t)
  t.same(admin.why('clock@1'), ['clock provides clock@1 and is active', 'teller requires it', 'refers requires it'])
  t.same(admin.why('tea@1'), ['no known plugin provides tea@1', 'waits requires it'])
  t.same(admin.why('kernel.port@1'), ['the kernel provides kernel.port@1'])
})

t.test('effects: returns a tree of all registrations of a plugin', async t => {
  const { admin } = await open(t)
  const tree = admin.effects('teller')
  const lines = tree.children.map(({ label, children }) => `${label}: ${children.map(each => each.label).join(', ')}`)
  t.same(lines, [
    'operations: teller.tell',
    'contributions: demo.seats: row 3',
    'hook taps: politely',
    'commands: tell',
    'health checks: pulse',
    'effects: socket'
  ])
  t.same(admin.effects('off'), { label: 'off (disabled)', children: [] })
})

t.test('health: a check that throws or times out fails, without delaying the others', async t => {
  const world = new World(t).put(
    definePlugin({ name: 'mute', activate: ctx => ctx.health('pulse', () => new Promise(() => {})) }),
    definePlugin({
      name: 'well',
      activate: ctx => ctx.health('pulse', () => ({ status: 'degraded', detail: 'tired' }))
    }),
    definePlugin({
      name: 'ill',
      activate(ctx) {
        ctx.health('sync', () => {
          throw new Error('no pulse')
        })
        ctx.health('async', () => Promise.reject(new Error('none at all')))
      }
    })
  )
  await world.apply()
  t.same(await adminOf(world).health(), [
    { plugin: 'ill', label: 'sync', status: 'failed', detail: 'no pulse' },
    { plugin: 'ill', label: 'async', status: 'failed', detail: 'none at all' },
    { plugin: 'mute', label: 'pulse', status: 'failed', detail: 'the health check did not finish within 20 ms' },
    { plugin: 'well', label: 'pulse', status: 'degraded', detail: 'tired' }
  ])
})

t.test('a plugin with a broken package is listed with its problem', async t => {
  const problem = Object.assign(new Error('no manifest'), { hint: 'build it' }) as never
  const world = new World(t).putSource({ ...inlineSource(teller), manifest: null, problem })
  await world.apply()
  const admin = adminOf(world)
  t.match(admin.plugins(), [{ name: 'teller', state: 'invalid', why: 'no manifest', operations: 0 }])
  t.same(admin.why('teller'), ['teller is invalid: no manifest', 'hint: build it'])
  t.equal(admin.manifest('teller'), undefined)
})

t.test('calls are counted over all instances of a plugin', async t => {
  const { world } = await open(t)
  await world.call('teller.tell')
  await world.put(teller).apply()
  await world.call('teller.tell', { fail: true }).catch(() => {})
  await world.call('teller.tell', { nonsense: 1 }).catch(() => {})
  t.match(world.kernel.current.units.get('teller')?.stats, { calls: 3, failures: 2, totalMs: Number })
})

t.test('a unit shows its state, running calls and tasks', async t => {
  const release = gate()
  const slow = defineOperation({ id: 'slow.call', summary: 'x', input: s.object({}), output: s.object({}) })
  const seen: string[] = []
  const surface: Surface = {
    prepare: next => ({
      commit: () => void seen.push(...[...next.units.values()].map(unit => `${unit.name} ${unit.state}`)),
      abort: () => {}
    })
  }
  const world = new World(t).put(
    definePlugin({ name: 'surface', activate: ctx => ctx.contribute(surfaces, surface) }),
    definePlugin({
      name: 'slow',
      operations: [slow],
      activate: ctx =>
        ctx.implement(slow, async () => {
          await release.passed
          return {}
        })
    })
  )
  await world.apply()
  const view = world.kernel.current.units.get('slow')!
  const call = world.call('slow.call')
  t.equal(view.inFlight, 1)
  t.equal(view.state, 'active')
  release.open()
  await call
  t.equal(view.inFlight, 0)
})

t.test('why: a waiting plugin shows why the plugin that it waits for does not run', async t => {
  const dark = service<number>('dark@1')
  const world = new World(t)
    .configure({ lamp: { enabled: false } })
    .put(
      definePlugin({ name: 'lamp', provides: [dark], activate: ctx => ctx.provide(dark, 1) }),
      definePlugin({ name: 'reader', requires: { dark }, activate() {} })
    )
  await world.apply()
  const [state, ...because] = adminOf(world).why('reader')
  t.match(state, /^reader is waiting/)
  t.same(because, ['it requires dark@1 from no plugin (missing)', 'lamp is disabled'])
})
