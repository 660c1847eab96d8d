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
  'phi3-longrope': config => config
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
