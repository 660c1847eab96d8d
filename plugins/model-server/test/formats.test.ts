import type OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import t from 'tap'
import { z } from 'zod'
import { Grammars } from '#root'
import { connect, refusal, say } from './clients.ts'
import type { ServeOptions } from './serve.ts'
import { literalGrammar } from './toy-constraint.ts'

const SCHEMA = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } }

function grammarsWithVox(defaultName?: string): Grammars {
  const grammars = new Grammars(() => defaultName)
  grammars.replace([{ name: 'vox', summary: 'The language', open: () => literalGrammar('fn main') }])
  return grammars
}

t.test('answers in a JSON format are valid JSON', async t => {
  const { openai: client, ollama, model } = await connect(t)
  const object = await client.chat.completions.create({
    model: 'toy',
    messages: say('not json'),
    response_format: { type: 'json_object' }
  })
  t.same(JSON.parse(object.choices[0]?.message.content ?? ''), { toy: true })
  const schema = await client.chat.completions.create({
    model: 'toy',
    messages: say('not json'),
    response_format: { type: 'json_schema', json_schema: { name: 'person', schema: SCHEMA, strict: true } }
  })
  t.same(JSON.parse(schema.choices[0]?.message.content ?? ''), { name: 'text', age: 7 })
  t.same(model.requests.at(-1)?.constraint, { type: 'json-schema', schema: SCHEMA })

  t.same(JSON.parse((await ollama.chat({ model: 'toy', messages: say('x'), format: 'json' })).message.content), {
    toy: true
  })
  const generated = await ollama.generate({ model: 'toy', prompt: 'x', format: SCHEMA })
  t.same(JSON.parse(generated.response ?? ''), { name: 'text', age: 7 })
  t.same(JSON.parse((await ollama.generate({ model: 'toy', prompt: 'x', raw: true, format: 'json' })).response ?? ''), {
    toy: true
  })
  const text = await client.completions.create({
    model: 'toy',
    prompt: 'x',
    max_tokens: 99,
    response_format: { type: 'json_object' }
  } as never)
  t.same(JSON.parse((text as OpenAI.Completion).choices[0]?.text ?? ''), { toy: true })
})

t.test("the official client's parse helper receives an object that matches its schema", async t => {
  const { openai: client } = await connect(t)
  const person = z.object({ name: z.string(), age: z.number() })
  const answer = await client.chat.completions.parse({
    model: 'toy',
    messages: say('who?'),
    response_format: zodResponseFormat(person, 'person')
  })
  t.same(answer.choices[0]?.message.parsed, { name: 'text', age: 7 })
})

t.test('requests of both APIs can select a grammar that a plugin provides', async t => {
  const { openai: client, ollama, url, post } = await connect(t, { grammars: grammarsWithVox() })
  const format = { type: 'grammar', grammar: { name: 'vox' } }
  const answer = await client.chat.completions.create({
    model: 'toy',
    messages: say('hi'),
    response_format: format as never
  })
  t.equal(answer.choices[0]?.message.content, 'fn main')
  t.equal((await ollama.chat({ model: 'toy', messages: say('hi'), format })).message.content, 'fn main')
  t.equal(
    (await client.chat.completions.create({ model: 'toy', messages: say('hi') })).choices[0]?.message.content,
    'hi'
  )
  const unknown = { messages: say('hi'), response_format: { type: 'grammar', grammar: { name: 'cobol' } } }
  const reply = await post('/v1/chat/completions', unknown)
  t.match(
    [reply.status, await reply.json()],
    [
      400,
      { error: { message: `there is no grammar 'cobol'; available: 'vox'`, param: 'response_format.grammar.name' } }
    ]
  )
  t.ok(url)
})

