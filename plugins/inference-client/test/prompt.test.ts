import type { InferenceChatEvent } from '@svc/contracts'
import t, { type Test } from 'tap'
import { ModelServerClient, type Settings } from '#root'
import { type FakeOptions, fakeServer } from './fake-server.ts'

const DEFAULTS: Settings = { api: 'auto', model: 'toy', temperature: 0.7, max_tokens: 2048, probe_timeout_ms: 5_000 }
const ELSEWHERE = 'http://127.0.0.1:1'

async function connect(t: Test, options: FakeOptions = {}, settings: Partial<Settings> = {}) {
  const server = await fakeServer(t, options)
  return { server, client: new ModelServerClient(() => ({ ...DEFAULTS, url: server.url, ...settings })) }
}

async function collect(events: AsyncIterable<InferenceChatEvent>): Promise<InferenceChatEvent[]> {
  const all: InferenceChatEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

const textOf = (events: readonly InferenceChatEvent[]) =>
  events.map(event => (event.type === 'text' ? event.text : '')).join('')

for (const [api, path] of [
  ['ollama', '/api/generate'],
  ['openai', '/v1/completions']
] as const) {
  t.test(`sends a raw prompt unchanged, in the ${api} format`, async t => {
    const { client, server } = await connect(t, { api })
    const prompt = { text: '<|im_start|>user one two', raw: true, system: 'ignored' }
    const events = await collect(client.chat({ messages: [], prompt, stop: ['<|im_end|>'], seed: 1 }))
    t.equal(textOf(events), prompt.text)
    const usage = { promptTokens: 4, completionTokens: 2 }
    t.match(events.at(-1), { type: 'done', model: 'toy', finishReason: 'length', usage })
    const { path: asked, body = {} } = server.seen.at(-1) ?? {}
    t.equal(asked, path)
    t.match(body, { prompt: prompt.text, stream: true })
    t.notOk('system' in body || 'messages' in body)
    t.match(api === 'ollama' ? body : { raw: true }, { raw: true })
    t.match(api === 'ollama' ? body.options : body, { stop: ['<|im_end|>'], seed: 1, temperature: 0.7 })
  })
}

t.test('leaves the template to the server for a prompt that is not raw', async t => {
  const prompt = { text: 'three words more', raw: false, system: 'be brief' }
  const format = { type: 'object' }
  const local = await connect(t)
  t.equal(textOf(await collect(local.client.chat({ messages: [], prompt, format }))), prompt.text)
  t.match(local.server.seen.at(-1), { path: '/api/generate', body: { ...fieldsOf(prompt), format } })
  const hosted = await connect(t, { api: 'openai' })
  t.equal(textOf(await collect(hosted.client.chat({ messages: [], prompt }))), prompt.text)
  t.match(hosted.server.seen.at(-1), {
    path: '/v1/chat/completions',
    body: {
      messages: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: prompt.text }
      ]
    }
  })
})

function fieldsOf({ text, raw, system }: { text: string; raw: boolean; system: string }) {
  return { prompt: text, raw, system }
}

t.test('at() returns a client for another address, whose errors name its setting', async t => {
  const { client, server } = await connect(t, {}, { url: ELSEWHERE })
  const other = client.at(`${server.url}/`, 'orchestrator.inference_base_url')
  const setting = 'orchestrator.inference_base_url'
  t.same(await other.endpoint(), { url: server.url, api: 'ollama', setting })
  t.equal(textOf(await collect(other.chat({ messages: [{ role: 'user', content: 'hi' }] }))), 'hi')
  await t.rejects(client.at(ELSEWHERE, setting).models(), {
    code: 'ICL_UNREACHABLE',
    message: /127\.0\.0\.1:1 \(orchestrator\.inference_base_url\): /
  })
  await t.rejects(client.at('no address', setting).models(), { code: 'ICL_ADDRESS_INVALID', at: { path: setting } })
})

t.test('the key is sent only to the configured origin', async t => {
  const { client, server } = await connect(t, { key: 'k1' }, { api_key: 'k1' })
  t.match(await client.at(`${server.url}/v1`, 'x').models(), [{ name: 'toy' }])
  const elsewhere = new ModelServerClient(() => ({ ...DEFAULTS, url: ELSEWHERE, api_key: 'k1' }))
  await t.rejects(elsewhere.at(server.url, 'x').models(), { code: 'ICL_UNAUTHORIZED', message: /requires a key/ })
  t.notOk(server.seen.at(-1)?.authorization)
})
