import { join } from 'node:path'
import type { LoadedModel } from '@svc/contracts'
import t from 'tap'
import { OnnxGraph } from '#onnx'
import type { OrtSession, Runtime, Tensor } from '#ort'
import { collect, fixtures, greedy, models, openEngine } from '../support/models.ts'
import { openWebgpuRuntime, webgpuProblem } from '../support/webgpu.ts'

/** Software drivers take seconds to compile the shaders of a model. */
t.setTimeout(300_000)
const problem = await webgpuProblem()
const gpu = problem === null ? {} : { skip: problem }

/** Builds y = x + 1, for any four-dimensional shape. */
function increment(): Uint8Array {
  const graph = new OnnxGraph('increment')
  const shape = ['a', 'b', 'c', 'd']
  graph.node('Add', [graph.input('x', 'float32', shape), graph.scalar('one', 1)], 'y')
  graph.output('y', 'float32', shape)
  return graph.toBytes()
}

/** Copies numbers between the host and a device, and adds one each time. */
class Shuttle {
  readonly #runtime: Runtime
  readonly #session: OrtSession

  constructor(runtime: Runtime, session: OrtSession) {
    this.#runtime = runtime
    this.#session = session
  }

  async put(state: Tensor, value: (index: number) => number): Promise<void> {
    const host = this.#runtime.host('float32', state.shape)
    for (let index = 0; index < host.data.length; index++) host.data[index] = value(index) - 1
    await this.#run(host, state)
    host.release()
  }

  async get(state: Tensor): Promise<number[]> {
    const host = this.#runtime.host('float32', state.shape)
    await this.#run(state, host)
    host.release()
    return Array.from(host.data, value => value - 1)
  }

  async #run(x: Tensor, y: Tensor): Promise<void> {
    const binding = this.#session.bind({ x }, { y })
    await binding.run()
    binding.release()
  }
}

async function shuttle(t: {
  teardown(run: () => Promise<void>): void
}): Promise<{ runtime: Runtime; shuttle: Shuttle }> {
  const runtime = await openWebgpuRuntime()
  const session = await runtime.createSession({ model: increment(), weights: null, threads: 1 })
  t.teardown(async () => {
    await session.close()
    await runtime.close()
  })
  return { runtime, shuttle: new Shuttle(runtime, session) }
}

t.test('states on a device are initially zero, and keep what runs write', gpu, async t => {
  const { runtime, shuttle: numbers } = await shuttle(t)
  t.match(runtime.name, /webgpu/)
  const state = await runtime.state([2, 3, 5, 4])
  t.ok((await numbers.get(state)).every(value => value === 0))
  await numbers.put(state, index => index)
  t.same(
    await numbers.get(state),
    Array.from({ length: 120 }, (_, index) => index)
  )
  state.release()
})

t.test('only the requested positions are copied between states of different sizes', gpu, async t => {
  const { runtime, shuttle: numbers } = await shuttle(t)
  const [heads, size] = [2, 4]
  for (const [from, to, start, end] of [
    [24, 16, 3, 15],
    [16, 40, 0, 16],
    [7, 9, 2, 3],
    [128, 64, 8, 64]
  ] as const) {
    const source = await runtime.state([3, heads, from, size])
    const target = await runtime.state([2, heads, to, size])
    await numbers.put(source, index => index)
    await numbers.put(target, index => -index)
    await runtime.copy({ state: source, row: 2, start, end }, { state: target, row: 1 })
    const wanted = Array.from({ length: 2 * heads * to * size }, (_, index) => {
      const [offset, position] = [index % size, Math.floor(index / size) % to]
      const [head, row] = [Math.floor(index / size / to) % heads, Math.floor(index / size / to / heads)]
      if (row !== 1 || position < start || position >= end) return -index || 0
      return ((2 * heads + head) * from + position) * size + offset
    })
    t.same(await numbers.get(target), wanted, `${start} to ${end} of ${from} in ${to}`)
    source.release()
    target.release()
  }
})

t.test('rows of a state are read and written in place', gpu, async t => {
  const { runtime, shuttle: numbers } = await shuttle(t)
  const state = await runtime.state([3, 2, 4, 2])
  await numbers.put(state, index => index)
  for (const [start, count] of [
    [0, 2],
    [1, 2],
    [2, 1]
  ] as const) {
    const view = runtime.view(state, start, count)
    t.same(view.shape, [count, 2, 4, 2])
    t.same(
      await numbers.get(view),
      Array.from({ length: count * 16 }, (_, index) => start * 16 + index)
    )
    view.release()
  }
  const last = runtime.view(state, 2, 1)
  await numbers.put(last, index => -index)
  t.same(
    await numbers.get(state),
    Array.from({ length: 48 }, (_, index) => (index < 32 ? index : 32 - index))
  )
  last.release()
  state.release()
})

