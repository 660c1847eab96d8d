/**
 * Cost of adapters: tokens per second of CPU time on one thread, for eight sequences, four, and one. The model has 88
 * million random weights. Up to 4 adapters are in use, of rank 16 on every projection. Sequences of different adapters
 * share their runs; for comparison, the same sequences are also computed by adapter, one adapter after the other.
 *
 * Rounds measure all cases in rotation, on one loaded model; the median of all rounds is reported. Without an adapter,
 * the loaded model is measured, which adapters do not change.
 *
 *   node --import tsx --conditions=svc-source bench/adapters.ts [--rounds N] [--quantization none|q8|q4]
 */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { LoadedModel, Quantization } from '../contracts/src/inference/engine.ts'
import { OnnxEngine } from '../plugins/inference-onnx/src/engine.ts'
import { figureOf, ratioOf, withRange } from './figures.ts'
import { bundledModel, scratch } from './inference/peers.ts'
import { type RandomShape, smallShape, writeRandomModel } from './inference/random-model.ts'
import { isSmoke } from './smoke-mode.ts'

const RANK = 16
const SEQUENCES = 8
const NAMES = ['a', 'b', 'c', 'd'] as const
const TOKENS = isSmoke ? 2 : 24
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '8' }, quantization: { type: 'string', default: 'none' } }
})
/** A smoke run uses a model of a few megabytes. */
const shape: RandomShape = isSmoke
  ? { hidden: 128, layers: 2, heads: 2, keyValueHeads: 1, headSize: 64, intermediate: 256, vocabulary: 2048 }
  : smallShape
const size = isSmoke ? 'smoke' : '88M'
const runDirectory = join(scratch, 'models', `random-${size}-adapters`)
if (!existsSync(join(runDirectory, 'model.safetensors'))) await writeRandomModel(runDirectory, bundledModel, shape)

/** Writes an adapter in PEFT format for every projection of every layer. */
async function writeAdapter(name: string, seed: number): Promise<string> {
  const folder = join(scratch, 'models', `adapter-${size}-${name}`)
  const { hidden, intermediate, heads, keyValueHeads, headSize, layers } = shape
  const shapes: Readonly<Record<string, readonly [outputs: number, inputs: number]>> = {
    'self_attn.q_proj': [heads * headSize, hidden],
    'self_attn.k_proj': [keyValueHeads * headSize, hidden],
    'self_attn.v_proj': [keyValueHeads * headSize, hidden],
    'self_attn.o_proj': [hidden, heads * headSize],
    'mlp.gate_proj': [intermediate, hidden],
    'mlp.up_proj': [intermediate, hidden],
    'mlp.down_proj': [hidden, intermediate]
  }
  const header: Record<string, object> = {}
  const parts: Buffer[] = []
  let offset = 0
  for (let layer = 0; layer < layers; layer++) {
    for (const [module, [outputs, inputs]] of Object.entries(shapes)) {
      for (const [half, shape] of [
        ['A', [RANK, inputs]],
        ['B', [outputs, RANK]]
      ] as const) {
        const data = Float32Array.from({ length: shape[0] * shape[1] }, (_, i) => 0.02 * Math.sin(i * seed + offset))
        header[`base_model.model.model.layers.${layer}.${module}.lora_${half}.weight`] = {
          dtype: 'F32',
          shape,
          data_offsets: [offset, offset + data.byteLength]
        }
        offset += data.byteLength
        parts.push(Buffer.from(data.buffer))
      }
    }
  }
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.byteLength))
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'adapter_model.safetensors'), Buffer.concat([length, text, ...parts]))
  const configuration = { peft_type: 'LORA', r: RANK, lora_alpha: 2 * RANK, target_modules: 'all-linear' }
  await writeFile(join(folder, 'adapter_config.json'), JSON.stringify(configuration))
  return folder
}

/** Adapters of the sequences that are computed at the same time; groups follow one another. */
type Groups = readonly (readonly (string | undefined)[])[]

/** Measures the CPU time of all sequences, in milliseconds. */
async function measure(model: LoadedModel, groups: Groups, count: number): Promise<number> {
  const began = process.cpuUsage()
  for (const adapters of groups) {
    await Promise.all(
      adapters.map(async (adapter, i) => {
        const tokens = Array.from({ length: 8 }, (_, at) => 10 + 7 * at + i)
        const request = { tokens, maxTokens: count, ignoreEos: true, sampling: { temperature: 0 }, reusePrefix: false }
        for await (const _ of model.generate({ ...request, ...(adapter === undefined ? {} : { adapter }) }));
      })
    )
  }
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1000
}

const engine = new OnnxEngine({ cacheDirectory: join(scratch, 'adapters-cache'), threads: 1, speculation: 0 })
const quantization = values.quantization as Quantization
const model = await engine.load({ runDirectory, slots: SEQUENCES, quantization })
const before = process.memoryUsage().rss
for (const [index, name] of NAMES.entries()) {
  await model.adapters?.add({ name, directory: await writeAdapter(name, index + 1) })
}
const { rss } = process.memoryUsage()
const repeated = (adapters: readonly (string | undefined)[], times: number) => Array(times).fill(adapters).flat()
const cases: Readonly<Record<string, Groups>> = {
  '8 sequences, none in use (as merged)': [repeated([undefined], 8)],
  '8 sequences, 1 adapter in use': [repeated(['a'], 8)],
  '8 sequences, 4 adapters in use': [repeated(NAMES, 2)],
  '8 sequences, 4 adapters, one after the other': NAMES.map(name => [name, name]),
  '8 sequences, 4 of them with different adapters': [[...NAMES, undefined, undefined, undefined, undefined]],
  '4 sequences, none in use (as merged)': [repeated([undefined], 4)],
  '4 sequences, 1 adapter in use': [repeated(['a'], 4)],
  '4 sequences, 2 adapters in use': [repeated(['a', 'b'], 2)],
  '4 sequences, 2 adapters, one after the other': [
    ['a', 'a'],
    ['b', 'b']
  ],
  '1 sequence, none in use (as merged)': [[undefined]],
  '1 sequence, 1 adapter in use': [['a']]
}
/** Milliseconds of the tokens after the first, by case and round. */
const times = new Map<string, number[]>()
for (let round = 0; round <= Number(values.rounds); round++) {
  for (const [name, groups] of Object.entries(cases)) {
    const first = await measure(model, groups, 1)
    const whole = await measure(model, groups, 1 + TOKENS)
    // The first round allocates memory.
    if (round > 0) times.set(name, [...(times.get(name) ?? []), whole - first])
  }
}
const timesOf = (name: string | undefined) => times.get(name ?? '') ?? []
for (const [name, groups] of Object.entries(cases)) {
  const count = groups.flat().length
  const merged = Object.keys(cases).find(each => each.startsWith(`${count} `))
  const speed = figureOf(timesOf(name).map(time => (count * TOKENS * 1000) / time))
  console.log(`${name}: ${withRange(speed)} tokens/s, ${withRange(ratioOf(timesOf(merged), timesOf(name)), 'x')}`)
}
const mega = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`
const factors = model.adapters?.list().reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) ?? 0
console.log(`resident before the first adapter ${mega(before)}, with four ${mega(rss)}; factors ${mega(factors)}`)
await model.close()
await engine.close()
