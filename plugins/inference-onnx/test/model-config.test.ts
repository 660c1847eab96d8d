import fc from 'fast-check'
import t from 'tap'
import { parseModelConfig, rotaryTables } from '#root'

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

t.test('missing fields get the defaults of the family', async t => {
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

t.test('a sliding window applies to the layers that the family defines', async t => {
  const windows = (change: object) => parse({ num_hidden_layers: 4, sliding_window: 512, ...change }).windows
  const [all, none] = [Array(4).fill(512), Array(4).fill(null)]
  t.same(windows({ model_type: 'llama' }), none)
  t.same(windows({ model_type: 'mistral' }), all)
  t.same(windows({ model_type: 'mistral', sliding_window: null }), none)
  t.same(windows({ model_type: 'phi3' }), all)
  t.same(windows({ model_type: 'qwen2' }), none)
  t.same(
    windows({ model_type: 'qwen2', use_sliding_window: true }),
    none,
    'layers below max_window_layers have full attention'
  )
  const late = { use_sliding_window: true, max_window_layers: 3 }
  t.same(windows({ model_type: 'qwen3', ...late }), [null, null, null, 512])
  t.same(windows({ model_type: 'gemma2' }), [512, null, 512, null])
  t.same(windows({ model_type: 'gemma3_text', sliding_window_pattern: 3 }), [512, 512, null, 512])
  const types = ['full_attention', 'sliding_attention', 'full_attention', 'full_attention']
  t.same(windows({ model_type: 'gemma3_text', layer_types: types }), [null, 512, null, null])
  t.equal(
    parse({ model_type: 'mistral', sliding_window: 512 }).contextLength,
    2048,
    'the context may be longer than the window'
  )
})

t.test('the family determines head size, norms, scales, soft caps, activation and projections', async t => {
  t.match(parse({ model_type: 'qwen3' }), { headSize: 128, headNorms: true, outputNorms: false, activation: 'silu' })
  t.match(parse({ model_type: 'gemma2' }), {
    headSize: 256,
    zeroCentredNorms: true,
    outputNorms: true,
    headNorms: false,
    embeddingScale: 8,
    attentionScale: 1 / 16,
    attentionSoftcap: 50,
    logitSoftcap: 30,
    activation: 'gelu-tanh'
  })
  t.match(parse({ model_type: 'gemma3_text', query_pre_attn_scalar: 64 }), {
    headNorms: true,
    outputNorms: true,
    attentionScale: 1 / 8,
    attentionSoftcap: null,
    logitSoftcap: null
  })
  t.match(parse({ model_type: 'phi3' }), { joinedProjections: true, normEpsilon: 1e-5, queryKeyValueBias: false })
})

t.test('the text part of a multimodal model is used', async t => {
  const text = { ...base, model_type: 'gemma3_text', eos_token_id: 5 }
  const config = parseModelConfig('config.json', { model_type: 'gemma3', text_config: text, eos_token_id: [1] }, null)
  t.match(config, { family: 'gemma3_text', hiddenSize: 64, endTokens: [1, 5] })
  t.throws(() => parseModelConfig('config.json', { text_config: { ...text, head_dim: 24 } }, null), {
    code: 'INF_ARCHITECTURE_UNSUPPORTED',
    message: /text_config\.head_dim 24/
  })
})

t.test('reads theta from every field that may contain it', async t => {
  for (const change of [
    { rope_theta: 1000 },
    { rope_parameters: { rope_theta: 1000 } },
    { rope_theta: 1000, rope_scaling: null },
    { rope_theta: 1000, rope_scaling: { type: 'linear', factor: 1 } }
  ]) {
    const { rope } = parse({ ...change, head_dim: 16 })
    t.ok(
      rope.inverseFrequencies.every((value, i) => Math.abs(value - 1000 ** (-i / 8)) < 1e-12),
      JSON.stringify(change)
    )
  }
})

t.test('linear scaling divides all frequencies; llama3 scaling divides only low ones', async t => {
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
  t.equal(llama3[0], plain[0], 'the highest frequency is unchanged')
  t.equal(llama3[63], plain[63]! / 32, 'the lowest frequency is divided')
  t.ok(
    llama3.every((value, i) => i === 0 || value < llama3[i - 1]!),
    'frequencies in between decrease monotonically'
  )
  t.ok(llama3.some((value, i) => value < plain[i]! && value > plain[i]! / 32))
})

t.test('rotary tables contain cosine and sine of position times frequency', async t => {
  const { cos, sin } = rotaryTables({ inverseFrequencies: [1, 0.5], magnitude: 1, long: null }, 3)
  t.same(
    [...cos],
    [0, 0, 1, 0.5, 2, 1].map(angle => Math.fround(Math.cos(angle)))
  )
  t.same(
    [...sin],
    [0, 0, 1, 0.5, 2, 1].map(angle => Math.fround(Math.sin(angle)))
  )
})

t.test('rejects a context whose rotary tables exceed the limit of a model file, with a hint', async t => {
  const { rope } = parse({ head_dim: 128 })
  t.throws(() => rotaryTables(rope, 100_000_000), { code: 'INF_OUT_OF_MEMORY', hint: /maxContext/ })
})

t.test('layers with a window have a separate rotary base in Gemma 3, with old and new field names', async t => {
  const older = { model_type: 'gemma3_text', rope_theta: 1e6, rope_local_base_freq: 1e4 }
  const newer = {
    model_type: 'gemma3_text',
    rope_parameters: {
      full_attention: { rope_type: 'linear', factor: 8, rope_theta: 1e6 },
      sliding_attention: { rope_type: 'default', rope_theta: 1e4 }
    }
  }
  const scaled = { ...older, rope_scaling: { rope_type: 'linear', factor: 8 } }
  t.same(parse(scaled), parse(newer))
  const { rope, windowRope } = parse({ ...older, head_dim: 16 })
  t.equal(rope.inverseFrequencies[4], 1e6 ** -0.5)
  t.equal(windowRope.inverseFrequencies[4], 1e4 ** -0.5)
})

t.test('partial_rotary_factor sets the fraction of each head that is rotated', async t => {
  t.equal(parse({ head_dim: 128, partial_rotary_factor: 0.75 }).rope.inverseFrequencies.length, 48)
})

t.test('yarn keeps high frequencies, divides low ones, and extends the context', async t => {
  const plain = parse({ head_dim: 128 }).rope.inverseFrequencies
  const scaling = { type: 'yarn', factor: 4, original_max_position_embeddings: 2048 }
  const { rope, contextLength } = parse({ head_dim: 128, rope_scaling: scaling })
  t.equal(contextLength, 8192)
  t.equal(rope.inverseFrequencies[0], plain[0])
  t.equal(rope.inverseFrequencies[63], plain[63]! / 4)
  t.ok(Math.abs(rope.magnitude - (0.1 * Math.log(4) + 1)) < 1e-12)
  t.equal(parse({ rope_scaling: { ...scaling, attention_factor: 1.5 } }).rope.magnitude, 1.5)
  t.equal(parse({ rope_scaling: { ...scaling, mscale: 1, mscale_all_dim: 1 } }).rope.magnitude, 1)
})

t.test('longrope uses its long factors if the context exceeds the original length', async t => {
  const short_factor = Array(8).fill(1)
  const long_factor = Array(8).fill(4)
  const rope_scaling = { type: 'su', short_factor, long_factor }
  const change = { model_type: 'phi3', head_dim: 16, original_max_position_embeddings: 4, rope_scaling }
  const { rope } = parse({ ...change, max_position_embeddings: 16 })
  t.same(rotaryTables(rope, 5).cos[8], Math.fround(Math.cos(0.25) * rope.magnitude))
  t.same(rotaryTables(rope, 4).cos[8], Math.fround(Math.cos(1) * rope.magnitude))
  t.equal(rope.magnitude, Math.sqrt(2), 'cosines and sines are scaled by sqrt(1 + ln(extension) / ln(original))')
})

for (const [change, code, path] of [
  [{ model_type: undefined }, 'INF_ARCHITECTURE_UNSUPPORTED', 'model_type'],
  [{ model_type: 'llama', partial_rotary_factor: 0.5 }, 'INF_ARCHITECTURE_UNSUPPORTED', 'partial_rotary_factor'],
  [{ num_hidden_layers: 1e9 }, 'INF_ARCHITECTURE_UNSUPPORTED', 'num_hidden_layers'],
  [{ head_dim: 24 }, 'INF_ARCHITECTURE_UNSUPPORTED', 'head_dim'],
  [{ model_type: 'qwen2_moe' }, 'INF_ARCHITECTURE_UNSUPPORTED', 'model_type'],
  [{ model_type: 'constructor' }, 'INF_ARCHITECTURE_UNSUPPORTED', 'model_type'],
  [{ hidden_act: 'relu' }, 'INF_ARCHITECTURE_UNSUPPORTED', 'hidden_act'],
  [{ model_type: 'gemma2', hidden_activation: 'gelu' }, 'INF_ARCHITECTURE_UNSUPPORTED', 'hidden_activation'],
  [{ model_type: 'mistral', attention_bias: true }, 'INF_ARCHITECTURE_UNSUPPORTED', 'attention_bias'],
  [{ model_type: 'qwen3', mlp_bias: true }, 'INF_ARCHITECTURE_UNSUPPORTED', 'mlp_bias'],
  [{ model_type: 'phi3', lm_head_bias: true }, 'INF_ARCHITECTURE_UNSUPPORTED', 'lm_head_bias'],
  [{ use_bidirectional_attention: true }, 'INF_ARCHITECTURE_UNSUPPORTED', 'use_bidirectional_attention'],
  [
    { quantization_config: { quant_method: 'awq' } },
    'INF_ARCHITECTURE_UNSUPPORTED',
    'quantization_config.quant_method'
  ],
  [{ rope_scaling: { rope_type: 'mrope' } }, 'INF_ARCHITECTURE_UNSUPPORTED', 'rope_scaling.rope_type'],
  [{ rope_parameters: { full_attention: {} } }, 'INF_ARCHITECTURE_UNSUPPORTED', 'rope_parameters'],
  [{ layer_types: ['full_attention', 'linear_attention'] }, 'INF_ARCHITECTURE_UNSUPPORTED', 'layer_types'],
  [{ layer_types: ['full_attention', 'sliding_attention'] }, 'INF_ARCHITECTURE_UNSUPPORTED', 'layer_types'],
  [{ layer_types: ['full_attention'] }, 'INF_RUN_DIR_MALFORMED', 'layer_types'],
  [{ rope_scaling: 4 }, 'INF_RUN_DIR_MALFORMED', 'rope_scaling'],
  [
    { model_type: 'phi3', rope_scaling: { type: 'longrope', short_factor: [1], long_factor: [1] } },
    'INF_RUN_DIR_MALFORMED',
    'rope_scaling.short_factor'
  ],
  [{ hidden_size: '64' }, 'INF_RUN_DIR_MALFORMED', 'hidden_size'],
  [{ rms_norm_eps: -1 }, 'INF_RUN_DIR_MALFORMED', 'rms_norm_eps'],
  [{ tie_word_embeddings: 'yes' }, 'INF_RUN_DIR_MALFORMED', 'tie_word_embeddings'],
  [{ rope_theta: 0 }, 'INF_RUN_DIR_MALFORMED', 'rope_theta'],
  [{ rope_theta: 5e-324, head_dim: 1024 }, 'INF_RUN_DIR_MALFORMED', 'rope_theta'],
  [{ rope_scaling: { type: 'linear', factor: 5e-324 } }, 'INF_RUN_DIR_MALFORMED', 'rope_scaling.rope_type'],
  [{ rope_scaling: { type: 'linear' } }, 'INF_RUN_DIR_MALFORMED', 'rope_scaling.factor']
] as const) {
  t.test(`${JSON.stringify(change)} is rejected at ${path}`, async t => {
    t.throws(() => parse(change), { code, at: { file: 'config.json', path } })
  })
}

t.test('parses configurations of public checkpoints', async t => {
  const phi4mini = {
    model_type: 'phi3',
    hidden_size: 3072,
    num_attention_heads: 24,
    num_key_value_heads: 8,
    max_position_embeddings: 131_072,
    original_max_position_embeddings: 4096,
    partial_rotary_factor: 0.75,
    sliding_window: 262_144,
    rope_scaling: { type: 'longrope', long_factor: Array(48).fill(2), short_factor: Array(48).fill(1) },
    lm_head_bias: false,
    tie_word_embeddings: true
  }
  t.match(parse(phi4mini), { headSize: 128, contextLength: 131_072, tiedHead: true, rope: { long: { beyond: 4096 } } })
  const gemma3 = {
    model_type: 'gemma3',
    eos_token_id: [1, 106],
    text_config: {
      model_type: 'gemma3_text',
      hidden_size: 2560,
      intermediate_size: 10_240,
      num_hidden_layers: 34,
      rope_scaling: { factor: 8, rope_type: 'linear' },
      sliding_window: 1024
    },
    vision_config: { model_type: 'siglip_vision_model' }
  }
  t.match(parseModelConfig('config.json', gemma3, null), {
    heads: 8,
    keyValueHeads: 4,
    headSize: 256,
    vocabularySize: 262_208,
    contextLength: 131_072,
    endTokens: [1, 106]
  })
  const qwen = {
    model_type: 'qwen2',
    max_position_embeddings: 32_768,
    use_sliding_window: false,
    sliding_window: 131_072,
    max_window_layers: 28,
    rope_scaling: { factor: 4, original_max_position_embeddings: 32_768, type: 'yarn' }
  }
  t.match(parse(qwen), { contextLength: 131_072, windows: [null, null] })
})

t.test('layers of Qwen3.5 have linear attention, except every fourth or as layer_types says', async t => {
  const qwen = { model_type: 'qwen3_5', text_config: { ...base, model_type: 'qwen3_5_text', num_hidden_layers: 5 } }
  const config = parseModelConfig('config.json', qwen, null)
  t.same(config.layerKinds, ['linear', 'linear', 'linear', 'full', 'linear'])
  t.same(config.linear, { keyHeads: 16, valueHeads: 32, keySize: 128, valueSize: 128, taps: 4 })
  t.match(config, { headSize: 256, outputGate: true, zeroCentredNorms: true })
  t.equal(config.rope.inverseFrequencies.length, 32, 'a quarter of each head is rotated')
  const types = { model_type: 'qwen3_5_text', layer_types: ['full_attention', 'linear_attention'] }
  t.same(parse(types).layerKinds, ['full', 'linear'])
  t.equal(parse({ ...types, layer_types: ['full_attention', 'full_attention'] }).linear, null)
  const rejected = (change: object) => t.throws(() => parse({ ...types, ...change }), { code: /^INF_/ })
  rejected({ layer_types: ['sliding_attention', 'full_attention'] })
  rejected({ num_experts: 8 })
  rejected({ attn_output_gate: false })
  rejected({ linear_num_value_heads: 24 })
  rejected({ linear_conv_kernel_dim: 1 })
  t.throws(() => parse({ layer_types: ['linear_attention', 'full_attention'] }), { message: /sliding_attention/ })
})

t.test('any configuration is either parsed or rejected, naming the file', async t => {
  const names = [
    'model_type hidden_size num_attention_heads num_key_value_heads head_dim num_hidden_layers hidden_act text_config',
    'hidden_activation layer_types sliding_window use_sliding_window max_window_layers sliding_window_pattern rope_theta',
    'rope_scaling rope_parameters rope_local_base_freq partial_rotary_factor original_max_position_embeddings vocab_size',
    'max_position_embeddings rms_norm_eps query_pre_attn_scalar attn_logit_softcapping tie_word_embeddings eos_token_id',
    'quantization_config attention_bias intermediate_size linear_num_key_heads linear_num_value_heads',
    'linear_key_head_dim linear_conv_kernel_dim full_attention_interval num_experts attn_output_gate'
  ].flatMap(line => line.split(' '))
  const families = ['llama', 'mistral', 'qwen2', 'qwen3', 'gemma2', 'gemma3_text', 'phi3', 'qwen3_5_text']
  const scaling = fc.record(
    {
      type: fc.constantFrom('linear', 'dynamic', 'llama3', 'yarn', 'longrope', 'su', 'default', 'toString'),
      factor: fc.oneof(fc.double(), fc.jsonValue()),
      low_freq_factor: fc.double(),
      high_freq_factor: fc.double(),
      short_factor: fc.oneof(fc.array(fc.double()), fc.jsonValue()),
      long_factor: fc.jsonValue(),
      full_attention: fc.jsonValue(),
      sliding_attention: fc.jsonValue(),
      rope_theta: fc.jsonValue(),
      partial_rotary_factor: fc.jsonValue()
    },
    { requiredKeys: [] }
  )
  const change = fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(fc.jsonValue(), fc.constantFrom(...families, 0, -1, 1e12, null), scaling),
    { maxKeys: 4 }
  )
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.constantFrom(...families), change, (family, values) => {
        try {
          const { rope, windows, layers } = parse({ model_type: family, ...values })
          return windows.length === layers && rope.inverseFrequencies.every(Number.isFinite)
        } catch (error) {
          const { code, at } = error as { code?: string; at?: { file?: string } }
          return /^INF_(ARCHITECTURE_UNSUPPORTED|RUN_DIR_MALFORMED)$/.test(`${code}`) && at?.file === 'config.json'
        }
      }),
      { numRuns: 500 }
    )
  )
})
