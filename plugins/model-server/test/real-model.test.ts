import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import engine from '@svc/plugin-inference-onnx'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { clientsOf, refusal } from './clients.ts'
import { grammarPlugin } from './grammar-plugin.ts'
import { openServer } from './open-server.ts'

const BUNDLED = fileURLToPath(new URL('../models/vox-tiny', import.meta.url))
const TEMPLATES = new URL('../../inference-onnx/test/fixtures/templates/', import.meta.url)

/** Serves the bundled model with the template of a public model. */
async function open(t: Test, template: string, change: (directory: string) => void = () => undefined) {
  const directory = t.testdir()
  cpSync(BUNDLED, directory, { recursive: true })
  const file = `${directory}/tokenizer_config.json`
  const configuration = JSON.parse(readFileSync(file, 'utf8')) as object
  const source = readFileSync(new URL(template, TEMPLATES), 'utf8')
  writeFileSync(file, JSON.stringify({ ...configuration, chat_template: source }))
  change(directory)
  const settings = { model: directory, model_name: 'vox', slots: 4 }
  const { url, ready } = await openServer(t, [engine, grammarPlugin()], settings)
  await ready()
  const { openai: client, ollama } = clientsOf(url)
  return { client, ollama, url }
}

const messages = [{ role: 'user' as const, content: 'a table of customers' }]
const model = 'vox'
const Person = z.object({ name: z.string(), age: z.number().int(), tags: z.array(z.string()) })
const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', enum: ['Bonn', 'Rom'] }, days: { type: 'integer' } },
      required: ['city', 'days'],
      additionalProperties: false
    }
  }
}

t.test('the engine constrains the bundled model to every format', async t => {
  const { client, ollama } = await open(t, 'qwen2.5.jinja')
  const parsed = await client.chat.completions.parse({
    model,
    messages,
    max_tokens: 400,
    response_format: zodResponseFormat(Person, 'person')
  })
  if (parsed.choices[0]?.finish_reason === 'stop') t.type(parsed.choices[0].message.parsed?.age, 'number')
  const limited = { type: 'object', properties: { kind: { enum: ['a', 'b'] } }, required: ['kind'] }
  const chat = await ollama.chat({ model, messages, format: { ...limited, additionalProperties: false } })
  t.match(JSON.parse(chat.message.content).kind, /^[ab]$/)
  const grammar = { type: 'grammar', grammar: { name: 'brackets' } }
  const bracketed = await ollama.generate({ model, prompt: 'x', format: grammar, options: { temperature: 1, seed: 4 } })
  t.match(bracketed.response, /^\(+x\)+$/)
  const regex = { type: 'regex', pattern: '[a-c]{3}-[0-9]{2}' }
  const answer = await client.chat.completions.create({ model, messages, response_format: regex as never })
  t.match(answer.choices[0]?.message.content, /^[a-c]{3}-[0-9]{2}$/)
  const refused = await ollama
    .chat({ model, messages, format: { type: 'object', unevaluatedProperties: {} } })
    .catch(e => e)
  t.match(refused, { status_code: 400, error: /unevaluatedProperties/ })
})

