import t from 'tap'
import { serve } from './serve.ts'

t.test('tokenizes text and returns the text of tokens', async t => {
  const { post, model } = await serve(t)
  const text = 'Grüße <|im_end|>'
  const ask = async (path: string, body: object) => (await post(path, body)).json()
  const whole = (await ask('/tokenize', { content: text })) as { tokens: number[] }
  t.same(whole, { tokens: model.tokenize(text, { special: true }) })
  t.same(await ask('/tokenize', { content: text, parse_special: false }), { tokens: model.tokenize(text) })
  const plain = (await ask('/tokenize', { content: 'Grüße' })) as { tokens: number[] }
  t.same(await ask('/detokenize', plain), { content: 'Grüße', prompt: 'Grüße' })
  t.same(await ask('/tokenize', { content: '' }), { tokens: [] })
})

t.test('answers as vLLM does, which lm-evaluation-harness uses as a tokenizer', async t => {
  const { post, url, model } = await serve(t, { chatTemplate: 'template' })
  const tokens = model.tokenize('Grüße <|im_end|>', { special: true })
  const reply = await post('/tokenize', { prompt: 'Grüße <|im_end|>', add_special_tokens: false })
  t.same(await reply.json(), { count: tokens.length, max_model_len: 512, tokens })
  t.match(await (await fetch(`${url}/tokenizer_info`)).json(), {
    tokenizer_class: 'PreTrainedTokenizerFast',
    bos_token: null,
    eos_token: '<|im_end|>',
    chat_template: 'template',
    model_max_length: 512
  })
})

t.test('returns the text of each token, or the bytes of a part of a character', async t => {
  const { post } = await serve(t)
  const ask = async (path: string, body: object) => (await post(path, { with_pieces: true, ...body })).json()
  const tokens = [
    { id: 97, piece: 'a' },
    { id: 0xc3, piece: [0xc3] },
    { id: 0xa9, piece: [0xa9] },
    { id: 257, piece: '<|im_end|>' }
  ]
  t.same(await ask('/tokenize', { content: 'aé<|im_end|>' }), { tokens })
  const text = 'aé<|im_end|>'
  t.same(await ask('/detokenize', { tokens: tokens.map(({ id }) => id) }), { content: text, prompt: text, tokens })
  t.same(await ask('/detokenize', { tokens: [97], with_pieces: false }), { content: 'a', prompt: 'a' })
  t.match(await ask('/tokenize', { prompt: 'ab', return_token_strs: true }), {
    tokens: [97, 98],
    token_strs: ['a', 'b']
  })
})

t.test('describes the model', async t => {
  const { url } = await serve(t, { slots: 3, chatTemplate: 'template', contextLength: 256, temperature: 0.5 })
  t.match(await (await fetch(`${url}/props`)).json(), {
    default_generation_settings: { n_ctx: 256, params: { temperature: 0.5, n_predict: 64 } },
    total_slots: 3,
    model_alias: 'toy',
    chat_template: 'template'
  })
})

t.test('requires the key, and refuses bad input', async t => {
  const { url, post } = await serve(t, { apiKey: 'sesame' })
  t.equal((await fetch(`${url}/props`)).status, 401)
  t.equal((await post('/tokenize', { content: 'x' })).status, 401)
  const headers = { authorization: 'Bearer sesame' }
  const cases: [string, object, RegExp][] = [
    ['/tokenize', {}, /'content' must be a string, got nothing/],
    ['/tokenize', { content: 'x', prompt: 'x' }, /'content' and 'prompt' exclude each other/],
    ['/tokenize', { messages: [{ role: 'user', content: 'x' }] }, /'messages'/],
    ['/tokenize', { content: 'x', with_pieces: 1 }, /'with_pieces' must be true or false/],
    ['/tokenize', { content: 'x'.repeat(60_000) }, /tokens; the context holds 512/],
    ['/tokenize', { content: 'x'.repeat(600) }, /has 600 tokens; the context holds 512/],
    ['/detokenize', { tokens: 'x' }, /'tokens' must be a list/],
    ['/detokenize', { tokens: [99_999] }, /'tokens' contains 99999, which is not a token of this model/],
    ['/detokenize', { tokens: Array.from({ length: 513 }, () => 1) }, /'tokens' must have at most 512 items/]
  ]
  for (const [path, body, message] of cases) {
    const reply = await post(path, body, headers)
    t.equal(reply.status, 400)
    t.match(await reply.json(), { error: { message } })
  }
  t.equal((await post('/tokenize', { content: 'x', model: 'other' }, headers)).status, 404)
})