for (const [name, runDirectory] of [
  ['the bundled model', join(models, 'vox-tiny')],
  ['a model with biases and tied weights', join(fixtures, 'qwen2-tiny')]
] as const) {
  t.test(`${name} gives the same results on a device as on the CPU, separately and in a batch`, gpu, async t => {
    const engine = await openEngine(t)
    const open = (device: string): Promise<LoadedModel> => engine.load({ runDirectory, device, slots: 3 })
    const [cpu, device] = [await open('cpu'), await open('webgpu')]
    t.equal(device.info.device, 'webgpu')
    const prompts = [
      [9, 8, 7, 6, 5, 4, 3, 2, 9, 8, 7],
      [7, 9],
      [5, 6, 7, 8]
    ]
    const [wanted, got] = [await cpu.logits(prompts[0] as number[]), await device.logits(prompts[0] as number[])]
    const differences = wanted.flatMap((row, i) => [...row.map((value, j) => Math.abs(value - (got[i]?.[j] ?? 0)))])
    t.ok(differences.reduce((a, b) => Math.max(a, b)) < 1e-3, 'logits agree to 1e-3')
    const run = (model: LoadedModel) => Promise.all(prompts.map(prompt => collect(model.generate(greedy(prompt, 4)))))
    t.same(
      (await run(device)).map(({ tokens }) => tokens),
      (await run(cpu)).map(({ tokens }) => tokens)
    )
    await device.close()
    await cpu.close()
  })
}

t.test('added adapters give the same results on a device as on the CPU', gpu, async t => {
  const engine = await openEngine(t)
  const runDirectory = join(fixtures, 'llama-tiny-bf16')
  const directory = join(fixtures, 'peft', 'all-linear')
  const tokens = [9, 8, 7, 6]
  const rows: Float32Array[][] = []
  for (const device of ['cpu', 'webgpu']) {
    const model = await engine.load({ runDirectory, device, adapter: false })
    await model.adapters?.add({ name: 'late', directory })
    rows.push(await model.logits(tokens, { adapter: 'late' }), await model.logits(tokens, { adapter: null }))
    await model.close()
  }
  const [adapted, base, adaptedOnDevice, baseOnDevice] = rows as [
    Float32Array[],
    Float32Array[],
    Float32Array[],
    Float32Array[]
  ]
  const distance = (left: Float32Array[], right: Float32Array[]) =>
    Math.max(...left.flatMap((row, i) => [...row.map((value, j) => Math.abs(value - (right[i]?.[j] ?? 0)))]))
  t.ok(distance(adapted, adaptedOnDevice) < 1e-3)
  t.ok(distance(base, baseOnDevice) < 1e-3)
  t.ok(distance(adapted, base) > 1e-3, 'the adapter has an effect')
})

t.test('several models on one device do not interfere, even while an adapter is added', gpu, async t => {
  const engine = await openEngine(t)
  const load = (name: string) => engine.load({ runDirectory: join(fixtures, name), device: 'webgpu' })
  const [one, other] = [await load('llama-tiny-bf16'), await load('qwen2-tiny')]
  const run = async (model: LoadedModel) => (await collect(model.generate(greedy([9, 8, 7], 24)))).tokens
  const alone = [await run(one), await run(other)]
  for (let round = 0; round < 3; round++) {
    const adding = one.adapters?.add({ name: `late-${round}`, directory: join(fixtures, 'peft', 'patterns') })
    t.same(await Promise.all([run(one), run(other)]), alone)
    await adding
  }
  await Promise.all([one.close(), other.close()])
})

t.test('8-bit weights are supported only on the CPU', gpu, async t => {
  const engine = await openEngine(t)
  const load = { runDirectory: join(fixtures, 'qwen2-tiny'), device: 'webgpu' }
  await t.rejects(engine.load({ ...load, quantization: 'q8' }), {
    code: 'INF_OPTION_INVALID',
    message: /q8, which webgpu cannot/
  })
  const model = await engine.load({ ...load, quantization: 'q4' })
  t.equal((await collect(model.generate(greedy([9, 8], 4)))).tokens.length, 4)
  await model.close()
})
