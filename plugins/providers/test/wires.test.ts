import type { ChatMessage, ChatTool } from '@svc/contracts'
import t, { type Test } from 'tap'
import { NOWHERE, openWorld } from './open-providers.ts'
import {
  anthropic,
  failing,
  gemini,
  openAi,
  type ProviderServer,
  providerServer,
  type Reply
} from './provider-servers.ts'

const tools: ChatTool[] = [{ name: 'add', description: 'Adds', parameters: { type: 'object' } }]
const schema = { type: 'object', properties: { a: { type: 'number' } } }
const conversation: ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Add 1 and 2, and 3 and 4.' },
  {
    role: 'assistant',
    content: '',
    toolCalls: [
      { id: 'call_a', name: 'add', arguments: { a: 1, b: 2 } },
      { id: 'call_b', name: 'add', arguments: { a: 3, b: 4 } }
    ]
  },
  { role: 'tool', toolCallId: 'call_a', content: '3' },
  { role: 'tool', toolCallId: 'call_b', content: '{"sum":7}' }
]

async function open(t: Test, name: string, reply: Reply, settings: object = {}) {
  const server = await providerServer(t, reply)
  const keyed = { [`${name}_api_key`]: 'key-1', [`${name}_url`]: server.url, profile: 'cloud_compatible', ...settings }
  return { server, world: await openWorld(t, { settings: keyed }) }
}

const last = ({ seen }: ProviderServer) => {
  const found = seen.at(-1)
  if (found === undefined) throw new Error('no request arrived')
  return found
}

t.test('Anthropic: text, reasoning, tokens and price of an answer', async t => {
  const reply = anthropic([
    { type: 'thinking', thinking: 'hm' },
    { type: 'text', text: 'Hello' }
  ])
  const { server, world } = await open(t, 'anthropic', reply)
  const model = 'anthropic/claude-sonnet-4-5'
  const { text, events, done } = await world.ask({
    model,
    messages: conversation,
    tools,
    temperature: 1.5,
    stop: ['END']
  })
  t.equal(text, 'Hello')
  t.match(events[0], { type: 'thinking', text: 'hm' })
  const usage = { promptTokens: 1_000, completionTokens: 100 }
  t.match(done, { finishReason: 'stop', model: 'claude-sonnet-4-5', provider: 'anthropic', requestId: 'msg_1', usage })
  t.equal(done.costUsd?.toFixed(6), '0.004500')
  const { headers, body } = last(server)
  t.match(headers, { 'x-api-key': 'key-1', 'anthropic-version': '2023-06-01' })
  t.equal(headers.authorization, undefined)
  t.match(body, {
    model: 'claude-sonnet-4-5',
    system: 'Be brief.',
    temperature: 1,
    stop_sequences: ['END'],
    stream: true
  })
  t.equal(body.max_tokens, 2_048)
  t.same(body.tools, [{ name: 'add', description: 'Adds', input_schema: { type: 'object' } }])
  t.same(
    body.messages.map(({ role, content }: any) => [role, content.map(({ type }: any) => type)]),
    [
      ['user', ['text']],
      ['assistant', ['tool_use', 'tool_use']],
      ['user', ['tool_result', 'tool_result']]
    ]
  )
})

t.test('Anthropic: calls of tools, and JSON through a tool', async t => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 1, b: 2 } }
  const { server, world } = await open(t, 'anthropic', anthropic([call], 'tool_use'))
  const model = 'claude-haiku-4-5'
  const { events, done } = await world.ask({ model, tools, topP: 0.5 })
  t.same(events[0], { type: 'tool-call', call: { id: 'toolu_1', name: 'add', arguments: { a: 1, b: 2 } } })
  t.equal(done.finishReason, 'tool-calls')
  t.match(last(server).body, { top_p: 0.5, temperature: undefined })
  server.reply = anthropic([{ type: 'tool_use', id: 'toolu_2', name: 'json_answer', input: { a: 1 } }], 'tool_use')
  const answer = await world.ask({ model, format: schema })
  t.equal(answer.text, '{"a":1}')
  t.equal(answer.done.finishReason, 'stop')
  t.match(last(server).body, { tool_choice: { type: 'tool', name: 'json_answer' }, tools: [{ input_schema: schema }] })
  const own = await world.ask({ model, tools: [{ name: 'json_answer', parameters: schema }] })
  t.match(own.events[0], { type: 'tool-call', call: { id: 'toolu_2', name: 'json_answer', arguments: { a: 1 } } })
  t.equal(own.done.finishReason, 'tool-calls')
  server.reply = anthropic([{ type: 'text', text: '```json\n{"a":1}\n```\n' }])
  t.equal((await world.ask({ model, format: 'json' })).text, '{"a":1}')
  t.match(last(server).body.system, /JSON object/)
})