t.test('a grammar of a request constrains the bundled model, in every route that takes one', async t => {
  const { client, url } = await open(t, 'qwen2.5.jinja')
  const grammar = 'root ::= call\ncall ::= [a-c]{2} "(" ( call | [0-9]{1,3} ) ")"'
  const shape = /^(?:[a-c]{2}\(){1,}[0-9]{1,3}\)+$/
  const ask = { model, messages, max_tokens: 300, temperature: 1, seed: 2 }
  const chat = await client.chat.completions.create({ ...ask, guided_grammar: grammar } as never)
  const { content, finish } = { content: chat.choices[0]?.message.content, finish: chat.choices[0]?.finish_reason }
  if (finish === 'stop') t.match(content, shape)
  else t.match(content, /^[a-c]{2}\(/)
  const { messages: _, ...plain } = ask
  const text = await client.completions.create({ ...plain, prompt: 'x', grammar } as never)
  t.match(text.choices[0]?.text, /^[a-c]{2}\(/)
  const refused = await refusal(
    client.completions.create({ ...plain, prompt: 'x', grammar: 'root ::= root "a" | "b"' } as never)
  )
  t.match(refused, { status: 400, message: /'grammar': The constraint at grammar: .*left recursion/ })
  const infill = await fetch(`${url}/infill`, { method: 'POST', body: JSON.stringify({ input_prefix: 'a' }) })
  t.match([infill.status, await infill.json()], [400, { error: { message: /model 'vox' cannot fill in the middle/ } }])
})

t.test('prompts have the log probabilities from which lm-evaluation-harness computes likelihoods', async t => {
  const { client, url } = await open(t, 'qwen2.5.jinja')
  const tokenize = async (content: string): Promise<number[]> => {
    const response = await fetch(`${url}/tokenize`, { method: 'POST', body: JSON.stringify({ content }) })
    return ((await response.json()) as { tokens: number[] }).tokens
  }
  const [context, continuation] = [await tokenize('component Counter() {'), await tokenize(' state count: int = 0')]
  // The harness sends tokens, asks for one more, and skips its value.
  const request = { model, max_tokens: 1, logprobs: 1, echo: true, temperature: 0, seed: 1234 }
  const both = [[...context, ...continuation], context]
  const { choices } = await client.completions.create({ ...request, prompt: both })
  const lists = choices.map(({ logprobs }) => logprobs?.token_logprobs ?? [])
  t.same(
    lists.map(list => list.length),
    both.map(prompt => prompt.length + 1)
  )
  const values = lists[0]!.slice(context.length, -1)
  t.equal(values.length, continuation.length)
  t.ok(values.every(value => typeof value === 'number' && value <= 0))
  const tops = choices[0]!.logprobs!.top_logprobs!.slice(context.length, -1)
  t.ok(values.every((value, at) => value! <= Math.max(...Object.values(tops[at]!)) + 1e-9))
  const shared = lists[1]!.slice(1, -1).every((value, at) => Math.abs(value! - lists[0]![at + 1]!) < 1e-3)
  t.ok(shared, 'the same context has the same log probabilities')
})

for (const template of ['qwen2.5.jinja', 'llama3.1.jinja', 'mistral.jinja', 'qwen3.jinja', 'phi4-mini.jinja']) {
  t.test(`a forced call is valid, with the template ${template}`, async t => {
    const { client } = await open(t, template)
    const ask = {
      model,
      messages,
      tools: [WEATHER],
      tool_choice: 'required' as const,
      max_tokens: 200,
      temperature: 1,
      parallel_tool_calls: false
    }
    const whole = await client.chat.completions.create({ ...ask, seed: 1 })
    t.equal(whole.choices[0]?.finish_reason, 'tool_calls')
    const calls = whole.choices[0]?.message.tool_calls ?? []
    for (const call of calls) {
      if (call.type !== 'function') continue
      t.equal(call.function.name, 'weather')
      t.match(JSON.parse(call.function.arguments), { city: /^(Bonn|Rom)$/, days: Number })
    }
    const streamed = await client.chat.completions.stream({ ...ask, seed: 1 }).finalChatCompletion()
    t.same(
      streamed.choices[0]?.message.tool_calls?.map(call => call.type === 'function' && call.function.arguments),
      calls.map(call => call.type === 'function' && call.function.arguments)
    )
    const again = await client.chat.completions.create({
      ...ask,
      messages: [
        ...messages,
        whole.choices[0]!.message,
        ...calls.map(call => ({ role: 'tool' as const, tool_call_id: call.id, content: 'rain' }))
      ]
    })
    t.equal(again.choices[0]?.finish_reason, 'tool_calls', 'the template accepts the calls and their results')
  })
}

t.test('references inside the schema of a function keep their targets', async t => {
  const { client } = await open(t, 'mistral.jinja')
  const place = {
    type: 'object',
    properties: { city: { enum: ['Bonn', 'Rom'] } },
    required: ['city'],
    additionalProperties: false
  }
  const parameters = {
    type: 'object',
    $defs: { place },
    properties: { from: { $ref: '#/$defs/place' }, to: { $ref: '#/$defs/place' } },
    required: ['from', 'to'],
    additionalProperties: false
  }
  const trip = { type: 'function' as const, function: { name: 'trip', parameters } }
  for (const tools of [[trip], [WEATHER, trip]]) {
    const answer = await client.chat.completions.create({
      model,
      messages,
      tools,
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: tools.toReversed() } } as never,
      parallel_tool_calls: false,
      max_tokens: 200
    })
    const [call] = answer.choices[0]?.message.tool_calls ?? []
    if (call?.type !== 'function') t.fail('the model made no function call')
    else t.type(JSON.parse(call.function.arguments), 'object')
  }
})

