import { callDaemon } from '@svc/contracts'
import daemon from '@svc/plugin-daemon'
import { defineOperation, definePlugin, describePlugin, type Plugin, type RpcExposure, t as s } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import { daemonStateOf } from '../daemon-state.ts'

const notes = (rpc: RpcExposure, name = 'notes'): Plugin => {
  const add = defineOperation({
    id: `${name}.add`,
    summary: 'Add a note',
    input: s.object({ text: s.string(), urgent: s.boolean({ default: false }) }),
    output: s.object({ said: s.string() }),
    expose: { rpc }
  })
  return definePlugin({
    name,
    operations: [add],
    activate: ctx => ctx.implement(add, ({ text, urgent }) => ({ said: `${text}${urgent ? '!' : ''}` }))
  })
}

async function serve(t: Test, ...plugins: readonly Plugin[]) {
  const kernel = await testKernel([daemon, ...plugins], { settings: { daemon: { socket: '127.0.0.1:0' } } })
  t.teardown(() => kernel.close())
  const state = await daemonStateOf(kernel.root)
  return { kernel, call: (method: string, params: object = {}) => callDaemon(state, method, params) }
}

t.test('a method can be called by its name and by each alias', async t => {
  const { call } = await serve(t, notes({ name: 'pad.add', aliases: ['notes.add', 'pad.append'] }))
  for (const method of ['pad.add', 'notes.add', 'pad.append']) {
    t.same(await call(method, { text: 'milk', urgent: true }), { said: 'milk!' }, method)
    await t.rejects(call(method, {}), { code: 'OPR_INPUT_INVALID' }, method)
    await t.rejects(call(method, { text: 'milk', colour: 'red' }), { code: 'OPR_INPUT_INVALID' }, method)
  }
})

t.test('rpc.discover lists an alias with the schemas of its method', async t => {
  const { call } = await serve(t, notes({ aliases: ['pad.append'] }))
  const { methods } = (await call('rpc.discover')) as { methods: { name: string }[] }
  const [own, alias] = ['notes.add', 'pad.append'].map(name => methods.find(each => each.name === name))
  t.same(alias, { ...own, name: 'pad.append', 'x-alias-of': 'notes.add' })
})

t.test('an alias that ignores unknown params drops them, and still checks the others', async t => {
  const { call } = await serve(t, notes({ aliases: [{ name: 'pad.append', unknownParams: 'ignore' }] }))
  t.same(await call('pad.append', { text: 'milk', of_a_later_version: { deep: [1] } }), { said: 'milk' })
  await t.rejects(call('pad.append', { text: 7, of_a_later_version: 1 }), { code: 'OPR_INPUT_INVALID' })
  await t.rejects(call('notes.add', { text: 'milk', of_a_later_version: 1 }), { code: 'OPR_INPUT_INVALID' })
})

t.test('an alias that is the name of another method is a conflict that names both plugins', async t => {
  const first = notes({ aliases: ['pad.append'] })
  for (const rpc of [{ name: 'pad.append' }, { aliases: ['pad.append'] }])
    await t.rejects(testKernel([first, notes(rpc, 'rival')]), {
      code: 'KRN_CONFLICT',
      message: 'conflict on method pad.append: notes and rival both contribute it'
    })
  await t.rejects(
    testKernel([notes({ aliases: ['notes.add'] })]),
    { code: 'KRN_CONFLICT' },
    "a method's own name cannot be its alias"
  )
})

t.test('the manifest contains the names of methods', t => {
  const { operations } = JSON.parse(JSON.stringify(describePlugin(notes({ aliases: ['pad.append'] }), '1.0.0')))
  t.match(operations[0], {
    expose: { rpc: { aliases: ['pad.append'] } },
    claims: ['method notes.add', 'method pad.append'],
    shown: ['JSON-RPC notes.add (also pad.append)']
  })
  t.end()
})
