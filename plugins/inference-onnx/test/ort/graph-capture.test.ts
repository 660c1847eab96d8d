import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { LoadedModel } from '@svc/contracts'
import t from 'tap'
import { addArgmax, OnnxGraph } from '#onnx'
import type { Runtime } from '#ort'
import { argmax } from '#sampling'
import { familyDirectory, readFamily } from '../support/families.ts'
import { collect, fixtures, greedy, openEngine } from '../support/models.ts'
import { openWebgpuRuntime, webgpuProblem } from '../support/webgpu.ts'

/** Software drivers take seconds to compile the shaders of a model. */
t.setTimeout(300_000)
const problem = await webgpuProblem()
const gpu = problem === null ? {} : { skip: problem }

interface Test {
  teardown(run: () => Promise<void>): void
}

/** Loads a model on the CPU and, with captures, on WebGPU. `notes`: notices about captures. */
async function pair(t: Test, runDirectory: string, slots: number) {
  const notes: string[] = []
  // On devices with subgroups of four threads, attention over 32 tokens in one run is wrong.
  const engine = await openEngine(t, { promptChunk: 16, speculation: 0, onNote: note => void notes.push(note) })
  const load = async (device: string): Promise<LoadedModel> => {
    const model = await engine.load({ runDirectory, device, slots })
    t.teardown(() => model.close())
    return model
  }
  return { cpu: await load('cpu'), device: await load('webgpu'), notes }
}

async function tokens(model: LoadedModel, prompt: readonly number[], count: number, adapter: string | null = null) {
  const { tokens: generated } = await collect(model.generate({ ...greedy(prompt, count), adapter }))
  return generated
}

t.test('captured runs give the same tokens as the CPU while sequences and the cache grow', gpu, async t => {
  const runDirectory = await familyDirectory(t, 'qwen3', {
    config: config => ({ ...config, max_position_embeddings: 1024 })
  })
  const { cpu, device, notes } = await pair(t, runDirectory, 1)
  const prompt = [9, 8, 7]
  t.same(await tokens(device, prompt, 40), await tokens(cpu, prompt, 40))
  // Beyond 512 positions, the cache is reallocated.
  const long = Array.from({ length: 500 }, (_, index) => 5 + ((index * 7) % 250))
  t.same(await tokens(device, long, 24), await tokens(cpu, long, 24))
  t.same(await tokens(device, prompt, 12), await tokens(cpu, prompt, 12), 'also after the reallocation')
  t.same(notes, [])
})

t.test('captured runs give the same tokens as the CPU in batches of changing size', gpu, async t => {
  const { cpu, device, notes } = await pair(t, join(fixtures, 'qwen2-tiny'), 3)
  const requests = [
    [[9, 8, 7, 6], 24],
    [[5, 4], 9],
    [[3, 30, 3, 30, 3], 16],
    [[11, 12, 13], 20]
  ] as const
  const run = (model: LoadedModel) => Promise.all(requests.map(([prompt, count]) => tokens(model, prompt, count)))
  const wanted = await run(cpu)
  // If one sequence of a batch samples, the others get their tokens from logits too.
  const drawn = { ...greedy([7, 7, 9], 12), sampling: { temperature: 0.7, topK: 4, seed: 5 } }
  const mixed = async (model: LoadedModel) => {
    const [one, other] = await Promise.all([collect(model.generate(drawn)), tokens(model, [9, 8, 7, 6], 12)])
    return [one.tokens, other]
  }
  t.same(await mixed(device), await mixed(cpu))
  for (const round of [1, 2]) t.same(await run(device), wanted, `round ${round}`)
  t.same(notes, [])
})

t.test('captured runs of adapters and of the base model do not interfere', gpu, async t => {
  const { cpu, device, notes } = await pair(t, join(fixtures, 'llama-tiny-bf16'), 2)
  const names = ['patterns', 'all-linear']
  for (const model of [cpu, device]) {
    for (const name of names) await model.adapters?.add({ name, directory: join(fixtures, 'peft', name) })
  }
  const run = async (model: LoadedModel) => {
    const results: (readonly number[])[] = []
    for (const name of [...names, null, ...names]) results.push(await tokens(model, [9, 8, 7, 6], 10, name))
    return results
  }
  t.same(await run(device), await run(cpu))
  t.same(notes, [])
})

t.test('a model with sliding windows is not captured, with one log line', gpu, async t => {
  const { cpu, device, notes } = await pair(t, await familyDirectory(t, 'mistral'), 1)
  t.match(notes, [/^Runs on webgpu are not captured \(device_graphs\): the model has sliding windows$/])
  const [prompt] = await readFamily('mistral')
  t.same(await tokens(device, prompt!.tokens, 16), await tokens(cpu, prompt!.tokens, 16))
})

t.test('a 4-bit model is captured, with and without a separate head, in half and full precision', gpu, async t => {
  for (const name of ['qwen2-tiny', 'llama-tiny-bf16']) {
    const results: (readonly number[])[] = []
    const notes: string[] = []
    for (const graphs of ['auto', 'off'] as const) {
      const engine = await openEngine(t, { gpu: { graphs }, onNote: note => void notes.push(note) })
      const model = await engine.load({ runDirectory: join(fixtures, name), device: 'webgpu', quantization: 'q4' })
      results.push(await tokens(model, [9, 8, 7], 12))
      await model.close()
    }
    t.same(results[0], results[1], name)
    t.same(notes, [])
  }
})

