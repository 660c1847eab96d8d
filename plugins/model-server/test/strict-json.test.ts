import { strictJsonSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { serve } from './serve.ts'

t.test('a request body is strict JSON', async t => {
  const serving = await serve(t)
  const send = async (input: Buffer): Promise<boolean> => {
    const head = '{"model":"toy","prompt":"hi","stream":false,"suffix":"","further":'
    const reply = await serving.post('/api/generate', Buffer.concat([Buffer.from(head), input, Buffer.from('}')]))
    const { error } = (await reply.json()) as { error?: string }
    if (reply.status !== 200) t.match(error, /not valid JSON|not UTF-8/)
    return reply.status === 200
  }
  for (const { name, run } of strictJsonSuite(send)) await t.resolves(run(), name)
})
