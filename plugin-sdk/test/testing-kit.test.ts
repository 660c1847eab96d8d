import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { defineOperation, definePlugin, hook, type Plugin, ref, t as s, service } from '@svc/plugin-sdk'
import {
  assertNoLeaks,
  fake,
  loadPlugin,
  reloadSoak,
  type TestKernel,
  testKernel,
  testPlugin
} from '@svc/plugin-sdk/testing'
import t from 'tap'

interface Clock {
  now(): number
}
const clock = service<Clock>('demo.clock@1')
const tell = defineOperation({
  id: 'demo.tell',
  summary: 'Tell the time',
  input: s.object({ zone: s.string({ default: 'UTC' }) }),
  output: s.object({ text: s.string() }),
  effect: 'read'
})
const asked = hook<[string], string>('demo.asked', 'bail')

function teller(prefix = 'it is'): Plugin {
  return definePlugin({
    name: 'teller',
    config: s.object({ unit: s.enum(['ms', 's'], { default: 'ms' }) }),
    requires: { clock: ref(clock) },
    operations: [tell],
    hooks: [asked],
    activate(ctx, deps) {
      ctx.log.info('ready', { unit: ctx.config.unit })
      ctx.effect('a thread', () => {})
      ctx.on(asked, question => (question === 'when' ? 'now' : undefined))
      ctx.implement(tell, ({ zone }) => ({ text: `${prefix} ${deps.clock.current.now()} ${ctx.config.unit} ${zone}` }))
    }
  })
}
const messagesOf = ({ log }: TestKernel, name: string): string[] =>
  log.filter(({ plugin }) => plugin === name).map(({ message }) => message)
const noon = fake(clock, { now: () => 12 })

t.test('runs one plugin in the real kernel, with fakes instead of other plugins', async t => {
  const kernel = await testPlugin(teller(), { services: [noon] })
  t.same(await kernel.call(tell, {}), { text: 'it is 12 ms UTC' })
  t.same(await kernel.callById('demo.tell', { zone: 'CET' }), { text: 'it is 12 ms CET' })
  await t.rejects(kernel.callById('demo.tell', { zone: 1 }), { code: 'OPR_INPUT_INVALID' })
  await t.rejects(kernel.callById('demo.told', {}), { code: 'OPR_UNKNOWN', hint: 'did you mean demo.tell?' })
  t.equal(await kernel.trigger(asked, 'when'), 'now')
  t.equal(await kernel.trigger(asked, 'why'), undefined)
  t.equal(kernel.state('teller'), 'active')
  t.equal(kernel.state('nobody'), 'unknown')
  t.ok(JSON.stringify(kernel.effects('teller')).includes('a thread'))
  t.match(kernel.log, [{ plugin: 'teller', level: 'info', message: 'ready', fields: { unit: 'ms' } }])
  t.ok(existsSync(kernel.root))
  await kernel.close()
  t.notOk(existsSync(kernel.root), 'the folder is removed')
})

t.test('validates settings as svc serve does', async t => {
  const kernel = await testPlugin(teller(), { services: [noon], settings: { unit: 's' } })
  t.same(await kernel.call(tell, {}), { text: 'it is 12 s UTC' })
  await kernel.close()
  await t.rejects(testPlugin(teller(), { services: [noon], settings: { unit: 'h' } }), /unit/)
  await t.rejects(testPlugin(teller(), { services: [noon], settings: { untit: 's' } }), /untit/)
})

t.test('throws the error of a plugin that fails to start', async t => {
  const failing = definePlugin({
    name: 'failing',
    activate() {
      throw new Error('no such port')
    }
  })
  await t.rejects(testPlugin(failing), { code: 'KRN_ACTIVATE_FAILED', message: /no such port/ })
  await t.rejects(
    testKernel(
      [
        teller(),
        definePlugin({ name: 'double', operations: [tell], activate: ctx => ctx.implement(tell, () => ({ text: '' })) })
      ],
      { services: [noon] }
    ),
    {
      code: 'KRN_CONFLICT'
    }
  )
})

t.test('plugins work together, and one can be replaced without interruption', async t => {
  const watch = (now: number): Plugin =>
    definePlugin({ name: 'watch', provides: [clock], activate: ctx => ctx.provide(clock, { now: () => now }) })
  const kernel = await testKernel([teller(), watch(1)])
  t.same(await kernel.call(tell, {}), { text: 'it is 1 ms UTC' })
  await kernel.replace(watch(2))
  t.same(await kernel.call(tell, {}), { text: 'it is 2 ms UTC' })
  await kernel.replace(teller('the time is'))
  t.same(await kernel.call(tell, {}), { text: 'the time is 2 ms UTC' })
  await kernel.close()
})

t.test('a failed replacement changes nothing', async t => {
  const kernel = await testPlugin(teller(), { services: [noon] })
  const broken = definePlugin({ ...teller(), activate: () => Promise.reject(new Error('broken')) })
  await t.rejects(kernel.replace(broken), { code: 'KRN_ACTIVATE_FAILED' })
  t.same(await kernel.call(tell, {}), { text: 'it is 12 ms UTC' })
  await kernel.close()
})

