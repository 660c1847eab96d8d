import type OpenAI from 'openai'
import t from 'tap'
import { connect, refusal, say } from './clients.ts'

t.test('continues a text prompt unchanged', async t => {
  const { openai: client } = await connect(t)
  const answer = await client.completions.create({ model: 'toy', prompt: 'ab\na', max_tokens: 4 })
  t.match(answer, {
    id: /^cmpl-[0-9a-f-]{36}$/,
    object: 'text_completion',
    model: 'toy',
    choices: [{ text: 'b\nab', index: 0, logprobs: null, finish_reason: 'length' }],
    usage: { prompt_tokens: 4, completion_tokens: 4, total_tokens: 8 }
  })
  const byDefault = await client.completions.create({ model: 'toy', prompt: 'ab\n' })
  t.equal(byDefault.usage?.completion_tokens, 16, 'the default of the API applies')
  const stopped = await client.completions.create({ model: 'toy', prompt: 'one two\n', stop: ['tw'] })
  t.match(stopped.choices[0], { text: 'one ', finish_reason: 'stop' })
})

t.test('accepts prompts as strings, tokens or lists of either, and returns answers in order', async t => {
  const { openai: client } = await connect(t, { slots: 2 })
  const texts = async (prompt: string | string[] | number[] | number[][], n = 1) => {
    const answer = await client.completions.create({ model: 'toy', prompt, max_tokens: 2, n })
    t.same(
      answer.choices.map(choice => choice.index),
      [...answer.choices.keys()]
    )
    return [...answer.choices.map(choice => choice.text), answer.usage?.prompt_tokens]
  }
  t.same(await texts('ab\n'), ['ab', 3])
  t.same(await texts([97, 98, 10]), ['ab', 3])
  t.same(await texts(['ab\n', 'cd\n', 'ef\n']), ['ab', 'cd', 'ef', 9])
  t.same(
    await texts([
      [97, 98, 10],
      [99, 100, 10]
    ]),
    ['ab', 'cd', 6]
  )
  t.same(await texts(['ab\n', 'cd\n'], 2), ['ab', 'ab', 'cd', 'cd', 6])
})

t.test('echo repeats the prompt before the answer', async t => {
  const { openai: client, model } = await connect(t)
  const create = (fields: object) => client.completions.create({ model: 'toy', prompt: 'ab\n', echo: true, ...fields })
  t.equal((await create({ max_tokens: 2 })).choices[0]?.text, 'ab\nab')
  t.equal((await create({ prompt: [97, 98, 10], max_tokens: 2 })).choices[0]?.text, 'ab\nab')
  const before = model.generated
  t.match(await create({ max_tokens: 0 }), { choices: [{ text: 'ab\n' }], usage: { completion_tokens: 0 } })
  t.equal(model.generated, before)
  let streamed = ''
  const stream = await client.completions.create({
    model: 'toy',
    prompt: 'ab\n',
    echo: true,
    max_tokens: 2,
    stream: true
  })
  for await (const chunk of stream) streamed += chunk.choices[0]?.text
  t.equal(streamed, 'ab\nab')
})

t.test('reports log probabilities as lists, with the offset of each token', async t => {
  const { openai: client } = await connect(t)
  const request = { model: 'toy', prompt: 'ab\n', max_tokens: 2, logprobs: 2 }
  const { choices } = await client.completions.create(request)
  t.match(choices[0]?.logprobs, { tokens: ['a', 'b'], text_offset: [0, 1], token_logprobs: [Number, Number] })
  t.equal(Object.keys(choices[0]?.logprobs?.top_logprobs?.[0] ?? {}).length, 2)
  const offsets: number[] = []
  for await (const chunk of await client.completions.create({ ...request, stream: true })) {
    offsets.push(...(chunk.choices[0]?.logprobs?.text_offset ?? []))
  }
  t.same(offsets, [0, 1])
})

