import { setImmediate as turn } from 'node:timers/promises'
import { type Surface, surfaces } from '@svc/contracts'
import { gate, World } from '@svc/kernel/testing'
import { defineOperation, definePlugin, hook, type Plugin, ref, t as s, service } from '@svc/plugin-sdk'
import t from 'tap'

const clock = service<{ now(): number }>('clock@1')
const tell = defineOperation({
  id: 'demo.tell',
  summary: 'x',
  input: s.object({}),
  output: s.object({ now: s.integer() })
})

t.test('a provider waits for a user of an earlier generation that is still draining', async t => {
  const events: string[] = []
  const release = gate()
  let instance = 0
  const user = (): Plugin =>
    definePlugin({
      name: 'user',
      requires: { clock },
      operations: [tell],
      activate(ctx, deps) {
        const self = `user ${++instance}`
        ctx.effect('end', () => void events.push(`${self} disposed`))
        ctx.implement(tell, async () => {
          if (self === 'user 1') await release.passed
          events.push(`${self} asks`)
          return { now: deps.clock.now() }
        })
      }
    })
  const provider = (now: number): Plugin =>
    definePlugin({
      name: 'provider',
      provides: [clock],
      activate(ctx) {
        let open = true
        ctx.effect('end', () => {
          open = false
          events.push(`provider ${now} disposed`)
        })
        ctx.provide(clock, {
          now: () => {
            if (open) return now
            throw new Error('used after its end')
          }
        })
      }
    })
  const world = new World(t).put(user(), provider(1))
  await world.apply()
  const call = world.call('demo.tell')
  await world.put(user()).apply() // user 1 drains, provider 1 stays
  await world.put(provider(2)).apply() // user 2 and provider 1 leave, while user 1 still drains
  await world.until(() => events.includes('user 2 disposed'))
  await turn()
  t.same(events, ['user 2 disposed'])
  release.open()
  t.same(await call, { now: 1 })
  await world.until(() => events.includes('provider 1 disposed'))
  t.same(events, ['user 2 disposed', 'user 1 asks', 'user 1 disposed', 'provider 1 disposed'])
  await world.kernel.close()
  t.same(events.slice(4), ['user 3 disposed', 'provider 2 disposed'])
})

t.test('on close, users of a reference are disposed before the provider', async t => {
  const events: string[] = []
  const world = new World(t).put(
    definePlugin({
      name: 'a',
      provides: [clock],
      activate(ctx) {
        ctx.provide(clock, { now: () => 1 })
        ctx.effect('end', () => void events.push('provider'))
      }
    }),
    definePlugin({
      name: 'b',
      requires: { clock: ref(clock) },
      activate(ctx, deps) {
        ctx.effect('end', async () => {
          await turn()
          events.push(`user ${deps.clock.current.now()}`)
        })
      }
    })
  )
  await world.apply()
  await world.kernel.close()
  t.same(events, ['user 1', 'provider'])
})

t.test('a unit that hangs does not delay independent units', async t => {
  const hang = gate()
  const gone = gate()
  const world = new World(t).put(
    definePlugin({ name: 'hangs', activate: ctx => void ctx.effect('end', () => hang.passed) }),
    definePlugin({ name: 'quick', activate: ctx => void ctx.effect('end', gone.open) })
  )
  await world.apply()
  await world.remove('hangs', 'quick').apply()
  await gone.passed
  hang.open()
})

t.test('a task that a running call starts is also awaited', async t => {
  const release = gate()
  const written = gate()
  const events: string[] = []
  const world = new World(t).put(
    definePlugin({
      name: 'demo',
      operations: [tell],
      activate(ctx) {
        ctx.effect('end', () => void events.push('disposed'))
        ctx.implement(tell, async () => {
          await release.passed
          ctx.task('write', async () => {
            await written.passed
            events.push('written')
          })
          return { now: 1 }
        })
      }
    })
  )
  await world.apply()
  const call = world.call('demo.tell')
  await turn()
  await world.remove('demo').apply()
  release.open()
  await call
  await turn()
  t.same(events, [])
  written.open()
  await world.until(() => events.includes('disposed'))
  t.same(events, ['written', 'disposed'])
})

t.test('a unit is not disposed while its hook tap runs', async t => {
  const greet = hook<[string]>('demo.greet')
  const release = gate()
  const events: string[] = []
  const world = new World(t).put(
    definePlugin({ name: 'host', hooks: [greet], activate() {} }),
    definePlugin({
      name: 'guest',
      activate(ctx) {
        ctx.effect('end', () => void events.push('disposed'))
        ctx.on(greet, async name => {
          await release.passed
          events.push(`hello ${name}`)
        })
      }
    })
  )
  await world.apply()
  const greeting = world.kernel.current.hooks.trigger(greet.id, ['Ada'])
  await world.remove('guest').apply()
  await turn()
  t.same(events, [])
  release.open()
  await greeting
  await world.until(() => events.includes('disposed'))
  t.same(events, ['hello Ada', 'disposed'])
})

