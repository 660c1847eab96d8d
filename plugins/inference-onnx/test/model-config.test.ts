import t from 'tap'
import { parseModelConfig } from '../src/model-config.ts'
import { rotaryTables } from '../src/rope.ts'

const base = {
  model_type: 'llama',
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 300,
  max_position_embeddings: 2048
}

const parse = (change: object, generation: Record<string, unknown> | null = null) =>
  parseModelConfig('config.json', { ...base, ...change }, generation)

t.test('what a configuration leaves out has the value that the family defines', async t => {
  t.match(parse({}), {
    family: 'llama',
    headSize: 16,
    normEpsilon: 1e-6,
    tiedHead: null,
    queryKeyValueBias: false,
    endTokens: []
  })
  t.equal(parse({ num_key_value_heads: undefined }).keyValueHeads, 4)
  t.match(parse({ model_type: 'qwen2' }), { queryKeyValueBias: true, outputBias: false })
  t.match(parse({ attention_bias: true, mlp_bias: true }), { queryKeyValueBias: true, outputBias: true, mlpBias: true })
})

t.test('end tokens come from both configuration files', async t => {
  t.same(parse({ eos_token_id: 2 }, { eos_token_id: [2, 7] }).endTokens, [2, 7])
  t.same(parse({ eos_token_id: null }, { eos_token_id: 3 }).endTokens, [3])
})

t.test('a context ends at the sliding window where the model has one', async t => {
  t.equal(parse({ model_type: 'mistral', sliding_window: 512 }).contextLength, 512)
  t.equal(parse({ model_type: 'mistral', sliding_window: null }).contextLength, 2048)
  t.equal(parse({ model_type: 'qwen2', sliding_window: 512 }).contextLength, 2048)
  t.equal(parse({ model_type: 'qwen2', sliding_window: 512, use_sliding_window: true }).contextLength, 512)
})

t.test('rotary frequencies follow theta, wherever it is written', async t => {
  const expected = [1, 1000 ** (-2 / 4)]
  for (const change of [
    { rope_theta: 1000 },
    { rope_parameters: { rope_theta: 1000 } },
    { rope_theta: 1000, rope_scaling: null },
    { rope_theta: 1000, rope_scaling: { type: 'linear', factor: 1 } }
  ]) {
    const { rope } = parse({ ...change, head_dim: 8 })
    t.ok(
      rope.inverseFrequencies.every((value, i) => Math.abs(value - 1000 ** (-i / 4)) < 1e-12),
      JSON.stringify(change)
    )
    t.equal(rope.inverseFrequencies[0], expected[0])
  }
})

t.test('linear scaling divides all frequencies, llama3 scaling the low ones', async t => {
  const plain = parse({ head_dim: 128, rope_theta: 500_000 }).rope.inverseFrequencies
  const linear = parse({ head_dim: 128, rope_theta: 500_000, rope_scaling: { rope_type: 'linear', factor: 4 } }).rope
  t.ok(linear.inverseFrequencies.every((value, i) => Math.abs(value - plain[i]! / 4) < 1e-12))
  const parameters = {
    rope_type: 'llama3',
    rope_theta: 500_000,
    factor: 32,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192
  }
  const llama3 = parse({ head_dim: 128, rope_parameters: parameters }).rope.inverseFrequencies
  t.equal(llama3[0], plain[0], 'the highest frequency stays')
  t.equal(llama3[63], plain[63]! / 32, 'the lowest is divided')
  t.ok(
    llama3.every((value, i) => i === 0 || value < llama3[i - 1]!),
    'and the passage between them is monotonous'
  )
  t.ok(llama3.some((value, i) => value < plain[i]! && value > plain[i]! / 32))
})

t.test('rotary tables hold cosine and sine of position times frequency', async t => {
  const { cos, sin } = rotaryTables({ inverseFrequencies: [1, 0.5] }, 3)
  t.same(
    [...cos],
    [0, 0, 1, 0.5, 2, 1].map(angle => Math.fround(Math.cos(angle)))
  )
  t.same(
    [...sin],
    [0, 0, 1, 0.5, 2, 1].map(angle => Math.fround(Math.sin(angle)))
  )
})

t.test('a context whose tables no model file can hold is refused with a way out', async t => {
  const { rope } = parse({ head_dim: 128 })
  t.throws(() => rotaryTables(rope, 100_000_000), { code: 'INF_OUT_OF_MEMORY', hint: /maxContext/ })
})

for (const [change, code, path] of [
  [{ model_type: undefined }, 'INF_ARCHITECTURE_UNSUPPORTED', 'model_type'],
  [{ model_type: 'llama', partial_rotary_factor: 0.5 }, 'INF_ARCHITECTURE_UNSUPPORTED', 'partial_rotary_factor'],
  [{ num_hidden_layers: 1e9 }, 'INF_ARCHITECTURE_UNSUPPORTED', 'num_hidden_layers'],
  [{ head_dim: 12 }, 'INF_ARCHITECTURE_UNSUPPORTED', 'head_dim'],
  [{ hidden_size: '64' }, 'INF_RUN_DIR_MALFORMED', 'hidden_size'],
  [{ rms_norm_eps: -1 }, 'INF_RUN_DIR_MALFORMED', 'rms_norm_eps'],
  [{ tie_word_embeddings: 'yes' }, 'INF_RUN_DIR_MALFORMED', 'tie_word_embeddings'],
  [{ rope_theta: 0 }, 'INF_RUN_DIR_MALFORMED', 'rope_theta'],
  [{ rope_scaling: { type: 'linear' } }, 'INF_RUN_DIR_MALFORMED', 'rope_parameters.factor']
] as const) {
  t.test(`${JSON.stringify(change)} is refused at ${path}`, async t => {
    t.throws(() => parse(change), { code, at: { file: 'config.json', path } })
  })
}
