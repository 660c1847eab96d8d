import type { ChatResponse } from 'ollama'
import t from 'tap'
import { connect, refusal, say } from './clients.ts'
import { serve } from './serve.ts'
import { until } from './until.ts'

const STATISTICS = {
  done: true,
  load_duration: 0,
  total_duration: Number,
  prompt_eval_count: Number,
  prompt_eval_duration: Number,
  eval_count: Number,
  eval_duration: Number
}

t.test('chats without streaming', async t => {
  const { ollama: client } = await connect(t)
  const answer = await client.chat({ model: 'toy', messages: say('hello'), stream: false })
  t.match(answer, {
    ...STATISTICS,
    model: 'toy',
    created_at: /^\d{4}-\d\d-\d\dT.*Z$/,
    message: { role: 'assistant', content: 'hello' },
    done_reason: 'stop',
    eval_count: 6
  })
})

t.test('streams a chat; only the last row has the token counts', async t => {
  const { ollama: client } = await connect(t)
  const rows: ChatResponse[] = []
  for await (const row of await client.chat({ model: 'toy', messages: say('Grüße 🦊'), stream: true })) rows.push(row)
  t.equal(rows.map(row => row.message.content).join(''), 'Grüße 🦊')
  t.match(rows.pop(), { ...STATISTICS, message: { role: 'assistant', content: '' }, done_reason: 'stop' })
  t.ok(rows.every(row => row.done === false && !Object.hasOwn(row, 'eval_count') && row.message.role === 'assistant'))
})

t.test('generates with a system message, with and without streaming', async t => {
  const { ollama: client } = await connect(t)
  const request = { model: 'toy', prompt: 'one two', system: 'be brief' }
  t.match(await client.generate({ ...request, stream: false }), {
    ...STATISTICS,
    model: 'toy',
    response: 'one two',
    done_reason: 'stop'
  })
  let text = ''
  let last: unknown
  for await (const row of await client.generate({ ...request, stream: true })) {
    text += row.response
    last = row
  }
  t.equal(text, 'one two')
  t.match(last, { ...STATISTICS, response: '', done_reason: 'stop' })
})

t.test('continues a raw prompt unchanged', async t => {
  const { ollama: client } = await connect(t)
  const answer = await client.generate({ model: 'toy', prompt: 'ab\na', raw: true, options: { num_predict: 4 } })
  t.match(answer, { response: 'b\nab', done_reason: 'length', prompt_eval_count: 4 })
})

t.test('streams by default', async t => {
  const { post } = await connect(t)
  const reply = await post('/api/generate', { prompt: 'ab' })
  t.equal(reply.headers.get('content-type'), 'application/x-ndjson')
  const rows = (await reply.text())
    .trimEnd()
    .split('\n')
    .map(row => JSON.parse(row))
  t.same(
    rows.map(row => row.response),
    ['a', 'b', '']
  )
})

t.test('applies options', async t => {
  const { ollama: client } = await connect(t, { contextLength: 256, maxTokens: 5 })
  const ask = async (prompt: string, options: object) => {
    const { response, done_reason } = await client.generate({ model: 'toy', prompt, options })
    return [response, done_reason]
  }
  t.same(await ask('0123456789', {}), ['01234', 'length'])
  t.same(await ask('0123456789', { num_predict: 2 }), ['01', 'length'])
  t.same(await ask('0123456789', { num_predict: 0 }), ['0', 'length'], 'other values below 1 mean 1')
  t.same(await ask('0123456789', { num_predict: -1 }), ['0123456789', 'stop'], 'no limit')
  t.same(await ask('0123456789', { num_predict: -2 }), ['0123456789', 'stop'], 'the rest of the context')
  t.same(await ask('one two', { stop: ['e'] }), ['on', 'stop'])
  t.same(await ask('one two', { stop: 'n' }), ['o', 'stop'])
  t.same(await ask('aaaa', { temperature: 2, top_k: 1 }), ['aaaa', 'stop'])
  t.same(await ask('aaaa', { temperature: 2, top_p: 0 }), ['aaaa', 'stop'])
  t.same(await ask('aaaa', { temperature: 2, min_p: 1 }), ['aaaa', 'stop'])
  t.same(
    await ask('abc', { mirostat: 0, num_gpu: [], temperature: null }),
    ['abc', 'stop'],
    'unknown options are ignored'
  )
  t.strictNotSame(await ask('aaaa', { repeat_penalty: 1000 }), ['aaaa', 'stop'])
  t.same(await ask('aaaa', { repeat_penalty: 1000, repeat_last_n: 0 }), ['aaaa', 'stop'])
  const penalties = { presence_penalty: 2, frequency_penalty: 2, num_predict: -1 }
  t.strictNotSame(await ask('aaaaaaaaaa', penalties), ['aaaaaaaaaa', 'stop'])
  const noisy = { temperature: 2, num_predict: 24 }
  t.same(await ask('aaaa', { ...noisy, seed: 3 }), await ask('aaaa', { ...noisy, seed: 3 }))
  t.strictNotSame(await ask('aaaa', { ...noisy, seed: 3 }), await ask('aaaa', { ...noisy, seed: 4 }))
})