t.test("a strict function of the official client's helper gets valid arguments", async t => {
  const { client } = await open(t, 'qwen2.5.jinja')
  const tool = zodFunction({
    name: 'person',
    parameters: z.object({ age: z.number().int(), kind: z.enum(['a', 'b']) })
  })
  const answer = await client.chat.completions.parse({
    model,
    messages,
    tools: [tool],
    tool_choice: 'required',
    max_tokens: 300
  })
  const [call] = answer.choices[0]?.message.tool_calls ?? []
  t.match(call?.function.parsed_arguments, { age: Number, kind: /^[ab]$/ })
})

t.test('serves an exported decoder, and reports the format onnx', async t => {
  const model = fileURLToPath(new URL('../../inference-onnx/test/fixtures/exported/genai', import.meta.url))
  const { json, ready } = await openServer(t, [engine], { model })
  await ready()
  t.match((await json('/api/tags')).body, { models: [{ name: 'genai', details: { format: 'onnx' } }] })
  t.type((await json('/api/generate', { prompt: 'a', raw: true, stream: false })).body.response, 'string')
})

t.test('n > 1 returns different answers, and the next request reuses the cached prefix of the prompt', async t => {
  const { client } = await open(t, 'qwen2.5.jinja')
  const answer = await client.chat.completions.create({
    model,
    messages,
    n: 4,
    temperature: 2,
    seed: 3,
    max_tokens: 24
  })
  t.equal(new Set(answer.choices.map(choice => choice.message.content)).size > 1, true, 'not all answers are equal')
  const second = await client.chat.completions.create({ model, messages, max_tokens: 4 })
  t.ok((second.usage?.prompt_tokens_details?.cached_tokens ?? 0) > 0, 'the prefix was cached')
})