t.test('echo with logprobs reports the log probabilities of the prompt, too', async t => {
  const { openai: client, model } = await connect(t, { slots: 2 })
  const request = { model: 'toy', prompt: 'ab\nab', echo: true, logprobs: 2, max_tokens: 1 }
  const { choices } = await client.completions.create(request)
  t.match(choices[0], {
    text: 'ab\nab\n',
    logprobs: {
      tokens: ['a', 'b', '\n', 'a', 'b', '\n'],
      text_offset: [0, 1, 2, 3, 4, 5],
      token_logprobs: [null, Number, Number, Number, Number, Number],
      top_logprobs: [null, Object, Object, Object, Object, Object]
    }
  })
  const lists = choices[0]?.logprobs
  const scores = await model.score({ tokens: [...Buffer.from('ab\nab')], top: 2 })
  t.same(
    lists?.token_logprobs?.slice(1, -1),
    scores.map(({ logprob }) => logprob)
  )
  t.same(
    lists?.top_logprobs?.slice(1, -1),
    scores.map(({ top }) => Object.fromEntries(top.map(({ text, logprob }) => [text, logprob])))
  )
  const none = await client.completions.create({ ...request, max_tokens: 0 })
  t.same(none.choices[0]?.logprobs?.token_logprobs, lists?.token_logprobs?.slice(0, -1))
  t.equal(none.choices[0]?.text, 'ab\nab')
  const several = await client.completions.create({
    ...request,
    prompt: [
      [97, 98, 99],
      [100, 101]
    ],
    n: 2
  })
  t.same(
    several.choices.map(({ text, logprobs }) => [text.slice(0, -1), logprobs?.token_logprobs?.length]),
    [
      ['abc', 4],
      ['abc', 4],
      ['de', 3],
      ['de', 3]
    ]
  )
  const streamed: { offsets: number[]; values: (number | null)[]; text: string } = { offsets: [], values: [], text: '' }
  for await (const chunk of await client.completions.create({ ...request, stream: true })) {
    streamed.offsets.push(...(chunk.choices[0]?.logprobs?.text_offset ?? []))
    streamed.values.push(...(chunk.choices[0]?.logprobs?.token_logprobs ?? []))
    streamed.text += chunk.choices[0]?.text
  }
  t.same(streamed, { offsets: lists?.text_offset, values: lists?.token_logprobs, text: choices[0]?.text })
})

t.test('prompt_logprobs reports the tokens of the prompt by id, with their ranks, as vLLM', async t => {
  const { openai: client, model } = await connect(t)
  const request = { model: 'toy', prompt: 'ab\nab', max_tokens: 0, prompt_logprobs: 1 }
  const { choices } = await client.completions.create(request)
  const [choice] = choices as unknown as { text: string; logprobs: null; prompt_logprobs: Record<string, object>[] }[]
  t.match(choice, { text: '', logprobs: null })
  t.equal(choice?.prompt_logprobs[0], null)
  const scores = await model.score({ tokens: [...Buffer.from('ab\nab')], top: 1 })
  for (const [at, { token, text, logprob, rank, top }] of scores.entries()) {
    const entries = choice?.prompt_logprobs[at + 1] ?? {}
    t.same(entries[token], { logprob, rank, decoded_token: text })
    t.match(entries[top[0]?.token ?? -1], { rank: 1, decoded_token: top[0]?.text })
    t.equal(Object.keys(entries).length, rank === 1 ? 1 : 2)
  }
})

t.test('more log probabilities than memory allows are refused before the prompt is scored', async t => {
  const { post, model } = await connect(t, { contextLength: 200_000, maxBodyBytes: 1_048_576 })
  const prompt = Array.from({ length: 100_000 }, () => 97)
  for (const fields of [{ prompt_logprobs: 20 }, { echo: true, logprobs: 20 }]) {
    const response = await post('/v1/completions', { prompt, max_tokens: 0, ...fields })
    t.equal(response.status, 400)
    t.match(await response.json(), { error: { message: /more than 2000000 log probabilities/, param: 'prompt' } })
  }
  t.same(model.scored, [])
})

