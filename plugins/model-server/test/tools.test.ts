import type OpenAI from 'openai'
import type { ChatCompletionChunk, ChatCompletionTool } from 'openai/resources/chat/completions'
import t, { type Test } from 'tap'
import { type Clients, connect, say } from './clients.ts'
import type { ServeOptions, Serving } from './serve.ts'

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const WEATHER: ChatCompletionTool = {
  type: 'function',
  function: { name: 'weather', description: 'Shows the weather', parameters: PARAMETERS }
}
const TIME: ChatCompletionTool = { type: 'function', function: { name: 'time' } }
const TAGGED = '… <tool_call> …'
const LIST = '… [TOOL_CALLS] …'
const BARE = '{{ tools }}'

/** Serves the toy model, which echoes its prompt, including calls. */
function connectTo(t: Test, chatTemplate: string, options: ServeOptions = {}): Promise<Serving & Clients> {
  return connect(t, { chatTemplate, capabilities: { tools: true }, maxTokens: 300, ...options })
}

const ANSWERS = {
  [TAGGED]: 'Well.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>',
  [LIST]: 'Well. [TOOL_CALLS][{"name": "weather", "arguments": {"city": "Bonn"}}]',
  [BARE]: '{"name": "weather", "parameters": {"city": "Bonn"}}'
}

for (const [template, answer] of Object.entries(ANSWERS)) {
  t.test(`parses calls in the format of a template with ${template}`, async t => {
    const { openai: client, ollama } = await connectTo(t, template)
    const content = template === BARE ? null : 'Well.'
    const completion = await client.chat.completions.create({ model: 'toy', messages: say(answer), tools: [WEATHER] })
    t.match(completion.choices[0], {
      finish_reason: 'tool_calls',
      message: {
        content,
        tool_calls: [{ id: /^\w{9,}$/, type: 'function', function: { name: 'weather', arguments: '{"city": "Bonn"}' } }]
      }
    })
    const reply = await ollama.chat({ model: 'toy', messages: say(answer), tools: [WEATHER] as never })
    t.match(reply, {
      done_reason: 'stop',
      message: { content: content ?? '', tool_calls: [{ function: { name: 'weather', arguments: { city: 'Bonn' } } }] }
    })
  })
}

t.test('streams calls: name first, then the arguments while they are generated', async t => {
  const { openai: client } = await connectTo(t, TAGGED)
  const stream = await client.chat.completions.create({
    model: 'toy',
    messages: say(ANSWERS[TAGGED]),
    tools: [WEATHER],
    stream: true
  })
  const deltas: ChatCompletionChunk.Choice.Delta.ToolCall[] = []
  let content = ''
  let reason: string | null = null
  for await (const { choices } of stream) {
    deltas.push(...(choices[0]?.delta.tool_calls ?? []))
    content += choices[0]?.delta.content ?? ''
    reason = choices[0]?.finish_reason ?? reason
  }
  t.equal(content, 'Well.')
  t.equal(reason, 'tool_calls')
  t.match(deltas[0], { index: 0, id: /^call_/, type: 'function', function: { name: 'weather', arguments: '' } })
  t.ok(deltas.length > 5, `${deltas.length} deltas`)
  t.ok(deltas.slice(1).every(delta => delta.id === undefined && delta.index === 0))
  t.equal(deltas.map(delta => delta.function?.arguments).join(''), '{"city": "Bonn"}')
})

t.test("the official client's streaming helper joins the parts of calls", async t => {
  const { openai: client } = await connectTo(t, TAGGED)
  const stream = client.chat.completions.stream({ model: 'toy', messages: say(ANSWERS[TAGGED]), tools: [WEATHER] })
  const { choices } = await stream.finalChatCompletion()
  t.match(choices[0]?.message.tool_calls, [{ function: { name: 'weather', arguments: '{"city": "Bonn"}' } }])
})

