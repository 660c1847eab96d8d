import {
  type InferenceClient,
  inferenceClient,
  type ModelAnswered,
  type ModelRequest,
  modelAnswer,
  modelAnswered,
  modelRequest,
  modelToolCall
} from '@svc/contracts'
import client from '@svc/plugin-inference-client'
import { definePlugin, type Plugin, type PluginContext, SvcError } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { modelGenerate } from '#root'
import { freePort } from '../../../test/free-port.ts'
import { openServer } from './open-server.ts'
import { ToyEngine, type ToyOptions } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'

const TAGGED = '… <tool_call> …'
const TOOL = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }
const CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bonn"}}\n</tool_call>'
const MASK = { messages: /hunter2/g, by: '***' }

interface Options {
  readonly toy?: ToyOptions
  readonly settings?: object
  readonly plugins?: readonly Plugin[]
  readonly others?: Readonly<Record<string, object>>
}

/** Serves the toy model, which echoes its prompt, with a plugin that taps hooks. */
async function open(t: Test, tap: (ctx: PluginContext) => void, options: Options = {}) {
  const model = t.testdir({ run: { 'config.json': '{}' } }).concat('/run')
  const engine = new ToyEngine({ capabilities: { tools: true }, chatTemplate: TAGGED, ...options.toy })
  const tapping = definePlugin({ name: 'tapping', activate: ctx => tap(ctx as PluginContext) })
  const server = await openServer(
    t,
    [toyPlugin(engine), tapping, ...(options.plugins ?? [])],
    { model, ...options.settings },
    options.others
  )
  const generated = () => engine.models.reduce((sum, each) => sum + each.generated, 0)
  return { ...server, generated }
}

const masked = (text: string): string => text.replaceAll(MASK.messages, MASK.by)

function redacted(request: ModelRequest): ModelRequest {
  const { messages, prompt, context } = request
  return {
    ...request,
    messages: messages.map(message => ({ ...message, content: masked(message.content) })),
    ...(prompt === undefined ? {} : { prompt: { ...prompt, text: masked(prompt.text) } }),
    ...(context === undefined ? {} : { context: masked(context) })
  }
}

const messages = [{ role: 'user', content: 'I say hunter2' }]
const prompt = 'I say hunter2\n'
const tokens = [...Buffer.from(prompt)]

const REQUESTS: readonly (readonly [path: string, body: object, seen: object])[] = [
  ['/v1/chat/completions', { messages }, { messages }],
  ['/v1/chat/completions', { messages, n: 3 }, { messages }],
  ['/v1/completions', { prompt, max_tokens: 14 }, { prompt: { text: prompt, raw: true } }],
  ['/v1/completions', { prompt: tokens, max_tokens: 14 }, { prompt: { text: prompt, raw: true } }],
  ['/v1/completions', { prompt, n: 2, max_tokens: 14 }, { prompt: { text: prompt, raw: true } }],
  ['/api/chat', { messages, stream: false }, { messages }],
  ['/api/generate', { prompt: 'I say hunter2', stream: false }, { messages }],
  ['/api/generate', { prompt: 'a', context: tokens, stream: false }, { context: prompt }],
  [
    '/api/generate',
    { prompt: 'a', template: 'Well, {{ .Prompt }}', stream: false },
    { template: 'Well, {{ .Prompt }}' }
  ],
  [
    '/api/generate',
    { prompt, raw: true, stream: false, options: { num_predict: 14 } },
    { prompt: { text: prompt, raw: true } }
  ]
]

t.test('a tap sees each client request once, before the model, and can redact it', async t => {
  const seen: ModelRequest[] = []
  const { json } = await open(t, ctx => {
    ctx.on(modelRequest, request => {
      seen.push(request)
      return redacted(request)
    })
  })
  for (const [path, body, expected] of REQUESTS) {
    const answer = await json(path, { model: 'run', ...body })
    const name = `${path} ${JSON.stringify(body)}`
    t.equal(answer.status, 200, name)
    t.notMatch(JSON.stringify({ ...answer.body, context: undefined }), /hunter2/, name)
    t.match(seen.splice(0), [{ model: 'run', ...expected }], name)
  }
  const { body } = await json('/api/generate', { model: 'run', prompt: 'a', context: tokens, stream: false })
  t.notMatch(Buffer.from(body.context).toString('latin1'), 'hunter2', 'the returned context is redacted')
})

t.test('a request that a tap refuses fails in the format of the API, and does not reach the model', async t => {
  const { json, generated } = await open(t, ctx => {
    ctx.on(modelRequest, () => {
      throw new SvcError('HOUSE_RULE', 'not here', { status: 403 })
    })
  })
  for (const [path, body] of REQUESTS) {
    const answer = await json(path, body)
    t.equal(answer.status, 403, path)
    t.match(answer.body.error, path.startsWith('/v1') ? { message: 'not here' } : 'not here')
  }
  const streamed = await json('/v1/chat/completions', { messages, stream: true })
  t.match(streamed, { status: 403, body: { error: { message: 'not here' } } })
  t.equal(generated(), 0)
})

