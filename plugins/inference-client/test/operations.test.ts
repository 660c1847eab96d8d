import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import inferenceClient from '#plugin'
import { openServer } from '../../model-server/test/open-server.ts'
import { ToyEngine } from '../../model-server/test/toy-engine.ts'
import { toyPlugin } from '../../model-server/test/toy-plugin.ts'
import { type FakeOptions, fakeServer } from './fake-server.ts'

async function open(t: Test, url: string, settings: object = {}) {
  const kernel = await testKernel([inferenceClient], { settings: { 'inference-client': { url, ...settings } } })
  t.teardown(() => kernel.close())
  return (id: string, input: object = {}) => kernel.callById(`inference.${id}`, input)
}

async function connect(t: Test, options: FakeOptions = {}, settings: object = {}) {
  const { url } = await fakeServer(t, options)
  return { url, call: await open(t, url, { model: 'toy', ...settings }) }
}

const GIB = 2 ** 30

t.test('lists loaded models with memory, device, context and expiry', async t => {
  const soon = '2026-03-04T05:06:07.123456789+02:00'
  const row = (name: string, size_vram: number, expires_at = soon) => ({ name, size: 4 * GIB, size_vram, expires_at })
  const running = [
    { ...row('gpu', 4 * GIB), context_length: 8192 },
    row('both', GIB, '2318-11-04T12:00:00+01:00'),
    row('cpu', 0, '0001-01-01T00:00:00Z'),
    { name: 'terse' }
  ]
  const { url, call } = await connect(t, { running })
  const unknown = { size_bytes: null, gpu_bytes: null, processor: null, context: null, until: null }
  t.same(await call('running'), {
    endpoint: { url, api: 'ollama', setting: 'url' },
    models: [
      {
        name: 'gpu',
        size_bytes: 4 * GIB,
        gpu_bytes: 4 * GIB,
        processor: 'gpu',
        context: 8192,
        until: '2026-03-04T03:06:07.123Z'
      },
      { name: 'both', size_bytes: 4 * GIB, gpu_bytes: GIB, processor: 'cpu+gpu', context: null, until: null },
      { name: 'cpu', size_bytes: 4 * GIB, gpu_bytes: 0, processor: 'cpu', context: null, until: null },
      { name: 'terse', ...unknown }
    ]
  })
})

t.test('an empty list is valid; a server without the route throws ICL_RUNNING_UNKNOWN', async t => {
  const idle = await connect(t, { running: [] })
  t.match(await idle.call('running'), { models: [] })
  const code = 'ICL_RUNNING_UNKNOWN'
  const other = await connect(t, { api: 'openai' })
  await t.rejects(other.call('running'), {
    code,
    message: `the model server at ${other.url} speaks the OpenAI format, so it does not list its loaded models`
  })
  const part = await connect(t)
  await t.rejects(part.call('running'), { code, message: /responds to GET \/api\/ps with 404/ })
})

t.test("svc's own server reports the same fields", async t => {
  const engine = toyPlugin(new ToyEngine({ device: 'cuda:0' }))
  const { url } = await openServer(t, [engine], { model: t.testdir({ 'config.json': '{}' }), model_name: 'ours' })
  const call = await open(t, url)
  t.match(await call('running'), {
    models: [{ name: 'ours', processor: 'gpu', size_bytes: 12_800_000, context: 512, until: null }]
  })
})

t.test('lists models, shows one by name, and reports an unknown one', async t => {
  const { url, call } = await connect(t, { models: ['toy:latest', 'other'] })
  const endpoint = { url, api: 'ollama', setting: 'url' }
  const { models } = (await call('models')) as { models: { name: string }[] }
  t.same(
    models.map(({ name }) => name),
    ['toy:latest', 'other']
  )
  t.match(await call('model'), { endpoint, model: { name: 'toy:latest', size_bytes: 1234, quantization: 'F16' } })
  t.match(await call('model', { model: 'other' }), { model: { name: 'other' } })
  await t.rejects(call('model', { model: 'third' }), {
    code: 'ICL_MODEL_UNKNOWN',
    message: /the request names the model "third".*offers "toy:latest", "other"/
  })
  t.match(await call('check'), { healthy: true, model: 'toy', endpoint, text: /offers "toy"/ })
  t.match(await call('check', { model: 'third' }), {
    healthy: false,
    text: /"third"/,
    offered: ['toy:latest', 'other']
  })
})

t.test('returns an answer in one piece, and emits its pieces as events', async t => {
  const { call } = await connect(t)
  t.same(await call('chat', { prompt: 'one two', system: 'be brief', max_tokens: 9 }), {
    text: 'one two',
    model: 'toy',
    finish_reason: 'stop',
    prompt_tokens: 7,
    completion_tokens: 3
  })
})

t.test('sends images of a prompt in the OpenAI format, and refuses one that is no image', async t => {
  const { url, seen } = await fakeServer(t, { api: 'openai' })
  const call = await open(t, url, { model: 'toy' })
  const data = Buffer.from('GIF89a0123456789').toString('base64')
  const images = [{ data }, { url: 'https://example.org/a.png' }]
  await call('chat', { prompt: 'what', images })
  const urls = [`data:image/gif;base64,${data}`, 'https://example.org/a.png']
  t.same((seen.at(-1)?.body.messages as object[] | undefined)?.at(-1), {
    role: 'user',
    content: [{ type: 'text', text: 'what' }, ...urls.map(each => ({ type: 'image_url', image_url: { url: each } }))]
  })
  for (const image of [{ data: 'AAAA' }, {}, { data, url: 'https://example.org/a.png' }]) {
    await t.rejects(call('chat', { prompt: 'what', images: [image] }), {
      code: 'ICL_IMAGE_INVALID',
      message: /^images\[0\]: /
    })
  }
})

t.test('tries the other format if the list in the first is invalid', async t => {
  const { call } = await connect(t, { api: 'openai', tags: {} })
  t.match(await call('models'), { endpoint: { api: 'openai' }, models: [{ name: 'toy' }] })
})

t.test("shows the server's only model if no name is passed", async t => {
  const { url } = await fakeServer(t)
  const call = await open(t, url)
  t.match(await call('model'), { endpoint: { url }, model: { name: 'toy' } })
  const several = await fakeServer(t, { models: ['a', 'b'] })
  const refused = (await open(t, several.url))('model')
  await t.rejects(refused, { code: 'ICL_MODEL_UNKNOWN', message: /INFER_MODEL is not set, but .* offers "a.*", "b.*"/ })
})

t.test('an embedding model is listed with its kind, but is not chosen for text', async t => {
  for (const [api, entry] of [
    ['ollama', { name: 'minilm', capabilities: ['embedding'] }],
    ['openai', { id: 'minilm', kind: 'embedding' }]
  ] as const) {
    const { url } = await fakeServer(t, { api, others: [entry] })
    const call = await open(t, url)
    t.match(await call('models'), {
      models: [
        { name: /^toy/, kind: null },
        { name: 'minilm', kind: 'embedding' }
      ]
    })
    t.match(await call('model'), { model: { name: /^toy/ } })
    t.match(await call('model', { model: 'minilm' }), { model: { kind: 'embedding' } })
    t.match(await call('check', { model: 'minilm' }), { healthy: false })
  }
})
