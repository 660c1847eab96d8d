import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type InferenceChatEvent, NO_MODEL } from '@svc/contracts'
import t, { type Test } from 'tap'
import { ModelServerClient, type Settings } from '#root'
import { type FakeOptions, fakeServer, refuse } from './fake-server.ts'

const DEFAULTS: Settings = { api: 'auto', model: 'toy', temperature: 0.7, max_tokens: 2048, probe_timeout_ms: 5_000 }

async function connect(t: Test, options: FakeOptions = {}, settings: Partial<Settings> = {}) {
  const server = await fakeServer(t, options)
  const client = new ModelServerClient(() => ({ ...DEFAULTS, url: server.url, ...settings }))
  return { server, client }
}

const say = (content: string) => [{ role: 'user', content } as const]

async function collect(events: AsyncIterable<InferenceChatEvent>): Promise<InferenceChatEvent[]> {
  const all: InferenceChatEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

const textOf = (events: readonly InferenceChatEvent[]) =>
  events.map(event => (event.type === 'text' ? event.text : '')).join('')

for (const api of ['ollama', 'openai'] as const) {
  t.test(`detects the ${api} format`, async t => {
    const { client, server } = await connect(t, { api })
    t.same(await client.endpoint(), { url: server.url, api, setting: 'url' })
    t.match(await client.models(), [{ name: 'toy' }])
  })

  t.test(`streams an answer and its counts in the ${api} format`, async t => {
    const { client, server } = await connect(t, { api })
    const events = await collect(client.chat({ messages: say('one two three'), stop: ['x'], seed: 3, topP: 0.5 }))
    t.equal(textOf(events), 'one two three')
    t.ok(events.filter(({ type }) => type === 'text').length >= 3, 'the answer arrives in pieces')
    t.match(events.at(-1), { type: 'done', model: 'toy', usage: { promptTokens: Number, completionTokens: Number } })
    const { body } = server.seen.at(-1) as { body: Record<string, unknown> }
    const sent = api === 'ollama' ? body.options : body
    t.match(
      sent,
      { temperature: 0.7, seed: 3, top_p: 0.5, stop: ['x'] },
      'settings are the defaults of absent request fields'
    )
    t.equal((sent as Record<string, unknown>)[api === 'ollama' ? 'num_predict' : 'max_tokens'], 2048)
  })

  t.test(`sends the key, and reports a wrong one, in the ${api} format`, async t => {
    const { client } = await connect(t, { api, key: 'k1' }, { api_key: 'k1' })
    t.equal(textOf(await collect(client.chat({ messages: say('hello') }))), 'hello')
    const { client: wrong } = await connect(t, { api, key: 'k1' }, { api_key: 'k2' })
    await t.rejects(wrong.models(), { code: 'ICL_UNAUTHORIZED', message: /^(?!.*k2).*who are you/ })
  })

  t.test(`aborts the server's request when the consumer stops reading, in the ${api} format`, async t => {
    const { client, server } = await connect(t, { api, chat: endless(api) })
    for await (const event of client.chat({ messages: say('go') })) if (event.type === 'text') break
    while (server.left === 0) await new Promise(resolve => setImmediate(resolve))
    t.equal(server.left, 1)
  })
}

t.test("aborting ends an answer with the signal's reason", async t => {
  const { client } = await connect(t, { chat: endless('ollama') })
  const controller = new AbortController()
  const reason = new Error('enough')
  const reading = collect(client.chat({ messages: say('go'), signal: controller.signal }))
  setImmediate(() => controller.abort(reason))
  await t.rejects(reading, { message: 'enough' })
})

t.test('thinking is separate from text, and server timings are reported', async t => {
  const { client } = await connect(t)
  const events = await collect(client.chat({ messages: say('x') }))
  t.match(events[0], { type: 'thinking', text: 'hm' })
  t.match(events.at(-1), { usage: { promptTokens: 7, completionTokens: 3, promptMs: 2, completionMs: 6 } })
})

t.test('tool calls are joined from their pieces', async t => {
  const { client } = await connect(t, { api: 'openai' })
  const tools = [{ name: 'add', parameters: { type: 'object' } }]
  const events = await collect(client.chat({ messages: say('x'), tools }))
  t.match(events.at(-2), { type: 'tool-call', call: { id: 'c1', name: 'add', arguments: { a: 1 } } })
  t.match(events.at(-1), { finishReason: 'tool-calls' })
})

t.test('an unknown model fails before any request, with requested and offered names', async t => {
  const { client, server } = await connect(t, { models: ['other', 'another'] })
  await t.rejects(collect(client.chat({ messages: say('x') })), {
    code: 'ICL_MODEL_UNKNOWN',
    message: /INFER_MODEL is "toy".*offers "other", "another"/,
    data: { model: 'toy', offered: ['other', 'another'] }
  })
  t.notOk(server.seen.some(({ path }) => path === '/api/chat'))
})

t.test('finds a model that the server added later, without a restart', async t => {
  const options: FakeOptions = { models: ['other'] }
  const { client } = await connect(t, options)
  t.match(await client.check(), { ok: false, problem: /INFER_MODEL is "toy"/ })
  options.models = ['other', 'toy:latest']
  t.equal(textOf(await collect(client.chat({ messages: say('hi') }))), 'hi', 'a missing tag means latest')
  t.match(await client.check(), { ok: true, problem: null })
})

t.test('the error without a server names each tried address and its setting', async t => {
  const { client, server } = await connect(t)
  await server.close()
  await t.rejects(client.models(), {
    code: 'ICL_UNREACHABLE',
    message: /127\.0\.0\.1:\d+ \(plugins\.inference-client\.url\): nothing listens/
  })
  t.match(await client.check(), { ok: false, endpoint: null, problem: /svc serve/ })
})

t.test('gives up on a silent server after probe_timeout_ms', async t => {
  const silent = createServer(() => undefined)
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => silent.closeAllConnections())
  t.teardown(() => void silent.close())
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const client = new ModelServerClient(() => ({ ...DEFAULTS, url, probe_timeout_ms: 20 }))
  await t.rejects(client.models(), { code: 'ICL_UNREACHABLE', message: /no response within 20 ms/ })
})