t.test('the operation model.generate also triggers the hooks', async t => {
  const { kernel } = await open(t, ctx => {
    ctx.on(modelRequest, redacted)
    ctx.on(modelAnswer, answer => ({ ...answer, text: answer.text.replace('say', 'write') }))
  })
  t.match(await kernel.call(modelGenerate, { prompt: 'I say hunter2' }), { text: 'I write ***' })
})

t.test('a tap can redact a whole answer before a stream sends any of it', async t => {
  const { json, url } = await open(t, ctx => {
    ctx.on(modelAnswer, answer => ({ ...answer, text: masked(answer.text) }))
  })
  for (const [path, body] of REQUESTS) {
    const { body: answer } = await json(path, { ...body, echo: false })
    t.notMatch(JSON.stringify({ ...answer, context: undefined }), 'hunter2', path)
    if (answer.context !== undefined && !('context' in body)) {
      const written = Buffer.from(answer.context).toString('latin1')
      t.equal(written.lastIndexOf('hunter2'), written.indexOf('hunter2'), 'only the question contains it')
    }
  }
  const fields = { messages, stream: true, logprobs: true }
  for (const path of ['/v1/chat/completions', '/api/chat']) {
    const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(fields) })
    const text = await response.text()
    t.match(text, 'I say ***', `${path} sends the text in one piece`)
    t.notMatch(text, /logprob":-/, 'log probabilities of the original tokens are omitted')
  }
  const plain = await json('/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }], logprobs: true })
  t.equal(plain.body.choices[0].logprobs.content.length, 2, 'an unchanged answer keeps its log probabilities')
})

t.test('a tap of inference.answered does not delay a stream', async t => {
  let letGo: () => void = () => undefined
  const sent = new Promise<void>(resolve => {
    letGo = resolve
  })
  const answered: ModelAnswered[] = []
  const beforeToken = (generated: number) => (generated === 3 ? sent : undefined)
  const { url } = await open(t, ctx => void ctx.on(modelAnswered, answer => void answered.push(answer)), {
    toy: { beforeToken }
  })
  const body = JSON.stringify({ messages: [{ role: 'user', content: `Well ${CALL}` }], tools: [TOOL], stream: true })
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })
  let text = ''
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    text += chunk
    // The model delays its fourth token until the first one has arrived.
    if (text.includes('"content":"W"')) letGo()
  }
  t.match(text, /"tool_calls".*"arguments":""[\s\S]*\[DONE\]/, 'a call is sent in pieces')
  t.match(answered, [
    { model: 'run', text: /^Well/, toolCalls: [{ name: 'weather', arguments: { city: 'Bonn' } }], thinking: '' }
  ])
})

t.test('a tap redacts or refuses a tool call, and an incomplete call is omitted', async t => {
  const { json } = await open(t, ctx => {
    ctx.on(modelToolCall, ({ model, call }) => {
      if (call.arguments.city === 'Rome') throw new SvcError('HOUSE_RULE', 'not to Rome', { status: 403 })
      return { model, call: { ...call, arguments: { city: 'Cologne' } } }
    })
  })
  const ask = (content: string, fields: object = {}) => {
    return json('/v1/chat/completions', { messages: [{ role: 'user', content }], tools: [TOOL], ...fields })
  }
  const [choice] = (await ask(CALL)).body.choices
  t.match(choice, { finish_reason: 'tool_calls' })
  t.equal(choice.message.tool_calls[0].function.arguments, '{"city":"Cologne"}')
  t.match(await ask(CALL.replace('Bonn', 'Rome')), { status: 403, body: { error: { message: 'not to Rome' } } })
  const broken = (await ask(CALL, { max_tokens: 50 })).body.choices[0]
  t.match(broken, { finish_reason: 'length' })
  t.equal(broken.message.tool_calls, undefined)
  const reply = await json('/api/chat', { messages: [{ role: 'user', content: CALL }], tools: [TOOL], stream: false })
  t.match(reply.body.message.tool_calls, [{ function: { name: 'weather', arguments: { city: 'Cologne' } } }])
})

t.test('requests of the client in the same process trigger the hooks once', async t => {
  const port = await freePort()
  const fired: string[] = []
  let asking: InferenceClient | undefined
  const user = definePlugin({
    name: 'user',
    requires: { asked: inferenceClient },
    activate: (_ctx, { asked }) => {
      asking = asked
    }
  })
  const { url, json, ready } = await open(
    t,
    ctx => {
      ctx.on(modelRequest, () => void fired.push('request'))
      ctx.on(modelAnswer, () => void fired.push('answer'))
    },
    {
      plugins: [client, user],
      settings: { port },
      others: { 'inference-client': { url: `http://127.0.0.1:${port}`, model: 'run' } }
    }
  )
  await ready()
  let text = ''
  for await (const event of asking?.chat({ messages: [{ role: 'user', content: 'hi' }] }) ?? []) {
    if (event.type === 'text') text += event.text
  }
  t.equal(text, 'hi')
  t.same(fired.splice(0), ['request', 'answer'])
  const headers = { 'x-svc-tapped': '0'.repeat(32) }
  const body = JSON.stringify({ messages, stream: false })
  t.equal((await fetch(`${url}/api/chat`, { method: 'POST', headers, body })).status, 200)
  t.same(fired.splice(0), ['request', 'answer'], 'another client cannot bypass the hooks')
  await json('/api/chat', { messages, stream: false })
  t.same(fired, ['request', 'answer'])
})
