import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { familyDirectory, readFamily } from '../support/families.ts'
import { collect, fixtures, greedy, openEngine } from '../support/models.ts'

const folder = join(fixtures, 'gguf')
const TOLERANCE = 2e-4

/** Settings that the format cannot represent, as llama.cpp reads them. */
const expressible: Readonly<Record<string, (config: Record<string, any>) => Record<string, any>>> = {
  llama3: config => config,
  qwen2: config => ({ ...config, use_sliding_window: false, layer_types: null }),
  qwen3: config => config,
  gemma2: config => ({ ...config, query_pre_attn_scalar: config.head_dim }),
  gemma3: config => ({ ...config, query_pre_attn_scalar: config.head_dim }),
  'phi3-longrope': config => config,
  qwen3_5: config => config
}

function difference(one: readonly Float32Array[], other: readonly Float32Array[]): number {
  return Math.max(...one.map((row, index) => Math.max(...row.map((value, id) => Math.abs(value - other[index]![id]!)))))
}

for (const [name, config] of Object.entries(expressible)) {
  t.test(`${name}: a GGUF file gives the logits and tokens of the checkpoint from which it was made`, async t => {
    const engine = await openEngine(t)
    const checkpoint = await engine.load({ runDirectory: await familyDirectory(t, name, { config }) })
    const model = await engine.load({ runDirectory: join(folder, `${name}.gguf`) })
    for (const { tokens, greedy: continuation } of await readFamily(name)) {
      const [wanted, found] = [await checkpoint.logits(tokens), await model.logits(tokens)]
      const largest = difference(wanted, found)
      t.ok(largest < TOLERANCE, `the largest difference is ${largest}`)
      const request = greedy(tokens, continuation.length)
      t.same((await collect(model.generate(request))).tokens, (await collect(checkpoint.generate(request))).tokens)
    }
    t.equal(model.info.format, 'gguf')
    t.equal(model.info.precision, 'BF16')
    t.equal(model.info.quantization, 'none')
    t.equal(model.info.parameters, checkpoint.info.parameters)
    await checkpoint.close()
    await model.close()
  })
}

const llama: Record<string, { tokens: number[]; greedy: number[]; logprobs: number[] }> = JSON.parse(
  await readFile(join(folder, 'llama.json'), 'utf8')
)

function logProbabilities(logits: Float32Array): number[] {
  const peak = Math.max(...logits)
  const total = Math.log(logits.reduce((sum, value) => sum + Math.exp(value - peak), 0))
  return Array.from(logits, value => value - peak - total)
}

for (const [name, { tokens, greedy: continuation, logprobs }] of Object.entries(llama)) {
  t.test(`${name}: tokens and log probabilities match llama.cpp`, async t => {
    const model = await (await openEngine(t)).load({ runDirectory: join(folder, `${name}.gguf`) })
    t.teardown(() => model.close())
    t.same((await collect(model.generate(greedy(tokens, continuation.length)))).tokens, continuation)
    const found = logProbabilities((await model.logits(tokens)).at(-1)!)
    const largest = Math.max(...found.map((value, id) => Math.abs(value - logprobs[id]!)))
    // llama.cpp keeps keys and values in half precision.
    t.ok(largest < 1e-2, `the largest difference is ${largest}`)
  })
}

t.test('the results of llama.cpp cover every architecture', async t => {
  // llama.cpp requires that keys and values of linear attention have the same size.
  const square = Object.keys(expressible).map(name => (name === 'qwen3_5' ? 'qwen3_5-square' : name))
  t.same(Object.keys(llama).sort(), square.sort())
})

const quantised: Record<string, { tokens: number[]; logits: number[] }> = JSON.parse(
  await readFile(join(folder, 'quantised.json'), 'utf8')
)

for (const [name, { tokens, logits }] of Object.entries(quantised)) {
  t.test(`${name}: without requantisation, logits match transformers with the decoded weights`, async t => {
    const engine = await openEngine(t)
    const model = await engine.load({ runDirectory: join(folder, name), quantization: 'none' })
    t.teardown(() => model.close())
    const found = (await model.logits(tokens)).at(-1)!
    const largest = Math.max(...found.map((value, id) => Math.abs(value - logits[id]!)))
    t.ok(largest < TOLERANCE, `the largest difference is ${largest}`)
  })

  t.test(`${name}: by default, weights stay quantised, and predictions stay close`, async t => {
    const engine = await openEngine(t)
    const model = await engine.load({ runDirectory: join(folder, name) })
    t.teardown(() => model.close())
    const wanted = logProbabilities(Float32Array.from(logits))
    const found = logProbabilities((await model.logits(tokens)).at(-1)!)
    const divergence = wanted.reduce((sum, value, id) => sum + Math.exp(value) * (value - found[id]!), 0)
    t.ok(divergence < 0.01, `the divergence is ${divergence} nats`)
    const stored = name.includes('q4_0') ? 'q4' : 'q8'
    t.match(model.info, { format: 'gguf', quantization: stored, precision: stored })
  })
}
