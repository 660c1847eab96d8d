import { setImmediate as turn } from 'node:timers/promises'
import { type PreparedSurface, type Surface, surfaces } from '@svc/contracts'
import { gate, inlineSource, World } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, t as s, service } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'

const whoOperation = (id: string) =>
  defineOperation({ id, summary: 'x', input: s.object({}), output: s.object({ by: s.string() }), effect: 'read' })

/** Creates a plugin with the operation `NAME.who` that records its lifecycle in `events`. */
const lively = (name: string, by = name, events: string[] = []): Plugin => {
  const who = whoOperation(`${name}.who`)
  return definePlugin({
    name,
    operations: [who],
    activate(ctx) {
      events.push(`${by} activates`)
      ctx.effect('life', () => void events.push(`${by} disposed`))
      ctx.implement(who, () => ({ by }))
    }
  })
}
const failing = (name: string, why = 'no hands'): Plugin =>
  definePlugin({
    name,
    activate() {
      throw new Error(why)
    }
  })

/** Returns the state of a kernel that a failed change must not affect. */
const observable = (world: World) => ({
  generation: world.kernel.current.id,
  units: [...world.kernel.current.units.values()].map(unit => `${unit.instance} ${unit.state}`),
  records: [...world.kernel.records].map(([name, record]) => [name, record.state, record.source, record.code]),
  graph: world.kernel.graph
})

async function open(t: Test, ...plugins: readonly Plugin[]): Promise<World> {
  const world = new World(t).put(...plugins)
  await world.apply()
  return world
}

t.test('a failed change restores sources, code and configuration', async t => {
  const world = await open(t, lively('a'), lively('b'), lively('c'))
  const before = observable(world)
  world
    .put(lively('a', 'a2'), lively('d'), failing('b'))
    .remove('c')
    .configure({ a: { fingerprint: 'other' } })
  await t.rejects(world.apply(), { code: 'KRN_ACTIVATE_FAILED', plugin: 'b', message: /no hands/ })
  t.same(observable(world), before)
  t.match(world.why('b'), /last change refused: .*no hands/)
  t.equal(world.why('a'), null)
  // A later empty change does not apply any of it either.
  await world.kernel.change({})
  t.same(observable(world), before)
  for (const name of ['a', 'b', 'c']) t.same(await world.call(`${name}.who`), { by: name })
})

t.test('unreadable code fails the whole change, even for readable plugins', async t => {
  const world = await open(t, lively('a'), lively('b'))
  const slow = gate()
  const late = inlineSource(lively('a', 'a2'), '9.0.0')
  world.putSource({
    ...late,
    prepare: async () => {
      await slow.passed
      return late.prepare()
    }
  })
  world.putSource({ ...inlineSource(lively('b')), prepare: () => Promise.reject(new Error('missing brace')) })
  const change = world.apply()
  await turn()
  slow.open()
  await t.rejects(change, { message: 'missing brace' })
  await turn()
  await world.kernel.change({})
  t.same(await world.call('a.who'), { by: 'a' })
})

t.test('a dry run changes nothing', async t => {
  const world = await open(t, lively('a'), lively('b'))
  await t.rejects(world.put(failing('c')).apply({ mustSucceed: ['c'] }))
  const before = observable(world)
  world
    .remove('c')
    .put(lively('a', 'a2'), lively('d'))
    .configure({ b: { enabled: false } })
  t.match(await world.apply({ dryRun: true }), { applied: false, add: ['d'], replace: ['a'], remove: ['b'] })
  t.same(observable(world), before)
  await world.kernel.change({})
  t.same(observable(world), before)
})

t.test('a dry run releases no plugin from quarantine', async t => {
  const world = await open(t, lively('a'))
  world.put(failing('b'))
  await world.apply()
  while (world.state('b') !== 'quarantined') await world.kernel.change({ retry: ['b'] })
  await world.kernel.change({ clearFailures: ['b'], dryRun: true })
  t.equal(world.state('b'), 'quarantined')
})