t.test('rejects a request template that takes too many steps, and continues to serve', async t => {
  const { ollama } = await open(t, 'qwen2.5.jinja')
  const loop = (body: string) => `{% for a in range(600) %}${body}{% endfor %}`
  const doubled = `{% set x = ['a'] %}${'{% set x = [x, x] %}'.repeat(40)}`
  for (const template of [
    loop(loop(loop('x'))),
    loop(loop('')),
    '{% set r = range(9000) %}{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}',
    `${doubled}{{ x | tojson }}`,
    `{% set x = 'aaaaaaaa' %}${'{% set x = x ~ x %}'.repeat(40)}{{ x }}`,
    `{% set x = 'a' %}${`{% set x = x.replace('', x) %}`.repeat(9)}`,
    '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}',
    `{{ ${'('.repeat(30_000)}`,
    `{% set ns=namespace(x='a\\na\\n') %}{% for i in range(17) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x|indent(500)|length }}`,
    `{{ range(10000)|join('${'x'.repeat(30_000)}') }}`
  ]) {
    const refused = await refusal(ollama.generate({ model, prompt: 'hi', template, options: { num_predict: 1 } }))
    t.match(refused, { status_code: 400, error: /^The request's template failed: / }, template.slice(0, 60))
  }
  const long = await refusal(ollama.generate({ model, prompt: 'hi', template: 'x'.repeat(32_769) }))
  t.match(long, { status_code: 400, error: /'template' has more than 32768 characters/ })
  const fine = '{% for message in messages %}{{ message.content }}{% endfor %}'
  t.ok((await ollama.generate({ model, prompt: 'hi', template: fine, options: { num_predict: 1 } })).done)
})

t.test('a model whose logits overflow returns 500 in the format of each API', async t => {
  const { ollama, client, url } = await open(t, 'qwen2.5.jinja', writeHugeNormWeights)
  const failed = { status: 500, type: 'server_error', message: /the model computed NaN/ }
  const params = { model, messages, max_tokens: 4 }
  t.match(await refusal(client.chat.completions.create(params)), failed)
  t.match(await refusal(client.completions.create({ model, prompt: 'x', max_tokens: 4 })), failed)
  const constrained = { ...params, response_format: { type: 'json_object' as const } }
  t.match(await refusal(client.chat.completions.create(constrained)), failed)
  const error = /the model computed (NaN|Infinity) as the logit of token \d+/
  t.match(await refusal(ollama.chat({ model, messages })), { status_code: 500, error })
  t.match(await refusal(ollama.generate({ model, prompt: 'x', format: 'json' })), { status_code: 500, error })
  for (const [path, body] of [
    ['/v1/chat/completions', { ...params, stream: true }],
    ['/api/chat', { model, messages }]
  ] as const) {
    const response = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) })
    t.equal(response.status, 500, path)
    t.match((await response.json()) as object, { error: path === '/api/chat' ? error : { message: error } })
  }
})

/** Replaces the weights of the last norm by finite values so large that the logits overflow. */
function writeHugeNormWeights(directory: string): void {
  const file = `${directory}/model.safetensors`
  const bytes = readFileSync(file)
  const start = 8 + Number(bytes.readBigUInt64LE(0))
  const header = JSON.parse(bytes.toString('utf8', 8, start))
  const norm = header['model.norm.weight']
  const data = [Buffer.from(new Float32Array(norm.shape[0]).fill(3e38).buffer)]
  let end = data[0]?.byteLength ?? 0
  const rewritten = { 'model.norm.weight': { ...norm, dtype: 'F32', data_offsets: [0, end] } }
  for (const [name, tensor] of Object.entries<any>(header)) {
    if (name === 'model.norm.weight' || name === '__metadata__') continue
    const [from, to] = tensor.data_offsets
    data.push(bytes.subarray(start + from, start + to))
    Object.assign(rewritten, { [name]: { ...tensor, data_offsets: [end, end + to - from] } })
    end += to - from
  }
  const text = Buffer.from(JSON.stringify(rewritten))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.byteLength))
  writeFileSync(file, Buffer.concat([length, text, ...data]))
}

t.test('the engine names the stop string, and enforces a choice with special characters', async t => {
  const { client, url } = await open(t, 'qwen2.5.jinja')
  const ask = async (path: string, body: object) =>
    (await (await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })).json()) as Record<string, any>
  const request = { messages, max_tokens: 40, temperature: 0 }
  const { content } = await ask('/v1/messages', request)
  const stop = content[0].text.slice(4, 7)
  const stopped = await ask('/v1/messages', { ...request, stop_sequences: ['never', stop] })
  t.match(stopped, { stop_reason: 'stop_sequence', stop_sequence: stop })
  const choices = ['a.b (c|d)', '{x}[y]*']
  const chosen = await ask('/v1/chat/completions', { ...request, guided_choice: choices })
  t.ok(choices.includes(chosen.choices[0].message.content), chosen.choices[0].message.content)
  const response = await client.responses.create({ model, input: 'a table of customers', max_output_tokens: 5 })
  t.match(response, { status: 'incomplete', usage: { output_tokens: 5 } })
})
