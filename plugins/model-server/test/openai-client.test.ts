import { once } from 'node:events'
import OpenAI, { APIError, APIUserAbortError } from 'openai'
import t from 'tap'
import { connect, refusal, say } from './clients.ts'
import { until } from './until.ts'

t.test('answers with text, usage and the finish reason', async t => {
  const { openai: client } = await connect(t)
  const answer = await client.chat.completions.create({ model: 'toy', messages: say('hello there') })
  t.match(answer, {
    id: /^chatcmpl-[0-9a-f-]{36}$/,
    object: 'chat.completion',
    model: 'toy',
    system_fingerprint: 'fp_ababababab',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hello there' }, finish_reason: 'stop' }]
  })
  const prompt = '<>user\nhello there<>\n<>assistant\n'.length - 3
  t.match(answer.usage, { prompt_tokens: prompt, completion_tokens: 12, total_tokens: prompt + 12 })
})

t.test('streams the role first, then text, then the finish reason in an empty delta', async t => {
  const { openai: client } = await connect(t)
  const stream = await client.chat.completions.create({ model: 'toy', messages: say('abc'), stream: true })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  t.same(
    chunks.map(chunk => chunk.choices[0]),
    [
      { index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null },
      ...['a', 'b', 'c'].map(content => ({ index: 0, delta: { content }, logprobs: null, finish_reason: null })),
      { index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }
    ]
  )
  t.equal(new Set(chunks.map(chunk => `${chunk.id} ${chunk.created} ${chunk.model}`)).size, 1)
  t.notOk(chunks.some(chunk => 'usage' in chunk))
})

t.test('ends a stream with the usage in a chunk without choices, if requested', async t => {
  const { openai: client } = await connect(t)
  const stream = await client.chat.completions.create({
    messages: say('abc'),
    model: 'toy',
    stream: true,
    stream_options: { include_usage: true }
  })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  const last = chunks.pop()
  t.same(last?.choices, [])
  t.match(last?.usage, { completion_tokens: 4 })
  t.ok(chunks.every(chunk => chunk.usage === null))
})

t.test('never splits a character, with or without streaming', async t => {
  const { openai: client } = await connect(t)
  const text = 'Grüße, 世界 – 🦊👩‍👩‍👧'
  const stream = await client.chat.completions.create({ model: 'toy', messages: say(text), stream: true })
  let streamed = ''
  for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? ''
  t.equal(streamed, text)
  const whole = await client.chat.completions.create({ model: 'toy', messages: say(text) })
  t.equal(whole.choices[0]?.message.content, text)
})

t.test('stops before a stop string, with finish reason stop', async t => {
  const { openai: client } = await connect(t)
  for (const stop of ['END', ['never', 'END']]) {
    const answer = await client.chat.completions.create({ model: 'toy', messages: say('one two END three'), stop })
    t.match(answer.choices[0], { message: { content: 'one two ' }, finish_reason: 'stop' })
  }
})

t.test('stops at the token limit, with finish reason length', async t => {
  const { openai: client } = await connect(t, { maxTokens: 5 })
  const messages = say('0123456789')
  const byDefault = await client.chat.completions.create({ model: 'toy', messages })
  t.match(byDefault.choices[0], { message: { content: '01234' }, finish_reason: 'length' })
  const old = await client.chat.completions.create({ model: 'toy', messages, max_tokens: 2 })
  t.match(old.choices[0], { message: { content: '01' }, finish_reason: 'length' })
  const both = await client.chat.completions.create({
    model: 'toy',
    messages,
    max_tokens: 2,
    max_completion_tokens: 3
  })
  t.match(both.choices[0], { message: { content: '012' }, finish_reason: 'length' })
})

t.test('generates the same text for the same seed, and different text for another seed', async t => {
  const { openai: client } = await connect(t)
  const ask = async (seed: number) => {
    const answer = await client.chat.completions.create({
      model: 'toy',
      messages: say('aaaaaaaaaaaaaaaaaaaaaaaa'),
      temperature: 2,
      seed,
      max_tokens: 24
    })
    return answer.choices[0]?.message.content
  }
  const first = await ask(7)
  t.equal(await ask(7), first)
  t.not(await ask(8), first)
})

