import { join } from 'node:path'
import type { Quantization } from '@svc/contracts'
import t from 'tap'
import { linear, OnnxGraph } from '#onnx'
import { openRuntime, ownRequire } from '#ort'
import { chooseQuantization } from '#root'
import { seededRandom } from '#sampling'
import { memorySink, openEncoder, PackedLayout } from '#weights'
import { collect, greedy, loadModel, models, openEngine, readExpected } from './support/models.ts'

const quantized = ['q8', 'q4'] as const

function numbers(count: number, seed: number, scale = 1): Float32Array {
  const random = seededRandom(seed)
  return Float32Array.from({ length: count }, () => (random() + random() + random() - 1.5) * scale)
}

/** Packs the weights of a projection, whose rows arrive in parts, and runs it. */
async function project(
  quantization: Quantization,
  weight: Float32Array,
  input: Float32Array,
  [rows, inputs, outputs]: readonly [number, number, number],
  transposedBytes?: number
): Promise<Float32Array> {
  const layout = new PackedLayout('packed')
  const entry = {
    name: 'w',
    dtype: 'F32',
    shape: [outputs, inputs],
    file: '',
    offset: 0,
    byteLength: weight.byteLength
  } as const
  const packed = layout.weight('w', [{ entry, update: null }], quantization)
  const sink = memorySink(layout.byteLength)
  const [place] = layout.tensors
  const encode = openEncoder(place!, sink, transposedBytes)
  const step = 7 * inputs
  for (let first = 0; first < weight.length; first += step) await encode(weight.slice(first, first + step))
  const graph = new OnnxGraph('projection')
  graph.input('x', 'float32', ['rows', 'in'])
  linear(graph, 'y', 'x', { weight: packed, bias: null })
  graph.output('y', 'float32', ['rows', 'out'])
  const runtime = openRuntime('native', ownRequire(), () => {})
  const session = await runtime.createSession({
    model: graph.toBytes(),
    weights: { folder: import.meta.dirname, inMemory: new Map([['packed', sink.bytes]]) },
    threads: 1
  })
  const [x, y] = [runtime.host('float32', [rows, inputs]), runtime.host('float32', [rows, outputs])]
  x.data.set(input)
  const binding = session.bind({ x }, { y })
  await binding.run()
  const result = y.data.slice()
  binding.release()
  await session.close()
  await runtime.close()
  return result
}

function norm(values: Float32Array): number {
  return Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
}

for (const [quantization, bound] of [
  ['q8', 0.014],
  ['q4', 0.13]
] as const) {
  for (const [rows, inputs, outputs] of [
    [1, 128, 9],
    [5, 200, 33],
    [16, 640, 64]
  ] as const) {
    t.test(
      `${quantization}: the error of a projection from ${inputs} to ${outputs}, ${rows} rows, is below ${bound}`,
      async t => {
        const weight = numbers(inputs * outputs, 1, 0.05)
        const input = numbers(rows * inputs, 2)
        // One row is far larger than the others: its scale must not affect them.
        for (let i = 0; i < inputs; i++) input[i]! *= 1000
        const exact = await project('none', weight, input, [rows, inputs, outputs])
        const rounded = await project(quantization, weight, input, [rows, inputs, outputs])
        for (let row = 0; row < rows; row++) {
          const [wanted, got] = [exact, rounded].map(all => all.subarray(row * outputs, (row + 1) * outputs))
          const error = norm(got!.map((value, i) => value - wanted![i]!)) / norm(wanted!)
          t.ok(error < bound, `row ${row}: ${error}`)
        }
      }
    )
  }
}

t.test('q8: an outlier in a row hardly affects the precision of the other inputs', async t => {
  const [inputs, outputs] = [640, 48]
  const [weight, input] = [numbers(inputs * outputs, 9, 0.05), numbers(inputs, 10)]
  input[77] = 100
  const exact = await project('none', weight, input, [1, inputs, outputs])
  const rounded = await project('q8', weight, input, [1, inputs, outputs])
  // Without rotation, the outlier would set steps of 100 / 127: an error of 0.23 for each input.
  const usual = 0.23 * norm(weight)
  const error = norm(rounded.map((value, i) => value - exact[i]!))
  t.ok(error < usual * 0.3, `${error} instead of ${usual}`)
})

t.test('q8: a row has the same bits separately and in a batch', async t => {
  const [inputs, outputs] = [256, 96]
  const weight = numbers(inputs * outputs, 3)
  const input = numbers(8 * inputs, 4)
  const together = await project('q8', weight, input, [8, inputs, outputs])
  for (let row = 0; row < 8; row++) {
    const alone = await project('q8', weight, input.subarray(row * inputs, (row + 1) * inputs), [1, inputs, outputs])
    t.same(together.subarray(row * outputs, (row + 1) * outputs), alone)
  }
})

