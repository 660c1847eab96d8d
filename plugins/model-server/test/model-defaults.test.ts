import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { Catalogue } from '#catalogue'
import { clientsOf, refusal, say } from './clients.ts'
import { openHub } from './model-hub.ts'
import { openServer } from './open-server.ts'
import { ToyEngine } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'

const TEMPLATE = `{{ if .System }}<|im_start|>system
{{ .System }}<|im_end|>
{{ end }}{{ range .Messages }}{{ if ne .Role "system" }}[{{ .Role }}] {{ .Content }}
{{ end }}{{ end }}{{ if .Tools }}<tool_call>{{ .Tools }}{{ end }}[assistant]`

/** Starts a server, and a registry whose model `tiny` has these layers. */
async function openRegistry(t: Test, layers: Readonly<Record<string, string>>) {
  const root = t.testdir({ first: { 'config.json': '{}' } })
  const hub = await openHub(t)
  hub.layer = Buffer.alloc(100, 8)
  for (const [type, text] of Object.entries(layers)) hub.extraLayers.push([type.replace(/\d$/, ''), Buffer.from(text)])
  const engine = new ToyEngine({ contextLength: 2_000 })
  const server = await openServer(t, [toyPlugin(engine)], {
    model: join(root, 'first'),
    model_name: 'toy',
    models_folder: join(root, 'models'),
    ollama_registry_url: hub.url.href
  })
  await server.ready()
  const call = (id: string, input: object = {}) => server.kernel.callById(id, input) as Promise<Record<string, any>>
  const last = (at = -1) => {
    const model = engine.models.at(at)
    const request = model?.requests.at(-1)
    return { ...request, text: model?.detokenize(request?.tokens ?? []) }
  }
  return { ...server, ...clientsOf(server.url), hub, root, engine, call, last }
}