t.test('a plugin reads the assets of its package, with loadPlugin or a given folder', async t => {
  const source = (name: string): string => `
    const { readFileSync } = require('node:fs')
    const { join } = require('node:path')
    module.exports = {
      kind: 'plugin', name: '${name}', sdk: 1, operations: [],
      activate: ctx => ctx.log.info(readFileSync(join(ctx.packageRoot, 'assets', 'stamp.txt'), 'utf8'))
    }`
  const folder = t.testdir({
    'package.json': '{}',
    assets: { 'stamp.txt': 'stamped' },
    dist: { 'plugin.cjs': source('stamps') },
    elsewhere: { 'other.cjs': source('other') }
  })
  const plugin = loadPlugin(join(folder, 'dist/plugin.cjs'))
  for (const options of [{}, { packageRoot: new URL(`file://${folder}/`) }, { packageRoot: folder }]) {
    const kernel = await testPlugin(plugin, options)
    await kernel.replace(plugin)
    t.same(messagesOf(kernel, 'stamps'), ['stamped', 'stamped'])
    await kernel.close()
  }
  const made = definePlugin({ name: 'made', activate: ctx => ctx.log.info(ctx.packageRoot) })
  const both = await testKernel([plugin, made], { packageRoots: { made: folder } })
  t.same([...messagesOf(both, 'stamps'), ...messagesOf(both, 'made')], ['stamped', folder])
  await both.close()
  const bare = await testPlugin(made)
  t.same(messagesOf(bare, 'made'), [bare.root])
  await bare.close()
})

t.test('loadPlugin accepts all forms of export', async t => {
  const body = `{ kind: 'plugin', sdk: 1, name: 'built', activate() {} }`
  const folder = t.testdir({
    'default.cjs': `exports.default = ${body}`,
    'named.cjs': `exports.plugin = ${body}`,
    'whole.cjs': `module.exports = ${body}`,
    'none.cjs': 'exports.other = 1'
  })
  for (const file of ['default.cjs', 'named.cjs', 'whole.cjs']) t.equal(loadPlugin(join(folder, file)).name, 'built')
  t.equal(loadPlugin(new URL(`file://${join(folder, 'whole.cjs')}`)).name, 'built')
  t.throws(() => loadPlugin(join(folder, 'none.cjs')), /none\.cjs exports no plugin/)
})

t.test('assertNoLeaks passes without leaks and reports any leak', async t => {
  await assertNoLeaks(async () => {
    const kernel = await testPlugin(teller(), { services: [noon] })
    await kernel.close()
  })
  const leaks: [what: RegExp, leak: () => () => void][] = [
    [
      /1 active Timeout/,
      () => {
        const timer = setInterval(() => {}, 60_000)
        return () => clearInterval(timer)
      }
    ],
    [
      /1 active TCPServerWrap/,
      () => {
        const server = createServer().listen(0)
        return () => server.close()
      }
    ],
    [
      /1 process listener SIGUSR2/,
      () => {
        const listener = (): void => {}
        process.on('SIGUSR2', listener)
        return () => process.off('SIGUSR2', listener)
      }
    ],
    [
      /global variable forgotten/,
      () => {
        Object.assign(globalThis, { forgotten: 1 })
        return () => Reflect.deleteProperty(globalThis, 'forgotten')
      }
    ]
  ]
  for (const [what, leak] of leaks) {
    let clean = (): void => {}
    await t.rejects(
      assertNoLeaks(async () => {
        clean = leak()
      }),
      { message: what }
    )
    clean()
  }
})

t.test('reloadSoak reports the heap growth per reload', async t => {
  const clean = await reloadSoak(() => teller(), { services: [noon], reloads: 60 })
  t.equal(clean.reloads, 60)
  const hoard: unknown[] = []
  const hoarding = (): Plugin =>
    definePlugin({
      name: 'hoarding',
      activate() {
        hoard.push(new Array(20_000).fill(0).map((_, index) => ({ index })))
      }
    })
  const { heapPerReload } = await reloadSoak(hoarding, { reloads: 40 })
  t.ok(heapPerReload > 100_000, `${heapPerReload} bytes for a leaking plugin`)
  t.ok(clean.heapPerReload < heapPerReload / 10, `${clean.heapPerReload} bytes for a clean plugin`)
})

t.test('counts the announcements of a topic', async t => {
  const add = defineOperation({ id: 'list.add', summary: 'x', input: s.object({}), output: s.object({}) })
  const list = definePlugin({
    name: 'list',
    operations: [add],
    activate: ctx =>
      ctx.implement(add, () => {
        ctx.changed('list.rows')
        return {}
      })
  })
  const kernel = await testPlugin(list)
  t.teardown(() => kernel.close())
  t.equal(kernel.changes('list.rows'), 0)
  await kernel.call(add, {})
  await kernel.call(add, {})
  t.equal(kernel.changes('list.rows'), 2)
})
