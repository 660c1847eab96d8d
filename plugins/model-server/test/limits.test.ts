import t from 'tap'
import { clientOf } from '#root'
import { connect, refusal } from './clients.ts'
import { serve } from './serve.ts'

const messages = [{ role: 'user' as const, content: 'hello' }]

/** Toy model that blocks in the middle of its answer until its request is aborted. */
const stuck = {
  beforeToken: (generated: number, signal: AbortSignal | undefined) =>
    generated < 2 || signal?.aborted === true
      ? undefined
      : new Promise<void>(resolve => signal?.addEventListener('abort', () => resolve(), { once: true }))
}

t.test('a timeout is reported in the format of each API, before and within a stream', async t => {
  const { openai: client, ollama, model } = await connect(t, { ...stuck, timeoutMs: 500 })
  t.match(await refusal(client.chat.completions.create({ model: 'toy', messages })), {
    status: 504,
    code: 'timeout',
    type: 'server_error',
    message: /took longer than the limit of 0.5 s/
  })
  t.match(await refusal(ollama.chat({ model: 'toy', messages })), { status_code: 504, error: /took longer/ })
  let text = ''
  const streamed = await client.chat.completions.create({ model: 'toy', messages, stream: true })
  const error = await refusal(
    (async () => {
      for await (const chunk of streamed) text += chunk.choices[0]?.delta.content ?? ''
    })()
  )
  t.equal(text, 'he')
  t.match(error, { code: 'timeout' })
  t.equal(model.capacity().active, 0)
})

t.test('the timeout includes the time in the queue', async t => {
  const { openai: client, model } = await connect(t, { ...stuck, timeoutMs: 60 })
  const both = await Promise.all([1, 2].map(() => refusal(client.chat.completions.create({ model: 'toy', messages }))))
  for (const error of both) t.match(error, { status: 504 })
  t.equal(model.capacity().waiting, 0)
})

t.test('all answers of one request share its timeout', async t => {
  const pause = () => new Promise<void>(resolve => setTimeout(resolve, 15))
  const { openai: client, model } = await connect(t, { beforeToken: pause, timeoutMs: 200 })
  t.match(await refusal(client.chat.completions.create({ model: 'toy', messages, n: 12 })), { status: 504 })
  t.ok(model.ended.length < 12)
})

t.test('the engine receives the identity of the client', async t => {
  const { url, model } = await serve(t)
  const ask = async (authorization?: string) => {
    await fetch(`${url}/api/generate`, {
      method: 'POST',
      body: '{"prompt":"hi","stream":false}',
      ...(authorization === undefined ? {} : { headers: { authorization } })
    })
    return model.requests.at(-1)?.client
  }
  t.equal(await ask(), '127.0.0.1')
  const [ann, bob] = [await ask('Bearer ann'), await ask('Bearer bob')]
  t.match(ann, /^127\.0\.0\.1 [0-9a-f]{16}$/, 'the identity contains a digest, not the key')
  t.not(ann, bob)
  t.equal(await ask('Bearer ann'), ann)
  const body = JSON.stringify({ prompt: 'hi', template: '{{ messages }}', stream: false })
  await fetch(`${url}/api/generate`, { method: 'POST', body, headers: { authorization: 'Bearer ann' } })
  t.same(model.templateClients, [ann], 'templates of requests, too')
})

t.test('outside loopback, a client is identified by address even if it invents keys', async t => {
  const from = (remoteAddress: string, authorization?: string) =>
    clientOf({ socket: { remoteAddress }, headers: { authorization } } as never)
  t.equal(from('10.0.0.7', 'Bearer a'), '10.0.0.7')
  t.equal(from('::ffff:10.0.0.7'), '10.0.0.7')
})

t.test('a request for many answers causes no MaxListenersExceededWarning', async t => {
  const warnings: Error[] = []
  const listen = (warning: Error) => void warnings.push(warning)
  process.on('warning', listen)
  t.teardown(() => process.off('warning', listen))
  const { post } = await serve(t, { slots: 16 })
  const reply = await post('/v1/chat/completions', { n: 16, messages })
  t.equal(((await reply.json()) as { choices: unknown[] }).choices.length, 16)
  t.same(warnings, [])
})