t.test('the setting grammar is the default for requests without a format', async t => {
  const {
    openai: client,
    ollama,
    model
  } = await connect(t, { grammars: grammarsWithVox('vox'), capabilities: { tools: true } })
  const create = async (fields: object) => {
    const answer = await client.chat.completions.create({ model: 'toy', messages: say('hi'), ...fields })
    return answer.choices[0]?.message.content
  }
  t.equal(await create({}), 'fn main')
  t.equal((await ollama.generate({ model: 'toy', prompt: 'hi' })).response, 'fn main')
  t.equal(await create({ response_format: { type: 'text' } }), 'hi')
  t.equal(await create({ tools: [{ type: 'function', function: { name: 'f' } }] }), 'hi')
  t.equal(model.requests.at(-1)?.constraint, undefined)
  const missing = await connect(t, { grammars: new Grammars(() => 'vox') })
  const error = await refusal(missing.openai.chat.completions.create({ model: 'toy', messages: say('hi') }))
  t.match(error, {
    status: 400,
    message: /there is no grammar 'vox'; no plugin provides one/,
    param: 'plugins.model-server.grammar'
  })
})

t.test('rejects a constraint that the engine cannot enforce, naming the field', async t => {
  const { openai: client, ollama } = await connect(t)
  const strange = { type: 'object', properties: { a: { not: {} } } }
  const json_schema = { name: 'x', schema: strange }
  const create = (response_format: object) =>
    refusal(client.chat.completions.create({ model: 'toy', messages: say('hi'), response_format } as never))
  t.match(await create({ type: 'json_schema', json_schema }), {
    status: 400,
    param: 'response_format',
    code: 'unsupported_value',
    type: 'invalid_request_error',
    message: /the keyword 'not' is not supported/
  })
  t.match(await create({ type: 'regex', pattern: '[a-z]+' }), { status: 400, message: /patterns are not supported/ })
  t.match(await refusal(ollama.chat({ model: 'toy', messages: say('hi'), format: strange })), {
    status_code: 400,
    error: `'format': the keyword 'not' is not supported`
  })
})

