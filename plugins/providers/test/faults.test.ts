import type { InferenceChatRequest } from '@svc/contracts'
import t, { type Test } from 'tap'
import { openWorld } from './open-providers.ts'
import { failing, type ProviderServer, providerServer, type Reply, silent } from './provider-servers.ts'

type Part = Partial<InferenceChatRequest>

const data = Buffer.from('\x89PNG\r\n\x1a\n0123456789', 'latin1').toString('base64')
const messages = [
  { role: 'user' as const, content: 'What is it?', images: [{ mediaType: 'image/png' as const, data }] }
]
const FEATURES: Readonly<Record<string, Part>> = {
  images: { messages },
  tools: { tools: [{ name: 'add', parameters: { type: 'object' } }] },
  JSON: { format: { type: 'object', properties: { a: { type: 'number' } } } }
}

interface Protocol {
  readonly provider: string
  readonly model: string
  /** Events of an answer that has begun with text, and of a tool call with damaged arguments. */
  readonly begun: object
  readonly damagedCall: readonly object[]
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  'OpenAI-compatible': {
    provider: 'openai',
    model: 'gpt-4.1',
    begun: { choices: [{ index: 0, delta: { content: 'Hel' } }] },
    damagedCall: [
      { choices: [{ delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'add', arguments: '{"a":' } }] } }] },
      { choices: [{ delta: {}, finish_reason: 'tool_calls' }] }
    ]
  },
  Gemini: {
    provider: 'google',
    model: 'gemini-2.5-flash',
    begun: { candidates: [{ content: { parts: [{ text: 'Hel' }] } }] },
    // Arguments are part of the event, so that a damaged call is a damaged event.
    damagedCall: []
  },
  Anthropic: {
    provider: 'anthropic',
    model: 'claude-haiku-4-5',
    begun: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
    damagedCall: [
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c', name: 'add' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
      { type: 'content_block_stop', index: 0 }
    ]
  }
}

interface Expected {
  readonly code: string
  readonly message?: RegExp
  readonly data?: object
}

const line = (event: object): string => `data: ${JSON.stringify(event)}\n\n`

function begin(text: string, then: (response: Parameters<Reply>[1]) => void = () => {}): Reply {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(text, () => then(response))
  }
}

/** Faults before the answer begins, or within it, and the error of a request that names the model. */
const FAULTS: Readonly<Record<string, (protocol: Protocol) => { readonly reply: Reply; readonly error: Expected }>> = {
  'HTTP 500': () => ({
    reply: failing(500, { message: 'oops' }),
    error: { code: 'ICL_REFUSED', message: /500.*oops/ }
  }),
  'HTTP 503': () => ({ reply: failing(503, { message: 'full' }), error: { code: 'ICL_BUSY', message: /full/ } }),
  'an error page in HTML': () => ({
    reply: (_, response) => void response.writeHead(502).end('<html>Bad Gateway</html>'),
    error: { code: 'ICL_REFUSED', message: /502.*Bad Gateway/ }
  }),
  'a connection that ends before the answer': () => ({
    reply: (_, response) => void response.destroy(),
    error: { code: 'ICL_UNREACHABLE' }
  }),
  'an empty answer': () => ({
    reply: begin('', response => response.end()),
    error: { code: 'ICL_REFUSED', message: /ended without/ }
  }),
  'wrong JSON': () => ({
    reply: begin('data: {"a":\n\n', response => response.end()),
    error: { code: 'ICL_REFUSED', message: /no JSON object: \{"a":/ }
  }),
  'wrong JSON within the answer': ({ begun }) => ({
    reply: begin(`${line(begun)}data: oops\n\n`, response => response.end()),
    error: { code: 'ICL_BROKEN_OFF', message: /no JSON object: oops/ }
  }),
  'a dropped connection within the answer': ({ begun }) => ({
    reply: begin(line(begun), response => response.destroy()),
    error: { code: 'ICL_BROKEN_OFF' }
  }),
  'an answer that ends without its last event': ({ begun }) => ({
    reply: begin(line(begun), response => response.end()),
    error: { code: 'ICL_BROKEN_OFF', message: /ended without/ }
  }),
  'HTTP 429': () => ({
    reply: failing(429, { message: 'slow down' }, { 'retry-after': '7' }),
    error: { code: 'ICL_BUSY', message: /slow down/, data: { retryAfterMs: 7_000 } }
  })
}

async function open(t: Test, { provider }: Protocol, limits: object = {}) {
  const server = await providerServer(t, silent)
  const settings = {
    profile: 'cloud_compatible',
    [`${provider}_api_key`]: 'key-1',
    [`${provider}_url`]: server.url,
    cool_down_ms: 0,
    ...limits
  }
  return { server, world: await openWorld(t, { settings }) }
}

/** Resolves when every request has ended at the server, finished or not. */
async function settled({ seen, ended }: ProviderServer): Promise<void> {
  while (ended() < seen.length) await new Promise(setImmediate)
}

for (const [name, protocol] of Object.entries(PROTOCOLS)) {
  t.test(`${name}: each fault is a typed error, whatever the request contains`, async t => {
    const { server, world } = await open(t, protocol)
    const features = Object.entries(FEATURES)
    let at = 0
    for (const [fault, make] of Object.entries(FAULTS)) {
      const { reply, error } = make(protocol)
      server.reply = reply
      // HTTP 429 marks the model until the test ends, so that only one request meets it.
      for (const [feature, part] of fault === 'HTTP 429'
        ? [features[at % features.length] as [string, Part]]
        : features) {
        await t.rejects(world.ask({ model: protocol.model, ...part }), error, `${fault}, with ${feature}`)
      }
      at += 1
    }
    await settled(server)
    const limited = { provider: protocol.provider, limited: true, calls: 0 }
    t.match(
      (await world.call('usage')).providers.filter(({ limited }: { limited: boolean }) => limited),
      [limited]
    )
  })

  t.test(`${name}: a slow first token, and a half-open stream that stops, end at their limits`, async t => {
    const slow = await open(t, protocol, { first_token_timeout_ms: 100 })
    const stopped = await open(t, protocol, { idle_timeout_ms: 100 })
    stopped.server.reply = begin(line(protocol.begun))
    for (const [feature, part] of Object.entries(FEATURES)) {
      const request = { model: protocol.model, ...part }
      await t.rejects(
        slow.world.ask(request),
        { code: 'ICL_UNREACHABLE', message: /no answer began within 100 ms/ },
        feature
      )
      await t.rejects(
        stopped.world.ask(request),
        { code: 'ICL_BROKEN_OFF', message: /the answer did not continue within 100 ms/ },
        feature
      )
    }
    await Promise.all([settled(slow.server), settled(stopped.server)])
  })

  if (protocol.damagedCall.length > 0)
    t.test(`${name}: a tool call with damaged arguments is an error, not a call`, async t => {
      const { server, world } = await open(t, protocol)
      server.reply = begin(protocol.damagedCall.map(line).join(''), response => response.end())
      await t.rejects(world.ask({ model: protocol.model, ...FEATURES.tools }), {
        code: 'ICL_REFUSED',
        message: /calls add with arguments that are (not a|no) JSON object: \{"a":/
      })
    })
}
