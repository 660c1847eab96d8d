import { join } from 'node:path'
import t from 'tap'
import { openToAdapters, readAdapterDirectory, readFactors } from '#adapters'
import { CachePool } from '#batching'
import { buildDecoder, type Precision } from '#onnx'
import { DeviceRuntime, findLibrary, type Koffi, NativeRuntime, OrtApi, ownRequire } from '#ort'
import { DecoderSession, parseModelConfig, readRunDirectory } from '#root'
import { assignUpdates, prepareWeights, TensorNames } from '#weights'
import { cpuTarget } from '../support/cpu-target.ts'
import { collect, fixtures, greedy, loadModel, openEngine, temporaryFolder } from '../support/models.ts'
import { webgpuProblem } from '../support/webgpu.ts'

/** Software drivers take seconds to compile the shaders of a model. */
t.setTimeout(300_000)
const problem = await webgpuProblem()
const runDirectory = join(fixtures, 'llama-tiny-bf16')
const peft = (name: string) => join(fixtures, 'peft', name)
const tokens = [9, 8, 7, 6, 5, 4, 3]

const difference = (a: Float32Array, b: Float32Array) => a.reduce((max, x, i) => Math.max(max, Math.abs(x - b[i]!)), 0)

t.test('adapters have the same results on WebGPU as on the CPU', problem === null ? {} : { skip: problem }, async t => {
  const cpu = await loadModel(t)
  const gpu = await (await openEngine(t, { runtime: 'native' })).load({ runDirectory, device: 'webgpu', slots: 2 })
  t.teardown(() => gpu.close())
  for (const name of ['patterns', 'all-linear']) {
    for (const model of [cpu, gpu]) await model.adapters?.add({ name, directory: peft(name) })
  }
  for (const adapter of ['patterns', 'all-linear', null]) {
    const [wanted, got] = [await cpu.logits(tokens, { adapter }), await gpu.logits(tokens, { adapter })]
    for (const [i, row] of got.entries()) t.ok(difference(row, wanted[i]!) < 1e-3, `${adapter} at ${i}`)
    const request = { ...greedy(tokens, 8), adapter }
    t.same((await collect(gpu.generate(request))).tokens, (await collect(cpu.generate(request))).tokens)
  }
})

/** Computes logits with and without an adapter, on the CPU treated as a device with this precision. */
async function logits(t: { teardown(run: () => Promise<void>): void }, precision: Precision): Promise<Float32Array[]> {
  const api = new OrtApi(ownRequire()('koffi') as Koffi, findLibrary(ownRequire()))
  const directory = await readRunDirectory(runDirectory, { adapter: false })
  const config = parseModelConfig(join(runDirectory, 'config.json'), directory.configuration, directory.generation)
  const prepared = await prepareWeights({
    directory,
    config,
    digest: 'test',
    quantization: 'none',
    keepHalf: precision !== 'float32',
    runtime: new NativeRuntime(api),
    threads: 1,
    cacheDirectory: await temporaryFolder(t),
    onProgress: () => {},
    onUncached: () => {}
  })
  const names = new TensorNames(name => directory.tensors.has(name))
  const { weights, sites } = openToAdapters(config, names, prepared.weights)
  const runtime = await DeviceRuntime.open(api, cpuTarget)
  const session = await runtime.createSession({
    model: buildDecoder(config, weights, 64, { precision }),
    weights: prepared.external,
    threads: 1
  })
  const cache = new CachePool({ runtime, config, slots: 1, contextLength: 64, precision })
  const decoder = new DecoderSession({ runtime, session, config, cache, chunk: 16, logitRows: 1 })
  await decoder.reserve(64, [])
  const results: Float32Array[] = []
  for (const name of [null, 'patterns', 'all-linear']) {
    const adapter = name === null ? null : await readAdapterDirectory(peft(name))
    const updates = adapter === null ? new Map() : assignUpdates(config, names, adapter)
    const factors = await readFactors(runtime, sites, updates)
    const variant = {}
    decoder.addVariant(variant, { session, inputs: factors.inputs })
    const spans = [{ tokens, position: 0 }]
    results.push((await decoder.run({ row: 0, spans, wanted: 'last', weights: [variant] })).slice())
    decoder.removeVariant(variant)
    factors.release()
  }
  await decoder.close()
  await runtime.close()
  return results
}

t.test('float32 factors can be added to float16 results', async t => {
  const [wanted, got] = [await logits(t, 'float32'), await logits(t, 'float16')]
  for (const [i, row] of got.entries()) {
    const largest = difference(row, wanted[i]!)
    t.ok(largest < 0.05, `largest difference is ${largest}`)
  }
  t.ok(
    difference(got[0]!, got[1]!) > 1 && difference(got[1]!, got[2]!) > 1,
    'adapters change the logits much more than rounding does'
  )
})
