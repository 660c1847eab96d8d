import type { ChatImage } from '@svc/contracts'
import t, { type Test } from 'tap'
import { fakeServer } from '../../inference-client/test/fake-server.ts'
import { openWorld } from './open-providers.ts'
import { anthropic, gemini, openAi, type ProviderServer, providerServer, type Reply } from './provider-servers.ts'

const PNG: ChatImage = {
  mediaType: 'image/png',
  data: Buffer.from('\x89PNG\r\n\x1a\n0123456789', 'latin1').toString('base64')
}
const URL_IMAGE: ChatImage = { url: 'https://example.org/cat.png' }

const about = (...images: ChatImage[]) => ({ messages: [{ role: 'user' as const, content: 'What is it?', images }] })

async function open(t: Test, keyed: Readonly<Record<string, Reply>>, local?: string) {
  const servers: Record<string, ProviderServer> = {}
  const settings: Record<string, unknown> = {}
  for (const [name, reply] of Object.entries(keyed)) {
    const server = await providerServer(t, reply)
    servers[name] = server
    settings[`${name}_api_key`] = 'key'
    settings[`${name}_url`] = server.url
  }
  const world = await openWorld(t, {
    settings: { ...(local === undefined ? { profile: 'cloud_compatible' } : {}), ...settings },
    ...(local === undefined ? {} : { local })
  })
  return { world, servers, sent: (name: string) => servers[name]?.seen.at(-1)?.body }
}

t.test('images reach each provider in its own format', async t => {
  const { world, sent } = await open(t, {
    openai: openAi('a cat'),
    anthropic: anthropic([{ type: 'text', text: 'a cat' }]),
    google: gemini([{ text: 'a cat' }])
  })
  const data = 'data' in PNG ? PNG.data : ''
  t.equal((await world.ask({ model: 'gpt-4.1', ...about(PNG, URL_IMAGE) })).text, 'a cat')
  t.same(sent('openai')?.messages, [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
        { type: 'image_url', image_url: { url: 'https://example.org/cat.png' } }
      ]
    }
  ])
  t.equal((await world.ask({ model: 'claude-haiku-4-5', ...about(PNG, URL_IMAGE) })).text, 'a cat')
  t.same(sent('anthropic')?.messages[0].content, [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
    { type: 'image', source: { type: 'url', url: 'https://example.org/cat.png' } },
    { type: 'text', text: 'What is it?' }
  ])
  t.equal((await world.ask({ model: 'gemini-2.5-flash', ...about(PNG) })).text, 'a cat')
  t.same(sent('google')?.contents[0].parts, [{ inlineData: { mimeType: 'image/png', data } }, { text: 'What is it?' }])
  await t.rejects(world.ask({ model: 'google/gemini-2.5-flash', ...about(URL_IMAGE) }), {
    code: 'ICL_REFUSED',
    message: /"google\/gemini-2.5-flash" cannot answer this request: it takes images as data, not as addresses/,
    data: { alternative: 'openai/gpt-4.1-mini' }
  })
})

t.test(
  'a request with an image is answered by a model with vision, and a named model without one is refused',
  async t => {
    const { world, servers } = await open(t, {
      groq: openAi('groq'),
      anthropic: anthropic([{ type: 'text', text: 'a cat' }])
    })
    t.match((await world.ask(about(PNG))).done, { provider: 'anthropic' })
    await t.rejects(world.ask({ model: 'groq/openai/gpt-oss-20b', ...about(PNG) }), {
      code: 'ICL_REFUSED',
      message: 'the model "groq/openai/gpt-oss-20b" cannot answer this request: it does not support images',
      hint: 'request the model "anthropic/claude-haiku-4-5"'
    })
    t.equal(servers.groq?.seen.length, 0)
  }
)

t.test('without a model with vision, the error names one and the key that it needs', async t => {
  const { world, servers } = await open(t, { groq: openAi('groq') })
  await t.rejects(world.ask(about(PNG)), {
    code: 'ICL_REFUSED',
    message: 'no model of groq can answer this request: it does not support images',
    hint: /^set [A-Z_]+, and request the model "/
  })
  t.equal(servers.groq?.seen.length, 0)
})

t.test('the local server answers about images if it reports vision for its model, else a hosted provider', async t => {
  const shows: { capabilities: string[] } = { capabilities: ['completion', 'vision'] }
  const { url, seen } = await fakeServer(t, { show: () => shows })
  const { world } = await open(t, { openai: openAi('hosted') }, url)
  t.equal((await world.ask(about(PNG))).done.provider, undefined)
  t.match(seen.find(({ path }) => path === '/api/chat')?.body.messages, [{ images: [/^iVBORw0KGgo/] }])
  t.equal((await world.ask(about(URL_IMAGE))).done.provider, 'openai')
  shows.capabilities = ['completion']
  t.equal((await world.ask(about(PNG))).done.provider, 'openai')
})

t.test('invalid images are refused before any request', async t => {
  const { world, servers } = await open(t, { openai: openAi('a') })
  const large = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(5 * 1_048_576)])
  const data = 'data' in PNG ? PNG.data : ''
  const cases: readonly [ChatImage[], RegExp][] = [
    [[{ mediaType: 'image/png', data: '*' }], /messages\[0\].images\[0\]: its content is not base64/],
    [[{ mediaType: 'image/jpeg', data }], /its content is image\/png, not image\/jpeg/],
    [[{ mediaType: 'image/png', data: large.toString('base64') }], /it has more than 5242880 bytes/],
    [[{ url: 'http://example.org/cat.png' }], /its address is not an HTTPS URL/],
    [[{ url: 'file:///etc/passwd' }], /its address is not an HTTPS URL/],
    [Array.from({ length: 21 }, () => PNG), /more than 20 images/]
  ]
  for (const [images, message] of cases) {
    await t.rejects(world.ask({ model: 'gpt-4.1', ...about(...images) }), { code: 'ICL_IMAGE_INVALID', message })
  }
  const answer = { role: 'assistant' as const, content: '', images: [PNG] }
  await t.rejects(world.ask({ messages: [answer] }), { code: 'ICL_IMAGE_INVALID', message: /message of a user/ })
  await t.rejects(world.ask({ ...about(PNG), prompt: { text: 'a', raw: false } }), { code: 'ICL_IMAGE_INVALID' })
  t.equal(servers.openai?.seen.length, 0)
})
