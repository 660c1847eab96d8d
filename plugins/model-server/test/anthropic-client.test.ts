import Anthropic from '@anthropic-ai/sdk'
import t, { type Test } from 'tap'
import { refusal } from './clients.ts'
import { type ServeOptions, serve } from './serve.ts'

const TAGGED = '… <tool_call> …'
const WEATHER: Anthropic.Tool = {
  name: 'weather',
  description: 'Shows the weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
}
const TIME: Anthropic.Tool = { name: 'time', input_schema: { type: 'object' } }
const CALL = 'Well.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>'
const TOOLS: ServeOptions = { chatTemplate: TAGGED, capabilities: { tools: true }, maxTokens: 300 }

async function connect(t: Test, options: ServeOptions = {}) {
  const serving = await serve(t, options)
  const client = new Anthropic({ baseURL: serving.url, apiKey: options.apiKey ?? 'none', maxRetries: 0 })
  const ask = (
    content: Anthropic.MessageParam['content'],
    fields: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}
  ) => client.messages.create({ model: 'toy', max_tokens: 300, messages: [{ role: 'user', content }], ...fields })
  return { ...serving, client, ask }
}

t.test('answers with text, usage and the reason of the end', async t => {
  const { ask, model } = await connect(t, { cachedTokens: 5 })
  const message = await ask('hello there', { system: [{ type: 'text', text: 'Be brief.' }] })
  t.match(message, {
    id: /^msg_[0-9a-f]{32}$/,
    type: 'message',
    role: 'assistant',
    model: 'toy',
    content: [{ type: 'text', text: 'hello there' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { cache_read_input_tokens: 5, output_tokens: 12 }
  })
  t.match(model.rendered.at(-1)?.messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hello there' }
  ])
})

t.test('ends at the token limit or before a stop sequence, and names it', async t => {
  const { ask } = await connect(t)
  t.match(await ask('0123456789', { max_tokens: 3 }), { stop_reason: 'max_tokens', content: [{ text: '012' }] })
  t.match(await ask('one two END three', { stop_sequences: ['never', 'END'] }), {
    stop_reason: 'stop_sequence',
    stop_sequence: 'END',
    content: [{ text: 'one two ' }]
  })
})

t.test('streams blocks in their order', async t => {
  const { client } = await connect(t, TOOLS)
  const stream = await client.messages.create({
    model: 'toy',
    max_tokens: 300,
    messages: [{ role: 'user', content: CALL }],
    tools: [WEATHER],
    stream: true
  })
  const events: Anthropic.RawMessageStreamEvent[] = []
  for await (const event of stream) events.push(event)
  const kinds = events.map(event => event.type).filter((type, at, all) => type !== all[at - 1])
  t.same(kinds, [
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop'
  ])
  t.match(events[0], { message: { content: [], stop_reason: null, usage: { output_tokens: 0 } } })
  t.match(events.at(-2), { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: Number } })
})

t.test("the official client's streaming helper joins the parts of a message", async t => {
  const { client } = await connect(t, TOOLS)
  const messages = [{ role: 'user' as const, content: CALL }]
  const stream = client.messages.stream({ model: 'toy', max_tokens: 300, messages, tools: [WEATHER] })
  t.match((await stream.finalMessage()).content, [
    { type: 'text', text: 'Well.' },
    { type: 'tool_use', name: 'weather', input: { city: 'Bonn' } }
  ])
})