const shape = [1, 2, 4]
const identity = new Uint8Array(Float32Array.from({ length: 16 }, (_, i) => (i % 5 === 0 ? 1 : 0)).buffer)

/** Builds out = x + x. */
function double(): Uint8Array {
  const graph = new OnnxGraph('double')
  const x = graph.input('x', 'float32', ['a', 'b', 'c'])
  graph.node('Add', [x, x], 'out')
  graph.output('out', 'float32', ['a', 'b', 'c'])
  return graph.toBytes()
}

/** Builds the same model with an operator that WebGPU does not support. */
function doubleOnHost(): Uint8Array {
  const graph = new OnnxGraph('double')
  const x = graph.input('x', 'float32', ['a', 'b', 'c'])
  graph.node(
    'Add',
    [graph.contrib('FusedMatMul', [x, graph.constant('e', 'float32', [4, 4], identity)], ['same']), x],
    'out'
  )
  graph.output('out', 'float32', ['a', 'b', 'c'])
  return graph.toBytes()
}

/** Builds an attention whose heads are too narrow for a capture, which fails at the first run. */
function narrowAttention(): Uint8Array {
  const graph = new OnnxGraph('narrow')
  const x = graph.input('x', 'float32', shape)
  graph.contrib('MultiHeadAttention', [x, x, x], ['out'], { num_heads: 2 })
  graph.output('out', 'float32', shape)
  return graph.toBytes()
}

/** Returns the outputs of a model for inputs that change in each run. */
async function runs(runtime: Runtime, model: Uint8Array, count: number): Promise<number[][]> {
  const session = await runtime.createSession({ model, weights: null, threads: 1 })
  const [x, out] = [runtime.host('float32', shape), runtime.host('float32', shape)]
  const binding = session.bind({ x }, { out }, { bounds: {} })
  const results: number[][] = []
  for (let run = 0; run < count; run++) {
    for (let index = 0; index < x.data.length; index++) x.data[index] = run - index
    await binding.run()
    results.push(Array.from(out.data, value => Number(value.toFixed(4))))
  }
  binding.release()
  await session.close()
  x.release()
  out.release()
  return results
}

const wanted = Array.from({ length: 8 }, (_, run) => Array.from({ length: 8 }, (_, index) => 2 * (run - index)))

t.test('each run reads current inputs and writes current outputs in host memory', gpu, async t => {
  const notes: string[] = []
  const runtime = await openWebgpuRuntime({ capture: true, onUncaptured: note => void notes.push(note) })
  t.teardown(() => runtime.close())
  t.same(await runs(runtime, double(), 8), wanted)
  t.same(notes, [])
})

t.test('a model that the provider cannot capture runs without capture', gpu, async t => {
  const notes: string[] = []
  const runtime = await openWebgpuRuntime({ capture: true, onUncaptured: note => void notes.push(note) })
  t.teardown(() => runtime.close())
  t.same(await runs(runtime, doubleOnHost(), 5), wanted.slice(0, 5))
  t.match(notes, [/graph capture/])
})

t.test('if an operator cannot be captured, the session is created again without capture', gpu, async t => {
  const notes: string[] = []
  const capture = await openWebgpuRuntime({ capture: true, onUncaptured: note => void notes.push(note) })
  const plain = await openWebgpuRuntime()
  t.teardown(async () => {
    await capture.close()
    await plain.close()
  })
  t.same(await runs(capture, narrowAttention(), 5), await runs(plain, narrowAttention(), 5))
  t.match(notes, [/Graph capture not implemented/])
})

t.test('in a tie of logits, the argmax is the smallest id, as on the host', gpu, async t => {
  const graph = new OnnxGraph('argmax')
  const scale = graph.scalar('scale', 2)
  addArgmax(graph, graph.node('Mul', [graph.input('x', 'float32', ['n', 'v']), scale], 'logits'), 'n')
  const runtime = await openWebgpuRuntime({ capture: true })
  t.teardown(() => runtime.close())
  const session = await runtime.createSession({ model: graph.toBytes(), weights: null, threads: 1 })
  const [x, best] = [runtime.host('float32', [3, 4099]), runtime.host('int64', [3, 1])]
  const binding = session.bind({ x }, { argmax: best }, { bounds: {} })
  for (const start of [5, 0, 4090, 300]) {
    x.data.fill(-1)
    for (const row of [0, 1, 2]) for (const step of [0, 1, 4]) x.data[row * 4099 + start + row + step] = 3
    await binding.run()
    t.same([...best.data].map(Number), [start, start + 1, start + 2])
    t.same(
      [0, 1, 2].map(row => argmax(x.data.subarray(row * 4099, (row + 1) * 4099))),
      [start, start + 1, start + 2]
    )
  }
  binding.release()
  await session.close()
})

t.test('runs are replayed, not only captured', gpu, async t => {
  // At this log level, ONNX Runtime logs every replay.
  const script = join(import.meta.dirname, '../support/verbose-capture.ts')
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [...process.execArgv.filter(argument => !argument.startsWith('--test')), script],
    { maxBuffer: 2 ** 24 }
  )
  t.equal(stdout.trim(), 'done')
  const replayed = stderr.split('\n').filter(line => line.includes('Replaying the captured'))
  // Of eight runs, two are ordinary and the third is captured.
  t.equal(replayed.length, 5)
})