t.test('scoring a prompt ends with the request, and its errors are those of a completion', async t => {
  const { post, model } = await connect(t, {
    timeoutMs: 20,
    beforeToken: (_generated, signal) => new Promise(resolve => signal?.addEventListener('abort', () => resolve()))
  })
  const body = { prompt: 'ab', echo: true, logprobs: 0, max_tokens: 0 }
  const late = await post('/v1/completions', body)
  t.match([late.status, await late.json()], [504, { error: { code: 'timeout' } }])
  const long = await post('/v1/completions', { ...body, prompt: 'x'.repeat(600) })
  t.match([long.status, await long.json()], [400, { error: { code: 'context_length_exceeded' } }])
  t.same(model.scored, [])
})

t.test('a stream ends with its finish reason, and with the usage if requested', async t => {
  const { openai: client } = await connect(t)
  const chunks = []
  const stream = await client.completions.create({
    model: 'toy',
    prompt: ['ab\n', 'cd\n'],
    max_tokens: 2,
    stream: true,
    stream_options: { include_usage: true }
  })
  for await (const chunk of stream) chunks.push(chunk)
  t.match(chunks.at(-1), { object: 'text_completion', choices: [], usage: { prompt_tokens: 6, completion_tokens: 4 } })
  for (const index of [0, 1]) {
    const own = chunks.flatMap(chunk => chunk.choices.filter(choice => choice.index === index))
    t.equal(own.map(choice => choice.text).join(''), ['ab', 'cd'][index])
    t.equal(own.at(-1)?.finish_reason, 'length')
  }
})

t.test('best_of returns the most probable of the generated answers', async t => {
  const { openai: client, model } = await connect(t)
  const request = { model: 'toy', prompt: 'aaaa\n', max_tokens: 8, temperature: 2, seed: 1 }
  const all = await client.completions.create({ ...request, n: 6, logprobs: 0 })
  const mean = (choice: OpenAI.CompletionChoice | undefined): number => {
    const values = choice?.logprobs?.token_logprobs ?? []
    return values.reduce((sum, value) => sum + value, 0) / values.length
  }
  const best = all.choices.toSorted((a, b) => mean(b) - mean(a)).slice(0, 2)
  const before = model.generated
  const chosen = await client.completions.create({ ...request, n: 2, best_of: 6 })
  t.same(
    chosen.choices.map(({ text, index, logprobs }) => [text, index, logprobs]),
    best.map(({ text }, index) => [text, index, null])
  )
  t.equal(chosen.usage?.completion_tokens, model.generated - before, 'all generated tokens count')
})

t.test('rejects unsupported fields and combinations by name', async t => {
  const { openai: client, post } = await connect(t)
  const create = (fields: object) =>
    refusal(client.completions.create({ model: 'toy', prompt: 'ab\n', ...fields } as never))
  t.match(await create({ prompt: '' }), { status: 400, message: /'prompt' must not be empty/, param: 'prompt' })
  t.match(await create({ prompt: [] }), { status: 400, param: 'prompt' })
  t.match(await create({ prompt: [-1] }), { status: 400, param: /^prompt/ })
  t.match(await create({ prompt: [9999] }), { status: 400, message: /'prompt' contains 9999/ })
  t.match(await create({ prompt: [['a']] }), { status: 400, param: /^prompt/ })
  t.match(await create({ best_of: 2, stream: true }), { status: 400, param: 'best_of' })
  t.match(await create({ best_of: 1, n: 2 }), {
    status: 400,
    message: /'best_of' must be at least 'n', which is 2, got 1/
  })
  t.match(await create({ max_tokens: 0 }), { status: 400, param: 'max_tokens' })
  t.match(await create({ prompt_logprobs: 1, stream: true }), { status: 400, param: 'prompt_logprobs' })
  t.match(await create({ prompt_logprobs: 21 }), { status: 400, param: 'prompt_logprobs' })
  t.match(await create({ suffix: 'x' }), { status: 400, message: /toy does not support insert/, param: 'suffix' })
  t.match(await create({ logprobs: true }), { status: 400, message: /'logprobs' must be an integer from 0 to 20/ })
  t.match(await create({ model: 'gpt' }), { status: 404, code: 'model_not_found' })
  t.equal((await post('/v1/completions', { prompt: 'ab\n', suffix: '', user: 'me', best_of: 1, n: 1 })).status, 200)
})

