import type { ConfigFields } from '../config-fields.ts'

/** Shape of a bidirectional encoder. */
export interface EncoderConfig {
  readonly family: EncoderFamily
  readonly layers: number
  readonly heads: number
  readonly hiddenSize: number
  readonly innerSize: number
  readonly vocabularySize: number
  /** Rows of the table of positions. */
  readonly positions: number
  /** Row of the first token: RoBERTa counts from the padding token. */
  readonly firstPosition: number
  /** Rows of the table of segments. */
  readonly types: number
  readonly epsilon: number
  readonly activation: EncoderActivation
}

const families = ['bert', 'roberta', 'xlm-roberta', 'camembert'] as const
export type EncoderFamily = (typeof families)[number]

const activations = {
  gelu: 'gelu',
  gelu_new: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
  relu: 'relu'
} as const
export type EncoderActivation = (typeof activations)[keyof typeof activations]

/** Reads `config.json`. Throws `INF_ARCHITECTURE_UNSUPPORTED` or `INF_RUN_DIR_MALFORMED`, naming the field. */
export function parseEncoderConfig(fields: ConfigFields): EncoderConfig {
  const { values } = fields
  const family = families.find(each => each === values.model_type)
  if (family === undefined) {
    throw fields.unsupported(
      'model_type',
      values.model_type ?? null,
      `${families.join(', ')}, qwen3, static embeddings`
    )
  }
  const heads = fields.count('num_attention_heads')
  const hiddenSize = fields.count('hidden_size')
  if (hiddenSize % heads !== 0) throw fields.refuse('hidden_size', `${hiddenSize} is no multiple of ${heads} heads`)
  if (fields.boolean('is_decoder', false)) throw fields.unsupported('is_decoder', true, 'false')
  const position = values.position_embedding_type ?? 'absolute'
  if (position !== 'absolute') throw fields.unsupported('position_embedding_type', position, 'absolute')
  const act = String(values.hidden_act ?? 'gelu')
  const activation = Object.hasOwn(activations, act) ? activations[act as keyof typeof activations] : undefined
  if (activation === undefined) throw fields.unsupported('hidden_act', act, Object.keys(activations).join(', '))
  const pad = values.pad_token_id ?? 1
  const counted = family === 'bert' ? 0 : Number(pad) + 1
  const positions = fields.count('max_position_embeddings', 512)
  if (!Number.isSafeInteger(counted) || counted < 0 || counted >= positions) {
    throw fields.refuse('pad_token_id', `${JSON.stringify(pad)} leaves none of ${positions} positions`)
  }
  return {
    family,
    layers: fields.count('num_hidden_layers'),
    heads,
    hiddenSize,
    innerSize: fields.count('intermediate_size'),
    vocabularySize: fields.count('vocab_size'),
    positions,
    firstPosition: counted,
    types: fields.count('type_vocab_size', 2),
    epsilon: fields.number('layer_norm_eps', 1e-12),
    activation
  }
}