t.test('passes sampling options to the engine', async t => {
  const { openai: client } = await connect(t)
  const ask = async (options: object, text = 'aaaa') => {
    const answer = await client.chat.completions.create({ model: 'toy', messages: say(text), ...options })
    return answer.choices[0]?.message.content
  }
  t.equal(await ask({ temperature: 2, top_p: 0 }), 'aaaa', 'top_p keeps the most probable token')
  t.equal(await ask({ temperature: 2, top_k: 1 }), 'aaaa', 'top_k keeps the most probable token')
  t.equal(await ask({ temperature: 2, min_p: 1 }), 'aaaa', 'min_p keeps the most probable token')
  t.equal(await ask({ logit_bias: { '98': 100 }, max_tokens: 3 }), 'bbb', 'logit_bias')
  t.not(await ask({ presence_penalty: 2, frequency_penalty: 2 }, 'aaaaaaaaaa'), 'aaaaaaaaaa', 'penalties')
  t.not(await ask({ repetition_penalty: 1000 }), 'aaaa', 'repetition_penalty')
})

t.test('reports log probabilities of tokens', async t => {
  const { openai: client } = await connect(t)
  const answer = await client.chat.completions.create({
    model: 'toy',
    messages: say('aé'),
    logprobs: true,
    top_logprobs: 2
  })
  const entries = answer.choices[0]?.logprobs?.content ?? []
  t.equal(entries.length, 3, 'one entry for each byte')
  t.match(entries[0], { token: 'a', bytes: [97] })
  t.equal(entries[1]?.bytes, null, 'a part of a character has no text')
  t.ok(entries.every(entry => entry.logprob < 0 && entry.top_logprobs.length === 2))

  const stream = await client.chat.completions.create({
    model: 'toy',
    messages: say('ab'),
    logprobs: true,
    stream: true
  })
  const streamed = []
  for await (const chunk of stream) streamed.push(...(chunk.choices[0]?.logprobs?.content ?? []))
  t.same(
    streamed.map(entry => [entry.token, entry.top_logprobs]),
    [
      ['a', []],
      ['b', []]
    ]
  )
})

t.test('accepts developer messages, content parts and fields without effect', async t => {
  const { openai: client } = await connect(t)
  const answer = await client.chat.completions.create({
    model: 'toy:latest',
    messages: [
      { role: 'developer', content: 'be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'one ' },
          { type: 'text', text: 'two' }
        ]
      }
    ],
    n: 1,
    tools: [],
    tool_choice: 'none',
    response_format: { type: 'text' },
    modalities: ['text'],
    metadata: { a: 'b' },
    user: 'me',
    store: false,
    stop: null,
    max_tokens: null
  })
  t.equal(answer.choices[0]?.message.content, 'one two')
})

t.test('lists the model', async t => {
  const { openai: client } = await connect(t)
  const { data } = await client.models.list()
  t.match(data, [{ id: 'toy', object: 'model', owned_by: 'svc', created: 1767323045 }])
  t.match(await client.models.retrieve('toy'), { id: 'toy', max_model_len: 512 })
  t.match(await refusal(client.models.retrieve('other/one')), { status: 404, code: 'model_not_found' })
})

t.test('reports errors in the format of the API', async t => {
  const { openai: client } = await connect(t, { contextLength: 40 })
  const create = (body: object) =>
    client.chat.completions.create({ model: 'toy', messages: say('hi'), ...body } as never)
  t.match(await refusal(create({ model: 'gpt-4o' })), { status: 404, code: 'model_not_found', param: 'model' })
  t.match(await refusal(create({ tools: [{ type: 'function', function: { name: 'f' } }] })), {
    status: 400,
    code: 'unsupported_parameter',
    param: 'tools',
    type: 'invalid_request_error',
    message: /toy does not support tools/
  })
  t.match(await refusal(create({ messages: say('x'.repeat(30)) })), {
    status: 400,
    code: 'context_length_exceeded',
    message: /the prompt is too long: it has 49 tokens; the context holds 40 /
  })
  t.match(await refusal(create({ messages: say('x'.repeat(2000)) })), {
    status: 400,
    code: 'context_length_exceeded',
    message: /has at least 1280 tokens; the context holds 40 /
  })
})