t.test('several answers to one conversation differ, and are the same for the same seed', async t => {
  for (const slots of [1, 3]) {
    const { openai: client, model } = await connect(t, { slots, queue: 0 })
    const request = { model: 'toy', messages: say('aaaaaaaa'), temperature: 2, seed: 5, n: 3, max_tokens: 8 }
    const texts = async () => (await client.chat.completions.create(request)).choices.map(each => each.message.content)
    const first = await texts()
    t.equal(new Set(first).size, 3)
    t.same(await texts(), first)
    const streamed = ['', '', '']
    const reasons: unknown[] = []
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true }
    })
    let usage: OpenAI.CompletionUsage | null | undefined
    for await (const chunk of stream) {
      usage = chunk.usage
      for (const { index, delta, finish_reason } of chunk.choices) {
        streamed[index] += delta.content ?? ''
        if (finish_reason !== null) reasons[index] = finish_reason
      }
    }
    t.same(streamed, first)
    t.equal(reasons.length, 3)
    t.equal(usage?.completion_tokens, model.requests.slice(-3).length * 8)
    t.equal(usage?.prompt_tokens, model.requests.at(-1)?.tokens.length, 'the tokens of the prompt are counted once')
  }
})

t.test('if one of several answers fails, all end', async t => {
  let begun = 0
  const { openai: client, model } = await connect(t, {
    slots: 2,
    beforeToken: generated => {
      if (generated === 3 && ++begun === 2) throw new Error('broken')
    }
  })
  const stream = await client.chat.completions.create({
    model: 'toy',
    messages: say('a long answer'),
    n: 4,
    stream: true
  })
  const error = await refusal(
    (async () => {
      for await (const _ of stream);
    })()
  )
  t.match(error, { message: /internal error/ })
  t.equal(model.capacity().active, 0)
})

t.test('reports cached tokens', async t => {
  const { openai: client } = await connect(t, { cachedTokens: 5 })
  const answer = await client.chat.completions.create({ model: 'toy', messages: say('hi') })
  t.match(answer.usage, { prompt_tokens_details: { cached_tokens: 5 } })
})

t.test('responses contain only fields of the API', async t => {
  const { post } = await connect(t)
  const chat = (await (await post('/v1/chat/completions', { messages: say('a') })).json()) as any
  t.same(Object.keys(chat), ['id', 'object', 'created', 'model', 'system_fingerprint', 'choices', 'usage'])
  t.same(Object.keys(chat.choices[0]), ['index', 'message', 'logprobs', 'finish_reason'])
  t.same(Object.keys(chat.choices[0].message), ['role', 'content', 'refusal'])
  t.same(chat.usage, {
    prompt_tokens: chat.usage.prompt_tokens,
    completion_tokens: 2,
    total_tokens: chat.usage.prompt_tokens + 2,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0
    }
  })
  const lines = (await (await post('/v1/chat/completions', { messages: say('a'), stream: true })).text()).split('\n\n')
  t.same(lines.slice(-2), ['data: [DONE]', ''])
  for (const line of lines.slice(0, -2)) {
    const chunk = JSON.parse(line.slice('data: '.length))
    t.same(Object.keys(chunk), ['id', 'object', 'created', 'model', 'system_fingerprint', 'choices'])
    t.same(Object.keys(chunk.choices[0]), ['index', 'delta', 'logprobs', 'finish_reason'])
  }
  const text = (await (await post('/v1/completions', { prompt: 'ab\n' })).json()) as any
  t.same(Object.keys(text), ['id', 'object', 'created', 'model', 'system_fingerprint', 'choices', 'usage'])
  t.same(Object.keys(text.choices[0]), ['text', 'index', 'logprobs', 'finish_reason'])
})
