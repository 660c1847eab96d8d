import { join } from 'node:path'
import t from 'tap'
import { CachePool } from '#batching'
import { precisionOf } from '#device'
import { buildDecoder, type Precision } from '#onnx'
import { DeviceRuntime, findLibrary, type Koffi, NativeRuntime, OrtApi, ownRequire } from '#ort'
import { DecoderSession, parseModelConfig, readRunDirectory } from '#root'
import { prepareWeights } from '#weights'
import { cpuTarget } from './support/cpu-target.ts'
import { families, familyDirectory } from './support/families.ts'
import { fixtures, openEngine, temporaryFolder } from './support/models.ts'

t.test("CUDA uses the checkpoint's half precision, and other devices float32 by default", async t => {
  t.equal(precisionOf('cuda:0', 'BF16', 'auto'), 'bfloat16')
  t.equal(precisionOf('cuda:1', 'F16', 'auto'), 'float16')
  t.equal(precisionOf('cuda:0', 'F32', 'auto'), 'float16')
  t.equal(precisionOf('cuda:0', 'F32', 'bfloat16'), 'bfloat16')
  t.equal(precisionOf('webgpu', 'BF16', 'auto'), 'float32')
  t.equal(precisionOf('webgpu', 'BF16', 'float16'), 'float16')
  t.equal(precisionOf('cpu', 'BF16', 'float16'), 'float32')
})

function api(): OrtApi {
  return new OrtApi(ownRequire()('koffi') as Koffi, findLibrary(ownRequire()))
}

/** Returns the logits of two sequences, which are read one after the other, moved, and continued in one run. */
async function logits(
  t: { teardown(run: () => Promise<void>): void },
  runDirectory: string,
  precision: Precision,
  capture = false
): Promise<Float32Array> {
  const directory = await readRunDirectory(runDirectory, { adapter: true })
  const config = parseModelConfig(join(runDirectory, 'config.json'), directory.configuration, directory.generation)
  const prepared = await prepareWeights({
    directory,
    config,
    digest: 'test',
    quantization: 'none',
    keepHalf: precision !== 'float32',
    runtime: new NativeRuntime(api()),
    threads: 1,
    cacheDirectory: await temporaryFolder(t),
    onProgress: () => {},
    onUncached: () => {}
  })
  const runtime = await DeviceRuntime.open(api(), cpuTarget, { capture })
  const session = await runtime.createSession({
    model: buildDecoder(config, prepared.weights, 64, { precision }),
    weights: prepared.external,
    threads: 1
  })
  const cache = new CachePool({ runtime, config, slots: 2, contextLength: 64, precision })
  const decoder = new DecoderSession({ runtime, session, config, cache, chunk: 16, logitRows: 2 })
  await decoder.reserve(64, [])
  const read = (row: number, tokens: number[]) => decoder.run({ row, spans: [{ tokens, position: 0 }], wanted: 'last' })
  await read(0, [9, 8, 7, 6, 5])
  await read(1, [4, 3, 2])
  await cache.swap([0, 1], [5, 3])
  const spans = [
    { tokens: [11], position: 3 },
    { tokens: [12], position: 5 }
  ]
  const result = (await decoder.run({ row: 0, spans, wanted: 'last' })).slice()
  await decoder.close()
  await runtime.close()
  return result
}

for (const name of ['qwen2-tiny', 'llama-tiny-bf16']) {
  t.test(`${name}: half precision, with a half-precision cache, gives nearly the same logits`, async t => {
    const runDirectory = join(fixtures, name)
    const [wide, half] = [await logits(t, runDirectory, 'float32'), await logits(t, runDirectory, 'float16')]
    const peak = wide.reduce((max, value) => Math.max(max, Math.abs(value)), 0)
    const error = wide.reduce((max, value, index) => Math.max(max, Math.abs(value - (half[index] as number))), 0)
    t.ok(error > 0, 'something was rounded')
    t.ok(error < 0.02 * peak, `${error} of ${peak}`)
    const engine = await openEngine(t)
    const model = await engine.load({ runDirectory, device: 'cpu' })
    const [first, second] = [await model.logits([4, 3, 2, 11]), await model.logits([9, 8, 7, 6, 5, 12])]
    const reference = [...(first.at(-1) ?? []), ...(second.at(-1) ?? [])]
    const wrong = reference.reduce((max, value, index) => Math.max(max, Math.abs(value - (wide[index] as number))), 0)
    t.ok(wrong < 1e-3, 'float32 gives the same logits as on the CPU')
    await model.close()
  })
}

t.test('passing the capacity instead of the total length, as captures do, does not change the result', async t => {
  // This device does not capture runs, but reads all inputs on the host.
  for (const precision of ['float32', 'float16'] as const) {
    const runDirectory = join(fixtures, 'qwen2-tiny')
    const as = async (capture: boolean) => [...(await logits(t, runDirectory, precision, capture))]
    t.same(await as(true), await as(false), precision)
  }
})

// Linear attention is only supported on the CPU, in float32.
for (const name of families.filter(name => name !== 'qwen3_5')) {
  t.test(`${name} gives nearly the same logits in half precision`, async t => {
    const runDirectory = await familyDirectory(t, name, { dtype: 'BF16' })
    const [wide, half] = [await logits(t, runDirectory, 'float32'), await logits(t, runDirectory, 'float16')]
    const peak = wide.reduce((max, value) => Math.max(max, Math.abs(value)), 0)
    const error = wide.reduce((max, value, index) => Math.max(max, Math.abs(value - (half[index] as number))), 0)
    t.ok(error > 0 && error < 0.02 * peak, `${error} of ${peak}`)
  })
}
