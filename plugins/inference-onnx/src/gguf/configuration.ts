import type { LinearAttentionConfig } from '../linear-config.ts'
import type { TensorEntry } from '../safetensors.ts'
import { TensorReader } from '../weights/tensor-reader.ts'
import { isCount, MetadataFields } from './metadata-fields.ts'
import type { GgufFile } from './read-gguf.ts'
import type { HeadShape, TensorLayout } from './tensors.ts'

interface Architecture {
  /** `model_type` of the same architecture in transformers. */
  readonly family: string
  readonly layout: TensorLayout
  /** Fields of `config.json` that metadata does not contain. */
  readonly fields?: (fields: MetadataFields, shape: Shape) => Record<string, unknown>
}

interface Shape extends HeadShape {
  readonly hiddenSize: number
  readonly headSize: number
}

/** Ten times the layers of the largest public models. */
const MAX_LAYERS = 2000
const gemmaActivation = { hidden_activation: 'gelu_pytorch_tanh' }

/** Architectures by `general.architecture`. */
const architectures: Readonly<Record<string, Architecture>> = {
  llama: { family: 'llama', layout: 'interleaved' },
  qwen2: { family: 'qwen2', layout: 'plain' },
  qwen3: { family: 'qwen3', layout: 'plain' },
  qwen35: {
    family: 'qwen3_5_text',
    layout: 'linear',
    fields: (fields, { layers, linear }) => ({
      layer_types: layerTypes(fields, layers),
      linear_conv_kernel_dim: linear?.taps,
      linear_key_head_dim: linear?.keySize,
      linear_value_head_dim: linear?.valueSize,
      linear_num_key_heads: linear?.keyHeads,
      linear_num_value_heads: linear?.valueHeads
    })
  },
  gemma2: {
    family: 'gemma2',
    layout: 'output norms',
    fields: (fields, shape) => ({
      ...gemmaActivation,
      query_pre_attn_scalar: attentionScalar(shape, 46),
      attn_logit_softcapping: fields.number('attn_logit_softcapping') ?? 50,
      final_logit_softcapping: fields.number('final_logit_softcapping') ?? 30,
      sliding_window: fields.count('attention.sliding_window') ?? 4096
    })
  },
  gemma3: {
    family: 'gemma3_text',
    layout: 'output norms',
    fields: (fields, shape) => ({
      ...gemmaActivation,
      query_pre_attn_scalar: attentionScalar(shape, 62),
      attn_logit_softcapping: fields.number('attn_logit_softcapping') ?? null,
      final_logit_softcapping: fields.number('final_logit_softcapping') ?? null,
      sliding_window: fields.requiredCount('attention.sliding_window'),
      sliding_window_pattern: fields.count('attention.sliding_window_pattern') ?? 6,
      rope_local_base_freq: fields.number('rope.freq_base_swa') ?? 10_000,
      rope_theta: fields.number('rope.freq_base') ?? 1_000_000
    })
  },
  phi3: {
    family: 'phi3',
    layout: 'joined',
    // Converters write 0 for a model without a window.
    fields: fields => ({ sliding_window: fields.number('attention.sliding_window') || null })
  }
}

export interface GgufConfiguration {
  readonly layout: TensorLayout
  readonly shape: HeadShape
  /** Configuration in the form of `config.json`. */
  readonly configuration: Record<string, unknown>
}

/**
 * Returns the configuration of a GGUF file in the form of `config.json` of transformers. `vocabularySize`: number of
 * tokens.
 *
 * Throws `INF_ARCHITECTURE_UNSUPPORTED` for an unsupported architecture or setting, and `INF_RUN_DIR_MALFORMED` for a
 * missing or invalid value; both name the key.
 */