t.test('returns calls as blocks, and continues with their results', async t => {
  const { client, ask, model } = await connect(t, TOOLS)
  const message = await ask(CALL, { tools: [WEATHER] })
  t.match(message, {
    stop_reason: 'tool_use',
    content: [
      { type: 'text', text: 'Well.' },
      { type: 'tool_use', id: /^call_/, name: 'weather', input: { city: 'Bonn' } }
    ]
  })
  const id = (message.content[1] as Anthropic.ToolUseBlock).id
  await client.messages.create({
    model: 'toy',
    max_tokens: 10,
    tools: [WEATHER],
    messages: [
      { role: 'user', content: CALL },
      { role: 'assistant', content: message.content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: 'rain' }] },
          { type: 'text', text: 'and now?' }
        ]
      }
    ]
  })
  t.match(model.rendered.at(-1)?.messages, [
    { role: 'user', content: CALL },
    { role: 'assistant', content: 'Well.', toolCalls: [{ id, name: 'weather', arguments: { city: 'Bonn' } }] },
    { role: 'tool', content: 'rain', toolCallId: id, name: 'weather' },
    { role: 'user', content: 'and now?' }
  ])
})

t.test('tool_choice forces or hides calls, and an incomplete call is text', async t => {
  const { ask } = await connect(t, TOOLS)
  const tools = [WEATHER, TIME]
  t.match((await ask('hi', { tools, tool_choice: { type: 'any' } })).content, [{ type: 'tool_use', name: 'weather' }])
  const named = await ask('hi', { tools, tool_choice: { type: 'tool', name: 'time' } })
  t.match(named.content, [{ type: 'tool_use', name: 'time', input: {} }])
  t.match((await ask('hi', { tools, tool_choice: { type: 'none' } })).content, [{ type: 'text', text: 'hi' }])
  const twice = CALL + CALL
  const one = await ask(twice, { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } })
  t.equal(one.content.filter(block => block.type === 'tool_use').length, 1)
  const cut = await ask(CALL, { tools, max_tokens: 60 })
  t.match(cut, { stop_reason: 'max_tokens', content: [{ type: 'text', text: /^Well\./ }] })
})

t.test('returns thoughts as a block, streamed and not', async t => {
  const { client, ask, model } = await connect(t, {
    chatTemplate: '… <think> … </think> …',
    capabilities: { thinking: true }
  })
  const content = '<think>\nfirst this</think>then that'
  const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
  const blocks = [
    { type: 'thinking', thinking: 'first this' },
    { type: 'text', text: 'then that' }
  ]
  const message = await ask(content, { thinking })
  t.match(message.content, blocks)
  t.ok((message.usage.output_tokens_details?.thinking_tokens ?? 0) > 0)
  const messages = [{ role: 'user' as const, content }]
  const stream = client.messages.stream({ model: 'toy', max_tokens: 100, messages, thinking })
  t.match((await stream.finalMessage()).content, blocks)
  await client.messages.create({
    model: 'toy',
    max_tokens: 10,
    messages: [...messages, { role: 'assistant', content: message.content }, { role: 'user', content: 'go on' }],
    thinking: { type: 'disabled' }
  })
  t.match(model.rendered.at(-1), {
    messages: [{}, { role: 'assistant', content: 'then that', thinking: 'first this' }, {}],
    options: { thinking: false }
  })
})

t.test('counts the tokens of a prompt without an answer', async t => {
  const { client, ask, model } = await connect(t)
  const messages = [{ role: 'user' as const, content: 'hello there' }]
  const { input_tokens } = await client.messages.countTokens({ model: 'toy', messages })
  t.equal(model.generated, 0)
  t.equal((await ask('hello there')).usage.input_tokens, input_tokens)
})

t.test('constrains the text to a schema', async t => {
  const { ask, model } = await connect(t)
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const message = await ask('hi', { output_config: { format: { type: 'json_schema', schema } } })
  t.match(message.content, [{ text: '{"city":"text"}' }])
  t.same(model.requests.at(-1)?.constraint, { type: 'json-schema', schema })
})

t.test('accepts the key of the server in the header x-api-key', async t => {
  const { ask, url } = await connect(t, { apiKey: 'sesame' })
  t.equal((await ask('hi')).stop_reason, 'end_turn')
  const wrong = new Anthropic({ baseURL: url, apiKey: 'wrong', maxRetries: 0 })
  const error = await refusal(
    wrong.messages.create({ model: 'toy', max_tokens: 1, messages: [{ role: 'user', content: '' }] })
  )
  t.ok(error instanceof Anthropic.AuthenticationError)
  t.match(error.error, { type: 'error', error: { type: 'authentication_error' } })
})