t.test('q8: the number of buffered strips does not change a tensor', async t => {
  const sizes = [3, 64, 50] as const
  const [weight, input] = [numbers(64 * 50, 5), numbers(3 * 64, 6)]
  const whole = await project('q8', weight, input, sizes)
  for (const bytes of [1, 64 * 7, 64 * 8, 64 * 49]) {
    t.same(await project('q8', weight, input, sizes, bytes), whole, `${bytes} bytes`)
  }
})

for (const quantization of quantized) {
  t.test(`${quantization}: a row of zeros stays zero, in the weight and in the input`, async t => {
    const [weight, input] = [numbers(128 * 4, 7), numbers(2 * 128, 8)]
    weight.fill(0, 128, 256)
    input.fill(0, 0, 128)
    const output = await project(quantization, weight, input, [2, 128, 4])
    t.same([...output.subarray(0, 4)], [0, 0, 0, 0])
    t.equal(output[5], 0)
    t.ok(output.every(Number.isFinite))
  })
}

/** Returns the mean of KL(F32 || quantised) over all positions, in nats. */
function divergence(exact: readonly Float32Array[], rounded: readonly Float32Array[]): number {
  const logSoftmax = (logits: Float32Array) => {
    const largest = Math.max(...logits)
    const logSum = Math.log(logits.reduce((sum, value) => sum + Math.exp(value - largest), 0)) + largest
    return logits.map(value => value - logSum)
  }
  const each = exact.map((logits, position) => {
    const [p, q] = [logSoftmax(logits), logSoftmax(rounded[position]!)]
    return p.reduce((sum, value, token) => sum + Math.exp(value) * (value - q[token]!), 0)
  })
  return each.reduce((a, b) => a + b, 0) / each.length
}

/** Bounds on the divergence. Errors of random weights spread over all logits, so they are higher than in real use. */
const bounds = {
  'qwen2-tiny': { q8: 0.02, q4: 0.6 },
  'llama-tiny-bf16': { q8: 0.02, q4: 0.6 },
  'vox-tiny': { q8: 0.01, q4: 0.3 }
} as const

for (const [name, bound] of Object.entries(bounds)) {
  for (const quantization of quantized) {
    t.test(`${name}, ${quantization}: predictions stay close to F32 with both runtimes`, async t => {
      const { prompts, runDirectory } = await readExpected(name)
      const { tokens } = prompts.at(-1)!
      const load = { name: runDirectory, quantization }
      const exact = await loadModel(t, { name: runDirectory, quantization: 'none' })
      const native = await loadModel(t, { ...load, engine: { runtime: 'native' } })
      const worker = await loadModel(t, { ...load, engine: { runtime: 'worker' } })
      t.match(native.info, { quantization, precision: quantization })
      t.match(exact.info, { quantization: 'none', precision: /^B?F(16|32)$/ })
      t.equal(native.info.parameters, exact.info.parameters)
      const logits = await native.logits(tokens)
      const kl = divergence(await exact.logits(tokens), logits)
      t.ok(kl < bound[quantization], `KL divergence ${kl}`)
      t.same(await worker.logits(tokens), logits)
      const texts = await Promise.all([native, worker].map(model => collect(model.generate(greedy(tokens, 12)))))
      t.same(texts[1]!.tokens, texts[0]!.tokens)
    })
  }
}

t.test('the quantised bundled model still generates valid programs', async t => {
  const { runDirectory: name } = await readExpected('vox-tiny')
  for (const quantization of quantized) {
    const model = await loadModel(t, { name, quantization })
    const prompt = model.renderChat([{ role: 'user', content: 'make a table of books with a title and a price' }])
    const request = { tokens: model.tokenize(prompt, { special: true }), maxTokens: 60, sampling: { temperature: 0 } }
    const { text } = await collect(model.generate(request))
    t.match(text, /^@table type Book \{\n {2}title: str\n {2}price: /, quantization)
  }
})

t.test('auto quantises only large models on the CPU', async t => {
  t.equal(chooseQuantization('auto', { parameters: 5e8, device: 'cpu' }), 'q8')
  t.equal(chooseQuantization('auto', { parameters: 4e6, device: 'cpu' }), 'none')
  t.equal(chooseQuantization('auto', { parameters: 5e8, device: 'cuda:0' }), 'none')
  t.equal(chooseQuantization('q4', { parameters: 4e6, device: 'cpu' }), 'q4')
})

t.test('the load option overrides the setting, and unknown values are rejected', async t => {
  const asked = await loadModel(t, { engine: { quantization: 'q4' }, quantization: 'none' })
  t.equal(asked.info.quantization, 'none')
  const set = await loadModel(t, { engine: { quantization: 'q4' } })
  t.equal(set.info.quantization, 'q4')
  const engine = await openEngine(t)
  const runDirectory = join(models, 'vox-tiny')
  await t.rejects(engine.load({ runDirectory, quantization: 'q5' as 'q4' }), {
    code: 'INF_OPTION_INVALID',
    message: /quantization is q5/
  })
})
