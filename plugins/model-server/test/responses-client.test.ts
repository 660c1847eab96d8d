import type OpenAI from 'openai'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import t from 'tap'
import { connect, refusal } from './clients.ts'

const TAGGED = '… <tool_call> …'
const WEATHER = {
  type: 'function' as const,
  name: 'weather',
  description: 'Shows the weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: false
}
const CALL = 'Well.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>'

async function eventsOf(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

t.test('answers with a message, usage and the fields of the request', async t => {
  const { openai, model } = await connect(t, { cachedTokens: 5 })
  const response = await openai.responses.create({
    model: 'toy',
    input: 'hello there',
    instructions: 'Be brief.',
    metadata: { topic: 'greeting' },
    temperature: 0
  })
  t.match(response, {
    id: /^resp_[0-9a-f]{48}$/,
    object: 'response',
    status: 'completed',
    model: 'toy',
    output_text: 'hello there',
    output: [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text' }] }],
    error: null,
    incomplete_details: null,
    instructions: 'Be brief.',
    metadata: { topic: 'greeting' },
    store: true,
    temperature: 0,
    text: { format: { type: 'text' } },
    usage: {
      input_tokens_details: { cached_tokens: 5 },
      output_tokens: 12,
      output_tokens_details: { reasoning_tokens: 0 }
    }
  })
  t.match(model.rendered.at(-1)?.messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hello there' }
  ])
})

t.test('streams the events of a message in their order, with consecutive sequence numbers', async t => {
  const { openai } = await connect(t)
  const events = await eventsOf(await openai.responses.create({ model: 'toy', input: 'abc', stream: true }))
  t.same(
    events.map(event => event.type),
    [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed'
    ]
  )
  t.same(
    events.map(event => event.sequence_number),
    events.map((_, at) => at)
  )
  const item = (events[2] as { item: { id: string } }).item
  t.ok(events.slice(3, 9).every(event => (event as { item_id?: string }).item_id === item.id))
  t.match(events[0], { response: { status: 'in_progress', output: [], usage: null } })
  t.match(events.at(-1), { response: { status: 'completed', output: [{ id: item.id, content: [{ text: 'abc' }] }] } })
})

t.test('ends with status incomplete at the token limit', async t => {
  const { openai } = await connect(t)
  const request = { model: 'toy', input: '0123456789', max_output_tokens: 3 }
  const whole = await openai.responses.create(request)
  t.match(whole, {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    completed_at: null,
    output_text: '012',
    output: [{ status: 'incomplete' }]
  })
  const events = await eventsOf(await openai.responses.create({ ...request, stream: true }))
  t.match(events.at(-1), { type: 'response.incomplete', response: { output: [{ status: 'incomplete' }] } })
})

t.test('returns calls as items, streamed and not, and continues with their outputs', async t => {
  const { openai, model } = await connect(t, { chatTemplate: TAGGED, capabilities: { tools: true }, maxTokens: 300 })
  const request = { model: 'toy', input: CALL, tools: [WEATHER] }
  const response = await openai.responses.create(request)
  t.match(response, {
    status: 'completed',
    output: [
      { type: 'message', content: [{ text: 'Well.' }] },
      { type: 'function_call', status: 'completed', call_id: /^call_/, name: 'weather', arguments: '{"city": "Bonn"}' }
    ]
  })
  const events = await eventsOf(await openai.responses.create({ ...request, stream: true }))
  const types = events.map(event => event.type)
  const added = events.findLast(event => event.type === 'response.output_item.added')
  t.match(added, {
    output_index: 1,
    item: { type: 'function_call', name: 'weather', arguments: '', status: 'in_progress' }
  })
  const deltas = events.filter(event => event.type === 'response.function_call_arguments.delta')
  t.equal(deltas.map(event => event.delta).join(''), '{"city": "Bonn"}')
  t.same(types.slice(-3), ['response.function_call_arguments.done', 'response.output_item.done', 'response.completed'])

  const call = response.output.find(item => item.type === 'function_call') as OpenAI.Responses.ResponseFunctionToolCall
  await openai.responses.create({
    model: 'toy',
    previous_response_id: response.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'rain' }],
    tools: [WEATHER]
  })
  t.match(model.rendered.at(-1)?.messages, [
    { role: 'user', content: CALL },
    {
      role: 'assistant',
      content: 'Well.',
      toolCalls: [{ id: call.call_id, name: 'weather', arguments: { city: 'Bonn' } }]
    },
    { role: 'tool', content: 'rain', toolCallId: call.call_id, name: 'weather' }
  ])
})

t.test('tool_choice forces a call, and hides or limits functions', async t => {
  const { openai, model } = await connect(t, { chatTemplate: TAGGED, capabilities: { tools: true }, maxTokens: 300 })
  const TIME = { type: 'function' as const, name: 'time', parameters: null, strict: false }
  const ask = (tool_choice: OpenAI.Responses.ResponseCreateParams['tool_choice']) =>
    openai.responses.create({ model: 'toy', input: 'hi', tools: [WEATHER, TIME], ...(tool_choice && { tool_choice }) })
  const call = [{ type: 'function_call', name: 'time', arguments: '{}' }]
  t.match((await ask('required')).output, [{ type: 'function_call', name: 'weather' }])
  t.match((await ask({ type: 'function', name: 'time' })).output, call)
  const allowed = {
    type: 'allowed_tools' as const,
    mode: 'required' as const,
    tools: [{ type: 'function', name: 'time' }]
  }
  t.match((await ask(allowed)).output, call)
  t.match((await ask('none')).output, [{ type: 'message' }])
  t.notOk(Object.hasOwn(model.rendered.at(-1)?.options ?? {}, 'tools'))
})