t.test('an operation of a disposed unit is forwarded to the serving unit', async t => {
  const make = (now: number): Plugin =>
    definePlugin({ name: 'demo', operations: [tell], activate: ctx => ctx.implement(tell, () => ({ now })) })
  const world = new World(t).put(make(1))
  await world.apply()
  const call = { surface: 'http', principal: { id: 'x', role: 'user', scopes: [] } } as const
  const held = world.kernel.current.operations.get('demo.tell')!
  await world.put(make(2)).apply()
  t.same(await held.invoke({}, call), { now: 2 })
  await world.until(() => held.unit.state === 'disposed')
  t.same(await held.invoke({}, call), { now: 2 })
  await world.remove('demo').apply()
  await world.until(() => [...world.kernel.current.units].length === 0)
  await t.rejects(held.invoke({}, call), { code: 'OPR_UNKNOWN', status: 404 })
})

t.test('on close, running calls may still call all other plugins', async t => {
  const release = gate()
  const begun = gate()
  const outer = defineOperation({
    id: 'outer.ask',
    summary: 'x',
    input: s.object({}),
    output: s.object({ now: s.integer() })
  })
  const world = new World(t).put(
    // Without the running call, this plugin would be disposed first.
    definePlugin({ name: 'z', operations: [tell], activate: ctx => ctx.implement(tell, () => ({ now: 3 })) }),
    definePlugin({
      name: 'a',
      operations: [outer],
      activate: ctx =>
        ctx.implement(outer, async () => {
          begun.open()
          await release.passed
          return ctx.call(tell, {})
        })
    })
  )
  await world.apply()
  const call = world.call('outer.ask')
  await begun.passed
  const closing = world.kernel.close()
  await turn()
  release.open()
  t.same(await call, { now: 3 })
  await closing
})

t.test('closing twice closes once', async t => {
  let disposals = 0
  const release = gate()
  const world = new World(t).put(
    definePlugin({
      name: 'demo',
      activate: ctx =>
        void ctx.effect('end', async () => {
          disposals += 1
          await release.passed
        })
    })
  )
  await world.apply()
  const [one, two] = [world.kernel.close(), world.kernel.close()]
  const first = await Promise.race([two.then(() => 'closed'), turn('waits')])
  t.equal(first, 'waits', 'the second call also waits')
  release.open()
  await Promise.all([one, two])
  t.equal(disposals, 1)
})

t.test('closing ends despite a hanging surface, call and disposer', async t => {
  const surface: Surface = {
    prepare: () => ({ commit: () => {}, abort: () => {} }),
    quiesce: () => new Promise(() => {})
  }
  const patience = { policy: { drainTimeoutMs: 20 } }
  const world = new World(t)
    .put(
      definePlugin({ name: 'loud', activate: ctx => ctx.contribute(surfaces, surface) }),
      definePlugin({ name: 'stuck', activate: ctx => void ctx.effect('socket', () => new Promise(() => {})) }),
      definePlugin({
        name: 'busy',
        operations: [tell],
        activate: ctx => ctx.implement(tell, () => new Promise(() => {}))
      })
    )
    .configure({ loud: patience, stuck: patience, busy: patience })
  await world.apply()
  const call = world.call('demo.tell')
  const { records } = world.kernel
  const unit = records.get('stuck')!.unit!
  await Promise.all([t.rejects(call, { code: 'OPR_CANCELLED' }), world.kernel.close()])
  const logged = world.lines.map(line => `${line.plugin}: ${line.message}`)
  t.ok(logged.includes('loud: did not stop its work within 20 ms'))
  t.ok(logged.some(line => /busy: still busy .*1 calls/.test(line)))
  t.ok(logged.includes('stuck: disposer "socket" did not settle and was abandoned'))
  t.equal(unit.state, 'stuck')
})

t.test('a plugin is disposed before plugins in its `after` list', async t => {
  const events: string[] = []
  const release = gate()
  const make = (name: string, after: string[]): Plugin =>
    definePlugin({
      name,
      after,
      activate: ctx =>
        void ctx.effect('end', async () => {
          if (name === 'a') await release.passed
          events.push(name)
        })
    })
  const world = new World(t).put(make('a', ['b']), make('b', []))
  await world.apply()
  await world.remove('a', 'b').apply()
  await turn()
  t.same(events, [], 'b waits for a')
  release.open()
  await world.until(() => events.length === 2)
  t.same(events, ['a', 'b'])
})

