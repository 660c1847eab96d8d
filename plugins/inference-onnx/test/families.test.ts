import t from 'tap'
import { type FamilyPrompt, families, familyDirectory, readFamily } from './support/families.ts'
import { collect, greedy, openEngine, temporaryFolder } from './support/models.ts'

const TOLERANCE = 1e-3

/** Returns the largest difference between the logits of a model and the reference. */
function difference({ positions, logits: wanted }: FamilyPrompt, logits: readonly Float32Array[]): number {
  const rows = positions.map((position, row) =>
    wanted[row]!.map((value, id) => Math.abs(value - logits[position]![id]!))
  )
  return Math.max(...rows.map(row => Math.max(...row)))
}

/** Returns the Kullback-Leibler divergence of the second distribution from the first, in nats. */
function divergence(reference: Float32Array, other: Float32Array): number {
  const [p, q] = [reference, other].map(logits => {
    const peak = Math.max(...logits)
    const total = logits.reduce((sum, value) => sum + Math.exp(value - peak), 0)
    return Array.from(logits, value => value - peak - Math.log(total))
  }) as [number[], number[]]
  return p.reduce((sum, value, id) => sum + Math.exp(value) * (value - q[id]!), 0)
}

/** Tokens per chunk; the prompts are longer than the windows and the chunks. */
const prefills = [
  ['in one run', 64],
  ['in several runs', 7],
  ['token by token', 1]
] as const

for (const name of families) {
  for (const dtype of ['BF16', 'F32'] as const) {
    t.test(`${name}, ${dtype}: logits and greedy tokens match PyTorch`, async t => {
      const runDirectory = await familyDirectory(t, name, { dtype })
      const cacheDirectory = await temporaryFolder(t)
      // How a prompt is split does not depend on the stored type.
      for (const [how, promptChunk] of dtype === 'F32' ? prefills : prefills.slice(0, 1)) {
        const engine = await openEngine(t, { runtime: 'native', promptChunk, cacheDirectory })
        for (const prompt of await readFamily(name)) {
          const { tokens, maxContext, greedy: continuation } = prompt
          const model = await engine.load({ runDirectory, ...(maxContext === null ? {} : { maxContext }) })
          const largest = difference(prompt, await model.logits(tokens))
          t.ok(largest < TOLERANCE, `read ${how}, the largest difference is ${largest}`)
          const generated = await collect(model.generate(greedy(tokens, continuation.length)))
          t.same(generated.tokens, continuation)
          await model.close()
        }
      }
    })
  }
}

for (const name of families) {
  t.test(`${name}: sequences of different lengths give the same results in one batch as separately`, async t => {
    const runDirectory = await familyDirectory(t, name)
    const model = await (await openEngine(t)).load({ runDirectory, slots: 3 })
    t.teardown(() => model.close())
    const [prompt] = await readFamily(name)
    // Without prefix reuse, each sequence is computed in a separate row.
    const requests = [40, 21, 5].map(length => ({
      ...greedy(prompt!.tokens.slice(-length), 16),
      reusePrefix: false
    }))
    const alone: number[][] = []
    for (const request of requests) alone.push([...(await collect(model.generate(request))).tokens])
    const together = await Promise.all(requests.map(request => collect(model.generate(request))))
    t.same(
      together.map(({ tokens }) => tokens),
      alone
    )
  })

  t.test(`${name}: with 8-bit weights, distributions stay close to PyTorch's`, async t => {
    const runDirectory = await familyDirectory(t, name)
    const model = await (await openEngine(t)).load({ runDirectory, quantization: 'q8' })
    t.teardown(() => model.close())
    const [prompt] = await readFamily(name)
    const logits = await model.logits(prompt!.tokens)
    const divergences = prompt!.positions.map((position, row) => divergence(prompt!.logits[row]!, logits[position]!))
    const mean = divergences.reduce((sum, value) => sum + value, 0) / divergences.length
    t.ok(mean < 0.01, `mean divergence is ${mean} nats`)
  })
}

t.test('finds the decoder of a multimodal checkpoint one level deeper', async t => {
  const [prompt] = await readFamily('gemma3')
  for (const prefix of ['model.language_model.', 'language_model.model.']) {
    const runDirectory = await familyDirectory(t, 'gemma3', {
      config: text => ({ model_type: 'gemma3', text_config: { ...text, vocab_size: 300 }, vision_config: {} }),
      tensorName: name => name.replace(/^model\./, prefix)
    })
    const model = await (await openEngine(t)).load({ runDirectory })
    const generated = await collect(model.generate(greedy(prompt!.tokens, 8)))
    t.same(generated.tokens, prompt!.greedy.slice(0, 8))
    t.equal(model.info.family, 'gemma3_text')
    await model.close()
  }
})

for (const [name, change] of [
  ['llama3', { rope_parameters: { rope_type: 'default', rope_theta: 10_000 } }],
  ['mistral', { sliding_window: 9 }],
  ['mistral', { sliding_window: null }],
  ['qwen2', { layer_types: null, max_window_layers: 3 }],
  ['qwen2', { rope_parameters: { rope_theta: 10_000 } }],
  ['qwen3', { rope_parameters: { rope_theta: 10_000 } }],
  ['gemma2', { attn_logit_softcapping: null }],
  ['gemma2', { final_logit_softcapping: null }],
  ['gemma2', { query_pre_attn_scalar: 16 }],
  ['gemma2', { layer_types: Array(4).fill('sliding_attention') }],
  ['gemma3', { rope_local_base_freq: 1e6 }],
  ['gemma3', { rope_scaling: null }],
  ['gemma3', { sliding_window_pattern: 5 }],
  ['phi3', { sliding_window: 7 }],
  ['phi3-longrope', { partial_rotary_factor: 1, rope_scaling: null }],
  ['phi3-longrope', { original_max_position_embeddings: 128 }]
] as const) {
  t.test(`${name}: ${JSON.stringify(change)} changes the logits, so the reference covers the setting`, async t => {
    const runDirectory = await familyDirectory(t, name, { config: config => ({ ...config, ...change }) })
    const model = await (await openEngine(t)).load({ runDirectory })
    t.teardown(() => model.close())
    const [prompt] = await readFamily(name)
    const largest = difference(prompt!, await model.logits(prompt!.tokens))
    t.ok(largest > 10 * TOLERANCE, `largest difference is ${largest}`)
  })
}
