import { PassThrough } from 'node:stream'
import { strictJsonProbe, strictJsonSuite } from '@svc/contracts/conformance'
import { definePlugin } from '@svc/plugin-sdk'
import t from 'tap'
import { LineTransport } from '#root'
import { startMcp } from './start-mcp.ts'

const probe = definePlugin({
  name: 'probe-json',
  operations: [strictJsonProbe],
  activate: ctx => ctx.implement(strictJsonProbe, () => ({ taken: true }))
})

/** Returns a call of the tool as JSON, without a newline. */
const callWith = (input: Buffer): Buffer => {
  const head = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"strict_json","arguments":'
  return Buffer.concat([Buffer.from(head), input, Buffer.from('}}')])
}

t.test('/mcp accepts only strict JSON', async t => {
  const { url } = await startMcp(t, [probe])
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const send = async (input: Buffer): Promise<boolean> => {
    const response = await fetch(url, { method: 'POST', headers, body: callWith(input) })
    const text = await response.text()
    if (response.status === 400) {
      t.match(JSON.parse(text), { error: { code: -32_700 } })
      return false
    }
    t.match(text, /"taken":true/)
    return true
  }
  for (const { name, run } of strictJsonSuite(send)) await t.resolves(run(), name)
})

t.test('stdio accepts only strict JSON', async t => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const transport = new LineTransport(input, output)
  await transport.start()
  t.teardown(() => transport.close())
  const send = (line: Buffer): Promise<boolean> =>
    new Promise((resolve, reject) => {
      transport.onmessage = () => resolve(true)
      output.once('data', chunk => {
        const { error } = JSON.parse(String(chunk))
        if (error.code === -32_700) resolve(false)
        else reject(new Error(String(chunk)))
      })
      input.write(Buffer.concat([callWith(line), Buffer.from('\n')]))
    })
  for (const { name, run } of strictJsonSuite(send)) await t.resolves(run(), name)
})
