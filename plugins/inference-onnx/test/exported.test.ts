import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadOptions } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { readOnnx } from '#exported'
import { OnnxGraph } from '#onnx'
import { collect, fixtures, greedy, openEngine, temporaryFolder } from './support/models.ts'

const TOLERANCE = 1e-3
const VOCABULARY = 300
const folder = join(fixtures, 'exported')

async function readExpected(name: string) {
  const { tokens, positions, greedy } = JSON.parse(await readFile(join(folder, name, 'expected.json'), 'utf8'))
  const logits = new Float32Array(new Uint8Array(await readFile(join(folder, name, 'logits.bin'))).buffer)
  return { tokens, positions, continuation: greedy, logits } as {
    tokens: number[]
    positions: number[]
    continuation: number[]
    logits: Float32Array
  }
}

for (const name of ['genai', 'optimum', 'genai-int4']) {
  for (const runtime of ['native', 'worker'] as const) {
    for (const promptChunk of [64, 16, 1]) {
      t.test(`${name}, ${runtime} runtime, ${promptChunk} tokens per run: logits match the reference`, async t => {
        const { tokens, positions, continuation, logits: wanted } = await readExpected(name)
        const engine = await openEngine(t, { runtime, promptChunk })
        const model = await engine.load({ runDirectory: join(folder, name) })
        t.teardown(() => model.close())
        const logits = await model.logits(tokens)
        const largest = positions.reduce((max, position, row) => {
          const differences = logits[position]!.map((value, id) => Math.abs(value - wanted[row * VOCABULARY + id]!))
          return Math.max(max, ...differences)
        }, 0)
        t.ok(largest < TOLERANCE, `largest difference is ${largest}`)
        const { tokens: generated } = await collect(model.generate(greedy(tokens, continuation.length)))
        t.same(generated, continuation)
      })
    }
  }
}

t.test('the model reports the properties of its graph and configuration', async t => {
  const load = async (name: string) => {
    const model = await (await openEngine(t)).load({ runDirectory: join(folder, name) })
    t.teardown(() => model.close())
    return model
  }
  const common = { family: 'llama', contextLength: 128, vocabularySize: VOCABULARY, adapter: null }
  t.match((await load('genai')).info, { ...common, precision: 'F32', quantization: 'none' })
  t.match((await load('genai-int4')).info, { ...common, precision: 'q4', quantization: 'q4' })
  t.match((await load('optimum')).info, { ...common, precision: 'F32', quantization: 'none' })
  t.match((await load('genai')).renderChat([{ role: 'user', content: 'Hi' }]), /assistant\n$/)
})

t.test('a graph that appends in place supports batches and prefix reuse', async t => {
  const { tokens } = await readExpected('genai')
  const model = await (await openEngine(t)).load({ runDirectory: join(folder, 'genai'), slots: 3 })
  t.teardown(() => model.close())
  const requests = [40, 21, 5].map(length => greedy(tokens.slice(0, length), 16))
  const alone: (readonly number[])[] = []
  for (const request of requests) {
    alone.push((await collect(model.generate({ ...request, reusePrefix: false }))).tokens)
  }
  const together = await Promise.all(requests.map(request => collect(model.generate(request))))
  t.same(
    together.map(({ tokens }) => tokens),
    alone
  )
  t.ok(model.statistics().cachedPromptTokens > 0)
})

t.test('a graph that appends to a copy of the cache gets one slot, with a notice', async t => {
  const { tokens, continuation } = await readExpected('optimum')
  const notes: string[] = []
  const engine = await openEngine(t, { onNote: note => void notes.push(note) })
  const model = await engine.load({ runDirectory: join(folder, 'optimum'), slots: 4 })
  t.teardown(() => model.close())
  t.equal(model.capacity().slots, 1)
  t.match(notes.at(-1), /one sequence at a time/)
  const both = await Promise.all([0, 1].map(() => collect(model.generate(greedy(tokens, continuation.length)))))
  t.same(
    both.map(({ tokens }) => tokens),
    [continuation, continuation]
  )
})

/** Returns a writable copy of an export. */
async function copyOf(t: Parameters<typeof temporaryFolder>[0], name: string): Promise<string> {
  const copy = join(await temporaryFolder(t), name)
  await cp(join(folder, name), copy, { recursive: true })
  return copy
}

t.test('rejects an unsupported part of an export by name', async t => {
  const engine = await openEngine(t)
  const runDirectory = await copyOf(t, 'genai')
  const load = (options: Partial<LoadOptions> = {}) => engine.load({ runDirectory, ...options })
  await t.rejects(load({ quantization: 'q8' }), { code: 'INF_OPTION_INVALID', message: /quantization is q8.*none/ })

  await writeFile(join(runDirectory, 'adapter_manifest.json'), JSON.stringify({ rank: 4, alpha: 4 }))
  await t.rejects(load(), { code: 'INF_ADAPTER_INVALID', message: /is an exported graph/ })
  const base = await load({ adapter: false })
  await base.close()
  await rm(join(runDirectory, 'adapter_manifest.json'))

  const data = join(runDirectory, 'model.onnx.data')
  await rm(data)
  await t.rejects(load(), { code: 'INF_RUN_DIR_FILE_MISSING', at: { file: data } })
  await writeFile(join(runDirectory, 'model.onnx'), 'no model')
  await t.rejects(load(), { code: 'INF_RUN_DIR_MALFORMED', message: /is not an ONNX model/ })
  await rm(join(runDirectory, 'model.onnx'))
  await t.rejects(load(), { code: 'INF_RUN_DIR_FILE_MISSING', message: /model\.onnx is missing/ })
})

