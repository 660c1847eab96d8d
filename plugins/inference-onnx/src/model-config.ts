import { attentionWindows } from './attention-windows.ts'
import { ConfigFields } from './config-fields.ts'
import { type LayerKind, type LinearAttentionConfig, layerKinds, linearAttention } from './linear-config.ts'
import { type Biases, type Family, type FamilyTraits, familyOf } from './model-families.ts'
import { parseRope, type Rope } from './rope.ts'

/** Ten times the depth of the deepest public models; a larger value indicates a broken file. */
const MAX_LAYERS = 2000

/** Activation of a gated feed-forward block: x * sigmoid(x), or the tanh approximation of GELU. */
export type Activation = 'silu' | 'gelu-tanh'

/** Configuration of a decoder-only transformer of a supported family. */
export interface DecoderConfig {
  readonly family: Family
  readonly hiddenSize: number
  readonly intermediateSize: number
  readonly layers: number
  readonly heads: number
  readonly keyValueHeads: number
  /** Size of one head. */
  readonly headSize: number
  readonly vocabularySize: number
  /** Positions that the model was trained for. */
  readonly contextLength: number
  readonly normEpsilon: number
  /** True if norms multiply by 1 + weight. */
  readonly zeroCentredNorms: boolean
  /** True if each head's query and key are normalised before rotation. */
  readonly headNorms: boolean
  /** True if the outputs of attention and feed-forward are normalised before the residual sum. */
  readonly outputNorms: boolean
  /** Factor of the embeddings. */
  readonly embeddingScale: number
  readonly activation: Activation
  /** Factor of the attention scores. */
  readonly attentionScale: number
  /** Soft cap c in c * tanh(x / c), for attention scores and logits; null if there is none. */
  readonly attentionSoftcap: number | null
  readonly logitSoftcap: number | null
  readonly layerKinds: readonly LayerKind[]
  /** Linear attention of the layers of that kind; null if there are none. */
  readonly linear: LinearAttentionConfig | null
  /** True if the attention's output is multiplied by a gate, which the query projection contains for each head. */
  readonly outputGate: boolean
  /** Attention window of each layer in positions, including the current one; null for full attention. */
  readonly windows: readonly (number | null)[]
  readonly rope: Rope
  /** Rotary embedding of layers with a window. */
  readonly windowRope: Rope
  /** True if the query, key and value projections have biases. */
  readonly queryKeyValueBias: boolean
  /** True if the projection after attention has a bias. */
  readonly outputBias: boolean
  /** True if gate, up and down have biases. */
  readonly mlpBias: boolean
  /** True if the checkpoint stores query, key and value as one projection, and gate and up as one. */
  readonly joinedProjections: boolean
  /** True if the head shares the embedding's weights; null if the configuration does not state it. */
  readonly tiedHead: boolean | null
  readonly endTokens: readonly number[]
}

/** Properties that are required to serve a decoder, whether built or exported. */
export interface ServedConfig
  extends Pick<
    DecoderConfig,
    'layers' | 'layerKinds' | 'linear' | 'keyValueHeads' | 'headSize' | 'vocabularySize' | 'contextLength' | 'endTokens'
  > {
  readonly family: string
}

/**
 * Parses `config.json`, and the end tokens of `generation_config.json`. For a multimodal model, `text_config` is used.
 *
 * Throws `INF_ARCHITECTURE_UNSUPPORTED` for an unsupported family or setting, and `INF_RUN_DIR_MALFORMED` for an
 * invalid value; both name the field. `file`: path for messages.
 */
