import { type GenerationDiff, generationFlipped, type PreparedSurface, type Surface, surfaces } from '@svc/contracts'
import { gate, World } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, SvcError, t as s, service } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t, { type Test } from 'tap'

/* Tests the phase between activation and flip, in which surfaces prepare, and then commit or abort. */

const nothing: PreparedSurface = { commit: () => {}, abort: () => {} }

const surface = (name: string, prepare: Surface['prepare'], after: string[] = []): Plugin =>
  definePlugin({ name, after, activate: ctx => ctx.contribute(surfaces, { prepare }) })

const plain = (name: string): Plugin => definePlugin({ name, activate() {} })

async function open(t: Test, ...plugins: readonly Plugin[]): Promise<World> {
  const world = new World(t).put(...plugins)
  await world.apply()
  return world
}

t.test('a surface prepares for the next generation while the current one serves', async t => {
  const seen: unknown[] = []
  const world = new World(t)
  world.put(
    surface('s', next => {
      seen.push([next.id, [...next.units.keys()], world.kernel.current.id])
      return nothing
    })
  )
  await world.apply()
  await world.put(plain('a')).apply()
  t.same(seen, [
    [1, ['s'], 0],
    [2, ['a', 's'], 1]
  ])
})

t.test('surfaces prepare one after the other, and are aborted in reverse order', async t => {
  const events: string[] = []
  let refuses = false
  const noting = (name: string, after: string[]): Plugin =>
    surface(
      name,
      async () => {
        events.push(`${name} prepares`)
        await null
        events.push(`${name} is ready`)
        return { commit: () => void events.push(`${name} commits`), abort: () => void events.push(`${name} aborts`) }
      },
      after
    )
  const world = await open(
    t,
    noting('a', []),
    noting('b', ['a']),
    surface('c', () => {
      if (refuses) throw new Error('no room')
      return nothing
    }, ['b'])
  )
  t.same(events.splice(0), ['a prepares', 'a is ready', 'b prepares', 'b is ready', 'a commits', 'b commits'])
  refuses = true
  await t.rejects(world.put(plain('new')).apply(), { code: 'KRN_SURFACE_REFUSED', plugin: 'c' })
  t.same(events, ['a prepares', 'a is ready', 'b prepares', 'b is ready', 'b aborts', 'a aborts'])
})

t.test('a surface may name the plugin whose contribution it rejects', async t => {
  const picky = surface('picky', next => {
    if (next.units.has('new'))
      throw new SvcError('HTTP_ROUTE_INVALID', 'new: the path needs a slash', { plugin: 'new', status: 400 })
    return nothing
  })
  const world = await open(t, picky)
  t.match(await world.put(plain('new'), plain('other')).apply(), { applied: true, add: ['other'] })
  t.match([world.state('new'), world.why('new')], ['failed', 'new: the path needs a slash'])
  await t.rejects(world.put(plain('new')).apply({ stale: ['new'], mustSucceed: ['new'] }), {
    code: 'HTTP_ROUTE_INVALID',
    status: 400
  })
})

t.test('an error with a code but no plugin is attributed to the surface', async t => {
  const world = new World(t).put(
    surface('s', () => {
      throw new SvcError('HTTP_PORT_TAKEN', 'port 80 is in use', { hint: 'use another' })
    })
  )
  await t.rejects(world.apply({ mustSucceed: ['s'] }), {
    code: 'HTTP_PORT_TAKEN',
    message: 's: port 80 is in use',
    plugin: 's',
    hint: 'use another'
  })
})

t.test('all errors during a rollback are reported with the change', async t => {
  let refuses = false
  const stuck = (name: string): Plugin =>
    surface(name, () => ({
      commit: () => {},
      abort: () => {
        throw new Error(`${name} is stuck`)
      }
    }))
  const world = await open(
    t,
    stuck('a'),
    stuck('b'),
    surface('c', () => {
      if (refuses)
        throw new SvcError('DEMO_FULL', 'no room', { plugin: 'c', hint: 'make room', data: { free: 0 }, status: 507 })
      return nothing
    })
  )
  refuses = true
  await t.rejects(world.put(plain('new')).apply(), {
    code: 'DEMO_FULL',
    status: 507,
    plugin: 'c',
    hint: 'make room',
    data: { free: 0 },
    message: 'no room; the rollback failed too: b is stuck; a is stuck',
    cause: { errors: [{ message: 'no room' }, { message: 'b is stuck' }, { message: 'a is stuck' }] }
  })
  t.equal(world.kernel.current.id, 1)
})

t.test('rejected live settings abort the preparations of surfaces', async t => {
  const events: string[] = []
  const world = await open(
    t,
    surface('s', ({ id }) => ({
      commit: () => void events.push(`commit ${id}`),
      abort: () => void events.push(`abort ${id}`)
    })),
    definePlugin({
      name: 'demo',
      activate: ctx =>
        ctx.onConfig(() => {
          throw new Error('too many')
        })
    })
  )
  await t.rejects(world.put(plain('new')).apply({ live: ['demo'] }), { code: 'KRN_SETTINGS_REFUSED' })
  t.same(events, ['commit 1', 'abort 2'])
})

