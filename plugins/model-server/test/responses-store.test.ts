import t from 'tap'
import { clientsOf, connect, refusal } from './clients.ts'

t.test('a response continues the conversation of earlier ones, without their instructions', async t => {
  const { openai, model } = await connect(t)
  const first = await openai.responses.create({ model: 'toy', input: 'one', instructions: 'Be brief.' })
  const second = await openai.responses.create({ model: 'toy', input: 'two', previous_response_id: first.id })
  await openai.responses.create({
    model: 'toy',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'three' }] }],
    previous_response_id: second.id
  })
  t.same(model.rendered.at(-1)?.messages, [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'one' },
    { role: 'user', content: 'two' },
    { role: 'assistant', content: 'two' },
    { role: 'user', content: 'three' }
  ])
})

t.test('stored responses can be read, listed and deleted', async t => {
  const { openai } = await connect(t)
  const created = await openai.responses.create({
    model: 'toy',
    input: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'one' }
    ]
  })
  const { output_text: _, ...fields } = created
  t.match(await openai.responses.retrieve(created.id), fields)
  const items = await openai.responses.inputItems.list(created.id, { order: 'asc', limit: 1 })
  const listed = []
  for await (const item of items) listed.push(item)
  t.match(listed, [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }], id: /^msg_/ },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'one' }], id: /^msg_/ }
  ])
  t.match(await openai.responses.delete(created.id), { id: created.id, deleted: true })
  t.match(await refusal(openai.responses.retrieve(created.id)), { status: 404, code: 'response_not_found' })
  t.equal((await refusal(openai.responses.delete(created.id))).status, 404)
  const next = openai.responses.create({ model: 'toy', input: 'two', previous_response_id: created.id })
  t.match(await refusal(next), { status: 404, param: 'previous_response_id' })
})

t.test('with store false, nothing is kept', async t => {
  const { openai } = await connect(t)
  const response = await openai.responses.create({ model: 'toy', input: 'one', store: false })
  t.equal((response as { store?: boolean }).store, false)
  t.equal((await refusal(openai.responses.retrieve(response.id))).status, 404)
})

t.test('a response belongs to its caller', async t => {
  const { openai, url } = await connect(t)
  const created = await openai.responses.create({ model: 'toy', input: 'secret' })
  const { openai: other } = clientsOf(url, 'another key')
  t.equal((await refusal(other.responses.retrieve(created.id))).status, 404)
  t.equal((await refusal(other.responses.inputItems.list(created.id))).status, 404)
  t.equal((await refusal(other.responses.delete(created.id))).status, 404)
  const next = other.responses.create({ model: 'toy', input: 'x', previous_response_id: created.id })
  t.equal((await refusal(next)).status, 404)
  const [item] = created.output
  const reference = { type: 'item_reference' as const, id: item?.id ?? '' }
  t.equal((await refusal(other.responses.create({ model: 'toy', input: [reference] }))).status, 404)
  t.equal((await openai.responses.retrieve(created.id)).id, created.id)
})

t.test('input items may refer to items of stored responses', async t => {
  const { openai, model } = await connect(t)
  const first = await openai.responses.create({ model: 'toy', input: 'one' })
  const id = first.output[0]?.id ?? ''
  const second = await openai.responses.create({
    model: 'toy',
    input: [
      { role: 'user', content: 'one' },
      { type: 'item_reference', id },
      { role: 'user', content: 'two' }
    ]
  })
  t.match(model.rendered.at(-1)?.messages, [
    { content: 'one' },
    { role: 'assistant', content: 'one' },
    { content: 'two' }
  ])
  const { data } = await openai.responses.inputItems.list(second.id, { order: 'asc' })
  t.match(data[1], { id, type: 'message', role: 'assistant' })
})

t.test('items of stored responses may be named many times, up to a size in total', async t => {
  const { openai, model } = await connect(t, { contextLength: 50_000 })
  const first = await openai.responses.create({ model: 'toy', input: 'y'.repeat(10_000), max_output_tokens: 1 })
  const { data } = await openai.responses.inputItems.list(first.id)
  const reference = { type: 'item_reference' as const, id: data[0]?.id ?? '' }
  await openai.responses.create({ model: 'toy', input: [reference, reference], max_output_tokens: 1 })
  t.equal(model.rendered.at(-1)?.messages.length, 2)
  const input = Array.from({ length: 450 }, () => reference)
  t.match(await refusal(openai.responses.create({ model: 'toy', input })), {
    status: 400,
    param: 'input',
    message: /have more than 4194304 characters in total/
  })
})