t.test('returns thoughts as the content or the summary of a reasoning item', async t => {
  const { openai, model } = await connect(t, {
    chatTemplate: '… <think> … </think> …',
    capabilities: { thinking: true },
    maxTokens: 100
  })
  // The toy model repeats what follows the mark that its prompt already has.
  const input = '<think>\nfirst this</think>then that'
  const ask = (summary?: 'auto') =>
    openai.responses.create({ model: 'toy', input, reasoning: { effort: 'low', ...(summary && { summary }) } })
  const plain = await ask()
  t.match(plain.output, [
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'first this' }], status: 'completed' },
    { type: 'message', content: [{ text: 'then that' }] }
  ])
  t.ok((plain.usage?.output_tokens_details.reasoning_tokens ?? 0) > 0)
  const summarised = await ask('auto')
  t.match(summarised.output[0], { type: 'reasoning', summary: [{ type: 'summary_text', text: 'first this' }] })
  const stream = await openai.responses.create({
    model: 'toy',
    input,
    reasoning: { effort: 'low', summary: 'detailed' },
    stream: true
  })
  const types = (await eventsOf(stream)).map(event => event.type)
  const summaryTypes = types.filter(type => type.startsWith('response.reasoning'))
  t.equal(summaryTypes[0], 'response.reasoning_summary_part.added')
  t.same(summaryTypes.slice(-2), ['response.reasoning_summary_text.done', 'response.reasoning_summary_part.done'])
  await openai.responses.create({ model: 'toy', previous_response_id: summarised.id, input: 'go on' })
  t.match(model.rendered.at(-1)?.messages[1], { role: 'assistant', content: 'then that', thinking: 'first this' })
})

t.test('constrains the text to a schema', async t => {
  const { openai, model } = await connect(t)
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const response = await openai.responses.create({
    model: 'toy',
    input: 'hi',
    text: { format: { type: 'json_schema', name: 'place', schema } }
  })
  t.same(model.requests.at(-1)?.constraint, { type: 'json-schema', schema })
  t.same(JSON.parse(response.output_text), { city: 'text' })
  t.match(response.text, { format: { type: 'json_schema', name: 'place' } })
})

t.test('reports log probabilities if they are included', async t => {
  const { openai } = await connect(t)
  const response = await openai.responses.create({
    model: 'toy',
    input: 'ab',
    include: ['message.output_text.logprobs'],
    top_logprobs: 2
  })
  const [item] = response.output
  const part = item?.type === 'message' ? item.content[0] : undefined
  t.match(part?.type === 'output_text' && part.logprobs, [
    { token: 'a', top_logprobs: { length: 2 } },
    { token: 'b', top_logprobs: { length: 2 } }
  ])
})

t.test("the official client's streaming helper joins the parts of a response", async t => {
  const { openai } = await connect(t, { chatTemplate: TAGGED, capabilities: { tools: true }, maxTokens: 300 })
  const stream = openai.responses.stream({ model: 'toy', input: CALL, tools: [WEATHER] })
  const response = await stream.finalResponse()
  t.match(response.output, [
    { type: 'message', content: [{ text: 'Well.' }] },
    { type: 'function_call', arguments: '{"city": "Bonn"}' }
  ])
})

t.test('a failure after the start of a stream is its last event', async t => {
  const { openai, errors, codes } = await connect(t, {
    beforeToken: generated => {
      if (generated === 2) throw new Error('out of memory')
    }
  })
  const events = await eventsOf(await openai.responses.create({ model: 'toy', input: 'abc', stream: true }))
  t.match(events.at(-1), {
    type: 'response.failed',
    response: {
      status: 'failed',
      error: { code: 'server_error', message: /internal error/ },
      output: [{ status: 'incomplete' }]
    }
  })
  t.match(errors, [/out of memory/])
  t.same(codes, ['internal_error'])
  const failed = (events.at(-1) as { response: { id: string } }).response
  t.match(await openai.responses.retrieve(failed.id), { status: 'failed' })
})

t.test('generation stops when the client aborts, and nothing is stored', async t => {
  const { openai, model } = await connect(t, { maxTokens: 400, contextLength: 4096 })
  const stream = await openai.responses.create({ model: 'toy', input: 'x'.repeat(350), stream: true })
  let id = ''
  for await (const event of stream) {
    if (event.type === 'response.created') id = event.response.id
    if (event.type === 'response.output_text.delta') break
  }
  while (model.ended.length === 0) await new Promise(resolve => setImmediate(resolve))
  t.ok(model.generated < 350, `${model.generated} tokens`)
  t.equal((await refusal(openai.responses.retrieve(id))).status, 404)
})
