import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineOperation, definePlugin, t as s } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { act, heard, say, wait } from './fixtures/creature.ts'
import { KINDS, type Kind, World, type WorldOptions } from './world.ts'

const ping = defineOperation({
  id: 'neighbour.ping',
  summary: 'x',
  input: s.object({}),
  output: s.object({ ok: s.boolean() })
})
const neighbour = definePlugin({
  name: 'neighbour',
  operations: [ping],
  activate: ctx => ctx.implement(ping, () => ({ ok: true }))
})

/** Opens a world in which retries start immediately. */
function open(t: Test, kind: Kind, options: WorldOptions = {}): Promise<World> {
  t.intercept(Math, 'random', { value: () => -1 })
  return World.open(t, kind, { others: [neighbour], ...options })
}

/** Asserts that the crash was reported and affected no other plugin, and that a new instance serves. */
async function recovers(t: Test, world: World, before: string, why: RegExp): Promise<void> {
  await world.untilLogged(why)
  t.same(await world.call(ping, {}), { ok: true })
  await world.returned(before)
  t.equal((await world.call(say, { word: 'back' })).said, 'back')
  t.ok(world.states.includes('failed'))
}

const crashed = { code: 'KRN_ISOLATION_CRASHED', status: 503, plugin: 'creature' }

