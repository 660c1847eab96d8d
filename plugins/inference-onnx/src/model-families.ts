import type { ConfigFields } from './config-fields.ts'

/** Properties in which families differ. */
export interface FamilyTraits {
  /** Defaults for fields that are missing in `config.json`, as in the family's configuration class of transformers. */
  readonly defaults: Readonly<Record<string, unknown>>
  /** Projections with biases. */
  readonly biases: Biases | ((fields: ConfigFields) => Biases)
  /**
   * Layers that attend only to `sliding_window` positions. `slides` decides if the configuration has no `layer_types`.
   */
  readonly window:
    | 'none'
    | 'all layers'
    | { readonly enabled: (fields: ConfigFields) => boolean; readonly slides: (f: ConfigFields, n: number) => boolean }
  /** True if each head's query and key are normalised before rotation. */
  readonly headNorms: boolean
  /** True if the outputs of attention and feed-forward are normalised before the residual sum. */
  readonly outputNorms: boolean
  /** True if norms multiply by 1 + weight. */
  readonly zeroCentredNorms: boolean
  /** True if embeddings are multiplied by the square root of the hidden size. */
  readonly scaledEmbedding: boolean
  /** True if checkpoints store query, key and value as one projection, and gate and up as one. */
  readonly joinedProjections: boolean
  /** True if layers with a window have a separate rotary base. */
  readonly windowRope: boolean
  /** True if some layers have linear attention. */
  readonly linearAttention: boolean
  /** True if the query projection also contains a gate of the attention's output. */
  readonly outputGate: boolean
  /** Synonyms of rotary scaling types. */
  readonly ropeAliases: Readonly<Record<string, string>>
}

export interface Biases {
  readonly queryKeyValue: boolean
  readonly output: boolean
  readonly mlp: boolean
}

const noBias: Biases = { queryKeyValue: false, output: false, mlp: false }

const plain: FamilyTraits = {
  defaults: {},
  biases: noBias,
  window: 'none',
  headNorms: false,
  outputNorms: false,
  zeroCentredNorms: false,
  scaledEmbedding: false,
  joinedProjections: false,
  windowRope: false,
  linearAttention: false,
  outputGate: false,
  ropeAliases: { su: 'longrope' }
}

/** Returns the biases of the four attention projections, as `attention_bias` states. */
function attentionBias(fields: ConfigFields): Biases {
  const bias = fields.boolean('attention_bias', false)
  return { queryKeyValue: bias, output: bias, mlp: false }
}

const qwenWindow: FamilyTraits['window'] = {
  enabled: fields => fields.boolean('use_sliding_window', false),
  slides: (fields, layer) => layer >= fields.count('max_window_layers', 28)
}

const gemmaDefaults = {
  hidden_activation: 'gelu_pytorch_tanh',
  num_attention_heads: 8,
  num_key_value_heads: 4,
  head_dim: 256,
  query_pre_attn_scalar: 256,
  sliding_window: 4096
}

/** Returns windows for all layers except every `period`th, which has full attention. */
const alternating = (period: (fields: ConfigFields) => number): FamilyTraits['window'] => ({
  enabled: () => true,
  slides: (fields, layer) => (layer + 1) % period(fields) !== 0
})

const families = {
  llama: {
    ...plain,
    biases: fields => ({ ...attentionBias(fields), mlp: fields.boolean('mlp_bias', false) })
  },
  mistral: { ...plain, defaults: { sliding_window: 4096 }, window: 'all layers' },
  qwen2: {
    ...plain,
    defaults: { sliding_window: 4096 },
    biases: { ...noBias, queryKeyValue: true },
    window: qwenWindow
  },
  qwen3: {
    ...plain,
    defaults: { head_dim: 128, sliding_window: 4096 },
    biases: attentionBias,
    window: qwenWindow,
    headNorms: true
  },
  qwen3_5_text: {
    ...plain,
    defaults: {
      head_dim: 256,
      partial_rotary_factor: 0.25,
      linear_conv_kernel_dim: 4,
      linear_key_head_dim: 128,
      linear_value_head_dim: 128,
      linear_num_key_heads: 16,
      linear_num_value_heads: 32
    },
    headNorms: true,
    zeroCentredNorms: true,
    linearAttention: true,
    outputGate: true
  },
  gemma2: {
    ...plain,
    defaults: {
      ...gemmaDefaults,
      vocab_size: 256_000,
      max_position_embeddings: 8192,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30
    },
    biases: attentionBias,
    window: alternating(() => 2),
    outputNorms: true,
    zeroCentredNorms: true,
    scaledEmbedding: true
  },
  gemma3_text: {
    ...plain,
    defaults: { ...gemmaDefaults, vocab_size: 262_208, max_position_embeddings: 131_072, rope_theta: 1_000_000 },
    biases: attentionBias,
    window: alternating(fields => fields.count('sliding_window_pattern', 6)),
    headNorms: true,
    outputNorms: true,
    zeroCentredNorms: true,
    scaledEmbedding: true,
    windowRope: true
  },
  phi3: {
    ...plain,
    defaults: { rms_norm_eps: 1e-5, sliding_window: null },
    window: 'all layers',
    joinedProjections: true,
    ropeAliases: { su: 'longrope', yarn: 'longrope' }
  }
} satisfies Record<string, FamilyTraits>

export type Family = keyof typeof families

/** Returns the family that `model_type` names, and its traits. Throws `INF_ARCHITECTURE_UNSUPPORTED`. */
export function familyOf(fields: ConfigFields): { readonly family: Family; readonly traits: FamilyTraits } {
  const type = fields.values.model_type
  if (typeof type === 'string' && Object.hasOwn(families, type)) {
    return { family: type as Family, traits: families[type as Family] }
  }
  throw fields.unsupported('model_type', type, Object.keys(families).join(', '))
}