type Type = 'float32' | 'float16' | 'int64'

/** Returns a graph with the inputs and outputs of a decoder, plus `extra` and minus `without`. */
function graphOf(extra: Readonly<Record<string, Type>> = {}, without: readonly string[] = []): OnnxGraph {
  const graph = new OnnxGraph('test')
  const inputs = {
    input_ids: 'int64',
    'past_key_values.0.key': 'float32',
    'past_key_values.0.value': 'float32',
    ...extra
  }
  for (const [name, type] of Object.entries(inputs)) graph.input(name, type as Type, ['a', 1, 'c', 16])
  for (const name of ['logits', 'present.0.key', 'present.0.value']) {
    if (!without.includes(name)) graph.output(name, 'float32', ['a', 1, 'c', 16])
  }
  for (const half of ['key', 'value']) graph.node('Identity', [`past_key_values.0.${half}`], `present.0.${half}`)
  if (!without.includes('node of logits')) graph.node('Cast', ['input_ids'], 'logits', { to: 1 })
  return graph
}

const half = { 'past_key_values.0.key': 'float16', 'past_key_values.0.value': 'float16' } as const

for (const [what, graph, says] of [
  ['an unknown input', graphOf({ use_cache_branch: 'int64' }), /input "use_cache_branch"/],
  ['no logits', graphOf({}, ['logits']), /output logits is missing; outputs: /],
  ['a past without a matching output', graphOf({}, ['present.0.value']), /output present\.0\.value is missing/],
  ['outputs that nothing computes', graphOf({}, ['node of logits']), /output "logits"/],
  ['an integer cache', graphOf({ 'past_key_values.0.key': 'int64' }), /past_key_values\.0\.key: element type 7/],
  ['a cache of two types', graphOf({ 'past_key_values.0.value': 'float16' }), /0\.value: element type 10/],
  ['a half-precision cache on the CPU', graphOf(half), /past_key_values in float16 .* cpu/]
] as const) {
  t.test(`a graph with ${what} is rejected`, async t => {
    const runDirectory = await copyOf(t, 'genai')
    await writeFile(join(runDirectory, 'model.onnx'), graph.toBytes())
    const engine = await openEngine(t)
    await t.rejects(engine.load({ runDirectory }), { code: 'INF_ARCHITECTURE_UNSUPPORTED', message: says })
  })
}

t.test('weights outside the run directory are rejected', async t => {
  const runDirectory = await copyOf(t, 'genai')
  for (const location of ['../secret', '/etc/passwd']) {
    const graph = graphOf()
    graph.external({ name: 'w', shape: [1], location, offset: 0, byteLength: 4 })
    await writeFile(join(runDirectory, 'model.onnx'), graph.toBytes())
    const engine = await openEngine(t)
    await t.rejects(engine.load({ runDirectory }), { code: 'INF_RUN_DIR_PATH_UNSAFE', message: location })
  }
})

t.test('a truncated graph causes an error, not a crash', async t => {
  const bytes = await readFile(join(folder, 'genai', 'model.onnx'))
  for (let length = 1; length < bytes.length; length += 97) {
    try {
      readOnnx(bytes.subarray(0, length))
      t.fail(`${length} bytes were accepted as a complete model`)
    } catch (error) {
      if (!(error instanceof Error)) throw error
    }
  }
  t.ok(readOnnx(bytes).nodes.length > 10)
})

t.test('the configuration may name a graph in a subfolder', async t => {
  const runDirectory = await copyOf(t, 'genai')
  await mkdir(join(runDirectory, 'cpu'))
  for (const name of ['model.onnx', 'model.onnx.data']) {
    await cp(join(runDirectory, name), join(runDirectory, 'cpu', name))
    await rm(join(runDirectory, name))
  }
  const file = join(runDirectory, 'genai_config.json')
  const configuration = JSON.parse(await readFile(file, 'utf8'))
  configuration.model.decoder.filename = 'cpu/model.onnx'
  await writeFile(file, JSON.stringify(configuration))
  const { tokens, continuation } = await readExpected('genai')
  const model = await (await openEngine(t)).load({ runDirectory })
  t.teardown(() => model.close())
  t.same((await collect(model.generate(greedy(tokens, 4)))).tokens, continuation.slice(0, 4))
})

t.test('a graph with damaged bytes is either read or causes a typed error', async t => {
  const bytes = await readFile(join(folder, 'genai', 'model.onnx'))
  const damage = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(damage, changes => {
        const damaged = Uint8Array.from(bytes)
        for (const [at, value] of changes) damaged[at] = value
        try {
          return readOnnx(damaged).nodes.length >= 0
        } catch (error) {
          return error instanceof Error && !(error instanceof TypeError)
        }
      }),
      { numRuns: 150 }
    )
  )
})
