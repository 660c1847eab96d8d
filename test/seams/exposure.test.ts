import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { defineOperation, definePlugin, describePlugin, type Plugin, t as s } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import { telnet } from '../fixtures/plugins/telnet/src/exposure.ts'
import console from '../fixtures/plugins/telnet/src/plugin.ts'

const notes = (word = 'add', prefix = 'noted'): Plugin => {
  const add = defineOperation({
    id: 'notes.add',
    summary: 'Add a note',
    input: s.object({ times: s.integer({ minimum: 1 }), text: s.string() }),
    output: s.object({ said: s.string(), surface: s.string() }),
    events: s.object({ copy: s.integer() }),
    errors: { NOTES_FULL: { message: 'No room.', status: 409 } },
    expose: { rpc: true, also: [telnet({ word, args: ['times', 'text'] })] }
  })
  return definePlugin({
    name: 'notes',
    operations: [add],
    activate: ctx =>
      ctx.implement(add, ({ times, text }, call) => {
        if (times > 2) call.fail('NOTES_FULL')
        for (let copy = 1; copy <= times; copy++) call.emit({ copy })
        return { said: `${prefix} ${text}`, surface: call.surface }
      })
  })
}

/** Connects a line-based client to the console. */
async function dial(t: Test, port: number) {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  const lines = createInterface(socket)[Symbol.asyncIterator]()
  const next = async (): Promise<string | undefined> => (await lines.next()).value
  return {
    next,
    ask: (line: string): Promise<string | undefined> => {
      socket.write(`${line}\n`)
      return next()
    }
  }
}

async function serve(t: Test, plugins: Plugin[]) {
  const kernel = await testKernel([console as Plugin, ...plugins], { settings: { telnet: { port: 0 } } })
  const line = kernel.log.find(line => line.message === 'listening')
  return { kernel, client: await dial(t, line?.fields.port as number) }
}

t.test('a surface written with the SDK and the contracts serves operations over a real socket', async t => {
  const { kernel, client } = await serve(t, [notes()])
  t.equal(await client.ask('help'), 'OK add')
  t.equal(await client.ask('add 2 buy some milk'), 'EVENT {"copy":1}')
  t.equal(await client.next(), 'EVENT {"copy":2}')
  t.equal(await client.next(), 'OK {"said":"noted buy some milk","surface":"telnet"}')
  t.equal(await client.ask('add 3 milk'), 'ERROR NOTES_FULL No room.')
  t.match(await client.ask('add many milk'), /^ERROR OPR_INPUT_INVALID notes\.add: times/)
  t.equal(await client.ask('remove'), 'ERROR no command remove; try help')

  await kernel.replace(notes('append', 'appended'))
  t.equal(await client.ask('help'), 'OK append', 'an open connection sees the next generation')
  t.equal(await client.ask('append 1 eggs'), 'EVENT {"copy":1}')
  t.match(await client.next(), /appended eggs/)

  await kernel.close()
  t.equal(await client.next(), undefined, 'the connection ends with the kernel')
})

t.test('two operations with the same name on a surface are a conflict that names both plugins', async t => {
  const other = defineOperation({
    id: 'other.add',
    summary: 'x',
    input: s.object({}),
    output: s.object({}),
    expose: { also: [telnet({ word: 'add' })] }
  })
  const rival = definePlugin({
    name: 'rival',
    operations: [other],
    activate: ctx => ctx.implement(other, () => ({}))
  })
  await t.rejects(testKernel([notes(), rival]), {
    code: 'KRN_CONFLICT',
    message: 'conflict on telnet add: notes and rival both contribute it'
  })
})

t.test('an exposure is plain data in the manifest, readable without its surface', t => {
  const { operations } = JSON.parse(JSON.stringify(describePlugin(notes(), '1.0.0')))
  t.match(operations[0], {
    expose: { rpc: true, telnet: { word: 'add', args: ['times', 'text'] } },
    claims: ['method notes.add', 'telnet add'],
    shown: ['JSON-RPC notes.add', 'telnet add TIMES TEXT']
  })
  t.notOk('also' in operations[0].expose)
  t.end()
})

t.test('an operation may expose itself on a surface only once', t => {
  const expose = { also: [telnet({ word: 'a' }), telnet({ word: 'b' })] }
  const define = () => defineOperation({ id: 'a.b', summary: 'x', input: s.object({}), output: s.object({}), expose })
  t.throws(define, { message: 'a.b: expose contains the surface telnet twice' })
  t.end()
})