t.test('a model of the Ollama registry brings its template, options, system message and licences', async t => {
  const parameters = { stop: ['<end>', '[user]'], temperature: 0.25, top_k: 7, num_ctx: 900, num_keep: 24, mirostat: 2 }
  const { ollama, openai, call, last, json } = await openRegistry(t, {
    template: TEMPLATE,
    params: JSON.stringify(parameters),
    system: 'Be brief.',
    license: 'First licence',
    license2: 'Second licence',
    projector: 'weights for images'
  })
  const { notes, path, bytes } = await call('model.pull', { model: 'tiny' })
  t.equal(bytes, 100, 'only the weights count')
  t.match(notes, [
    /^the projector for images is not downloaded/,
    /^the parameter "num_keep" is not used: this server has no such option/,
    /^the parameter "mirostat" is not used: /
  ])
  t.equal(notes.length, 3)
  t.ok(existsSync(join(dirname(path), 'ollama-license-2.txt')))
  const shown = await ollama.show({ model: 'tiny' })
  t.match(shown, {
    template: TEMPLATE,
    system: 'Be brief.',
    license: 'First licence\nSecond licence',
    capabilities: ['completion', 'tools']
  })
  t.match(shown.parameters, /^temperature +0\.25$/m)
  t.match(shown.parameters, /^stop +"<end>"\nstop +"\[user\]"$/m)
  t.match(shown.modelfile, /^SYSTEM """Be brief\."""$/m)
  t.match((await call('model.catalogue')).models[1], { name: 'tiny', notes: { length: 2 } })

  await ollama.chat({ model: 'tiny', messages: say('hi') })
  const asked = '<|im_start|>system\nBe brief.<|im_end|>\n[user] hi\n[assistant]'
  t.match(last(), { text: asked, stop: ['<end>', '[user]'], sampling: { temperature: 0.25, topK: 7 } })
  await openai.chat.completions.create({
    model: 'tiny',
    messages: [{ role: 'system', content: 'Own' }, ...say('hi')],
    temperature: 1,
    stop: 'x'
  })
  const own = '<|im_start|>system\nOwn<|im_end|>\n[user] hi\n[assistant]'
  t.match(last(), { text: own, stop: ['x'], sampling: { temperature: 1, topK: 7 } }, 'a request has priority')
  await ollama.generate({ model: 'tiny', prompt: 'raw', raw: true, options: { top_k: 2 } })
  t.match(last(), { text: 'raw', stop: ['<end>', '[user]'], sampling: { temperature: 0.25, topK: 2 } })
  const tools = [{ type: 'function' as const, function: { name: 'w', parameters: { type: 'object', properties: {} } } }]
  await openai.chat.completions.create({ model: 'tiny', messages: say('hi'), tools })
  t.match(last().text, /<tool_call>\[\{"type":"function","function":\{"name":"w"/)
  const long = await refusal(ollama.chat({ model: 'tiny', messages: say('x'.repeat(950)) }))
  t.match(long, { status_code: 400, error: /the context holds 900 tokens/ })
  t.match(await refusal(ollama.chat({ model: 'tiny', messages: say('hi'), think: true })), { status_code: 400 })
  const counted = await json('/v1/messages/count_tokens', { model: 'tiny', messages: say('hi') })
  t.equal(
    counted.body.input_tokens,
    last().text === undefined ? 0 : (await json('/tokenize', { model: 'tiny', content: asked })).body.tokens.length
  )
})

t.test('what cannot be used is named, and the model works without it', async t => {
  const { call, ollama, last, hub } = await openRegistry(t, {
    template: '{{ define "x" }}{{ end }}{{ .Prompt }}',
    params: '[1]',
    messages: JSON.stringify([
      { role: 'user', content: 'two' },
      { role: 'tool', content: 'x' }
    ])
  })
  const { notes } = await call('model.pull', { model: 'tiny' })
  t.match(notes.toSorted(), [
    /^ollama-messages\.json is not used: /,
    'ollama-params.json is not used: it is not a JSON object',
    /^the template is not used, but that of the model's files: .*'\{\{ define "x" \}\}' is not supported/
  ])
  await ollama.chat({ model: 'tiny', messages: say('hi') })
  t.equal(last().text, '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n')
  hub.extraLayers.splice(0, 3, ['template', Buffer.from('{{ .Prompt }}!')])
  t.match(await call('model.pull', { model: 'tiny' }), { changed: true, notes: [] })
  await ollama.chat({ model: 'tiny', messages: say('hi') })
  t.equal(last().text, 'hi!', 'the next request has the new template')
  hub.extraLayers.splice(0, 1, ['params', Buffer.alloc((1 << 20) + 1, ' ')])
  await t.rejects(call('model.pull', { model: 'tiny' }), {
    code: 'MSV_PULL_FAILED',
    message: /1048577 bytes; the limit/
  })
})

t.test('the client of Ollama creates models from others, with defaults over theirs', async t => {
  const { ollama, last, call, engine, json } = await openRegistry(t, {
    params: '{"top_k": 7, "top_p": 0.5}',
    system: 'Old'
  })
  await ollama.pull({ model: 'tiny' })
  const rows = []
  for await (const row of await ollama.create({
    model: 'mario',
    from: 'tiny',
    system: 'You are Mario.',
    parameters: { top_k: 3 },
    stream: true
  }))
    rows.push(row)
  t.same(rows.at(-1), { status: 'success' })
  await ollama.chat({ model: 'mario', messages: say('hi') })
  t.match(last(), { text: /^<\|im_start\|>system\nYou are Mario\./, sampling: { topK: 3, topP: 0.5 } })
  const messages = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' }
  ]
  t.same(await ollama.create({ model: 'luigi', from: 'mario', template: TEMPLATE, messages, license: 'Mine' }), {
    status: 'success'
  })
  await ollama.chat({ model: 'luigi', messages: say('three') })
  const asked = '[user] one\n[assistant] two\n[user] three\n[assistant]'
  t.equal(last().text, `<|im_start|>system\nYou are Mario.<|im_end|>\n${asked}`)
  t.match(await ollama.show({ model: 'luigi' }), { license: 'Mine', system: 'You are Mario.', messages })
  await ollama.create({ model: 'luigi', from: 'toy', system: 'Changed' })
  await ollama.chat({ model: 'luigi', messages: say('hi') })
  t.match(last(0).text, /^<\|im_start\|>system\nChanged/, 'a model that was created can be created again')
  t.match(await call('model.catalogue'), {
    models: [{}, {}, { name: 'mario', source: 'created' }, { name: 'luigi', source: 'created' }]
  })
  t.equal(engine.models.filter(({ closed }) => !closed).length, 2, 'names of the same files share the weights')
  for (const [body, status, message] of [
    [{ model: 'x' }, 400, /'from' must be the name/],
    [{ model: 'x', from: 'none' }, 404, /none/],
    [{ model: 'tiny', from: 'toy' }, 409, /exists/],
    [{ model: 'toy', from: 'tiny' }, 409, /exists/],
    [{ model: '../x', from: 'toy' }, 400, /not a valid model name/],
    [{ model: 'x', from: 'toy', files: { a: 'sha256:b' } }, 400, /'files'/],
    [{ model: 'x', from: 'toy', quantize: 'q4_0' }, 400, /'quantize'/],
    [{ model: 'x', from: 'toy', parameters: { num_gpu: 1 } }, 400, /'parameters': .*num_gpu/],
    [{ model: 'x', from: 'toy', template: '{{ .Prompt | shout }}' }, 400, /'template': .*shout/],
    [{ model: 'x', from: 'toy', system: 'y'.repeat(2 ** 20) }, 400, /at most 1048576/]
  ] as const) {
    const refused = await json('/api/create', body)
    t.equal(refused.status, status, JSON.stringify(body).slice(0, 80))
    t.match(refused.body.error, message)
  }
})

t.test('clients cannot let the list of models grow without a limit', async t => {
  const root = t.testdir({})
  const catalogue = new Catalogue(join(root, 'models.json'), {}, root, () => undefined)
  const entry = { path: '/models/a', source: 'created' as const }
  await catalogue.add({ ...entry, name: 'short', defaults: { system: 'be brief' } })
  await t.rejects(catalogue.add({ ...entry, name: 'long', defaults: { system: 'x'.repeat(2 ** 24) } }), {
    code: 'MSV_CATALOGUE',
    message: /more than 16777216 characters/
  })
  t.match(catalogue.entries(), [{ name: 'short' }])
  t.equal(catalogue.entries().length, 1)
})