t.test('an error names the invalid part of a format', async t => {
  const { post } = await connect(t)
  const cases: [unknown, RegExp][] = [
    ['json', /'response_format' must be an object, got "json"/],
    [{}, /'response_format\.type' must be a string, got nothing/],
    [{ type: 'xml' }, /'response_format\.type' must be one of 'text', .* got 'xml'/],
    [{ type: 'json_schema' }, /'response_format\.json_schema\.name' must be/],
    [{ type: 'json_schema', json_schema: { name: 'a b', schema: {} } }, /json_schema\.name' must be 1 to 64 letters/],
    [{ type: 'json_schema', json_schema: { name: 'a' } }, /json_schema\.schema' must be a JSON Schema/],
    [{ type: 'grammar' }, /'response_format\.grammar\.name' must be the name/],
    [{ type: 'regex' }, /'response_format\.pattern' must be a regular expression/]
  ]
  for (const [response_format, message] of cases) {
    const reply = await post('/v1/chat/completions', { messages: say('hi'), response_format })
    t.equal(reply.status, 400)
    t.match(await reply.json(), { error: { message, param: /^response_format/ } })
  }
})

const THOUGHT = '<think>\nhm, well\n</think>\n\nthe answer'
const THINKS: ServeOptions = {
  chatTemplate: '<think> enable_thinking',
  capabilities: { thinking: true },
  maxTokens: 200
}

t.test('thoughts are separate from the answer, with and without streaming', async t => {
  const { openai: client, ollama } = await connect(t, THINKS)
  const messages = say(THOUGHT)
  const answer = await client.chat.completions.create({ model: 'toy', messages, logprobs: true })
  t.match(answer.choices[0]?.message, { content: 'the answer', reasoning_content: 'hm, well' })
  t.equal(answer.choices[0]?.logprobs?.content?.map(each => each.token).join(''), 'the answer')
  const thinkingTokens = answer.usage?.completion_tokens_details?.reasoning_tokens
  t.equal(thinkingTokens, '<think>\nhm, well\n</think>\n\n'.length)

  const deltas: string[] = []
  for await (const { choices } of await client.chat.completions.create({ model: 'toy', messages, stream: true })) {
    const delta = choices[0]?.delta as { content?: string; reasoning_content?: string }
    if (delta.reasoning_content !== undefined) deltas.push(`t:${delta.reasoning_content}`)
    else if (delta.content) deltas.push(`c:${delta.content}`)
  }
  const kinds = deltas.map(each => each[0]).join('')
  t.match(kinds, /^t+c+$/)
  t.equal(
    deltas
      .filter(each => each[0] === 't')
      .map(each => each.slice(2))
      .join(''),
    'hm, well'
  )

  const whole = await ollama.generate({ model: 'toy', prompt: THOUGHT })
  t.match(whole, { response: 'the answer', thinking: 'hm, well' })
  let thinking = ''
  let content = ''
  for await (const { message } of await ollama.chat({ model: 'toy', messages, think: true, stream: true })) {
    thinking += message.thinking ?? ''
    content += message.content
  }
  t.same([thinking, content], ['hm, well', 'the answer'], 'the prompt already opened the thought')
})

t.test('each API enables and disables thoughts with its own field', async t => {
  const { openai: client, ollama, model } = await connect(t, THINKS)
  const switched = () => model.rendered.at(-1)?.options.thinking
  const create = (fields: object) => client.chat.completions.create({ model: 'toy', messages: say('hi'), ...fields })
  await create({})
  t.equal(switched(), undefined)
  await create({ reasoning_effort: 'none' })
  t.equal(switched(), false)
  await create({ reasoning_effort: 'low' })
  t.equal(switched(), true)
  await create({ chat_template_kwargs: { enable_thinking: false } })
  t.equal(switched(), false)
  for (const [think, expected] of [
    [true, true],
    [false, false],
    ['high', true]
  ] as const) {
    await ollama.chat({ model: 'toy', messages: say('hi'), think })
    t.equal(switched(), expected)
  }
  await create({ response_format: { type: 'json_object' } })
  t.equal(switched(), false, 'a constrained answer has no thoughts unless the request enables them')
  t.match(await refusal(create({ chat_template_kwargs: { other: 1 } })), {
    status: 400,
    message: /'chat_template_kwargs' must be an object with 'enable_thinking' and nothing else/
  })
})

t.test('the format applies after requested thoughts', async t => {
  const { openai: client, ollama, model } = await connect(t, THINKS)
  const answer = await client.chat.completions.create({
    model: 'toy',
    messages: say(THOUGHT),
    response_format: { type: 'json_object' },
    reasoning_effort: 'high'
  })
  t.match(answer.choices[0]?.message, { content: '{"toy": true}', reasoning_content: 'hm, well' })
  t.match(
    model.requests.map(({ constraint }) => constraint?.type),
    [undefined, 'json-object']
  )
  t.equal(answer.usage?.completion_tokens, model.generated)
  const short = await ollama.chat({ model: 'toy', messages: say('<think>\nhm'), think: true, format: 'json' })
  t.match(short.message, { thinking: 'hm', content: '{"toy": true}' }, 'an unclosed thought is closed')
})

t.test('thoughts of earlier assistant messages reach the template', async t => {
  const { openai: client, ollama, model } = await connect(t, THINKS)
  const before = (message: object) => [
    ...say('a'),
    { role: 'assistant' as const, content: 'b', ...message },
    ...say('c')
  ]
  await client.chat.completions.create({ model: 'toy', messages: before({ reasoning_content: 'hm' }) })
  t.match(model.rendered.at(-1)?.messages[1], { content: 'b', thinking: 'hm' })
  await ollama.chat({ model: 'toy', messages: before({ thinking: 'hm' }) })
  t.match(model.rendered.at(-1)?.messages[1], { content: 'b', thinking: 'hm' })
})
