import { cpSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import engine from '@svc/plugin-inference-onnx'
import t from 'tap'
import { clientsOf, connect, refusal } from './clients.ts'
import { openServer } from './open-server.ts'

const FIXTURES = fileURLToPath(new URL('../../inference-onnx/test/fixtures/embeddings/', import.meta.url))
const BUNDLED = fileURLToPath(new URL('../models/vox-tiny', import.meta.url))
const TOLERANCE = 1e-4
const MAX_INPUTS = 2_048

interface Reference {
  readonly texts: readonly string[]
  readonly tokens: readonly (readonly number[])[]
  readonly vectors: readonly (readonly number[])[]
  readonly query: readonly (readonly number[])[]
  readonly pairs: readonly (readonly [string, string])[]
  readonly scores: readonly number[]
}
const references = JSON.parse(readFileSync(`${FIXTURES}expected.json`, 'utf8')) as Record<string, Reference>
const { texts, tokens, vectors, query } = references.bert as Reference
const given = texts.map((text, index) => ({ text, index })).filter(({ text }) => text !== '')

const near = (a: readonly number[], b: readonly number[] = []) =>
  a.length === b.length && a.every((value, at) => Math.abs(value - (b[at] as number)) < TOLERANCE)

const { url, json } = await openServer(t, [engine], {
  embedding_model: `${FIXTURES}bert`,
  reranker_model: `${FIXTURES}bert-reranker`
})
const { openai, ollama } = clientsOf(url)
const post = (path: string, body: unknown) =>
  fetch(`${url}${path}`, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })

t.test('the official OpenAI client gets the vectors of the reference, as base64 by default', async t => {
  const reply = await openai.embeddings.create({ model: 'bert', input: given.map(({ text }) => text) })
  t.same(
    reply.data.map(({ index }) => index),
    given.map((_, at) => at)
  )
  for (const [at, { index }] of given.entries()) {
    t.ok(near(reply.data[at]?.embedding ?? [], vectors[index]), `vector ${at}`)
  }
  const count = given.reduce((sum, { index }) => sum + (tokens[index]?.length ?? 0), 0)
  t.same(reply.usage, { prompt_tokens: count, total_tokens: count })
  t.equal(reply.model, 'bert')
})

t.test('floats, token ids, dimensions and roles', async t => {
  const input = texts[0] as string
  const floats = await openai.embeddings.create({ model: 'bert', input, encoding_format: 'float' })
  t.ok(near(floats.data[0]?.embedding ?? [], vectors[0]), 'a single text')
  const ids = await openai.embeddings.create({ model: '', input: [...(tokens[0] ?? [])], encoding_format: 'float' })
  t.ok(near(ids.data[0]?.embedding ?? [], vectors[0]), 'token ids')
  const lists = await json('/v1/embeddings', { input: [tokens[0], tokens[2]] })
  t.equal(lists.body.data.length, 2, 'two lists of token ids')
  const short = await openai.embeddings.create({ model: 'bert', input, dimensions: 8 })
  const cut = short.data[0]?.embedding ?? []
  t.equal(cut.length, 8)
  t.ok(Math.abs(Math.hypot(...cut) - 1) < TOLERANCE, 'shortened vectors have length 1')
  const role = await json('/v1/embeddings', { input, input_type: 'query' })
  t.ok(near(role.body.data[0].embedding, query[0]), 'the prompt of queries')
})

t.test('bad requests to /v1/embeddings are rejected, and name the field', async t => {
  const input = 'a text'
  for (const [body, param] of [
    [{ input: '' }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: ['a', ''] }, 'input'],
    [{ input: [[]] }, 'input'],
    [{ input: { text: 'a' } }, 'input'],
    [{ input: Array.from({ length: MAX_INPUTS + 1 }, () => 'a') }, 'input'],
    [{ input: 'a word and '.repeat(50) }, 'input'],
    [{ input, encoding_format: 'ubinary' }, 'encoding_format'],
    [{ input, dimensions: 0 }, 'dimensions'],
    [{ input, model: 'vox-tiny' }, 'model'],
    [{ input, truncate_prompt_tokens: 4 }, 'truncate_prompt_tokens']
  ] as const) {
    const reply = await post('/v1/embeddings', body)
    t.equal(reply.status, 400, JSON.stringify(body).slice(0, 60))
    t.match(await reply.json(), { error: { type: 'invalid_request_error', param } })
  }
  t.match(await refusal(openai.embeddings.create({ model: 'bert', input, dimensions: 33 })), { status: 400 })
  t.match(await refusal(openai.embeddings.create({ model: 'other', input })), { status: 404, code: 'model_not_found' })
  t.match((await json('/v1/embeddings', { input: [99_999] })).body.error.message, /Token 99999/)
  const cut = await json('/v1/embeddings', { input: 'a word and '.repeat(50), truncate: true })
  t.equal(cut.body.usage.prompt_tokens, 24, 'the context of the model')
})

