import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  type InferenceChatEvent,
  type InferenceChatRequest,
  type InferenceClient,
  inferenceClient
} from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { locateModel, ModelDownload, speechStatus, speechTranscribe } from '#root'
import { MODEL, openWorld } from './world.ts'

t.test('a tool reports when to confirm the text', async t => {
  const world = await openWorld({ language: 'en', tool_route_min_confidence: 0.88 })
  t.teardown(() => world.close())
  t.match(await world.kernel.call(speechStatus, {}), { status: 'ready', missing: [] })
  const spoken = await world.kernel.call(speechTranscribe, { path: 'tones.wav', language_hint: 'de' })
  t.match(spoken, { language: 'de', duration_ms: 1900, confidence: 0.87, clarification_recommended: true })
  world.write('a.txt', 'plain')
  const written = await world.kernel.call(speechTranscribe, { path: 'a.txt' })
  t.match(written, { text: 'plain', language: null, duration_ms: null, clarification_recommended: false })
  await t.rejects(world.kernel.call(speechTranscribe, { path: '../a.txt' }), { code: 'SPC_PATH_OUTSIDE' })
})

t.test('a lexicon of the project corrects words, and lowers the confidence', async t => {
  const world = await openWorld({ language: 'en', lexicon: 'words.json', logit_bias_strength: 0 })
  t.teardown(() => world.close())
  const before = await world.kernel.call(speechTranscribe, { path: 'tones.wav' })
  const [first = ''] = before.raw_text.split(' ')
  const lexicon = { schema_version: 1, entries: [{ canonical: 'speaker', aliases: [first] }] }
  writeFileSync(join(world.kernel.root, 'words.json'), JSON.stringify(lexicon))
  const after = await world.kernel.call(speechTranscribe, { path: 'tones.wav' })
  t.equal(after.raw_text, before.raw_text)
  t.match(after.text, /^speaker/)
  t.ok(after.confidence < before.confidence)
})

t.test('a language model corrects texts with low confidence, if the setting is on', async t => {
  const asked: InferenceChatRequest[] = []
  let answer: string | Error = ''
  const client = {
    async *chat(request: InferenceChatRequest): AsyncGenerator<InferenceChatEvent> {
      asked.push(request)
      if (answer instanceof Error) throw answer
      yield { type: 'text', text: answer }
    }
  } as unknown as InferenceClient
  const model = definePlugin({
    name: 'language-model',
    provides: [inferenceClient],
    activate: ctx => ctx.provide(inferenceClient, client)
  }) as Plugin
  const settings = { language: 'en', llm_refinement_default: true, llm_min_confidence: 0.9, llm_max_output_tokens: 99 }
  const world = await openWorld(settings, [model])
  t.teardown(() => world.close())
  const transcribe = () => world.kernel.call(speechTranscribe, { path: 'tones.wav' })
  answer = new Error('no model is available')
  const plain = await transcribe()
  t.equal(plain.text, plain.raw_text)
  t.match(asked[0], { temperature: 0, maxTokens: 99 })
  t.equal(asked[0]?.purpose?.charged, undefined, 'the client records the cost')
  t.equal(asked[0]?.messages.at(-1)?.content, plain.text)
  answer = 'I cannot help with that.'.repeat(9)
  t.equal((await transcribe()).text, plain.text, 'a reply that is not a correction is ignored')
  answer = plain.text.replace(/^\S+/, 'speaker')
  t.match(await transcribe(), { text: answer, raw_text: plain.raw_text, confidence: 0.855 })
})

t.test('models are found in their folder, in the directory of models and in the cache of the hub', async t => {
  const root = t.testdir()
  const location = {
    model: 'openai/whisper-x',
    revision: 'main',
    projectRoot: root,
    modelsDirectory: join(root, 'models')
  }
  const environment = { HF_HOME: join(root, 'hf') }
  const find = async (model = location.model) => {
    const found = await locateModel({ ...location, model, environment })
    return found.complete ? found.files.folder : null
  }
  t.equal(await find(), null)
  const cache = join(root, 'hf/hub/models--onnx-community--whisper-x')
  cpSync(MODEL, join(cache, 'snapshots/abc'), { recursive: true })
  mkdirSync(join(cache, 'refs'))
  writeFileSync(join(cache, 'refs/main'), 'abc')
  t.equal(await find(), join(cache, 'snapshots/abc'))
  cpSync(MODEL, join(root, 'models/openai/whisper-x'), { recursive: true })
  t.equal(await find(), join(root, 'models/openai/whisper-x'))
  t.equal(await find('./models/openai/whisper-x'), join(root, 'models/openai/whisper-x'))
  t.equal(await find('../../etc/x'), null)
})

t.test('models are downloaded from a hub', async t => {
  const root = t.testdir()
  const asked: string[] = []
  let failures = 2
  const hub: Server = createServer((request, response) => {
    const url = request.url ?? ''
    asked.push(url)
    const [, , name, , , ...rest] = url.split('/')
    const file = join(MODEL, ...rest)
    if (!url.startsWith('/onnx-community/') || name !== 'whisper-x' || !existsSync(file))
      return response.writeHead(404).end()
    if (url.endsWith('encoder_model.onnx') && failures-- > 0) return response.writeHead(503).end()
    const bytes = readFileSync(file)
    response.writeHead(200, { 'content-length': bytes.length }).end(bytes)
  }).listen(0, '127.0.0.1')
  await once(hub, 'listening')
  t.teardown(() => hub.close())
  const options = {
    model: 'openai/whisper-x',
    revision: 'v1',
    modelsDirectory: root,
    hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}/`,
    token: undefined,
    attempts: 3,
    delayMs: 1
  }
  const { signal } = new AbortController()
  const steps: string[] = []
  const fetched = await new ModelDownload(options).fetch(undefined, signal, (_at, _of, file) => void steps.push(file))
  t.equal(fetched.folder, join(root, 'onnx-community/whisper-x'))
  t.ok(fetched.bytes > 300_000)
  t.equal(asked[0], '/openai/whisper-x/resolve/v1/onnx/encoder_model.onnx')
  t.equal(steps.length, 7)
  const before = asked.length
  const again = await new ModelDownload(options).fetch('openai/whisper-x', signal, () => {})
  t.equal(again.bytes, 0, 'existing files are not downloaded again')
  t.equal(asked.length, before + 1)
  const located = await locateModel({ ...options, projectRoot: root, environment: { HF_HOME: root } })
  t.equal(located.complete, true, 'the downloaded model is found')

  rmSync(root, { recursive: true })
  failures = 3
  await t.rejects(
    new ModelDownload(options).fetch(undefined, signal, () => {}),
    {
      code: 'SPP_DOWNLOAD_FAILED',
      message: /encoder_model\.onnx.*3 attempts.*503/
    }
  )
  await t.rejects(
    new ModelDownload(options).fetch('openai/none', signal, () => {}),
    { message: /no ONNX export.*404/ }
  )
  await t.rejects(
    new ModelDownload(options).fetch('../x/y', signal, () => {}),
    { code: 'SPP_DOWNLOAD_FAILED' }
  )
})