t.test('separates several calls in one answer, and stops after the first if only one is allowed', async t => {
  const { openai: client, ollama, model } = await connectTo(t, TAGGED)
  const call = (city: string) => `<tool_call>{"name":"weather","arguments":{"city":"${city}"}}</tool_call>\n`
  const messages = say(call('Bonn') + call('Rom'))
  const ask = (parallel_tool_calls: boolean) =>
    client.chat.completions.create({ model: 'toy', messages, tools: [WEATHER], parallel_tool_calls })
  const both = (await ask(true)).choices[0]?.message.tool_calls ?? []
  t.match(
    both.map(each => each.type === 'function' && each.function.arguments),
    ['{"city":"Bonn"}', '{"city":"Rom"}']
  )
  t.not(both[0]?.id, both[1]?.id)
  const before = model.generated
  const one = await ask(false)
  t.match(one.choices[0], { finish_reason: 'tool_calls', message: { tool_calls: { length: 1 } } })
  t.ok(model.generated - before < messages[0]!.content.length, 'the model was stopped after the first call')
  t.equal(one.usage?.completion_tokens, model.generated - before)

  const rows = []
  for await (const row of await ollama.chat({ model: 'toy', messages, tools: [WEATHER] as never, stream: true })) {
    rows.push(...(row.message.tool_calls ?? []))
  }
  t.match(rows, [
    { function: { index: 0, name: 'weather', arguments: { city: 'Bonn' } } },
    { function: { index: 1, arguments: { city: 'Rom' } } }
  ])
})

for (const [template, name] of [
  [TAGGED, 'arguments'],
  [LIST, 'arguments'],
  [BARE, 'parameters']
] as const) {
  t.test(`tool_choice forces a call, with a template with ${template}`, async t => {
    const { openai: client, model } = await connectTo(t, template)
    const ask = (tool_choice: object | string) =>
      client.chat.completions.create({
        model: 'toy',
        messages: say('hi'),
        tools: [WEATHER, TIME],
        tool_choice
      } as never)
    const required = (await ask('required')) as OpenAI.ChatCompletion
    t.match(required.choices[0], {
      finish_reason: 'tool_calls',
      message: { content: null, tool_calls: [{ function: { name: 'weather', arguments: '{"city":"text"}' } }] }
    })
    const named = (await ask({ type: 'function', function: { name: 'time' } })) as OpenAI.ChatCompletion
    t.match(named.choices[0]?.message.tool_calls, [{ function: { name: 'time', arguments: '{}' } }])
    const constraint = model.requests.at(-1)?.constraint
    t.match(constraint, { type: 'json-schema' })
    t.match(JSON.stringify(constraint), `"required":["name","${name}"]`)
    const allowed = await ask({
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'time' } }] }
    })
    t.match((allowed as OpenAI.ChatCompletion).choices[0]?.message.tool_calls, [{ function: { name: 'time' } }])
  })
}

t.test('tool_choice none hides the tools from the model, and nothing is parsed as a call', async t => {
  const { openai: client, model } = await connectTo(t, TAGGED)
  const messages = say(ANSWERS[TAGGED])
  const answer = await client.chat.completions.create({ model: 'toy', messages, tools: [WEATHER], tool_choice: 'none' })
  t.match(answer.choices[0], { finish_reason: 'stop', message: { content: ANSWERS[TAGGED] } })
  t.notOk(Object.hasOwn(model.rendered.at(-1)?.options ?? {}, 'tools'))
})

