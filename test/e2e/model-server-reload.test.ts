import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { callDaemon, type DaemonState } from '@svc/contracts'
import t, { type Test } from 'tap'
import { floats, safetensors } from '../../plugins/inference-onnx/test/support/safetensors.ts'
import { daemonStateOf } from '../daemon-state.ts'
import { type RunningServer, SVC, startModelServer } from './model-server-process.ts'
import { makeProject, pluginPackage, writeFiles } from './served-project.ts'

const LAYERS = 5
const HIDDEN = 256
const RANK = 4
/** Tokens per stream: so many that no stream ends before a reload does. */
const TOKENS = 250
/** Logit bias against the end tokens of the bundled model, so that streams run to their limit. */
const WITHOUT_END = { 0: -100, 2: -100 }
const PLUGINS = 'http,daemon,cli,inference-onnx,model-server,fragile'
const LOADING = /loading model 'vox-tiny' from/
const KEPT = /model 'vox-tiny' is ready.*the reload kept its weights/

/** Source of a plugin that uses the engine. Its activation fails while the project has a file `broken`. */
const FRAGILE = `
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { inferenceEngine } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'fragile',
  requires: { engine: inferenceEngine },
  after: ['model-server'],
  activate(ctx) {
    if (existsSync(join(ctx.projectRoot, 'broken'))) throw new Error('no luck today')
  }
})
`

interface Question {
  readonly model: string
  readonly seed: number
  readonly pattern?: string
}

/** Requests of eight clients for two models; two of them have a pattern as constraint. */
const QUESTIONS: readonly Question[] = [
  { model: 'vox-tiny', seed: 1 },
  { model: 'vox-tiny', seed: 2 },
  { model: 'vox-tiny', seed: 3, pattern: '([a-z]+ )+' },
  { model: 'vox-tiny', seed: 4 },
  { model: 'vox-tiny:other', seed: 5 },
  { model: 'vox-tiny:other', seed: 6, pattern: '([0-9]+, )+' },
  { model: 'vox-tiny:other', seed: 7 },
  { model: 'vox-tiny', seed: 8 }
]

interface Stream {
  /** Resolves at the first text of the stream. */
  readonly begun: Promise<void>
  readonly text: Promise<string>
  readonly ended: () => boolean
}

t.test(
  'streams of one batch survive a reload, and each has the same text as without the others',
  { timeout: 180_000 },
  async t => {
    const { server, state } = await open(t)
    const reload = (...names: string[]) => callDaemon(state, 'kernel.plugins.reload', { names })
    const alone: string[] = []
    for (const question of QUESTIONS) alone.push(await stream(server.url, question).text)
    t.equal(new Set(alone).size, QUESTIONS.length, 'all texts differ')
    t.match(alone[2], /^([a-z]+ )+[a-z]*$/)
    t.match(alone[5], /^([0-9]+, )+[0-9]*,?$/)
    let loads = 1
    t.equal(count(server, LOADING), loads)

    const overtaken = async (t: Test, change: () => Promise<unknown>) => {
      const streams = QUESTIONS.map(question => stream(server.url, question))
      await Promise.all(streams.map(({ begun }) => begun))
      await change()
      t.same(
        streams.map(({ ended }) => ended()),
        streams.map(() => false),
        'all streams were in progress'
      )
      t.same(await Promise.all(streams.map(({ text }) => text)), alone)
    }

    t.test('a reload of the model server keeps the weights', async t => {
      const kept = count(server, KEPT)
      await overtaken(t, () => reload('model-server'))
      t.equal(count(server, LOADING), loads)
      t.equal(count(server, KEPT), kept + 1)
    })

    for (const names of [['inference-onnx'], ['inference-onnx', 'model-server']]) {
      t.test(`${names.join(' and ')}: new code of the engine loads once, from its cache`, async t => {
        await overtaken(t, () => reload(...names))
        loads += 1
        t.equal(count(server, LOADING), loads)
      })
    }

    t.test('after a failed reload the old instances continue to serve', async t => {
      const broken = join(server.folder, 'broken')
      writeFileSync(broken, '')
      const refused = (...names: string[]) =>
        t.rejects(reload(...names, 'fragile'), { message: /no luck today/ }, `${names}`)
      await overtaken(t, () => refused('model-server'))
      await overtaken(t, () => refused('inference-onnx'))
      rmSync(broken)
      await overtaken(t, () => reload('model-server', 'fragile'))
      t.equal(count(server, LOADING), loads, 'the weights are not loaded again')
    })

    t.same(
      server.lines.filter(line => /was left open|Warning/.test(line)),
      []
    )
  }
)

