import { strictJsonProbe, strictJsonSuite } from '@svc/contracts/conformance'
import { definePlugin } from '@svc/plugin-sdk'
import t from 'tap'
import { startDaemon } from './start-daemon.ts'

const probe = definePlugin({
  name: 'probe-json',
  operations: [strictJsonProbe],
  activate: ctx => ctx.implement(strictJsonProbe, () => ({ taken: true }))
})

t.test('a line is strict JSON', async t => {
  const { connect } = await startDaemon(t, {}, [probe])
  const peer = await connect()
  const send = async (params: Buffer): Promise<boolean> => {
    const head = `{"jsonrpc":"2.0","id":1,"method":"${strictJsonProbe.id}","params":`
    peer.raw(Buffer.concat([Buffer.from(head), params, Buffer.from('}\n')]))
    const { error, result } = await peer.next()
    if (error !== undefined && error.code !== -32_700) throw new Error(JSON.stringify(error))
    return result !== undefined
  }
  for (const { name, run } of strictJsonSuite(send)) await t.resolves(run(), name)
})
