import { World } from '@svc/kernel/testing'
import { defineOperation, definePlugin, type Plugin, SvcError, t as s } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t, { type Test } from 'tap'

/* Live settings: either all listeners of all plugins accept a change, or no part of it applies. */

const read = (name: string) =>
  defineOperation({ id: `${name}.read`, summary: 'x', input: s.object({}), output: s.object({ n: s.integer() }) })

type Listener = (next: { n: number }, previous: { n: number }) => void | Promise<void>

const live = (name: string, ...listeners: readonly Listener[]): Plugin =>
  definePlugin({
    name,
    config: s.object({ n: s.integer() }),
    operations: [read(name)],
    activate(ctx) {
      ctx.implement(read(name), () => ({ n: ctx.config.n }))
      for (const listener of listeners) ctx.onConfig(listener)
    }
  })

const settings = (n: number, ...names: readonly string[]) =>
  Object.fromEntries(names.map(name => [name, { settings: { n } }]))

async function open(t: Test, ...plugins: readonly Plugin[]): Promise<World> {
  const world = new World(t).put(...plugins).configure(settings(1, ...plugins.map(({ name }) => name)))
  await world.apply()
  return world
}

t.test('listeners receive new and previous settings, in registration order', async t => {
  const seen: unknown[] = []
  const note =
    (which: string): Listener =>
    async (next, previous) => {
      await null
      seen.push([which, next.n, previous.n])
    }
  const world = await open(t, live('a', note('first'), note('second')), live('b', note('other')))
  t.same(seen, [], 'listeners are not called for the initial settings')
  await world.configure(settings(2, 'a', 'b')).apply({ live: ['a', 'b'] })
  t.same(seen, [
    ['first', 2, 1],
    ['second', 2, 1],
    ['other', 2, 1]
  ])
  t.same(await world.call('a.read'), { n: 2 })
  t.equal(world.kernel.current.id, 1, 'no new generation is built')
})

t.test('ctx.config has the new settings while listeners run', async t => {
  let seen: unknown
  const plugin = definePlugin({
    name: 'a',
    config: s.object({ n: s.integer() }),
    activate: ctx => ctx.onConfig(() => void (seen = ctx.config))
  })
  const world = await open(t, plugin)
  await world.configure(settings(2, 'a')).apply({ live: ['a'] })
  t.same(seen, { n: 2 })
})

t.test('if a listener throws, earlier listeners receive the old settings again, last first', async t => {
  const seen: string[] = []
  const note =
    (which: string): Listener =>
    (next, previous) =>
      void seen.push(`${which} ${previous.n} to ${next.n}`)
  const refuse: Listener = ({ n }) => {
    seen.push(`refuses ${n}`)
    throw new Error('too many')
  }
  const world = await open(t, live('a', note('a1'), note('a2')), live('b', note('b1'), refuse, note('b2')))
  await t.rejects(world.configure(settings(2, 'a', 'b')).apply({ live: ['a', 'b'] }), {
    code: 'KRN_SETTINGS_REFUSED',
    message: 'b rejected its new settings: too many',
    plugin: 'b',
    hint: 'the plugin keeps its previous settings',
    cause: { message: 'too many' }
  })
  t.same(seen, ['a1 1 to 2', 'a2 1 to 2', 'b1 1 to 2', 'refuses 2', 'b1 2 to 1', 'a2 2 to 1', 'a1 2 to 1'])
  t.same(await Promise.all([world.call('a.read'), world.call('b.read')]), [{ n: 1 }, { n: 1 }])
})

t.test('an error of a listener during a rollback is logged, and the others are rolled back', async t => {
  const seen: string[] = []
  const stubborn: Listener = ({ n }) => {
    if (n === 1) throw new Error('no way back')
  }
  const world = await open(
    t,
    live('a', ({ n }) => void seen.push(`a ${n}`), stubborn),
    live('b', () => Promise.reject(new Error('too many')))
  )
  await t.rejects(world.configure(settings(2, 'a', 'b')).apply({ live: ['a', 'b'] }), { code: 'KRN_SETTINGS_REFUSED' })
  t.same(seen, ['a 2', 'a 1'])
  t.match(
    world.lines.filter(({ level }) => level === 'error'),
    [
      {
        plugin: 'a',
        message: 'restoring the previous settings failed',
        fields: { error: { message: 'no way back' } }
      }
    ]
  )
})

