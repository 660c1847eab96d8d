import { type KernelPort, kernelPort, surfaces } from '@svc/contracts'
import { definePlugin, type Plugin, point } from '@svc/plugin-sdk'
import t from 'tap'
import { act, sights } from './fixtures/creature.ts'
import { KINDS, World } from './world.ts'

for (const kind of KINDS) {
  t.test(`data items of a plugin in a ${kind}`, async t => {
    const open = (activate: string, others: readonly Plugin[] = []): Promise<World> =>
      World.open(t, kind, { settings: { activate }, mayFail: true, policy: { onBootFailure: 'continue' }, others })

    t.test('are visible to points that declare data, and only there', async t => {
      const prepared: number[] = []
      const surface = definePlugin({
        name: 'surface',
        activate: ctx =>
          ctx.contribute(surfaces, {
            prepare: next => {
              prepared.push(next.id)
              return { commit: () => {}, abort: () => {} }
            }
          })
      })
      const world = await open('contribute data', [surface])
      const { current } = world.kernel
      t.same(
        current.items(sights).map(({ item, label, unit }) => [item, label, unit.name]),
        [[{ name: 'river', bends: [1, 2] }, 'a river', 'creature']]
      )
      t.same(
        current.items(surfaces).map(({ unit }) => unit.name),
        ['surface'],
        'a forged surface is not called'
      )
      t.same(prepared, [1])
      t.same(current.items(point('world.things')), [])
      t.match(current.items(point('world.things', { data: true })), [{ item: { forged: true } }])
    })

    t.test('conflict with the items of other plugins by their keys', async t => {
      const other = definePlugin({
        name: 'other',
        activate: ctx => ctx.contribute(sights, { name: 'river', bends: [] })
      })
      const world = await open('contribute data', [other])
      const conflict = /conflict on world\.sights river: (?:other and creature|creature and other)/
      t.ok(['other', 'creature'].some(name => conflict.test(world.kernel.records.get(name)?.why ?? '')))
      t.equal(world.kernel.current.items(sights).length, 1)
    })

    for (const [activate, why] of [
      ['contribute a function', /creature contributes to world\.sights: look is a function/],
      ['contribute much', /creature: it contributes 1001 items/],
      ['forge', /creature: its contribution to world\.sights is not data: it is an instance of Map/],
      ['forge keys', /creature: a point, key or label of its contributions is not a short text/]
    ] as const)
      t.test(`activation fails: ${activate}`, async t => {
        const world = await open(activate)
        t.equal(world.state, 'failed')
        t.match(world.kernel.records.get('creature')?.error, { code: 'KRN_NOT_REMOTABLE', message: why })
      })
  })

  t.test(`topics of a plugin in a ${kind}`, async t => {
    let port: KernelPort | undefined
    const reader = definePlugin({
      name: 'reader',
      requires: { kernel: kernelPort },
      activate: (_ctx, { kernel }) => void (port = kernel)
    })
    const world = await World.open(t, kind, { others: [reader] })
    const { topics } = port as unknown as KernelPort
    const announce = (...given: readonly unknown[]): Promise<unknown> =>
      world.call(act, { what: 'announce', with: given })
    const next = (topic: string): Promise<void> =>
      new Promise(resolve => {
        const end = topics.subscribe([topic], () => {
          end()
          resolve()
        })
      })

    t.test('wake subscribers in the host', async () => {
      const woken = next('creature.mood')
      await announce('creature.mood')
      await woken
    })

    t.test('are announced once for a burst in one turn of the event loop', async t => {
      const before = topics.version('creature.burst')
      const woken = next('creature.burst')
      await announce(...Array.from({ length: 1_000 }, () => 'creature.burst'))
      await woken
      t.equal(topics.version('creature.burst'), before + 1)
    })

    t.test('of other plugins are refused, with one warning', async t => {
      const woken = next('creature.after')
      await announce('reader.list', 'creatures.list', 'reader.more', 5, 'creature.after')
      await woken
      t.equal(topics.version('reader.list') + topics.version('creatures.list') + topics.version('reader.more'), 0)
      const warnings = world.lines.filter(({ message }) => /topics of an isolated plugin/.test(message))
      t.match(warnings, [{ plugin: 'creature', level: 'warn', fields: { topic: 'reader.list' } }])
      t.equal(warnings.length, 1)
    })

    t.test('are limited in length', async t => {
      const long = `creature.${'x'.repeat(1_024)}`
      const woken = next('creature.later')
      await announce(long, 'creature.later')
      await woken
      t.equal(topics.version(long), 0)
    })

    t.test('are limited in number', async t => {
      const woken = next('creature.mood')
      await announce(...Array.from({ length: 2_000 }, (_, index) => `creature.${index}`), 'creature.mood')
      await woken
      t.equal(topics.version('creature.0'), 1)
      t.equal(topics.version('creature.1999'), 0)
    })

    t.test('keep their subscriptions when the plugin reloads', async t => {
      const woken: string[] = []
      topics.subscribe(['creature.mood'], topic => woken.push(topic))
      const before = world.instance
      await world.change(['creature'])
      t.not(world.instance, before)
      const again = next('creature.mood')
      await announce('creature.mood')
      await again
      t.same(woken, ['creature.mood'])
    })
  })
}