export function parseModelConfig(
  file: string,
  configuration: Record<string, unknown>,
  generation: Record<string, unknown> | null
): DecoderConfig {
  const outer = new ConfigFields(file, configuration)
  const base = outer.section('text_config') ?? outer
  const { family, traits } = familyOf(base)
  const fields = base.withDefaults(traits.defaults)
  assertSupported(outer, fields)
  const hiddenSize = fields.count('hidden_size')
  const heads = fields.count('num_attention_heads')
  const headSize = fields.count('head_dim', Math.floor(hiddenSize / heads))
  if (headSize % 16 !== 0) throw fields.unsupported('head_dim', headSize, 'a multiple of 16')
  const layers = fields.count('num_hidden_layers')
  if (layers > MAX_LAYERS) throw fields.unsupported('num_hidden_layers', layers, `up to ${MAX_LAYERS}`)
  const biases = biasesOf(fields, traits)
  const kinds = layerKinds(fields, traits, layers)
  const { rope, windowRope, contextLength } = parseRope(fields, traits, headSize)
  return {
    family,
    hiddenSize,
    intermediateSize: fields.count('intermediate_size'),
    layers,
    heads,
    keyValueHeads: keyValueHeads(fields, heads),
    headSize,
    vocabularySize: fields.count('vocab_size'),
    contextLength,
    normEpsilon: fields.number('rms_norm_eps', 1e-6),
    zeroCentredNorms: traits.zeroCentredNorms,
    headNorms: traits.headNorms,
    outputNorms: traits.outputNorms,
    embeddingScale: traits.scaledEmbedding ? Math.sqrt(hiddenSize) : 1,
    activation: activation(fields),
    attentionScale: 1 / Math.sqrt(fields.number('query_pre_attn_scalar', headSize)),
    attentionSoftcap: fields.optionalNumber('attn_logit_softcapping'),
    logitSoftcap: fields.optionalNumber('final_logit_softcapping'),
    layerKinds: kinds,
    linear: kinds.includes('linear') ? linearAttention(fields) : null,
    outputGate: traits.outputGate,
    windows: attentionWindows(fields, traits, layers),
    rope,
    windowRope,
    queryKeyValueBias: biases.queryKeyValue,
    outputBias: biases.output,
    mlpBias: biases.mlp,
    joinedProjections: traits.joinedProjections,
    tiedHead: tiedHead(outer, fields),
    endTokens: [outer.values.eos_token_id, fields.values.eos_token_id, generation?.eos_token_id]
      .flatMap(tokenIds)
      .filter((id, index, all) => all.indexOf(id) === index)
  }
}

/** Throws for settings that change a model in ways the engine does not support. */
function assertSupported(outer: ConfigFields, fields: ConfigFields): void {
  const quantization = outer.section('quantization_config')
  if (quantization !== null) {
    throw quantization.unsupported('quant_method', quantization.values.quant_method, 'weights in F32, BF16 or F16')
  }
  if ((fields.values.num_experts ?? null) !== null) {
    throw fields.unsupported('num_experts', fields.values.num_experts, 'models without experts')
  }
  if (fields.values.attn_output_gate === false) throw fields.unsupported('attn_output_gate', false, 'true')
  if (fields.boolean('use_bidirectional_attention', false)) {
    throw fields.unsupported('use_bidirectional_attention', true, 'false')
  }
}

function biasesOf(fields: ConfigFields, traits: FamilyTraits): Biases {
  const biases = typeof traits.biases === 'function' ? traits.biases(fields) : traits.biases
  for (const [name, has] of [
    ['attention_bias', biases.queryKeyValue],
    ['mlp_bias', biases.mlp],
    ['lm_head_bias', false]
  ] as const) {
    if (!has && fields.boolean(name, false)) throw fields.unsupported(name, true, 'false')
  }
  return biases
}

function keyValueHeads(fields: ConfigFields, heads: number): number {
  const count = fields.count('num_key_value_heads', heads)
  if (heads % count === 0) return count
  throw fields.refuse('num_key_value_heads', `${heads} attention heads cannot share ${count}`)
}

/** Returns the activation. Gemma uses `hidden_activation`; its `hidden_act` once had another meaning. */
function activation(fields: ConfigFields): Activation {
  const name = (fields.values.hidden_activation ?? null) === null ? 'hidden_act' : 'hidden_activation'
  const value = fields.values[name] ?? 'silu'
  if (value === 'silu') return 'silu'
  if (value === 'gelu_pytorch_tanh') return 'gelu-tanh'
  throw fields.unsupported(name, value, 'silu, gelu_pytorch_tanh')
}

function tiedHead(outer: ConfigFields, fields: ConfigFields): boolean | null {
  const from = outer.values.tie_word_embeddings === undefined ? fields : outer
  return from.values.tie_word_embeddings === undefined ? null : from.boolean('tie_word_embeddings', false)
}

/** Returns the ids in a field, which is one id or a list. */
export function tokenIds(value: unknown): number[] {
  return (Array.isArray(value) ? value : [value]).filter(id => Number.isSafeInteger(id) && id >= 0)
}