for (const kind of KINDS) {
  t.test(`a ${kind} that exits fails its running calls and is restarted`, async t => {
    const world = await open(t, kind)
    const before = world.instance
    const waiting = t.rejects(world.call(wait, {}), crashed)
    await t.rejects(world.call(act, { what: 'exit', with: 3 }), { ...crashed, message: /exit code 3/ })
    await waiting
    await recovers(t, world, before, /(worker|process) \d+ ended: exit code 3/)
    t.equal(world.kernel.current.units.get('neighbour')?.generation, 1, 'the other plugin is not affected')
  })

  t.test(`a ${kind} with an endless loop is ended when a call exceeds its deadline, and is restarted`, async t => {
    const world = await open(t, kind)
    const before = world.instance
    const waiting = t.rejects(world.call(wait, {}), crashed)
    await t.rejects(world.call(act, { what: 'loop' }, { timeoutMs: 50 }), { code: 'OPR_TIMEOUT' })
    await waiting
    await recovers(t, world, before, /did not respond for 2000 ms, so its event loop is blocked/)
  })

  t.test(`a ${kind} that exhausts its heap is reported as such and is restarted`, async t => {
    const world = await open(t, kind)
    const before = world.instance
    await t.rejects(world.call(act, { what: 'fill' }), {
      ...crashed,
      message: /heap exhausted at 64 MiB/,
      hint: /plugins\.creature\.memory_mb/
    })
    await recovers(t, world, before, /heap exhausted/)
  })

  t.test(`an uncaught error in a ${kind} follows the policy`, async t => {
    t.test('degrade: the error is logged and the plugin keeps serving', async t => {
      const world = await open(t, kind)
      const before = world.instance
      await world.call(act, { what: 'throw later', with: 'forgotten' })
      const { fields } = await world.untilLogged(/uncaught error/)
      t.match(fields.error, { message: 'forgotten' })
      t.equal((await world.call(say, { word: 'still here' })).said, 'still here')
      t.equal(world.instance, before)
    })
    t.test('restart: a new instance replaces the old one', async t => {
      const world = await open(t, kind, { policy: { uncaught: 'restart' } })
      const before = world.instance
      await world.call(act, { what: 'throw later', with: 'forgotten' })
      await world.returned(before)
      t.notOk(world.states.includes('failed'))
    })
    t.test('abort-process: only its own worker or process ends', async t => {
      const world = await open(t, kind, { policy: { uncaught: 'abort-process' } })
      const before = world.instance
      await world.call(act, { what: 'throw later', with: 'forgotten' })
      await recovers(t, world, before, /ended: uncaught error: forgotten/)
    })
  })

  t.test(`while a ${kind} is down, its taps are skipped and other changes succeed`, async t => {
    const world = await open(t, kind, { policy: { onBootFailure: 'continue' } })
    const trigger = () => world.kernel.current.hooks.trigger(heard.id, [{ kind: 'dog', volume: 1 }])
    t.same(await trigger(), { kind: 'dog', volume: 2 })
    await t.rejects(world.call(act, { what: 'exit', with: 1 }), crashed)
    t.equal(world.state, 'failed')
    t.same(await trigger(), { kind: 'dog', volume: 1 })
    await t.rejects(world.call(say, { word: 'hello' }), crashed)
    await world.change(['neighbour'])
    t.same(await world.call(ping, {}), { ok: true })
    await t.rejects(world.call(say, { word: 'hello' }), { code: 'OPR_UNKNOWN' })
    t.match(world.kernel.records.get('creature'), { why: /exit code 1/ })
  })

  t.test(`a ${kind} that crashes five times is quarantined`, async t => {
    const world = await open(t, kind)
    for (let n = 1; n <= 5; n += 1) {
      const before = world.instance
      await t.rejects(world.call(act, { what: 'exit', with: n }), crashed)
      if (n < 5) await world.returned(before)
    }
    await world.until(() => !world.kernel.current.units.has('creature'))
    t.equal(world.state, 'quarantined')
    t.match(world.kernel.records.get('creature')?.why, /exit code 5.*svc plugins enable creature/)
    await t.rejects(world.call(say, { word: 'hello' }), { code: 'OPR_UNKNOWN' })
    t.same(await world.call(ping, {}), { ok: true })
    await world.kernel.change({ stale: ['creature'] })
    t.equal((await world.call(say, { word: 'forgiven' })).said, 'forgiven')
  })

  t.test(
    `a ${kind} that crashes and then cannot activate ends in quarantine, and other changes go through`,
    async t => {
      const world = await open(t, kind)
      await t.rejects(world.call(act, { what: 'exit', with: 1 }), crashed)
      world.settings.activate = 'throw'
      let reloads = 0
      while (world.state !== 'quarantined') {
        await world.change(['neighbour'])
        reloads += 1
        await new Promise(setImmediate)
      }
      t.ok(reloads > 0)
      t.same(await world.call(ping, {}), { ok: true })
      t.match(world.kernel.records.get('creature')?.why, /will not get up.*5 failures/)
    }
  )

  t.test(`a ${kind} that ends while other plugins activate fails the change`, async t => {
    const slow = definePlugin({
      name: 'slow',
      after: ['creature'],
      async activate() {
        if (world?.settings.activate !== 'exit on cue') return
        writeFileSync(join(world.root, 'shown/cue'), '')
        await world.untilLogged(/ended: exit code 7/)
      }
    })
    let world: World | undefined
    world = await open(t, kind, { others: [neighbour, slow] })
    const before = world.instance
    world.settings.activate = 'exit on cue'
    await t.rejects(world.change(['slow']), { code: 'KRN_ISOLATION_CRASHED', message: /before it could serve/ })
    t.equal((await world.call(say, { word: 'still here' })).said, 'still here')
    t.equal(world.instance, before)
  })

  t.test(`if a ${kind} cannot activate, the old instance keeps serving`, async t => {
    const world = await open(t, kind, { policy: { activateTimeoutMs: 1_000 } })
    const before = world.instance
    const cases = [
      ['throw', { code: 'KRN_ACTIVATE_FAILED', message: /will not get up/ }],
      ['exit', { ...crashed, message: /exit code 9/ }],
      ['hang', { code: 'KRN_ACTIVATE_FAILED', message: /activate function of \S+ did not finish within 1000 ms/ }]
    ] as const
    for (const [activate, expected] of cases) {
      world.settings.activate = activate
      await t.rejects(world.change(), expected)
      t.equal((await world.call(say, { word: activate })).said, activate)
      t.equal(world.instance, before)
    }
    world.settings.activate = 'fine'
    await world.change()
    await world.kernel.close()
    // No process remains. Handles need a few turns of the event loop to close.
    const left = () => process.getActiveResourcesInfo().filter(each => /Process|MessagePort/.test(each))
    while (left().length > 0) await new Promise(setImmediate)
  })
}

t.test('the end of a killed process is reported with its signal', async t => {
  const world = await open(t, 'process')
  const before = world.instance
  const { pid } = await world.call(say, { word: 'who' })
  process.kill(pid, 'SIGTERM')
  process.kill(pid, 'SIGINT')
  await sleep(50)
  t.equal((await world.call(say, { word: 'deaf' })).pid, pid, 'the child ignores signals to the process group')
  process.kill(pid, 'SIGKILL')
  await recovers(t, world, before, /ended: signal SIGKILL/)
})