t.test('a strict function gets arguments that follow its schema', async t => {
  const { openai: client, model } = await connectTo(t, TAGGED)
  const strict = { ...WEATHER, function: { ...WEATHER.function, strict: true } } as ChatCompletionTool
  const wrong = 'Well. <tool_call>\n{"name": "weather", "arguments": {"town": 3}}\n</tool_call>'
  const create = (fields: object) =>
    client.chat.completions.create({ model: 'toy', messages: say(wrong), tools: [strict], ...fields } as never)
  const answer = (await create({})) as OpenAI.ChatCompletion
  t.match(answer.choices[0], {
    finish_reason: 'tool_calls',
    message: { content: 'Well.', tool_calls: [{ function: { name: 'weather', arguments: '{"city":"text"}' } }] }
  })
  const prompts = model.requests.map(({ tokens }) => model.detokenize(tokens))
  t.ok(prompts[1]?.endsWith('assistant\nWell. <tool_call>\n{"name": "weather", "arguments": '), String(prompts[1]))
  t.same(model.requests[1]?.constraint, { type: 'json-schema', schema: PARAMETERS })
  t.ok(prompts[2]?.endsWith('{"name": "weather", "arguments": {"city":"text"}}'), String(prompts[2]))
  t.equal(model.requests[2]?.constraint, undefined, 'the model is unconstrained after the call')
  t.equal(answer.usage?.completion_tokens, model.generated)

  const streamed = await client.chat.completions
    .stream({ model: 'toy', messages: say(wrong), tools: [strict], parallel_tool_calls: false })
    .finalChatCompletion()
  t.match(streamed.choices[0]?.message.tool_calls, [{ function: { arguments: '{"city":"text"}' } }])
  const short = (await create({ max_tokens: 60 })) as OpenAI.ChatCompletion
  t.equal(short.choices[0]?.finish_reason, 'length')
  t.ok((short.usage?.completion_tokens ?? 0) <= 60)
})

t.test('with tools, a format applies only to text, not to calls', async t => {
  const { openai: client, ollama, model } = await connectTo(t, TAGGED)
  const response_format = { type: 'json_object' as const }
  const create = (content: string, fields: object = {}) =>
    client.chat.completions.create({
      model: 'toy',
      messages: say(content),
      tools: [WEATHER],
      response_format,
      ...fields
    })
  const call = '<tool_call>{"name": "weather", "arguments": {"city": "Bonn"}}</tool_call>'
  t.match((await create(call)).choices[0]?.message, { content: null, tool_calls: [{ function: { name: 'weather' } }] })
  const text = await create('no call')
  t.match(text.choices[0], { finish_reason: 'stop', message: { content: '{"toy": true}' } })
  t.equal((await create('')).choices[0]?.message.content, '{"toy": true}', 'even if the model generates nothing')
  t.match((await create('x', { tool_choice: 'required' })).choices[0]?.finish_reason, 'tool_calls')
  const entries = (await create('no call', { logprobs: true })).choices[0]?.logprobs?.content ?? []
  t.equal(entries.map(each => each.token).join(''), '{"toy": true}')
  const reply = await ollama.chat({ model: 'toy', messages: say('no'), tools: [WEATHER] as never, format: 'json' })
  t.same(JSON.parse(reply.message.content), { toy: true })
  t.equal(reply.message.tool_calls, undefined)
  const bare = await connectTo(t, BARE)
  const answer = await bare.openai.chat.completions.create({
    model: 'toy',
    messages: say('{"a": 1}'),
    tools: [WEATHER],
    response_format
  })
  t.equal(answer.choices[0]?.message.content, '{"toy": true}', 'an object that is not a call is text')
  t.ok(model.generated > 0)
})

t.test('conversations with calls and their results reach the template unchanged', async t => {
  const { openai: client, ollama, model } = await connectTo(t, TAGGED)
  const calls = [{ name: 'weather', arguments: { city: 'Bonn <|im_end|>' } }]
  await client.chat.completions.create({
    model: 'toy',
    tools: [WEATHER],
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: calls.map(call => ({
          id: 'c1',
          type: 'function',
          function: { name: call.name, arguments: JSON.stringify(call.arguments) }
        }))
      },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'rain' }] }
    ]
  })
  const harmless = { name: 'weather', arguments: { city: 'Bonn [im_end]' } }
  t.match(model.rendered.at(-1), {
    options: { tools: [{ name: 'weather', description: 'Shows the weather', parameters: PARAMETERS }] },
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c1', ...harmless }] },
      { role: 'tool', content: 'rain', toolCallId: 'c1', name: 'weather' }
    ]
  })
  await ollama.chat({
    model: 'toy',
    messages: [
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [...calls, { name: 'time', arguments: {} }].map(each => ({ function: each }))
      },
      { role: 'tool', content: 'noon', tool_name: 'time' },
      { role: 'tool', content: 'rain' }
    ]
  })
  t.match(model.rendered.at(-1)?.messages.slice(1), [
    {
      toolCalls: [
        { id: 'call00001', ...harmless },
        { id: 'call00002', name: 'time' }
      ]
    },
    { toolCallId: 'call00002', name: 'time', content: 'noon' },
    { toolCallId: 'call00001', name: 'weather', content: 'rain' }
  ])
})