t.test('a new plugin that fails is left out, and the rest of the change is applied', async t => {
  const events: string[] = []
  const world = await open(t, lively('b', 'b', events))
  world.put(lively('a', 'a', events), failing('c'), lively('d', 'd', events))
  const report = await world.apply()
  t.match(report, { applied: true, add: ['a', 'd'] })
  t.same(
    events,
    ['b activates', 'a activates', 'd activates'],
    'units that were already activated are not activated again'
  )
  t.equal(world.state('c'), 'failed')
  t.match(world.why('c'), /no hands/)
})

t.test('a change fails if a plugin in mustSucceed fails', async t => {
  const world = await open(t, lively('a'))
  world.put(failing('b'))
  await t.rejects(world.apply({ mustSucceed: ['b'] }), { code: 'KRN_ACTIVATE_FAILED', plugin: 'b' })
  t.notOk(world.kernel.records.has('b'))
})

t.test('at the start, users of a failed plugin wait', async t => {
  const clock = service<number>('clock@1')
  const world = await open(
    t,
    definePlugin({
      name: 'clock',
      provides: [clock],
      activate() {
        throw new Error('broken')
      }
    }),
    definePlugin({ name: 'teller', requires: { clock }, activate() {} }),
    lively('other')
  )
  t.same([...world.kernel.current.units.keys()], ['other'])
  t.equal(world.state('teller'), 'waiting')
  t.match(world.why('teller'), /clock@1/)
})

t.test('the start fails if a required plugin fails, waits, cannot be read or has invalid settings', async t => {
  const clock = service<number>('clock@1')
  const needy = definePlugin({ name: 'needy', requires: { clock }, activate() {} })
  const required = { needy: { policy: { onBootFailure: 'abort' } } } as const
  await t.rejects(new World(t).put(failing('needy')).configure(required).apply(), {
    plugin: 'needy',
    message: /no hands/
  })
  await t.rejects(new World(t).put(needy).configure(required).apply(), {
    code: 'KRN_ACTIVATE_FAILED',
    message: /needy is required but cannot run: needs clock@1/
  })
  const unreadable = { ...inlineSource(lively('needy')), prepare: () => Promise.reject(new Error('missing brace')) }
  await t.rejects(new World(t).putSource(unreadable).configure(required).apply(), { message: 'missing brace' })
  const wrong = { needy: { ...required.needy, error: 'port must be a number' } }
  await t.rejects(new World(t).put(lively('needy')).configure(wrong).apply(), { message: /port must be a number/ })
  t.match(
    await new World(t)
      .put(needy)
      .configure({ needy: { ...required.needy, enabled: false } })
      .apply(),
    { add: [] }
  )
})

t.test('a plugin whose folder was removed is disposed once, after its users', async t => {
  const events: string[] = []
  const clock = service<number>('clock@1')
  const world = await open(
    t,
    definePlugin({
      name: 'clock',
      provides: [clock],
      activate(ctx) {
        ctx.provide(clock, 1)
        ctx.effect('clock', () => void events.push('clock'))
      }
    }),
    definePlugin({
      name: 'teller',
      requires: { clock },
      activate: ctx => void ctx.effect('teller', () => void events.push('teller'))
    })
  )
  t.match(await world.remove('clock').apply(), { remove: ['teller', 'clock'] })
  await world.until(() => events.length === 2)
  t.same(events, ['teller', 'clock'])
  t.notOk(world.kernel.records.has('clock'))
  t.equal(world.state('teller'), 'waiting')
})

t.test('a running provider of a service is preferred to a new one', async t => {
  const clock = service<number>('clock@1')
  const clockBy = (name: string): Plugin =>
    definePlugin({ name, provides: [clock], activate: ctx => ctx.provide(clock, 1) })
  const world = await open(t, clockBy('m'))
  // The new provider would come first by name.
  await world.remove('m').put(clockBy('a'), clockBy('m')).apply()
  t.ok(world.kernel.current.units.has('m'))
  t.equal(world.state('a'), 'invalid')
  t.match(world.why('a'), /a and m both provide clock@1/)
})

