/**
 * CPU time of short prompts in one run and in separate runs, and of a chunk of a prompt with and without the next tokens of
 * other sequences, on one thread. The model has 88 million random weights. The figures decide which prompts share a run;
 * see docs/decisions/0021-short-prompts-share-a-run.md.
 *
 * Rounds alternate between the cases; the median of all rounds is reported.
 *
 *   node --import tsx --conditions=svc-source bench/prompt-groups.ts [--rounds N] [--quantization none|q8|q4]
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Quantization } from '../contracts/src/inference/engine.ts'
import { DecoderSession } from '../plugins/inference-onnx/src/decoder-session.ts'
import { OnnxEngine } from '../plugins/inference-onnx/src/engine.ts'
import { figureOf, ratioOf, withRange } from './figures.ts'
import { bundledModel, scratch } from './inference/peers.ts'
import { writeRandomModel } from './inference/random-model.ts'
import { isSmoke } from './smoke-mode.ts'

const DECODING = 8
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, quantization: { type: 'string', default: 'q8' } }
})
const random = join(scratch, 'models', 'random-88M-adapters')
const runDirectory = isSmoke ? bundledModel : random
if (!existsSync(join(runDirectory, 'model.safetensors'))) await writeRandomModel(runDirectory, bundledModel)

let session: DecoderSession | undefined
const { open } = DecoderSession
DecoderSession.open = async options => {
  session = await open.call(DecoderSession, options)
  return session
}
const engine = new OnnxEngine({ cacheDirectory: join(scratch, 'adapters-cache'), threads: 1, device: 'cpu' })
const model = await engine.load({ runDirectory, slots: 16, quantization: values.quantization as Quantization })
const decoder = session as DecoderSession | undefined
if (decoder === undefined) throw new Error('the engine opened no session')
await decoder.reserve(512, [])

const tokens = (length: number, first: number) => Array.from({ length }, (_, i) => 10 + ((7 * i + 31 * first) % 1000))

/** Reads prompts in one run, into rows from `row` on. */
const read = (count: number, length: number, row = 0) =>
  decoder.run({
    row,
    spans: Array.from({ length: count }, (_, i) => ({ tokens: tokens(length, row + i), position: 0 })),
    wanted: 'last',
    weights: Array(count).fill(null)
  })

async function separately(count: number, length: number): Promise<void> {
  for (let row = 0; row < count; row++) await read(1, length, row)
}

/** Computes the next token of several sequences. */
const decode = (count: number) =>
  decoder.run({
    row: 1,
    spans: Array.from({ length: count }, (_, i) => ({ tokens: [10 + i], position: 64 })),
    wanted: 'last',
    weights: Array(count).fill(null)
  })

/** Measures CPU time in milliseconds. */
async function measure(work: () => Promise<unknown>): Promise<number> {
  const began = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1000
}

type Case = readonly [name: string, separate: () => Promise<unknown>, together: () => Promise<unknown>]
const prompts = (count: number, length: number): Case => [
  `${count} prompts of ${length} tokens`,
  () => separately(count, length),
  () => read(count, length)
]
const mixed = (length: number): Case => [
  `chunk of ${length} tokens and ${DECODING} next tokens`,
  async () => {
    await read(1, length)
    await decode(DECODING)
  },
  // The attention operator refuses such a run; a longer chunk has the same number of tokens.
  () => read(1, length + DECODING)
]
const cases = [prompts(8, 8), prompts(8, 16), prompts(8, 64), prompts(4, 128), mixed(64), mixed(256)]
const times = new Map<string, { separate: number[]; together: number[] }>()
for (let round = 0; round <= Number(values.rounds); round++) {
  for (const [name, separate, together] of cases) {
    const taken = { separate: await measure(separate), together: await measure(together) }
    // The first round allocates memory.
    if (round === 0) continue
    const all = times.get(name) ?? { separate: [], together: [] }
    times.set(name, { separate: [...all.separate, taken.separate], together: [...all.together, taken.together] })
  }
}
for (const [name, { separate, together }] of times) {
  const ratio = withRange(ratioOf(separate, together), 'x')
  console.log(
    `${name}: separate ${withRange(figureOf(separate))} ms, one run ${withRange(figureOf(together))} ms, ${ratio}`
  )
}
await model.close()
await engine.close()