t.test('busy servers, rejected requests and truncated answers have distinct codes', async t => {
  const busy = await connect(t, { chat: (_, to) => refuse(to, 503, 'full', { 'retry-after': '7' }) })
  await t.rejects(collect(busy.client.chat({ messages: say('x') })), { code: 'ICL_BUSY', data: { retryAfterMs: 7000 } })
  const refused = await connect(t, { chat: (_, to) => refuse(to, 400, 'temperature is odd') })
  await t.rejects(collect(refused.client.chat({ messages: say('x') })), {
    code: 'ICL_REFUSED',
    message: /temperature is odd/
  })
  const broken = await connect(t, {
    chat: (_, to) => {
      to.write('{"model":"toy","message":{"role":"assistant","content":"be"},"done":false}\n')
      setImmediate(() => to.destroy())
    }
  })
  await t.rejects(collect(broken.client.chat({ messages: say('x') })), { code: 'ICL_BROKEN_OFF' })
})

/** Streams an endless answer. */
function endless(api: 'ollama' | 'openai'): NonNullable<FakeOptions['chat']> {
  const row = JSON.stringify(
    api === 'ollama'
      ? { model: 'toy', message: { role: 'assistant', content: 'x' }, done: false }
      : { choices: [{ delta: { content: 'x' }, finish_reason: null }] }
  )
  return (_, response) => {
    const timer = setInterval(() => response.write(api === 'ollama' ? `${row}\n` : `data: ${row}\n\n`), 1)
    response.on('close', () => clearInterval(timer))
  }
}

t.test("if no model is chosen, uses the server's only model, and throws if it has several", async t => {
  const noModel = { model: NO_MODEL }
  const { client } = await connect(t, { models: ['only'] }, noModel)
  t.match(await client.check(), { ok: true, model: 'only', problem: null })
  t.match((await collect(client.chat({ messages: say('hello') }))).at(-1), { type: 'done', model: 'only' })
  t.equal(client.target().model, null, 'target() still reports no chosen model')
  const { client: ambiguous } = await connect(t, { models: ['one', 'two'] }, noModel)
  t.match(await ambiguous.check(), { ok: false, problem: /INFER_MODEL is not set.*"one", "two"/ })
  await t.rejects(collect(ambiguous.chat({ messages: say('hello') })), { code: 'ICL_MODEL_UNKNOWN' })
})