t.test('a new plugin with an operation id in use is left out, with a reason that names the owner', async t => {
  const world = await open(t, lively('a'))
  const thief = definePlugin({
    name: 'thief',
    operations: [whoOperation('a.who')],
    activate: ctx => ctx.implement(whoOperation('a.who'), () => ({ by: 'thief' }))
  })
  await world.put(thief, lively('b')).apply()
  t.same(await world.call('a.who'), { by: 'a' })
  t.same(await world.call('b.who'), { by: 'b' })
  t.equal(world.state('thief'), 'failed')
  t.match(world.why('thief'), /a\.who: a and thief both contribute it/)
})

t.test('a running plugin that starts to claim another’s operation keeps its old code', async t => {
  const world = await open(t, lively('a'), lively('b'))
  const greedy = definePlugin({
    name: 'b',
    operations: [whoOperation('a.who')],
    activate: ctx => ctx.implement(whoOperation('a.who'), () => ({ by: 'b' }))
  })
  await t.rejects(world.put(greedy).apply(), { code: 'KRN_CONFLICT' })
  t.match(world.why('b'), /last change refused: conflict on operation a\.who/)
  t.equal(world.why('a'), null)
  t.same(await world.call('b.who'), { by: 'b' })
  await world.put(lively('b', 'b2')).apply()
  t.equal(world.why('b'), null, 'the reason is cleared after the change succeeded')
})

const surfacePlugin = (name: string, surface: Partial<Surface>): Plugin =>
  definePlugin({
    name,
    activate: ctx => ctx.contribute(surfaces, { prepare: () => ({ commit: () => {}, abort: () => {} }), ...surface })
  })

t.test('a surface that does not prepare in time fails the change, and its late preparation is aborted', async t => {
  let prepare: Surface['prepare'] = () => ({ commit: () => {}, abort: () => {} })
  const world = new World(t).put(surfacePlugin('slow', { prepare: next => prepare(next) }), lively('a'))
  await world.configure({ slow: { policy: { activateTimeoutMs: 20 } } }).apply()
  const late = gate<PreparedSurface>()
  const aborted = gate()
  prepare = () => late.passed
  await t.rejects(world.put(lively('a', 'a2')).apply(), {
    code: 'KRN_SURFACE_REFUSED',
    plugin: 'slow',
    message: /its preparation did not finish within 20 ms/
  })
  t.same(await world.call('a.who'), { by: 'a' })
  late.open({ commit: () => t.fail('too late'), abort: aborted.open })
  await aborted.passed
  prepare = () => ({ commit: () => {}, abort: () => {} })
  await world.apply()
  t.same(await world.call('a.who'), { by: 'a2' })
})

t.test('the error of a change names a surface that fails to abort, and keeps its code', async t => {
  let refuse = false
  const world = await open(
    t,
    surfacePlugin('a', {
      prepare: () => ({
        commit: () => {},
        abort: () => {
          throw new Error('stuck')
        }
      })
    }),
    surfacePlugin('b', {
      prepare: () => {
        if (refuse) throw new Error('no room')
        return { commit: () => {}, abort: () => {} }
      }
    }),
    lively('c')
  )
  refuse = true
  await t.rejects(world.put(lively('c', 'c2')).apply(), {
    code: 'KRN_SURFACE_REFUSED',
    plugin: 'b',
    message: /no room; the rollback failed too: stuck/
  })
})