t.test('2,048 texts of one request are embedded in order', async t => {
  const input = Array.from({ length: MAX_INPUTS }, (_, at) => given[at % given.length]?.text ?? '')
  const { data } = await openai.embeddings.create({ model: 'bert', input })
  t.equal(data.length, MAX_INPUTS)
  t.ok(
    data.every(({ embedding }, at) => near(embedding, vectors[given[at % given.length]?.index ?? 0])),
    'every vector is the one of its text'
  )
})

t.test('the official Ollama client embeds, and long texts are cut by default', async t => {
  const both = await ollama.embed({ model: 'bert', input: [texts[0] as string, texts[2] as string] })
  t.ok(near(both.embeddings[0] ?? [], vectors[0]) && near(both.embeddings[1] ?? [], vectors[2]))
  t.ok(both.total_duration >= both.load_duration && both.prompt_eval_count > 0)
  const long = 'a word and '.repeat(50)
  t.equal((await ollama.embed({ model: 'bert', input: long })).prompt_eval_count, 24)
  t.match(await refusal(ollama.embed({ model: 'bert', input: long, truncate: false })), { status_code: 400 })
  t.equal((await ollama.embed({ model: 'bert', input: texts[0] as string, dimensions: 4 })).embeddings[0]?.length, 4)
  const older = await ollama.embeddings({ model: 'bert:latest', prompt: texts[2] as string })
  t.ok(near(older.embedding, vectors[2]), 'the older route')
  t.same((await json('/api/embed', { model: 'bert', input: '' })).body.embeddings, [])
  t.same((await json('/api/embeddings', { model: 'bert', prompt: '' })).body, { embedding: [] })
  t.match(await refusal(ollama.embed({ model: 'vox-tiny', input: 'a' })), { status_code: 400, error: /'bert'/ })
  t.match(await refusal(ollama.embed({ model: 'bert', input: 'a', options: { num_ctx: 8 } })), { status_code: 400 })
  const unset = { model: 'bert', input: 'a', options: { num_ctx: null, seed: null } }
  t.equal(
    (await json('/api/embed', unset)).body.embeddings.length,
    1,
    'LangChain sends null for options that are not set'
  )
  t.match(await refusal(ollama.embed({ model: 'bert', input: 'a', keep_alive: 'long' })), { status_code: 400 })
  t.equal((await ollama.embed({ model: 'bert', input: 'a', keep_alive: 0 })).embeddings.length, 1, 'unloads later')
  t.equal((await ollama.embed({ model: 'bert', input: 'a', keep_alive: -1 })).embeddings.length, 1, 'loads again')
})

t.test('documents are ranked by the scores of the reference', async t => {
  const { pairs, scores } = references['bert-reranker'] as Reference
  const [question] = pairs[0] as readonly [string, string]
  const known = pairs.map(([from, text], at) => ({ from, text, score: scores[at] as number }))
  const wanted = known.filter(({ from }) => from === question)
  const documents = wanted.map(({ text }) => text)
  const ranked = [...wanted].sort((a, b) => b.score - a.score)
  for (const path of ['/v1/rerank', '/rerank']) {
    const { body } = await json(path, { model: 'bert-reranker', query: question, documents, return_documents: true })
    t.same(
      body.results.map((each: any) => each.document.text),
      ranked.map(({ text }) => text)
    )
    t.ok(
      near(
        body.results.map((each: any) => each.relevance_score),
        ranked.map(({ score }) => score)
      )
    )
    t.ok(body.usage.total_tokens > 0)
  }
  const top = await json('/v1/rerank', { query: question, documents: documents.map(text => ({ text })), top_n: 1 })
  t.same(Object.keys(top.body.results[0]), ['index', 'relevance_score'])
  t.equal(top.body.results.length, 1)
  for (const body of [{ documents }, { query: question, documents: [] }, { query: question, documents: [1] }]) {
    t.equal((await post('/v1/rerank', body)).status, 400)
  }
  const long = { query: question, documents: ['a word and '.repeat(50)] }
  t.match(await json('/v1/rerank', long), { status: 400, body: { error: { param: 'documents' } } })
  t.equal((await post('/v1/rerank', { ...long, truncate: true })).status, 200)
  t.equal((await post('/v1/rerank', { ...long, model: 'bert' })).status, 404)
})

t.test('without models, every route returns 501, which official clients do not repeat', async t => {
  const { post } = await connect(t)
  for (const path of ['/v1/embeddings', '/v1/rerank', '/rerank', '/api/embed', '/api/embeddings']) {
    const reply = await post(path, { model: 'toy', input: 'a', prompt: 'a' })
    t.equal(reply.status, 501, path)
    t.equal(reply.headers.get('x-should-retry'), 'false')
    t.match(JSON.stringify(await reply.json()), /plugins\.model-server\.(embedding|reranker)_model/)
  }
})

t.test('a folder that cannot be loaded fails requests until it is repaired', async t => {
  const folder = t.testdir({ model: {} })
  const { json } = await openServer(t, [engine], { embedding_model: `${folder}/model` })
  const first = await json('/v1/embeddings', { input: 'a' })
  t.equal(first.status, 503)
  t.match(first.body.error, { code: 'model_failed', message: /tokenizer\.json is missing/ })
  cpSync(`${FIXTURES}static`, `${folder}/model`, { recursive: true })
  t.equal((await json('/v1/embeddings', { input: 'a' })).status, 200)
})