t.test('an error that names the plugin is rethrown; one of another plugin becomes KRN_SETTINGS_REFUSED', async t => {
  const by =
    (plugin?: string): Listener =>
    () => {
      throw new SvcError('DEMO_FULL', 'no room', plugin === undefined ? {} : { plugin })
    }
  for (const [thrown, code] of [
    ['a', 'DEMO_FULL'],
    ['b', 'KRN_SETTINGS_REFUSED'],
    [undefined, 'KRN_SETTINGS_REFUSED']
  ] as const) {
    const world = await open(t, live('a', by(thrown)))
    await t.rejects(world.configure(settings(2, 'a')).apply({ live: ['a'] }), { code, plugin: 'a' }, `${thrown}`)
    t.match(world.why('a'), /^last change refused: .*no room/)
  }
})

t.test('listeners are not called if the plugin does not run or is replaced by the same change', async t => {
  const seen: string[] = []
  const world = await open(
    t,
    live('a', () => void seen.push('a')),
    live('b', () => void seen.push('b'))
  )
  await world.configure({ ...settings(2, 'a', 'b'), a: { enabled: false } }).apply({ live: ['a', 'b'], forced: ['b'] })
  t.same(seen, [])
  t.same(await world.call('b.read'), { n: 2 }, 'the new instance has the new settings')
  await world.apply({ live: ['absent'] })
})

t.test('live settings are applied after all preparation, and not in a failed change', async t => {
  const seen: string[] = []
  const world = await open(
    t,
    live('a', () => void seen.push('a'))
  )
  world.configure(settings(2, 'a')).put(
    definePlugin({
      name: 'new',
      activate() {
        seen.push('new activates')
        throw new Error('no hands')
      }
    })
  )
  await t.rejects(world.apply({ live: ['a'], mustSucceed: ['new'] }), { message: /no hands/ })
  t.same(seen, ['new activates'])
  t.same(await world.call('a.read'), { n: 1 })
})

t.test('a dry run applies no live settings', async t => {
  const seen: string[] = []
  const world = await open(
    t,
    live('a', () => void seen.push('a'))
  )
  await world.configure(settings(2, 'a')).apply({ live: ['a'], dryRun: true })
  t.same(seen, [])
  t.same(await world.call('a.read'), { n: 1 })
})

t.test('for any sequence of settings and errors, the listeners have the settings in force', async t => {
  const step = fc.record({ n: fc.integer({ min: 2, max: 9 }), refuses: fc.constantFrom('a', 'b', 'c', null, null) })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async steps => {
      const known = new Map<string, number>()
      let refuses: string | null = null
      const names = ['a', 'b', 'c']
      const plugins = names.map(name =>
        live(
          name,
          ({ n }) => void known.set(`${name} first`, n),
          (_, previous) => {
            // A plugin that rejects a change still accepts its previous settings.
            if (refuses === name && known.get(`${name} first`) !== previous.n) throw new Error('no')
          },
          ({ n }) => void known.set(`${name} last`, n)
        )
      )
      const world = await open(t, ...plugins)
      let inForce = 1
      for (const each of steps) {
        refuses = each.refuses
        const refused = await world
          .configure(settings(each.n, ...names))
          .apply({ live: names })
          .then(
            () => false,
            () => true
          )
        if (refused !== (each.refuses !== null && each.n !== inForce)) return false
        if (!refused) inForce = each.n
        refuses = null
        for (const name of names) {
          if (((await world.call(`${name}.read`)) as { n: number }).n !== inForce) return false
          for (const which of ['first', 'last']) if ((known.get(`${name} ${which}`) ?? 1) !== inForce) return false
        }
      }
      await world.kernel.close()
      return true
    }),
    { numRuns: 30 }
  )
  t.pass()
})