t.test('Gemini: text, reasoning, tools, results and JSON', async t => {
  const reply = gemini([{ text: 'hm', thought: true }, { text: 'Hello' }, { text: '!' }])
  const { server, world } = await open(t, 'google', reply)
  const model = 'google/gemini-2.5-flash'
  const { text, events, done } = await world.ask({ model, messages: conversation, tools, seed: 7 })
  t.equal(text, 'Hello!')
  t.match(events[0], { type: 'thinking' })
  const usage = { promptTokens: 1_000, completionTokens: 100 }
  t.match(done, { provider: 'google', model: 'gemini-2.5-flash-001', requestId: 'resp-1', usage })
  const { path, headers, body } = last(server)
  t.equal(path, '/models/gemini-2.5-flash:streamGenerateContent?alt=sse')
  t.equal(headers['x-goog-api-key'], 'key-1')
  t.match(body, { systemInstruction: { parts: [{ text: 'Be brief.' }] }, generationConfig: { seed: 7 } })
  t.match(body.tools, [{ functionDeclarations: [{ name: 'add', parametersJsonSchema: { type: 'object' } }] }])
  t.same(
    body.contents.map(({ role }: any) => role),
    ['user', 'model', 'user']
  )
  t.same(body.contents[2].parts, [
    { functionResponse: { name: 'add', response: { result: '3' } } },
    { functionResponse: { name: 'add', response: { sum: 7 } } }
  ])
  await world.ask({ model, format: schema })
  t.match(last(server).body.generationConfig, { responseMimeType: 'application/json', responseJsonSchema: schema })
})

t.test('Gemini: the signature of a tool call returns with the call', async t => {
  const functionCall = { name: 'add', args: { a: 1, b: 2 } }
  const { server, world } = await open(t, 'google', gemini([{ functionCall, thoughtSignature: 'sig' }]))
  const model = 'gemini-2.5-flash'
  const { events, done } = await world.ask({ model, tools })
  t.equal(done.finishReason, 'tool-calls')
  const [called] = events
  if (called?.type !== 'tool-call') throw new Error('the first event is no call')
  const messages: ChatMessage[] = [
    { role: 'user', content: 'Add.' },
    { role: 'assistant', content: '', toolCalls: [called.call] },
    { role: 'tool', toolCallId: called.call.id, content: '3' }
  ]
  await world.ask({ model, tools, messages })
  t.same(last(server).body.contents[1].parts, [{ functionCall, thoughtSignature: 'sig' }])
})

t.test('OpenRouter: headers, preference and reported price', async t => {
  const { server, world } = await open(t, 'openrouter', openAi('Hello', { cost: 0.25 }), {
    http_referer: 'https://example.org',
    app_title: 'Example',
    catalog_url: `${NOWHERE}/models`
  })
  const { text, done } = await world.ask()
  t.equal(text, 'Hello')
  t.match(done, { provider: 'openrouter', costUsd: 0.25, requestId: 'chatcmpl-1' })
  const { headers, body } = last(server)
  t.match(headers, { authorization: 'Bearer key-1', 'http-referer': 'https://example.org', 'x-title': 'Example' })
  t.equal(headers['x-openrouter-provider-preferences'], '{"route":"price"}')
  t.match(body, { model: 'openrouter/auto', usage: { include: true }, max_tokens: 2_048 })
  await world.ask({ model: 'google/gemini-2.5-flash' })
  t.equal(last(server).headers['x-openrouter-provider-preferences'], undefined)
})

for (const [hint, preference, route] of [
  ['best', 'economy', 'quality'],
  ['resilience', 'quality', 'fallback'],
  [undefined, 'Quality', 'quality'],
  [undefined, 'whatever', 'price']
]) {
  t.test(`OpenRouter: route hint ${hint} and cost preference ${preference} request ${route}`, async t => {
    const { server, world } = await open(t, 'openrouter', openAi('Hello'), {
      ...(hint === undefined ? {} : { route_hint: hint }),
      cost_preference: preference,
      catalog_url: `${NOWHERE}/models`
    })
    await world.ask()
    t.equal(last(server).headers['x-openrouter-provider-preferences'], JSON.stringify({ route }))
  })
}

