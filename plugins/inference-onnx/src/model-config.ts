import { ConfigFields } from './config-fields.ts'
import { parseRope, type Rope } from './rope.ts'

const families = ['llama', 'qwen2', 'mistral'] as const
/** Ten times what the deepest public models have: more comes from a broken file. */
const MAX_LAYERS = 2000
export type Family = (typeof families)[number]

/** What a decoder-only transformer of a supported family needs to be built. */
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
  /** Positions that the model was made for. */
  readonly contextLength: number
  readonly normEpsilon: number
  readonly rope: Rope
  /** Whether the projections to query, key and value have biases. */
  readonly queryKeyValueBias: boolean
  /** Whether the projection after attention has a bias. */
  readonly outputBias: boolean
  /** Whether gate, up and down have biases. */
  readonly mlpBias: boolean
  /** Whether the head shares the embedding's weights; null when the configuration does not say. */
  readonly tiedHead: boolean | null
  readonly endTokens: readonly number[]
}

/**
 * Reads `config.json` (and the end tokens of `generation_config.json`).
 *
 * Throws `INF_ARCHITECTURE_UNSUPPORTED` for a family or setting that cannot be built and `INF_RUN_DIR_MALFORMED` for a
 * value that makes no sense, both naming the field. `file` is the path shown in messages.
 */
export function parseModelConfig(
  file: string,
  configuration: Record<string, unknown>,
  generation: Record<string, unknown> | null
): DecoderConfig {
  const fields = new ConfigFields(file, configuration)
  const family = familyOf(fields)
  const hiddenSize = fields.count('hidden_size')
  const heads = fields.count('num_attention_heads')
  const keyValueHeads = fields.count('num_key_value_heads', heads)
  const headSize = fields.count('head_dim', Math.floor(hiddenSize / heads))
  if (heads % keyValueHeads !== 0) {
    throw fields.refuse('num_key_value_heads', `${heads} attention heads cannot share ${keyValueHeads}`)
  }
  if (headSize % 8 !== 0) throw fields.unsupported('head_dim', headSize, 'a multiple of 8')
  const layers = fields.count('num_hidden_layers')
  if (layers > MAX_LAYERS) throw fields.unsupported('num_hidden_layers', layers, `up to ${MAX_LAYERS}`)
  const activation = configuration.hidden_act ?? 'silu'
  if (activation !== 'silu') throw fields.unsupported('hidden_act', activation, 'silu')
  const attentionBias = fields.boolean('attention_bias', false)
  return {
    family,
    hiddenSize,
    intermediateSize: fields.count('intermediate_size'),
    layers,
    heads,
    keyValueHeads,
    headSize,
    vocabularySize: fields.count('vocab_size'),
    contextLength: contextLength(fields, family),
    normEpsilon: fields.number('rms_norm_eps', 1e-6),
    rope: parseRope(fields, headSize),
    queryKeyValueBias: family === 'qwen2' || attentionBias,
    outputBias: family === 'llama' && attentionBias,
    mlpBias: family === 'llama' && fields.boolean('mlp_bias', false),
    tiedHead: configuration.tie_word_embeddings === undefined ? null : fields.boolean('tie_word_embeddings', false),
    endTokens: [...new Set([...tokenIds(configuration.eos_token_id), ...tokenIds(generation?.eos_token_id)])]
  }
}

function familyOf(fields: ConfigFields): Family {
  const type = fields.values.model_type
  const family = families.find(name => name === type)
  if (family !== undefined) return family
  throw fields.unsupported('model_type', type, families.join(', '))
}

/**
 * Attention over a sliding window is not built: where a model uses one, its context ends at the window, within which
 * both are the same.
 */
function contextLength(fields: ConfigFields, family: Family): number {
  const positions = fields.count('max_position_embeddings')
  const window = fields.values.sliding_window
  const slides = family === 'mistral' || (family === 'qwen2' && fields.boolean('use_sliding_window', false))
  return slides && typeof window === 'number' ? Math.min(positions, fields.count('sliding_window')) : positions
}

function tokenIds(value: unknown): number[] {
  return (Array.isArray(value) ? value : [value]).filter(id => Number.isSafeInteger(id) && id >= 0)
}