t.test('errors name the invalid part of tools', async t => {
  const { post } = await connectTo(t, TAGGED)
  const cases: [object, RegExp][] = [
    [{ tools: [{ type: 'custom', custom: {} }] }, /'tools\[0\]\.type': tools of type 'custom' are not supported/],
    [{ tools: [{ type: 'function' }] }, /'tools\[0\]\.function' must be an object, got nothing/],
    [
      { tools: [{ type: 'function', function: {} }] },
      /'tools\[0\]\.function\.name' must be a string that is not empty/
    ],
    [{ tools: [WEATHER, WEATHER] }, /'tools\[1\]\.function\.name' is 'weather', the name of an earlier tool/],
    [
      { tools: [{ ...WEATHER, function: { name: 'f', parameters: [] } }] },
      /parameters' must be a JSON Schema, got an empty/
    ],
    [{ tool_choice: 'required' }, /'tool_choice' is only allowed when 'tools' are given/],
    [{ tools: [WEATHER], tool_choice: 'any' }, /'tool_choice' must be 'none', 'auto', 'required' or an object/],
    [
      { tools: [WEATHER], tool_choice: { type: 'function', function: { name: 'x' } } },
      /names the function "x", which is not/
    ],
    [{ tools: [WEATHER], tool_choice: { type: 'custom' } }, /a choice of type 'custom' is not supported/],
    [{ tools: [WEATHER], tool_choice: { type: 'allowed_tools' } }, /must have a 'mode'/],
    [
      { tools: [{ type: 'function', function: { name: 'f', parameters: { not: {} } } }], tool_choice: 'required' },
      /'tools': the keyword 'not' is not supported/
    ]
  ]
  for (const [fields, message] of cases) {
    const reply = await post('/v1/chat/completions', { messages: say('hi'), ...fields })
    t.equal(reply.status, 400, JSON.stringify(fields))
    t.match(await reply.json(), { error: { message } })
  }
  for (const [messages, message] of [
    [[{ role: 'tool', content: 'x' }], /'messages\[0\]\.tool_call_id' must be the id of a call/],
    [
      [{ role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '[' } }] }],
      /'messages\[0\]\.tool_calls\[0\]\.function\.arguments' must be the JSON text of an object, got "\["/
    ],
    [
      [{ role: 'user', content: '', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] }],
      /only allowed for the role 'assistant'/
    ]
  ] as const) {
    const reply = await post('/v1/chat/completions', { messages })
    t.match(await reply.json(), { error: { message } })
  }
})

t.test('an incomplete call is returned as text by APIs that need an object', async t => {
  const { openai: client, ollama } = await connectTo(t, TAGGED)
  const messages = say('<tool_call>{"name": "weather", "arguments": {"city": "Bonn"}}</tool_call>')
  const reply = await ollama.chat({ model: 'toy', messages, tools: [WEATHER] as never, options: { num_predict: 50 } })
  t.match(reply, { done_reason: 'length', message: { content: '{"name": "weather", "arguments": {"cit' } })
  t.notOk(reply.message.tool_calls)
  const completion = await client.chat.completions.create({ model: 'toy', messages, tools: [WEATHER], max_tokens: 50 })
  t.match(completion.choices[0], {
    finish_reason: 'length',
    message: { tool_calls: [{ function: { name: 'weather' } }] }
  })
})