/** Starts a server with the bundled model and a second adapter. */
async function open(t: Test): Promise<{ readonly server: RunningServer; readonly state: DaemonState }> {
  const folder = makeProject(t, {
    'plugins/fragile/package.json': pluginPackage('fragile'),
    'plugins/fragile/src/plugin.ts': FRAGILE,
    'svc.toml': '[kernel]\nplugin_directories = ["plugins"]\n[plugins.model-server.adapters]\nother = "other"\n'
  })
  writeAdapter(folder)
  const settings = ['http.port=0', 'daemon.socket=127.0.0.1:0', 'model-server.port=0', 'model-server.slots=8']
  const set = ['kernel.watch=false', ...settings.map(each => `plugins.${each}`)].flatMap(each => ['--set', each])
  const argv = ['serve', '--only', PLUGINS, ...set]
  const server = await startModelServer(t, [SVC, ...argv], {}, folder)
  return { server, state: await daemonStateOf(folder) }
}

/** Writes a PEFT directory with synthetic matrices. */
function writeAdapter(folder: string): void {
  const config = { peft_type: 'LORA', r: RANK, lora_alpha: 8, target_modules: ['q_proj', 'o_proj'], bias: 'none' }
  writeFiles(folder, { 'other/adapter_config.json': JSON.stringify(config) })
  const names = Array.from({ length: LAYERS }, (_, layer) =>
    ['q_proj', 'o_proj'].map(name => `base_model.model.model.layers.${layer}.self_attn.${name}`)
  ).flat()
  const factors = names.flatMap((name, at) => [
    [`${name}.lora_A.weight`, floats([RANK, HIDDEN], i => Math.sin(i * 7.3 + at) / 8)] as const,
    [`${name}.lora_B.weight`, floats([HIDDEN, RANK], i => Math.sin(i * 3.1 - at) / 8)] as const
  ])
  writeFileSync(join(folder, 'other', 'adapter_model.safetensors'), safetensors(Object.fromEntries(factors)))
}

function count({ lines }: RunningServer, pattern: RegExp): number {
  return lines.filter(line => pattern.test(line)).length
}

function stream(url: string, question: Question): Stream {
  let begin = (): void => undefined
  let ended = false
  const begun = new Promise<void>(resolve => {
    begin = resolve
  })
  const text = read(url, question, begin).finally(() => {
    ended = true
  })
  return { begun, text, ended: () => ended }
}

/** Reads a stream and returns its text. Throws if it does not end at the token limit. */
async function read(url: string, { model, seed, pattern }: Question, onText: () => void): Promise<string> {
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      seed,
      prompt: `a table of ${seed} customers`,
      temperature: 1,
      max_tokens: TOKENS,
      stream: true,
      logit_bias: WITHOUT_END,
      ...(pattern === undefined ? {} : { response_format: { type: 'regex', pattern } })
    })
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  let whole = ''
  let rest = ''
  let reason: string | null = null
  const decoder = new TextDecoder()
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(bytes, { stream: true })
    const events = rest.split('\n\n')
    rest = events.pop() as string
    for (const event of events.map(each => each.slice('data: '.length))) {
      if (event === '[DONE]') continue
      const { choices, error } = JSON.parse(event) as Chunk
      if (error !== undefined) throw new Error(error.message)
      whole += choices[0]?.text ?? ''
      reason = choices[0]?.finish_reason ?? reason
      if (whole !== '') onText()
    }
  }
  if (reason !== 'length') throw new Error(`the stream ended with ${reason}`)
  return whole
}

interface Chunk {
  readonly choices: readonly { readonly text: string; readonly finish_reason: string | null }[]
  readonly error?: { readonly message: string }
}