t.test('a reranker is no embedding model', async t => {
  const { json } = await openServer(t, [engine], { embedding_model: `${FIXTURES}bert-reranker` })
  t.match(await json('/v1/embeddings', { input: 'a' }), { status: 503, body: { error: { message: /kind reranker/ } } })
})

t.test('the lists of both APIs name the embedding model and the reranker, with what they compute', async t => {
  const { json, ready, kernel } = await openServer(t, [engine], {
    model: BUNDLED,
    embedding_model: `${FIXTURES}nomic`,
    reranker_model: `${FIXTURES}modernbert-reranker`
  })
  await ready()
  const before = (await json('/v1/models')).body.data as Record<string, unknown>[]
  t.match(before.slice(1), [
    { id: 'nomic', object: 'model', kind: 'embedding' },
    { id: 'modernbert-reranker', kind: 'reranker' }
  ])
  t.notOk('kind' in (before[0] as object), 'the chat model has no kind')
  const tags = (await json('/api/tags')).body.models as Record<string, any>[]
  t.match(tags.slice(1), [
    { name: 'nomic', capabilities: ['embedding'], details: { family: 'nomic_bert', format: 'safetensors' } },
    { name: 'modernbert-reranker', capabilities: ['reranker'] }
  ])
  t.match((await kernel.callById('model.embedders', {})) as object, {
    models: [
      { name: 'nomic', kind: 'embedding', status: 'idle', family: 'nomic_bert', requests: 0 },
      { name: 'modernbert-reranker', kind: 'reranker', status: 'idle' }
    ]
  })
  const shown = (await json('/api/show', { model: 'nomic:latest' })).body
  t.match(shown, {
    capabilities: ['embedding'],
    model_info: {
      'general.architecture': 'nomic_bert',
      'nomic_bert.embedding_length': 32,
      'nomic_bert.context_length': 64
    }
  })
  t.same((await json('/api/show', { model: 'modernbert-reranker' })).body.capabilities, ['reranker'])
  t.match((await json('/v1/models/nomic')).body, { id: 'nomic', kind: 'embedding', dimensions: 32, max_model_len: 64 })
  t.match((await kernel.callById('model.embedders', {})) as object, {
    models: [
      { status: 'ready', dimensions: 32, context: 64, device: 'cpu', requests: 1 },
      { status: 'ready', context: 64, requests: 1 }
    ]
  })
})

t.test('texts are compared by the vectors and by the reranker, the most relevant first', async t => {
  const { pairs, scores } = references['bert-reranker'] as Reference
  const { kernel } = await openServer(t, [engine], {
    embedding_model: `${FIXTURES}bert`,
    reranker_model: `${FIXTURES}bert-reranker`,
    embedding_quantization: 'none'
  })
  const [asked] = pairs[0] as readonly [string, string]
  const compared = pairs.slice(0, 3).map(([, document]) => document)
  const { results } = (await kernel.callById('model.similarity', { query: asked, texts: compared })) as {
    results: { text: string; similarity: number; relevance: number }[]
  }
  const relevance = results.map(each => each.relevance)
  t.same(
    relevance,
    relevance.toSorted((a, b) => b - a)
  )
  for (const each of results) {
    const index = compared.indexOf(each.text)
    t.ok(Math.abs(each.relevance - (scores[index] as number)) < TOLERANCE, each.text)
    t.ok(Math.abs(each.similarity) <= 1)
  }
  const { kernel: without } = await openServer(t, [engine], {})
  await t.rejects(without.callById('model.similarity', { query: 'a', texts: ['b'] }), { code: 'MSV_EMBEDDINGS' })
})

t.test('a quantisation that the folder does not allow fails requests, and says so', async t => {
  const { json } = await openServer(t, [engine], {
    embedding_model: `${FIXTURES}static`,
    embedding_quantization: 'q8'
  })
  const { status, body } = await json('/v1/embeddings', { input: 'a' })
  t.equal(status, 503)
  t.match(body.error.message, /cannot be quantised/)
})

t.test('a folder with an embedding model or a reranker is not added as a model that generates text', async t => {
  const { kernel } = await openServer(t, [engine], { model: BUNDLED })
  for (const [folder, kind] of [
    ['bert', 'an embedding model'],
    ['static', 'an embedding model'],
    ['bert-reranker', 'a reranker']
  ] as const) {
    await t.rejects(kernel.callById('model.add', { name: folder, path: `${FIXTURES}${folder}` }), {
      code: 'MSV_RUN_DIRECTORY',
      message: `${FIXTURES}${folder} has ${kind}, which does not generate text`,
      hint: /plugins\.model-server\.embedding_model/
    })
  }
  t.match((await kernel.callById('model.catalogue', {})) as object, { models: [{ source: 'primary' }] })
})
