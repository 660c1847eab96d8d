import { type RemoteEmbeddings, remoteEmbeddings } from '@svc/contracts'
import { definePlugin, isSvcError } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { openWorld, type WorldOptions } from './open-providers.ts'
import { type ProviderServer, providerServer, type Reply } from './provider-servers.ts'

const CHAT = '/v1/chat/completions'
const json = (value: unknown, status = 200): Reply => {
  return (_body, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
/** A vector that depends on the text, so that a wrong order is seen. */
const vector = (text: string) => [text.length, 1, 2]
const openAi: Reply = (body, response) => {
  const data = body.input.map((text: string, index: number) => ({ index, embedding: vector(text) }))
  return json({ data: data.reverse(), usage: { total_tokens: 7 } })(body, response)
}
const features: Reply = (body, response) => json(body.inputs.map(vector))(body, response)

async function open(t: Test, options: WorldOptions): Promise<RemoteEmbeddings & { call(id: string): Promise<any> }> {
  let found: RemoteEmbeddings | undefined
  const probe = definePlugin({
    name: 'embedding-probe',
    requires: { embeddings: remoteEmbeddings },
    activate: (_ctx, { embeddings }) => {
      found = embeddings
    }
  })
  const world = await openWorld(t, { ...options, plugins: [...(options.plugins ?? []), probe] })
  return { open: signal => (found as RemoteEmbeddings).open(signal), call: id => world.call(id, {}) }
}

const keyed = (server: ProviderServer, ...names: readonly string[]) =>
  Object.fromEntries(
    names.flatMap(name => [
      [`${name}_api_key`, `key-of-${name}`],
      [`${name}_url`, `${server.url}${CHAT}`]
    ])
  )

t.test('Hugging Face comes first, then OpenAI, then OpenRouter, each with its format and key', async t => {
  const server = await providerServer(t, features)
  const texts = ['a', 'bbb']
  const first = await (await open(t, { settings: keyed(server, 'openrouter', 'openai', 'huggingface') })).open()
  t.match(first, { provider: 'huggingface', model: 'sentence-transformers/all-MiniLM-L6-v2' })
  const vectors = await first?.embed(texts, { truncate: true })
  t.same([...(vectors?.values ?? [])], texts.flatMap(vector))
  t.match(vectors, { count: 2, dimensions: 3 })
  t.match(server.seen.at(-1), {
    path: '/hf-inference/models/sentence-transformers/all-MiniLM-L6-v2/pipeline/feature-extraction',
    headers: { authorization: 'Bearer key-of-huggingface' },
    body: { inputs: texts, truncate: true }
  })
  server.reply = openAi
  for (const provider of ['openai', 'openrouter']) {
    const names = provider === 'openai' ? ['openrouter', 'openai'] : ['openrouter']
    const next = await (await open(t, { settings: keyed(server, ...names) })).open()
    t.equal(next?.provider, provider)
    const answer = await next?.embed(texts)
    t.same([...(answer?.values ?? [])], texts.flatMap(vector), 'sorted by index')
    t.equal(answer?.tokens, 7)
    t.match(server.seen.at(-1), {
      path: '/v1/embeddings',
      headers: { authorization: `Bearer key-of-${provider}` },
      body: { model: /text-embedding-3-small$/, input: texts, encoding_format: 'float' }
    })
  }
})

t.test('SVC_EMBEDDING_MODEL names the model, and providers that are not allowed are passed over', async t => {
  const server = await providerServer(t, openAi)
  const settings = { ...keyed(server, 'huggingface', 'openai'), allowed: ['openai'], embedding_model: 'other/model' }
  const embedder = await (await open(t, { settings })).open()
  t.match(embedder, { provider: 'openai', model: 'other/model' })
  await embedder?.embed(['a'])
  t.equal(server.seen.at(-1)?.body.model, 'other/model')
})

t.test('many texts become several requests, and the calls are counted', async t => {
  const server = await providerServer(t, openAi)
  const { open: openEmbedder, call } = await open(t, { settings: keyed(server, 'openai') })
  const texts = Array.from({ length: 200 }, (_, at) => 'x'.repeat(at + 1))
  const vectors = await (await openEmbedder())?.embed(texts)
  t.same([...(vectors?.values ?? [])], texts.flatMap(vector))
  t.same(
    server.seen.map(({ body }) => body.input.length),
    [96, 96, 8]
  )
  t.match(JSON.stringify(await call('usage')), /"openai".*"calls":3|"calls":3.*"openai"/)
})

t.test('a reported cost is counted, and one that is negative or infinite is replaced by the estimate', async t => {
  const server = await providerServer(t, openAi)
  const { open: openEmbedder, call } = await open(t, { settings: keyed(server, 'openrouter') })
  const embedder = await openEmbedder()
  for (const cost of ['0.25', '-5', '1e999']) {
    const answer = `{"data":[{"index":0,"embedding":[1]}],"usage":{"total_tokens":1000000,"cost":${cost}}}`
    server.reply = (_body, response) => void response.end(answer)
    await embedder?.embed(['a'])
  }
  t.match(await call('usage'), { total_cost_usd: 0.25 + 0.02 + 0.02 })
})

t.test('shorter vectors have length 1, and longer ones than the model has are refused', async t => {
  const server = await providerServer(t, features)
  const embedder = await (await open(t, { settings: keyed(server, 'huggingface') })).open()
  const short = await embedder?.embed(['abc'], { dimensions: 2 })
  t.equal(short?.dimensions, 2)
  t.ok(Math.abs(Math.hypot(...(short?.values ?? [])) - 1) < 1e-6)
  t.match(await codeOf(embedder?.embed(['abc'], { dimensions: 4 })), /ICL_REFUSED: .*1 to 3/)
  t.match(await codeOf(embedder?.embed([[1, 2]])), /ICL_REFUSED: .*token ids/)
  t.same(await embedder?.embed([]), { values: new Float32Array(), count: 0, dimensions: 0, tokens: 0 })
})

t.test('the local server is used without a key: in the format of Ollama or OpenAI, if it can embed', async t => {
  const ollama = await providerServer(t, (body, response) =>
    body.input === undefined
      ? json({ models: [] })(body, response)
      : json({ embeddings: body.input.map(vector), prompt_eval_count: 3 })(body, response)
  )
  const local = await (await open(t, { local: ollama.url })).open()
  t.match(local, { provider: 'local', model: 'all-minilm' })
  t.same([...((await local?.embed(['ab']))?.values ?? [])], vector('ab'))
  t.match(ollama.seen.at(-1), { path: '/api/embed', body: { model: 'all-minilm', input: ['ab'], truncate: false } })
  ollama.reply = (body, response) =>
    json(body.input === undefined ? { models: [] } : { error: 'none' }, body.input === undefined ? 200 : 501)(
      body,
      response
    )
  t.equal(await (await open(t, { local: ollama.url })).open(), null, 'a server without embeddings')
  t.equal(await (await open(t, {})).open(), null, 'no server')
  t.equal(await (await open(t, { local: ollama.url, settings: { profile: 'cloud_compatible' } })).open(), null)
})

t.test('errors and broken answers are typed, name the provider, and hide the key', async t => {
  const server = await providerServer(t, json({ error: { message: 'the key key-of-openai is wrong' } }, 401))
  const embedder = await (await open(t, { settings: keyed(server, 'openai') })).open()
  for (const [reply, expected] of [
    [json({ error: { message: 'the key key-of-openai is wrong' } }, 401), /ICL_UNAUTHORIZED: .*OpenAI/],
    [json({ error: { message: 'no such model' } }, 404), /ICL_MODEL_UNKNOWN: .*text-embedding-3-small/],
    [json({ error: { message: 'slow down' } }, 429), /ICL_BUSY/],
    [json({ error: { message: 'too long' } }, 400), /ICL_REFUSED: .*too long/],
    [json({ data: [] }), /ICL_REFUSED: .*0 vectors for 1 texts/],
    [json({ data: [{ index: 0, embedding: 'AAAA' }] }), /ICL_REFUSED: .*no list of vectors/],
    [json({ data: [{ index: 0, embedding: [1, null] }] }), /ICL_REFUSED/],
    [json({ data: [{ index: 0, embedding: [1, 1e300] }] }), /ICL_REFUSED/],
    [((_body, response) => void response.end('not json')) as Reply, /ICL_REFUSED: .*not JSON/],
    [((_body, response) => void response.destroy()) as Reply, /ICL_UNREACHABLE/]
  ] as const) {
    server.reply = reply
    const code = await codeOf(embedder?.embed(['a']))
    t.match(code, expected)
    t.notMatch(code, /key-of-openai/)
  }
  const reason = new Error('the caller left')
  await t.rejects(embedder?.embed(['a'], { signal: AbortSignal.abort(reason) }) as Promise<unknown>, reason)
})

t.test('an address without encryption, or not of a chat, is refused', async t => {
  const plain = { openai_api_key: 'k', openai_url: 'http://example.org/v1/chat/completions' }
  t.match(await codeOf((await open(t, { settings: plain })).open()), /ICL_ADDRESS_INVALID: .*without encryption/)
  const other = { openai_api_key: 'k', openai_url: 'https://example.org/v1' }
  t.match(await codeOf((await open(t, { settings: other })).open()), /ICL_ADDRESS_INVALID: .*openai_url/)
})

async function codeOf(work: Promise<unknown> | undefined): Promise<string> {
  try {
    await work
    return 'no error'
  } catch (error) {
    return isSvcError(error) ? `${error.code}: ${error.message}` : String(error)
  }
}