t.test('fields that a provider of the OpenAI format names differently or rejects', async t => {
  const requests = { seed: 5, maxTokens: 9 }
  const mistral = await open(t, 'mistral', openAi('a'))
  await mistral.world.ask({ model: 'mistral-small-latest', ...requests })
  t.match(last(mistral.server).body, { random_seed: 5, max_tokens: 9, seed: undefined, stream_options: undefined })
  const openai = await open(t, 'openai', openAi('a'))
  await openai.world.ask({ model: 'gpt-4.1', ...requests })
  t.match(last(openai.server).body, { seed: 5, max_completion_tokens: 9, max_tokens: undefined })
})

t.test('a custom provider of models.toml gets the path of the chat, and a prompt as messages', async t => {
  const server = await providerServer(t, openAi('Hi'))
  const row = `[[models]]\nid = "mine"\nprovider_type = "custom"\nurl = "${server.url}/api"\ncost_per_1k = 1.0\n`
  const world = await openWorld(t, { settings: { custom_api_key: 'key-2' }, files: { 'models.toml': row } })
  const prompt = { text: 'Question', raw: false, system: 'System' }
  const { text, done } = await world.ask({ model: 'custom/mine', messages: [], prompt })
  t.equal(text, 'Hi')
  t.equal(done.costUsd, 1.1)
  t.equal(last(server).path, '/api/v1/chat/completions')
  t.same(last(server).body.messages, [
    { role: 'system', content: 'System' },
    { role: 'user', content: 'Question' }
  ])
})

t.test('errors name the provider and never repeat its key', async t => {
  const { server, world } = await open(t, 'groq', failing(401, { message: 'Incorrect key: key-1' }))
  const model = 'groq/openai/gpt-oss-20b'
  const unauthorized = {
    code: 'ICL_UNAUTHORIZED',
    message: 'Groq does not accept the key of GROQ_API_KEY: Incorrect key: ***'
  }
  await t.rejects(world.ask({ model }), unauthorized)
  server.reply = failing(400, { message: 'bad request' })
  await t.rejects(world.ask({ model }), {
    code: 'ICL_REFUSED',
    message: /Groq .* rejected the request \(400\): bad request/
  })
  server.reply = failing(404, { message: 'no such model' })
  await t.rejects(world.ask({ model }), { code: 'ICL_MODEL_UNKNOWN' })
  server.reply = (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()
  await t.rejects(world.ask({ model }), { code: 'ICL_UNREACHABLE' })
})

t.test('an address without encryption on another machine is refused', async t => {
  const world = await openWorld(t, { settings: { groq_api_key: 'k', groq_url: 'http://models.example.org/chat' } })
  await t.rejects(world.ask({ model: 'groq/openai/gpt-oss-20b' }), {
    code: 'ICL_ADDRESS_INVALID',
    message: /plugins.providers.groq_url would send prompts and keys to models.example.org without encryption/
  })
})

t.test(
  'answers that are cut off, no JSON, or break the protocol end as ICL_BROKEN_OFF or before the first text',
  async t => {
    const { server, world } = await open(t, 'anthropic', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const text = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } }
      response.write(`data: ${JSON.stringify(text)}\n\n`, () => response.destroy())
    })
    const model = 'claude-haiku-4-5'
    await t.rejects(world.ask({ model }), { code: 'ICL_BROKEN_OFF' })
    server.reply = (_, response) => void response.writeHead(200).end('data: {not json\n\n')
    const settings = { anthropic_api_key: 'k', anthropic_url: server.url, cool_down_ms: 0 }
    const again = await openWorld(t, { settings })
    await t.rejects(again.ask({ model }), { code: 'ICL_REFUSED', message: /no JSON object/ })
    server.reply = (_, response) => void response.writeHead(200).end(`data: {"type":"message_start","message":{}}\n\n`)
    await t.rejects(again.ask({ model }), { code: 'ICL_REFUSED', message: /without the event message_stop/ })
    server.reply = (_, response) =>
      void response
        .writeHead(200)
        .end(`data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n`)
    await t.rejects(again.ask({ model }), { code: 'ICL_BUSY', message: /Overloaded/ })
  }
)

t.test('an answer without end is cut off', async t => {
  const endless: Reply = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const part = Buffer.alloc(4_194_304, 'x')
    const write = (): void => {
      while (response.write(part));
    }
    response.on('drain', write)
    write()
  }
  for (const [name, model] of [
    ['groq', 'groq/openai/gpt-oss-20b'],
    ['anthropic', 'claude-haiku-4-5']
  ] as const) {
    const { world } = await open(t, name, endless)
    await t.rejects(world.ask({ model }), { message: /longer than 67108864 bytes/ }, name)
  }
})
