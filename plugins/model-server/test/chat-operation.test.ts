import inferenceClientPlugin from '@svc/plugin-inference-client'
import t, { type Test } from 'tap'
import { modelChat, modelChoices } from '#root'
import { openServer } from './open-server.ts'
import { serve } from './serve.ts'
import { ToyEngine, type ToyOptions } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'

const WEATHER = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }
}
const CALL = 'Well.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>'

async function open(t: Test, toy: ToyOptions = {}, settings: object = {}, client?: object) {
  const model = t.testdir({ run: { 'config.json': '{}' } }).concat('/run')
  const plugins = client === undefined ? [] : [inferenceClientPlugin]
  const { kernel, url } = await openServer(
    t,
    [toyPlugin(new ToyEngine(toy)), ...plugins],
    { model, max_tokens: 300, ...settings },
    client === undefined ? {} : { 'inference-client': client }
  )
  const chat = async (fields: object) => {
    const events: any[] = []
    const input = { messages: [{ role: 'user' as const, content: 'hello' }], ...fields }
    const output = await kernel.call(modelChat, input, { onEvent: event => void events.push(event) })
    return { output, events }
  }
  return { kernel, url, chat }
}

t.test('an answer is streamed in pieces, and returned whole with its usage', async t => {
  const { chat } = await open(t)
  const { output, events } = await chat({})
  t.match(output, {
    model: 'run',
    message: { role: 'assistant', content: 'hello' },
    finish_reason: 'stop',
    usage: { completion_tokens: 6, thinking_tokens: 0 }
  })
  t.equal(events.length, 5, 'one event a token')
  t.equal(events.map(event => event.text).join(''), 'hello')
  t.ok((output.timing.completion_ms ?? 0) > 0)
  t.notOk('logprobs' in output)
})

t.test('an answer has log probabilities with alternatives, if requested', async t => {
  const { chat } = await open(t)
  const { output, events } = await chat({ logprobs: true, top_logprobs: 3 })
  t.equal(output.logprobs?.map(entry => entry.token).join(''), 'hello')
  t.ok(output.logprobs?.every(entry => entry.top_logprobs.length === 3 && entry.logprob < 0))
  t.match(events[0], { type: 'text', text: 'h', logprobs: [{ token: 'h' }] })
})

t.test('calls of tools are streamed and returned, and their results continue the conversation', async t => {
  const { chat } = await open(t, {
    chatTemplate: '<tool_call>',
    capabilities: { tools: true },
    contextLength: 4000
  })
  const messages = [{ role: 'user', content: CALL }]
  const { output, events } = await chat({ messages, tools: [WEATHER] })
  t.match(output, { finish_reason: 'tool_calls', message: { content: 'Well.' } })
  const [call] = output.message.tool_calls ?? []
  t.match(call, { type: 'function', function: { name: 'weather', arguments: '{"city": "Bonn"}' } })
  t.match(
    events.find(({ type }) => type === 'call'),
    { index: 0, id: call?.id, name: 'weather' }
  )
  const texts = events.filter(({ type }) => type === 'arguments').map(({ text }) => text)
  t.equal(texts.join(''), '{"city": "Bonn"}')
  const result = { role: 'tool', tool_call_id: call?.id, content: 'rain' }
  const next = await chat({ messages: [...messages, output.message, result], tools: [WEATHER] })
  t.type(next.output.message.content, 'string')
})

t.test('thoughts are apart from the text', async t => {
  const { chat } = await open(t, {
    chatTemplate: '<think> enable_thinking',
    capabilities: { thinking: true }
  })
  const messages = [{ role: 'user', content: '<think>\nhm, well\n</think>\n\nthe answer' }]
  const { output, events } = await chat({ messages })
  t.match(output.message, { content: 'the answer', reasoning_content: 'hm, well' })
  const thinking = events.filter(({ type }) => type === 'thinking').map(({ text }) => text)
  t.equal(thinking.join(''), 'hm, well')
  t.ok(output.usage.thinking_tokens > 0)
})

t.test('invalid fields, unknown models and missing abilities are typed errors that name the field', async t => {
  const { chat } = await open(t)
  await t.rejects(chat({ model: 'other' }), { code: 'MSV_MODEL_UNKNOWN' })
  await t.rejects(chat({ temprature: 1 }), { code: 'OPR_INPUT_INVALID' })
  await t.rejects(chat({ tools: [WEATHER] }), { code: 'MSV_UNSUPPORTED', message: /run does not support tools/ })
  await t.rejects(chat({ messages: [{ role: 'user', content: 'x'.repeat(9000) }] }), { code: 'MSV_CONTEXT_EXCEEDED' })
  await t.rejects(chat({ messages: [{ role: 'tool', content: 'x' }] }), {
    code: 'MSV_REQUEST_INVALID',
    message: /messages\[0\]\.tool_call_id/
  })
})

t.test('an aborted call stops the generation', async t => {
  const engine = new ToyEngine({ contextLength: 4000 })
  const model = t.testdir({ run: { 'config.json': '{}' } }).concat('/run')
  const { kernel } = await openServer(t, [toyPlugin(engine)], { model, max_tokens: 3000 })
  const controller = new AbortController()
  const input = { messages: [{ role: 'user' as const, content: 'x'.repeat(1500) }] }
  const onEvent = () => controller.abort()
  await t.rejects(kernel.call(modelChat, input, { signal: controller.signal, onEvent }), { code: 'OPR_CANCELLED' })
  const [loaded] = engine.models
  while (loaded?.ended.length === 0) await new Promise(setImmediate)
  t.ok((loaded?.generated ?? 0) < 20)
})

t.test("models of the project's server can be listed and used", async t => {
  const other = await serve(t, {})
  const { kernel, chat } = await open(t, {}, {}, { url: other.url })
  const { models } = await kernel.call(modelChoices, {})
  t.match(models, [
    { model: 'run', server: 'own', tools: false },
    { model: /^toy/, server: 'project', url: other.url }
  ])
  // The client's own temperature is not 0.
  const { output, events } = await chat({ server: 'project', model: 'toy', temperature: 0 })
  t.match(output, { model: /^toy/, message: { content: 'hello' }, finish_reason: 'stop' })
  t.equal(events.map(event => event.text).join(''), 'hello')
  t.equal(other.model.requests.length, 1)
  await t.rejects(chat({ server: 'project', model: 'toy', logprobs: true }), {
    code: 'MSV_UNSUPPORTED',
    message: /'logprobs'/
  })
  await t.rejects(chat({ server: 'project', model: 'none' }), { code: 'MSV_OTHER_SERVER', message: /"none"/ })
})

t.test("the list says why the models of the project's server are missing", async t => {
  const { kernel } = await open(t, {}, {}, { url: 'http://127.0.0.1:9' })
  t.match(await kernel.call(modelChoices, {}), {
    models: [{ model: 'run' }],
    problem: /no model server is reachable/
  })
  const alone = await open(t)
  t.strictSame((await alone.kernel.call(modelChoices, {})).problem, undefined)
  await t.rejects(alone.chat({ server: 'project' }), { code: 'MSV_OTHER_SERVER', message: /inference-client/ })
})