t.test('requires the API key', async t => {
  const { openai: client, url } = await connect(t, { apiKey: 'right' })
  t.ok(await client.models.list())
  const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'wrong', maxRetries: 0 })
  t.match(await refusal(stranger.models.list()), { status: 401, code: 'invalid_api_key', type: 'authentication_error' })
  t.match(await refusal(stranger.chat.completions.create({ model: 'toy', messages: say('hi') })), { status: 401 })
})

t.test('stops generation within one token after a disconnect, with or without streaming', async t => {
  for (const stream of [true, false]) {
    let reached = () => {}
    const underWay = new Promise<void>(resolve => {
      reached = resolve
    })
    const { openai: client, model } = await connect(t, {
      // The sixth token is being computed when the client disconnects.
      beforeToken: async (generated, signal) => {
        if (generated !== 5) return
        reached()
        if (signal?.aborted === false) await once(signal, 'abort')
      }
    })
    const abort = new AbortController()
    const request = client.chat.completions.create(
      { model: 'toy', messages: say('a long answer'), stream },
      { signal: abort.signal }
    )
    const left = refusal(request)
    await underWay
    abort.abort()
    await until(() => model.ended.length === 1)
    t.same(model.ended, ['cancelled'])
    t.equal(model.generated, 5)
    await left
  }
})

t.test('ends an aborted request without streaming, and one in the queue', async t => {
  let go = () => {}
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  const { openai: client, model } = await connect(t, { beforeToken: () => gate })
  const abort = new AbortController()
  const requests = [1, 2].map(() =>
    client.chat.completions.create({ model: 'toy', messages: say('hello') }, { signal: abort.signal })
  )
  const settled = Promise.allSettled(requests)
  await until(() => model.capacity().active === 1 && model.capacity().waiting === 1)
  abort.abort()
  for (const result of await settled) t.ok(result.status === 'rejected' && result.reason instanceof APIUserAbortError)
  await until(() => model.capacity().waiting === 0)
  go()
  await until(() => model.capacity().active === 0)
  t.equal(model.generated, 0)
  const after = await client.chat.completions.create({ model: 'toy', messages: say('still there') })
  t.equal(after.choices[0]?.message.content, 'still there')
})

t.test('reports an error in the middle of a stream', async t => {
  const {
    openai: client,
    errors,
    codes,
    requestIds
  } = await connect(t, {
    beforeToken: generated => {
      if (generated === 2) throw new Error('the secret of the machine')
    }
  })
  const stream = await client.chat.completions.create({ model: 'toy', messages: say('abcdef'), stream: true })
  let text = ''
  const read = async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  }
  const error = await refusal(read())
  t.equal(text, 'ab')
  t.ok(error instanceof APIError)
  t.match(error.message, /internal error/)
  t.match(errors, [/the secret of the machine/])
  t.same([codes, requestIds], [['internal_error'], ['t-1']])
  t.match(await refusal(client.chat.completions.create({ model: 'toy', messages: say('abcdef') })), {
    status: 500,
    message: /internal error/
  })
})

t.test('returns 503 with Retry-After when the queue is full', async t => {
  let go = () => {}
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  const { openai: client, model } = await connect(t, { queue: 1, beforeToken: () => gate })
  const request = () => client.chat.completions.create({ model: 'toy', messages: say('hi') })
  const admitted = [request(), request()]
  await until(() => model.capacity().waiting === 1)
  const error = (await refusal(request())) as APIError
  t.match(error, { status: 503, code: 'server_busy' })
  t.equal(error.headers?.get('retry-after'), '1')
  go()
  for (const answer of await Promise.all(admitted)) t.equal(answer.choices[0]?.message.content, 'hi')
  t.equal((await request()).choices[0]?.message.content, 'hi')
})