t.test('num_ctx can only reduce the context', async t => {
  const { ollama: client } = await connect(t, { contextLength: 64, maxTokens: 100 })
  const generate = (prompt: string, num_ctx: number) =>
    client.generate({ model: 'toy', prompt, raw: true, options: { num_ctx, num_predict: -1 } })
  t.match(await generate('ab\n', 10), { eval_count: 7, done_reason: 'length' })
  t.match(await generate('ab\n', 10_000), { eval_count: 61, done_reason: 'length' })
  t.match(await refusal(generate('0123456789', 10)), {
    status_code: 400,
    error: /has 10 tokens; the context holds 10 /
  })
})

t.test('reports log probabilities of tokens', async t => {
  const { ollama: client } = await connect(t)
  const answer = await client.generate({ model: 'toy', prompt: 'ab', logprobs: true, top_logprobs: 3 } as never)
  t.match(answer, {
    logprobs: [
      { token: 'a', logprob: Number, bytes: [97], top_logprobs: Array },
      { token: 'b', logprob: Number, bytes: [98], top_logprobs: Array }
    ]
  })
})

t.test('a request without a prompt only loads the model', async t => {
  const { ollama: client, model } = await connect(t)
  t.match(await client.generate({ model: 'toy', prompt: '' }), { response: '', done: true, done_reason: 'load' })
  t.match(await client.chat({ model: 'toy', messages: [] }), { done: true, done_reason: 'load' })
  for await (const row of await client.generate({ model: 'toy', prompt: '', stream: true })) {
    t.match(row, { done: true, done_reason: 'load' })
  }
  t.equal(model.generated, 0)
})

t.test('describes the model', async t => {
  const { ollama: client } = await connect(t)
  const details = {
    parent_model: '',
    format: 'safetensors',
    family: 'llama',
    families: ['llama'],
    parameter_size: '3.2M',
    quantization_level: 'F32'
  }
  const { models } = await client.list()
  t.same(models, [
    {
      name: 'toy',
      model: 'toy',
      modified_at: '2026-01-02T03:04:05.000Z',
      size: 12_800_000,
      digest: 'ab'.repeat(32),
      details
    }
  ])
  t.match((await client.ps()).models, [{ name: 'toy', size_vram: 0, context_length: 512 }])
  t.match(await client.show({ model: 'toy' }), {
    details,
    capabilities: ['completion'],
    model_info: { 'general.architecture': 'llama', 'llama.context_length': 512, 'adapter.lora.rank': 8 }
  })
  t.equal((await client.version()).version, '1.2.3')
})

t.test('shows the format ONNX for an exported model', async t => {
  const { ollama: client } = await connect(t, { format: 'onnx' })
  const { models } = await client.list()
  t.match(models, [{ details: { format: 'onnx' } }])
  t.match((await client.ps()).models, [{ details: { format: 'onnx' } }])
  t.match(await client.show({ model: 'toy' }), { details: { format: 'onnx' } })
})

t.test('/api/version contains cuda only if the model runs on it', async t => {
  const version = async (device: string) => (await fetch(`${(await serve(t, { device })).url}/api/version`)).text()
  t.match(await version('cuda:0'), /cuda/)
  t.notMatch(await version('cpu'), /cuda|rocm|metal/)
})