t.test('closing abandons a pending preparation, which is aborted when it finishes', async t => {
  const begun = gate()
  const late = gate<PreparedSurface>()
  const aborted = gate()
  let slow = false
  const world = await open(
    t,
    surface('s', () => {
      if (!slow) return nothing
      begun.open()
      return late.passed
    })
  )
  slow = true
  const change = world
    .put(plain('new'))
    .apply()
    .catch((error: SvcError) => error.code)
  await begun.passed
  await world.kernel.close()
  t.equal(await change, 'KRN_CLOSED')
  late.open({ commit: () => t.fail('too late'), abort: aborted.open })
  await aborted.passed
})

t.test('a unit whose preparation exceeds its limit fails the change', async t => {
  const world = await open(t, plain('a'))
  world
    .put(
      definePlugin({
        name: 'slow',
        activate: ctx => ctx.onServe('weights', () => {}, { prepare: () => new Promise(() => {}) })
      })
    )
    .configure({ slow: { policy: { activateTimeoutMs: 15 } } })
  await t.rejects(world.apply({ mustSucceed: ['slow'] }), {
    code: 'KRN_SURFACE_REFUSED',
    plugin: 'slow',
    message: 'slow refused the change: its preparation did not finish within 15 ms'
  })
  t.match(await world.apply(), { applied: true, add: [] }, 'a plugin that does not run is left out')
  t.equal(world.state('slow'), 'failed')
})

t.test('the error of an activation timeout names the setting to raise', async t => {
  const world = new World(t)
    .put(definePlugin({ name: 'slow', activate: () => new Promise(() => {}) }))
    .configure({ slow: { policy: { activateTimeoutMs: 15 } } })
  await t.rejects(world.apply({ mustSucceed: ['slow'] }), {
    code: 'KRN_ACTIVATE_FAILED',
    message: 'the activate function of slow did not finish within 15 ms',
    plugin: 'slow',
    hint: 'raise plugins.slow.activate_timeout_ms'
  })
})

t.test('an activation can use services of earlier plugins only', async t => {
  const tokens = [service<string>('one@1'), service<string>('two@1')] as const
  const seen: unknown[] = []
  const provider = (name: string, index: 0 | 1): Plugin =>
    definePlugin({ name, provides: [tokens[index]], activate: ctx => ctx.provide(tokens[index], name) })
  const world = await open(
    t,
    provider('one', 0),
    definePlugin({
      name: 'user',
      requires: { one: tokens[0] },
      optional: { two: tokens[1] },
      activate: (_ctx, deps) => void seen.push({ ...deps })
    })
  )
  await world.put(provider('two', 1)).apply()
  await world.remove('two').apply()
  t.same(seen, [
    { one: 'one', two: undefined },
    { one: 'one', two: 'two' },
    { one: 'one', two: undefined }
  ])
})

interface Version {
  readonly operations: Readonly<Record<string, number>>
}

const part = (name: string, { operations }: Version): Plugin => {
  const defined = Object.entries(operations).map(([id, fields]) =>
    defineOperation({
      id: `${name}.${id}`,
      summary: 'x',
      input: s.object(Object.fromEntries(Array.from({ length: fields }, (_, index) => [`f${index}`, s.integer()]))),
      output: s.object({})
    })
  )
  return definePlugin({
    name,
    operations: defined,
    activate(ctx) {
      for (const each of defined) ctx.implement(each, () => ({}))
    }
  })
}

t.test('for any changes: the diff of a flip contains exactly the changed plugins and operations', async t => {
  const name = fc.constantFrom('a', 'b', 'c')
  const version = fc.record({
    operations: fc.dictionary(fc.constantFrom('x', 'y'), fc.integer({ min: 0, max: 2 }), { maxKeys: 2 })
  })
  const states = fc.array(fc.dictionary(name, version, { maxKeys: 3 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(states, async all => {
      const diffs: GenerationDiff[] = []
      const world = new World(t).put(
        definePlugin({ name: 'listener', activate: ctx => ctx.on(generationFlipped, diff => void diffs.push(diff)) })
      )
      await world.apply()
      let before: Record<string, Version> = {}
      for (const now of all) {
        diffs.length = 0
        world.remove('a', 'b', 'c').put(...Object.entries(now).map(([each, is]) => part(each, is)))
        await world.apply()
        const names = Object.keys(now)
        const flat = (state: Record<string, Version>): Map<string, number> =>
          new Map(
            Object.entries(state).flatMap(([each, { operations }]) =>
              Object.entries(operations).map(([id, fields]) => [`${each}.${id}`, fields] as const)
            )
          )
        const [old, next] = [flat(before), flat(now)]
        const changed = [...new Set([...old.keys(), ...next.keys()])].filter(id => old.get(id) !== next.get(id))
        const expected = {
          added: names.filter(each => !(each in before)).sort(),
          // New code with the same declarations is also a replacement.
          replaced: names.filter(each => each in before).sort(),
          removed: Object.keys(before)
            .filter(each => !(each in now))
            .sort(),
          operations: changed.sort()
        }
        before = now
        const [diff] = diffs
        if (diff === undefined) {
          if (Object.values(expected).some(list => list.length > 0)) return false
          continue
        }
        for (const [key, list] of Object.entries(expected)) {
          const got = [...diff[key as keyof typeof expected]].sort()
          if (got.join() !== list.join()) throw new Error(`${key}: ${got.join()} for ${list.join()}`)
        }
      }
      await world.kernel.close()
      return true
    }),
    { numRuns: 30 }
  )
  t.pass()
})
