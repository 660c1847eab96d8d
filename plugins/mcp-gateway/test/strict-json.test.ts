import { strictJsonProbe, strictJsonSuite } from '@svc/contracts/conformance'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { bearer, openWorld, WRITE } from './world.ts'

const probe = definePlugin({
  name: 'probe-json',
  operations: [strictJsonProbe],
  activate: ctx => ctx.implement(strictJsonProbe, () => ({ taken: true }))
}) as Plugin

t.test('the gateway accepts only strict JSON', async t => {
  const world = await openWorld(t, { allowed_tools: ['strict_json'] }, { plugins: [probe] })
  const around = (head: string, args: Buffer): Buffer => Buffer.concat([Buffer.from(head), args, Buffer.from('}')])

  t.test('in a body', async t => {
    const headers = { 'content-type': 'application/json', ...bearer(WRITE) }
    const send = async (args: Buffer): Promise<boolean> => {
      const body = around('{"name":"strict_json","args":', args)
      const response = await fetch(`${world.url}/v1/tools/call`, { method: 'POST', headers, body })
      if (response.status === 400) return false
      t.match(await response.json(), { success: true })
      return true
    }
    for (const { name, run } of strictJsonSuite(send)) await t.resolves(run(), name)
  })

  t.test('in a message of a websocket', async t => {
    const send = async (args: Buffer): Promise<boolean> => {
      const client = await world.connect()
      client.socket.send(around('{"type":"call_tool","name":"strict_json","args":', args), { binary: false })
      // The library closes the socket of a text frame that is not UTF-8.
      const answer = await Promise.race([client.next(), client.closed.then(() => null)])
      client.socket.terminate()
      if (answer?.success === true) return true
      if (answer !== null) t.match(answer.error, /^invalid websocket payload/)
      return false
    }
    for (const { name, run } of strictJsonSuite(send)) await t.resolves(run(), name)
  })
})