t.test('reports errors in the format of the API', async t => {
  const { ollama: client } = await connect(t, { contextLength: 60 })
  const chat = (body: object) => refusal(client.chat({ model: 'toy', messages: say('hi'), ...body } as never))
  const generate = (body: object) => refusal(client.generate({ model: 'toy', prompt: 'hi', ...body } as never))
  t.match(await chat({ model: 'llama3' }), { status_code: 404, error: `model 'llama3' not found` })
  t.match(await generate({ model: 'llama3', stream: true }), { status_code: 404 })
  t.match(await chat({ options: { temperature: 'hot' } }), {
    status_code: 400,
    error: 'invalid option "temperature": must be a number of at least 0, got "hot"'
  })
  t.match(await generate({ options: { stop: [1] } }), {
    status_code: 400,
    error: /^invalid option "stop": must be a str/
  })
  t.match(await chat({ options: { mirostat: 2 } }), { status_code: 400, error: /^'options\.mirostat': / })
  t.match(await chat({ format: 'xml' }), { status_code: 400, error: /^invalid format: "xml"; expected "json" or / })
  t.match(await chat({ think: true }), { status_code: 400, error: 'toy does not support thinking' })
  t.match(await chat({ tools: [{}] }), { status_code: 400, error: /^'tools\[0\]\.function' must be an object/ })
  t.match(await chat({ tools: [{ type: 'function', function: { name: 'f' } }] }), {
    status_code: 400,
    error: 'toy does not support tools'
  })
  t.match(await chat({ messages: [{ role: 'user', content: 'hi', images: ['aGk='] }] }), {
    status_code: 400,
    error: /^'messages\[0\]\.images': /
  })
  t.match(await chat({ messages: say('x'.repeat(55)) }), {
    status_code: 400,
    error: /has \d\d tokens; the context holds 60 /
  })
  t.match(await generate({ suffix: 'x' }), { status_code: 400, error: 'toy does not support insert' })
  t.match(await generate({ template: '{{ template "x" .Prompt }}' }), {
    status_code: 400,
    error: /^'template': '\{\{ template "x" .Prompt \}\}' is not supported/
  })
  for (const fields of [{ system: 'x' }, { template: 'x' }, { context: [1] }]) {
    t.match(await generate({ raw: true, ...fields }), {
      status_code: 400,
      error: 'raw mode does not support template, system, or context'
    })
  }
  t.match(await refusal(client.embed({ model: 'toy', input: 'hi' })), { status_code: 501, error: /embeddings/ })
  t.match(await refusal(client.embeddings({ model: 'toy', prompt: 'hi' })), { status_code: 501, error: /embeddings/ })
  t.match(await refusal(client.show({ model: 'llama3' })), { status_code: 404 })
  t.match(await refusal(client.push({ model: 'llama3' })), {
    status_code: 501,
    error: /no POST \/api\/push: copy the files/
  })
})

t.test('ends a failed stream with an error row', async t => {
  const {
    ollama: client,
    errors,
    codes,
    requestIds
  } = await connect(t, {
    beforeToken: generated => {
      if (generated === 2) throw new Error('broken')
    }
  })
  let text = ''
  const read = async () => {
    for await (const row of await client.generate({ model: 'toy', prompt: 'abcdef', stream: true }))
      text += row.response
  }
  t.match(await refusal(read()), { message: /internal error/ })
  t.equal(text, 'ab')
  t.match(errors, [/broken/])
  t.same([codes, requestIds], [['internal_error'], ['t-1']])
})

t.test('ends an aborted stream', async t => {
  const { ollama: client, model } = await connect(t, { contextLength: 100_000, maxTokens: 90_000 })
  const stream = await client.generate({ model: 'toy', prompt: 'ab\n', raw: true, stream: true })
  const read = async () => {
    for await (const row of stream) if (row.response === 'b') stream.abort()
  }
  t.match(await refusal(read()), { name: 'AbortError' })
  await until(() => model.ended.length === 1)
  t.ok(model.generated < 90_000)
})

t.test('disconnects a client that stops reading', async t => {
  const { url, model } = await connect(t, { contextLength: 400_000, maxTokens: 390_000, stallMs: 50 })
  const reply = await fetch(`${url}/api/generate`, {
    method: 'POST',
    body: JSON.stringify({ prompt: `${'x'.repeat(2000)}\n`, raw: true, options: { num_predict: -1 } })
  })
  t.equal(reply.status, 200)
  await until(() => model.ended.length === 1)
  t.equal(model.capacity().active, 0)
  t.ok(model.generated < 390_000, `${model.generated} tokens waited for a client that did not read`)
  await reply.body?.cancel().catch(() => undefined)
})