t.test('a failure after the start of a stream is its last event', async t => {
  const { client, errors } = await connect(t, {
    beforeToken: generated => {
      if (generated === 2) throw new Error('out of memory')
    }
  })
  const messages = [{ role: 'user' as const, content: 'abc' }]
  const stream = await client.messages.create({ model: 'toy', max_tokens: 9, messages, stream: true })
  let text = ''
  const read = async () => {
    for await (const event of stream) {
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
    }
  }
  t.match(await refusal(read()), { message: /api_error.*internal error/ })
  t.equal(text, 'ab')
  t.match(errors, [/out of memory/])
})

t.test('generation stops when the client aborts', async t => {
  const { client, model } = await connect(t, { contextLength: 4096 })
  const messages = [{ role: 'user' as const, content: 'x'.repeat(350) }]
  const stream = await client.messages.create({ model: 'toy', max_tokens: 400, messages, stream: true })
  for await (const event of stream) if (event.type === 'content_block_delta') break
  while (model.ended.length === 0) await new Promise(resolve => setImmediate(resolve))
  t.ok(model.generated < 350, `${model.generated} tokens`)
})

t.test('errors name the invalid part of a request, in the format of the API', async t => {
  const { post } = await connect(t)
  const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
  const cases: [object, RegExp, Record<string, string>?][] = [
    [{}, /'messages' must be a list of at least 1, got nothing/],
    [user([{ type: 'image', source: {} }]), /'messages\[0\]\.content\[0\]': blocks of type 'image' are not supported/],
    [user([{ type: 'tool_result', tool_use_id: 'x' }]), /tool_use_id' must be the id of an earlier 'tool_use' block/],
    [user([{ type: 'text' }]), /'messages\[0\]\.content\[0\]\.text' must be a string/],
    [
      { messages: [{ role: 'assistant', content: 'x' }] },
      /'messages\[0\]': the last message must not be the assistant's/
    ],
    [{ ...user('x'), system: [{ type: 'image' }] }, /'system\[0\]': blocks of type 'image'/],
    [{ ...user('x'), max_tokens: 0 }, /'max_tokens' must be an integer of at least 1/],
    [{ ...user('x'), container: 'c' }, /'container'/],
    [
      { ...user('x'), tools: [{ type: 'bash_20250124', name: 'bash' }] },
      /'tools\[0\]\.type': tools of type 'bash_20250124'/
    ],
    [{ ...user('x'), tools: [{ name: 'f' }] }, /'tools\[0\]\.input_schema' must be a JSON Schema/],
    [{ ...user('x'), tool_choice: { type: 'any' } }, /'tool_choice' is only allowed when 'tools' are given/],
    [{ ...user('x'), thinking: { type: 'enabled', display: 'omitted' } }, /'thinking\.display'/],
    [{ ...user('x'), thinking: { type: 'enabled' } }, /toy does not support thinking/],
    [
      { ...user('x'), output_config: { format: { type: 'xml' } } },
      /'output_config\.format\.type' must be 'json_schema'/
    ],
    [user('x'), /header 'anthropic-version' must be one of '2023-06-01'/, { 'anthropic-version': '2020-01-01' }]
  ]
  for (const [body, message, headers] of cases) {
    const reply = await post('/v1/messages', body, headers)
    t.equal(reply.status, 400, JSON.stringify(body))
    t.match(await reply.json(), { type: 'error', error: { type: 'invalid_request_error', message } })
  }
  const unknown = await post('/v1/messages', { ...user('x'), model: 'other' })
  t.match(
    [unknown.status, await unknown.json()],
    [404, { error: { type: 'not_found_error', message: /'other' not found/ } }]
  )
  const long = await post('/v1/messages/count_tokens', user('x'.repeat(2000)))
  t.match([long.status, await long.json()], [400, { error: { message: /tokens; the context holds 512/ } }])
})