export async function ggufConfiguration(file: GgufFile, vocabularySize: number): Promise<GgufConfiguration> {
  const { path, metadata, tensors } = file
  const general = new MetadataFields(path, metadata)
  const name = general.text('general.architecture') ?? ''
  const architecture = Object.hasOwn(architectures, name) ? architectures[name] : undefined
  if (architecture === undefined) {
    throw general.unsupported('general.architecture', name, Object.keys(architectures).join(', '))
  }
  const fields = new MetadataFields(path, metadata, `${name}.`)
  const shape = shapeOf(fields, architecture.layout)
  if (fields.flag('attention.causal') === false) throw fields.unsupported('attention.causal', false, 'true')
  const experts = fields.number('expert_count') ?? 0
  if (experts > 0) throw fields.unsupported('expert_count', experts, 'models without experts')
  const attentionScale = fields.number('attention.scale')
  const positions = fields.requiredCount('context_length')
  const rotated = fields.count('rope.dimension_count') ?? shape.headSize
  const rope = await ropeOf(fields, tensors, positions)
  return {
    layout: architecture.layout,
    shape,
    configuration: {
      model_type: architecture.family,
      hidden_size: shape.hiddenSize,
      intermediate_size: fields.requiredCount('feed_forward_length'),
      num_hidden_layers: shape.layers,
      num_attention_heads: shape.heads,
      num_key_value_heads: shape.keyValueHeads,
      head_dim: shape.headSize,
      vocab_size: vocabularySize,
      max_position_embeddings: positions,
      rms_norm_eps: fields.number('attention.layer_norm_rms_epsilon') ?? 1e-5,
      rope_theta: fields.number('rope.freq_base') ?? 10_000,
      partial_rotary_factor: rotated / shape.headSize,
      tie_word_embeddings: !tensors.has('output.weight'),
      attention_bias: name !== 'qwen2' && tensors.has('blk.0.attn_q.bias'),
      mlp_bias: tensors.has('blk.0.ffn_up.bias'),
      ...(attentionScale === undefined ? {} : { query_pre_attn_scalar: attentionScale ** -2 }),
      ...rope,
      ...architecture.fields?.(fields, shape)
    }
  }
}

function shapeOf(fields: MetadataFields, layout: TensorLayout): Shape {
  const hiddenSize = fields.requiredCount('embedding_length')
  const heads = perLayer(fields, 'attention.head_count')
  const headSize = fields.count('attention.key_length') ?? Math.floor(hiddenSize / heads)
  const valueSize = fields.count('attention.value_length') ?? headSize
  if (valueSize !== headSize) {
    throw fields.unsupported('attention.value_length', valueSize, `the length of keys, ${headSize}`)
  }
  const keyValueHeads = fields.has('attention.head_count_kv') ? perLayer(fields, 'attention.head_count_kv') : heads
  const linear = layout === 'linear' ? linearOf(fields) : null
  // Files may also contain layers that predict further tokens, after the others.
  const further = layout === 'linear' ? (fields.number('nextn_predict_layers') ?? 0) : 0
  const layers = fields.requiredCount('block_count') - further
  if (!isCount(layers)) throw fields.refuse('nextn_predict_layers', `${further} leaves ${layers} layers`)
  if (layers > MAX_LAYERS) throw fields.unsupported('block_count', layers, `up to ${MAX_LAYERS}`)
  return { hiddenSize, headSize, heads, keyValueHeads, layers, linear }
}

function linearOf(fields: MetadataFields): LinearAttentionConfig {
  const valueHeads = fields.requiredCount('ssm.time_step_rank')
  const values = fields.requiredCount('ssm.inner_size')
  if (values % valueHeads !== 0) {
    throw fields.refuse('ssm.inner_size', `${values} is not a multiple of the ${valueHeads} value heads`)
  }
  return {
    keyHeads: fields.requiredCount('ssm.group_count'),
    valueHeads,
    keySize: fields.requiredCount('ssm.state_size'),
    valueSize: values / valueHeads,
    taps: fields.requiredCount('ssm.conv_kernel')
  }
}

/** Returns the kinds of layers, as `layer_types`. */
function layerTypes(fields: MetadataFields, layers: number): readonly string[] {
  const recurrent = fields.list('attention.recurrent_layers')
  const interval = fields.count('full_attention_interval') ?? 4
  if (recurrent !== undefined && (recurrent.length < layers || recurrent.some(value => typeof value !== 'boolean'))) {
    throw fields.refuse('attention.recurrent_layers', `it is not a list of ${layers} truth values`)
  }
  return Array.from({ length: layers }, (_, layer) => {
    const isLinear = recurrent === undefined ? (layer + 1) % interval !== 0 : recurrent[layer] === true
    return isLinear ? 'linear_attention' : 'full_attention'
  })
}