t.test('a conversation with a gap is refused', async t => {
  const { openai } = await connect(t)
  const first = await openai.responses.create({ model: 'toy', input: 'one' })
  const second = await openai.responses.create({ model: 'toy', input: 'two', previous_response_id: first.id })
  await openai.responses.delete(first.id)
  const next = openai.responses.create({ model: 'toy', input: 'three', previous_response_id: second.id })
  t.match(await refusal(next), { status: 400, message: /an earlier response was deleted/ })
})

t.test('truncation auto drops the oldest turns, otherwise a prompt that does not fit is refused', async t => {
  const { openai, model } = await connect(t, { contextLength: 160 })
  const turn = (text: string) => [
    { role: 'user' as const, content: text },
    { role: 'assistant' as const, content: text }
  ]
  const input = [
    { role: 'system' as const, content: 'Stay.' },
    ...turn('a'.repeat(40)),
    ...turn('b'.repeat(20)),
    { role: 'user' as const, content: 'last' }
  ]
  t.match(await refusal(openai.responses.create({ model: 'toy', input })), {
    status: 400,
    code: 'context_length_exceeded'
  })
  const response = await openai.responses.create({ model: 'toy', input, truncation: 'auto' })
  t.equal(response.output_text, 'last')
  t.match(model.rendered.at(-1)?.messages, [
    { role: 'system', content: 'Stay.' },
    { role: 'user', content: 'b'.repeat(20) },
    { role: 'assistant' },
    { role: 'user', content: 'last' }
  ])
  const hopeless = openai.responses.create({ model: 'toy', input: 'x'.repeat(300), truncation: 'auto' })
  t.equal((await refusal(hopeless)).status, 400)
})

t.test('errors name the invalid part of a request', async t => {
  const { post } = await connect(t)
  const cases: [object, RegExp][] = [
    [{}, /'input' must be a string or a list of 1 to/],
    [{ input: [] }, /'input' must be a string or a list/],
    [{ input: 'x', background: true }, /'background': this server does not support it/],
    [{ input: 'x', conversation: 'c' }, /'conversation'/],
    [{ input: 'x', prompt: { id: 'p' } }, /'prompt'/],
    [{ input: 'x', include: ['computer'] }, /'include\[0\]': 'computer' is not supported/],
    [{ input: 'x', reasoning: { summary: 'concise' } }, /'reasoning\.summary': only 'auto' and 'detailed'/],
    [{ input: 'x', text: { verbosity: 'low' } }, /'text\.verbosity'/],
    [{ input: 'x', text: { format: { type: 'xml' } } }, /'text\.format\.type' must be one of/],
    [{ input: 'x', text: { format: { type: 'json_schema', name: 'a b' } } }, /'text\.format\.name' must be 1 to 64/],
    [
      { input: 'x', tools: [{ type: 'web_search' }] },
      /'tools\[0\]\.type': tools of type 'web_search' are not supported/
    ],
    [{ input: 'x', tools: [{ type: 'function' }] }, /'tools\[0\]\.name' must be a string that is not empty/],
    [{ input: 'x', stream_options: {} }, /'stream_options' is only allowed when 'stream' is true/],
    [{ input: 'x', metadata: { ['k'.repeat(65)]: '' } }, /'metadata' must have at most 16 pairs/],
    [{ input: [{ type: 'computer_call' }] }, /'input\[0\]': items of type 'computer_call' are not supported/],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
      /'input\[0\]\.content\[0\]': parts of type 'input_image'/
    ],
    [{ input: [{ role: 'robot', content: '' }] }, /'input\[0\]\.role' must be one of/],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: '' }] }, /no earlier item is a call with this id/],
    [
      { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '[' }] },
      /'input\[0\]\.arguments' must be the JSON text/
    ],
    [{ input: [{ type: 'item_reference', id: 7 }] }, /'input\[0\]\.id' must be the id of an item/],
    [{ input: [{ type: 'reasoning', summary: [], encrypted_content: 'x' }] }, /can only read reasoning that it wrote/]
  ]
  for (const [body, message] of cases) {
    const reply = await post('/v1/responses', body)
    t.equal(reply.status, 400, JSON.stringify(body))
    t.match(await reply.json(), { error: { message, type: 'invalid_request_error' } })
  }
})