t.test('a draining unit can use the services of its generation until it is disposed', async t => {
  const release = gate()
  const user = definePlugin({
    name: 'user',
    requires: { clock: ref(clock) },
    operations: [tell],
    activate: (ctx, deps) =>
      ctx.implement(tell, async () => {
        await release.passed
        return { now: deps.clock.current.now() }
      })
  })
  const provider = definePlugin({
    name: 'provider',
    provides: [clock],
    activate: ctx => ctx.provide(clock, { now: () => 5 })
  })
  const world = new World(t).put(user, provider)
  await world.apply()
  const call = world.call('demo.tell')
  await turn()
  await world.remove('user', 'provider').apply()
  t.equal(world.kernel.current.services.resolve(clock.id), undefined)
  release.open()
  t.same(await call, { now: 5 })
})

t.test(
  'a unit that is still busy at the deadline is logged with its calls and tasks, and its calls are cancelled',
  async t => {
    const world = new World(t)
      .put(
        definePlugin({
          name: 'demo',
          operations: [tell],
          activate(ctx) {
            ctx.implement(tell, () => new Promise(() => {}))
            ctx.task('write', () => new Promise(() => {}))
            ctx.task('send', () => new Promise(() => {}))
          }
        })
      )
      .configure({ demo: { policy: { drainTimeoutMs: 15 } } })
    await world.apply()
    const calls = [world.call('demo.tell'), world.call('demo.tell')]
    await turn()
    await world.remove('demo').apply()
    for (const call of calls) await t.rejects(call, { code: 'OPR_CANCELLED' })
    t.ok(world.lines.some(({ message }) => message === 'still busy after 15 ms: 2 calls, tasks write, send'))
  }
)

t.test('errors of disposers are logged, and the unit is disposed', async t => {
  const gone = gate()
  const world = new World(t).put(
    definePlugin({
      name: 'demo',
      activate(ctx) {
        ctx.effect('last', gone.open)
        ctx.effect('socket', () => Promise.reject(new Error('reset')))
        ctx.effect('file', () => {
          throw new Error('busy')
        })
        return () => {
          throw new Error('own disposer')
        }
      }
    })
  )
  await world.apply()
  const unit = world.kernel.current.units.get('demo')!
  await world.remove('demo').apply()
  await gone.passed
  await world.until(() => unit.state === 'disposed')
  t.same(
    world.lines
      .filter(({ message }) => message === 'a disposer failed')
      .map(({ plugin, level, fields }) => [plugin, level, (fields.error as Error).message]),
    [
      ['demo', 'warn', 'own disposer'],
      ['demo', 'warn', 'busy'],
      ['demo', 'warn', 'reset']
    ]
  )
})

t.test('the units of a failed change are disposed in reverse activation order', async t => {
  const events: string[] = []
  const make = (name: string, after: string[], fails: boolean): Plugin =>
    definePlugin({
      name,
      after,
      activate(ctx) {
        ctx.effect('end', () => void events.push(`${name} undone`))
        if (fails) throw new Error('no hands')
      }
    })
  const world = new World(t).put(make('a', [], false), make('b', ['a'], false), make('c', ['b'], true))
  await t.rejects(world.apply({ mustSucceed: ['c'] }), { message: /no hands/ })
  t.same(events, ['c undone', 'b undone', 'a undone'])
  t.equal(world.kernel.current.id, 0)
})

t.test('on close, running calls end before any plugin is disposed', async t => {
  const events: string[] = []
  const release = gate()
  const world = new World(t).put(
    definePlugin({
      name: 'busy',
      operations: [tell],
      activate(ctx) {
        ctx.onDrain('work', reason => void events.push(`drain ${reason}`))
        ctx.effect('end', () => void events.push('busy disposed'))
        ctx.implement(tell, async () => {
          await release.passed
          events.push('answered')
          return { now: 1 }
        })
      }
    }),
    definePlugin({ name: 'idle', activate: ctx => void ctx.effect('end', () => void events.push('idle disposed')) })
  )
  await world.apply()
  const call = world.call('demo.tell')
  await turn()
  const closing = world.kernel.close()
  await turn()
  t.same(events, ['drain closing'])
  release.open()
  await Promise.all([call, closing])
  t.same(events.slice(0, 2), ['drain closing', 'answered'])
  t.same(events.slice(2).sort(), ['busy disposed', 'idle disposed'])
})

t.test('an error of a surface’s quiesce is logged, and closing continues', async t => {
  const surface: Surface = {
    prepare: () => ({ commit: () => {}, abort: () => {} }),
    quiesce: () => Promise.reject(new Error('the socket is gone'))
  }
  const world = new World(t).put(
    definePlugin({ name: 'loud', activate: ctx => ctx.contribute(surfaces, surface) }),
    definePlugin({
      name: 'silent',
      activate: ctx => ctx.contribute(surfaces, { prepare: () => ({ commit: () => {}, abort: () => {} }) })
    })
  )
  await world.apply()
  await world.kernel.close()
  t.match(
    world.lines.filter(({ level }) => level === 'warn'),
    [{ plugin: 'loud', message: 'stopping its work failed', fields: { error: { message: 'the socket is gone' } } }]
  )
})