/** Returns a count that is stored once, or once a layer. Throws if layers differ. */
function perLayer(fields: MetadataFields, name: string): number {
  const value = fields.value(name)
  if (!Array.isArray(value)) return fields.requiredCount(name)
  const counts = value.filter(isCount)
  const [first] = counts
  if (first === undefined || counts.length < value.length) {
    throw fields.refuse(name, 'it is not a list of whole numbers above 0')
  }
  if (counts.some(count => count !== first))
    throw fields.unsupported(name, counts.slice(0, 8), 'the same for all layers')
  return first
}

/** Returns Gemma's attention scalar, which files do not contain. The largest model, known by its layers, differs. */
function attentionScalar({ hiddenSize, heads, headSize, layers }: Shape, largestLayers: number): number {
  return layers === largestLayers ? hiddenSize / heads : headSize
}

/** Returns the scaling of the rotary embedding as `rope_scaling`. */
async function ropeOf(
  fields: MetadataFields,
  tensors: ReadonlyMap<string, TensorEntry>,
  positions: number
): Promise<Record<string, unknown>> {
  const original = fields.count('rope.scaling.original_context_length')
  const long = await factors(tensors.get('rope_factors_long.weight'))
  const short = await factors(tensors.get('rope_factors_short.weight'))
  if (long !== null && short !== null) {
    const attention = fields.number('rope.scaling.attn_factor')
    return scaling({
      rope_type: 'longrope',
      long_factor: long,
      short_factor: short,
      original_max_position_embeddings: original ?? positions,
      ...(attention === undefined ? {} : { attention_factor: attention })
    })
  }
  const frequencies = await factors(tensors.get('rope_freqs.weight'))
  if (frequencies !== null) {
    // The factors already contain the scaling of Llama 3, and are the same for all context lengths.
    return scaling({
      rope_type: 'longrope',
      long_factor: frequencies,
      short_factor: frequencies,
      original_max_position_embeddings: positions,
      attention_factor: 1
    })
  }
  const type = fields.text('rope.scaling.type') ?? 'none'
  const factor = fields.number('rope.scaling.factor') ?? 1
  // Files that were converted before 2023-09 have `rope.scale_linear`.
  const linear = fields.number('rope.scale_linear') ?? 1
  if (linear !== 1) return scaling({ rope_type: 'linear', factor: linear })
  if (type === 'none' || (type === 'linear' && factor === 1)) return {}
  if (type === 'linear') return scaling({ rope_type: 'linear', factor })
  if (type !== 'yarn') throw fields.unsupported('rope.scaling.type', type, 'none, linear, yarn')
  for (const name of ['attn_factor', 'yarn_attn_factor', 'yarn_ext_factor']) {
    const value = fields.number(`rope.scaling.${name}`) ?? 1
    if (value !== 1) throw fields.unsupported(`rope.scaling.${name}`, value, '1')
  }
  return scaling({
    rope_type: 'yarn',
    factor,
    original_max_position_embeddings: original ?? positions,
    beta_fast: fields.number('rope.scaling.yarn_beta_fast') ?? null,
    beta_slow: fields.number('rope.scaling.yarn_beta_slow') ?? null
  })
}

function scaling(values: Record<string, unknown>) {
  return { rope_scaling: values }
}

/** Reads factors of frequencies; null if there are none. */
async function factors(entry: TensorEntry | undefined): Promise<number[] | null> {
  if (entry === undefined) return null
  const values = new Float32Array(
    Math.min(
      entry.shape.reduce((product, size) => product * size, 1),
      MAX_FACTORS
    )
  )
  const reader = new TensorReader()
  try {
    await reader.read(entry, 0, values)
  } finally {
    await reader.close()
  }
  return [...values]
}

/** Half of the largest head; longer lists are refused later, since they do not fit the head. */
const MAX_FACTORS = 4096
