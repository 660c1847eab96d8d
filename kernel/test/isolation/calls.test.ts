import { defineOperation, definePlugin, t as s } from '@svc/plugin-sdk'
import t from 'tap'
import creature, { act, count, heard, relay, say, wait } from './fixtures/creature.ts'
import { KINDS, World } from './world.ts'

for (const kind of KINDS) {
  t.test(`in a ${kind}`, async t => {
    const listen = defineOperation({
      id: 'world.listen',
      summary: 'x',
      input: s.object({ for: s.string() }),
      output: s.object({ heard: s.string(), by: s.string() }),
      errors: { SILENCE: { message: 'There is nothing to hear.', status: 404 } },
      events: s.object({ n: s.integer() })
    })
    const listener = definePlugin({
      name: 'listener',
      operations: [listen],
      hooks: [heard],
      activate(ctx) {
        ctx.implement(listen, (input, call) => {
          if (input.for === 'nothing') call.fail('SILENCE', 'not a sound')
          return { heard: input.for, by: call.principal.id }
        })
      }
    })
    const world = await World.open(t, kind, { others: [listener] })
    const principal = { id: 'tester', role: 'local', scopes: ['*'] }

    t.test('runs operations in the child, with defaults, ids and caller', async t => {
      const answer = await world.call(say, { word: 'ho', times: 2 })
      t.match(answer, { said: 'hoho', caller: 'tester' })
      t.equal((await world.call(say, { word: 'ho' })).said, 'ho')
      if (kind === 'worker') t.not(answer.thread, 0)
      else t.not(answer.pid, process.pid)
    })

    t.test('invalid input is rejected in the host', async t => {
      await t.rejects(world.call(say, { word: 5 } as never), { code: 'OPR_INPUT_INVALID', message: /word/ })
    })

    t.test('events and progress arrive in order, before the result', async t => {
      const seen: unknown[] = []
      const result = await world.call(
        count,
        { to: 3 },
        { onEvent: event => seen.push(event), onProgress: (...step) => seen.push(step) }
      )
      t.same(result, { counted: 3 })
      t.same(seen, [{ n: 1 }, [1, 3, 'at 1'], { n: 2 }, [2, 3, 'at 2'], { n: 3 }, [3, 3, 'at 3']])
    })

    t.test('a listener that throws fails only its own call', async t => {
      const onEvent = (): never => {
        throw new Error('the listener is gone')
      }
      await t.rejects(world.call(count, { to: 2 }, { onEvent }), { code: 'OPR_CANCELLED' })
      t.same(await world.call(count, { to: 1 }), { counted: 1 })
    })

    t.test('a cancelled call aborts the handler in the child', async t => {
      const controller = new AbortController()
      const call = world.call(wait, {}, { signal: controller.signal })
      await world.call(say, { word: 'so that the wait has begun' })
      controller.abort()
      await t.rejects(call, { code: 'OPR_CANCELLED' })
      t.match(await world.call(act, { what: 'report' }), { cancelled: 1 })
    })

    t.test('a passed deadline aborts the handler in the child; a responsive plugin keeps running', async t => {
      const before = world.instance
      await t.rejects(world.call(wait, {}, { timeoutMs: 20 }), { code: 'OPR_TIMEOUT' })
      t.match(await world.call(act, { what: 'report' }), { cancelled: 2 })
      t.equal(world.instance, before)
    })

    t.test('a declared error keeps its code, status, message and data', async t => {
      await t.rejects(world.call(act, { what: 'tire' }), {
        code: 'TOO_TIRED',
        status: 418,
        message: 'yawns',
        data: { hours: 8 }
      })
    })

    t.test('an undeclared error is only logged, with its stack in the child', async t => {
      await t.rejects(world.call(act, { what: 'throw', with: 'a secret reason' }), {
        code: 'OPR_FAILED',
        message: /^((?!secret).)*$/
      })
      const { fields } = await world.untilLogged(/creature\.act failed/)
      const { cause } = fields.error as Error
      t.match((cause as Error).message, 'a secret reason')
      t.match((cause as Error).stack, /throw/)
    })

    t.test('a result that cannot be cloned is an error', async t => {
      await t.rejects(world.call(act, { what: 'function' }), { code: 'KRN_NOT_REMOTABLE', message: /creature/ })
    })

    t.test('calls other plugins as itself and receives their complete errors', async t => {
      t.same(await world.call(relay, { operation: 'world.listen', input: { for: 'rain' } }), {
        heard: 'rain',
        by: 'plugin:creature'
      })
      await t.rejects(world.call(relay, { operation: 'world.listen', input: { for: 'nothing' } }), {
        code: 'SILENCE',
        status: 404,
        message: 'not a sound'
      })
      await t.rejects(world.call(relay, { operation: 'world.nowhere', input: {} }), { code: 'OPR_UNKNOWN' })
    })

    t.test('runs taps in the child, but only for events that match their filter', async t => {
      const before = (await world.call(act, { what: 'report' })) as { taps: number }
      const trigger = (kind: string) => world.kernel.current.hooks.trigger(heard.id, [{ kind, volume: 1 }])
      t.same(await trigger('dog'), { kind: 'dog', volume: 2 })
      t.same(await trigger('cat'), { kind: 'cat', volume: 2 })
      t.same(await trigger('bird'), { kind: 'bird', volume: 1 })
      t.match(await world.call(act, { what: 'report' }), { taps: before.taps + 2 })
      const tap = world.kernel.current.units.get('creature')?.taps[0]
      t.match(tap, { hook: { id: 'world.heard', mode: 'waterfall' }, options: { order: 5, label: 'ears' } })
    })

    t.test('triggers hooks of the serving generation', async t => {
      t.same(await world.call(act, { what: 'trigger', with: { kind: 'dog', volume: 3 } }), { kind: 'dog', volume: 4 })
    })

    t.test('runs health checks in the child', async t => {
      const [check] = world.kernel.current.units.get('creature')!.healthChecks
      t.equal(check?.label, 'mood')
      t.same(await check?.check(), { status: 'degraded', detail: 'feels calm' })
    })

    t.test('applies live settings without a new instance; if it rejects them, the old ones stay', async t => {
      const before = world.instance
      world.settings.mood = 'merry'
      await world.kernel.change({ live: ['creature'] })
      t.match(await world.call(act, { what: 'report' }), { mood: 'merry', previousMood: 'calm' })
      world.settings.mood = 'angry'
      await t.rejects(world.kernel.change({ live: ['creature'] }), { message: /will not be angry/ })
      t.match(await world.call(act, { what: 'report' }), { mood: 'merry' })
      t.equal(world.instance, before)
    })

    t.test('log lines have the plugin, fields and errors', async t => {
      await world.call(act, { what: 'log', with: { size: 3, nested: { a: [1] } } })
      const line = await world.untilLogged(/^a line$/)
      t.match(line, { plugin: 'creature', level: 'warn', fields: { size: 3, nested: { a: [1] } } })
      t.match((line.fields.error as Error).message, 'logged')
    })

    t.test('printed output becomes log lines', async t => {
      await world.call(act, { what: 'print', with: 'from the depths' })
      t.match(await world.untilLogged(/from the depths/), { plugin: 'creature', fields: { stream: 'stdout' } })
    })

    t.test('the breaker opens after enough faults, as in-process', async t => {
      const call = { surface: 'internal', principal } as const
      for (let n = 0; n < 5; n += 1)
        await world.kernel.invoke(act.id, { what: 'throw', with: 'again' }, call).catch(() => {})
      await t.rejects(world.call(act, { what: 'report' }), { code: 'OPR_UNAVAILABLE' })
      t.equal(world.state, 'degraded')
    })
  })

  t.test(`a plugin that cannot run in a ${kind} is rejected with the reason`, async t => {
    const shared = { kind: 'service', id: 'world.map@1' } as const
    const cases = [
      { change: { requires: { map: shared } }, message: /requires the service world\.map@1/ },
      { change: { provides: [shared] }, message: /provides the service world\.map@1/ },
      { change: { commands: [{ command: 'feed', summary: 'x', input: {} }] }, message: /has the command feed/ }
    ]
    for (const { change, message } of cases) {
      const provider = definePlugin({
        name: 'mapper',
        provides: 'requires' in change ? [shared] : [],
        activate: ctx => ('requires' in change ? ctx.provide(shared, {}) : undefined)
      })
      const plugin = { ...creature, ...change } as typeof creature
      const world = await World.open(t, kind, {
        plugin,
        others: [provider],
        mayFail: true,
        policy: { onBootFailure: 'continue' }
      })
      t.equal(world.state, 'failed')
      t.match(world.kernel.records.get('creature')?.why, message)
      t.match(world.lines.find(line => line.level === 'error')?.fields.error, { code: 'KRN_NOT_REMOTABLE' })
    }
  })

  t.test(`contributing to a point fails the activation in a ${kind}, and the child is ended`, async t => {
    const use = (activate: string): Promise<World> =>
      World.open(t, kind, { settings: { activate }, mayFail: true, policy: { onBootFailure: 'continue' } })
    for (const [activate, why] of [
      ['contribute', /isolated and cannot contribute to world\.things/],
      ['follow', /isolated and cannot follow world\.things/]
    ] as const)
      t.match((await use(activate)).kernel.records.get('creature')?.why, why)
  })
}