t.test('an error of a surface’s commit is reported and does not affect others', async t => {
  let broken = false
  const commits: string[] = []
  const world = await open(
    t,
    surfacePlugin('a', {
      prepare: () => ({
        commit: () => {
          if (broken) throw new Error('half swapped')
        },
        abort: () => {}
      })
    }),
    surfacePlugin('b', { prepare: next => ({ commit: () => void commits.push(`b ${next.id}`), abort: () => {} }) }),
    lively('c')
  )
  broken = true
  t.match(await world.put(lively('c', 'c2')).apply(), { applied: true, generation: 2 })
  t.same(commits, ['b 1', 'b 2'])
  t.same(await world.call('c.who'), { by: 'c2' })
  t.equal(world.state('a'), 'degraded')
  t.match(world.why('a'), /half swapped/)
  broken = false
  await world.kernel.change({ forced: ['a'] })
  t.equal(world.state('a'), 'active')
})

t.test('live settings are part of the change: if one plugin rejects them, all are rolled back', async t => {
  const configured = (name: string, refuses = false): Plugin =>
    definePlugin({
      name,
      config: s.object({ n: s.integer() }),
      operations: [whoOperation(`${name}.who`)],
      activate(ctx) {
        ctx.implement(whoOperation(`${name}.who`), () => ({ by: `${name} ${ctx.config.n}` }))
        ctx.onConfig(({ n }) => {
          if (refuses && n > 1) throw new Error('too many')
        })
      }
    })
  const settings = (n: number) => ({ a: { settings: { n } }, b: { settings: { n } } })
  const world = new World(t).put(configured('a'), configured('b', true), lively('c')).configure(settings(1))
  await world.apply()
  world.configure(settings(2)).put(lively('c', 'c2'))
  await t.rejects(world.apply({ live: ['a', 'b'] }), {
    code: 'KRN_SETTINGS_REFUSED',
    plugin: 'b',
    message: /b rejected its new settings: too many/
  })
  t.same(await world.call('a.who'), { by: 'a 1' })
  t.same(await world.call('b.who'), { by: 'b 1' })
  t.same(await world.call('c.who'), { by: 'c' })
  t.match(world.why('b'), /too many/)
  await world.put(configured('b')).apply({ live: ['a', 'b'] })
  t.same(await world.call('a.who'), { by: 'a 2' })
  t.same(await world.call('b.who'), { by: 'b 2' })
  t.same(await world.call('c.who'), { by: 'c2' })
})

t.test('the disposer of an activation that ends after its timeout is called', async t => {
  const late = gate()
  const disposed = gate()
  const world = new World(t).put(
    definePlugin({
      name: 'slow',
      async activate() {
        await late.passed
        return disposed.open
      }
    })
  )
  await world.configure({ slow: { policy: { activateTimeoutMs: 5 } } }).apply()
  t.match(world.why('slow'), /activate function of slow did not finish within 5 ms/)
  late.open()
  await disposed.passed
})

t.test('closing aborts an activation that hangs', async t => {
  const begun = gate()
  const events: string[] = []
  const world = new World(t).put(
    lively('a', 'a', events),
    definePlugin({
      name: 'hangs',
      activate(ctx) {
        ctx.effect('begun', () => void events.push('undone'))
        begun.open()
        return new Promise(() => {})
      }
    })
  )
  const change = world.apply().catch((error: { code: string }) => error.code)
  await begun.passed
  await world.kernel.close()
  t.equal(await change, 'KRN_CLOSED')
  t.same(events, ['a activates', 'undone', 'a disposed'])
})

t.test('concurrent changes run one after the other, in order', async t => {
  const world = await open(t, lively('a'))
  const reports = [1, 2, 3].map(n => world.put(lively('a', `a${n}`)).apply())
  t.same(
    (await Promise.all(reports)).map(report => report.generation),
    [2, 3, 4]
  )
  t.same(await world.call('a.who'), { by: 'a3' })
})

t.test('no change is accepted after close', async t => {
  const world = await open(t, lively('a'))
  await world.kernel.close()
  await t.rejects(world.apply(), { code: 'KRN_CLOSED', status: 503 })
})
