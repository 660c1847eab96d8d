import type { ConfigFields } from '../config-fields.ts'
import { type EncoderFamily, type EncoderTraits, encoderFamilies } from './encoder-families.ts'

/** Shape of a bidirectional encoder. */
export interface EncoderConfig {
  readonly family: EncoderFamily
  readonly traits: EncoderTraits
  readonly heads: number
  readonly hiddenSize: number
  readonly innerSize: number
  readonly vocabularySize: number
  /** Rows of the table of positions; of rotary models, the positions that they support. */
  readonly positions: number
  /** Row of the first token: RoBERTa counts from the padding token. */
  readonly firstPosition: number
  /** Rows of the table of segments; 0 for none. */
  readonly types: number
  /** Rows of the table of relative positions; null for none. */
  readonly relativeBuckets: number | null
  readonly epsilon: number
  readonly activation: EncoderActivation
  /** Attention of each layer. */
  readonly layers: readonly LayerAttention[]
  readonly biases: EncoderBiases
  /** How a reranker selects the vector that it scores. */
  readonly classifierPooling: 'cls' | 'mean'
  readonly classifierActivation: 'tanh' | EncoderActivation
}

export interface LayerAttention {
  /** Base of the rotary frequencies; null without rotary positions. */
  readonly theta: number | null
  /** Maximum distance of tokens that see each other; null for all. */
  readonly window: number | null
}

/** Which layers have a bias. */
export interface EncoderBiases {
  readonly attention: boolean
  readonly inner: boolean
  readonly norm: boolean
  readonly classifier: boolean
}

const ALL_BIASES: EncoderBiases = { attention: true, inner: true, norm: true, classifier: true }

const activations = {
  gelu: 'gelu',
  gelu_new: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
  relu: 'relu',
  silu: 'silu',
  swiglu: 'silu'
} as const
export type EncoderActivation = (typeof activations)[keyof typeof activations]

/** Reads `config.json`. Throws `INF_ARCHITECTURE_UNSUPPORTED` or `INF_RUN_DIR_MALFORMED`, naming the field. */
export function parseEncoderConfig(fields: ConfigFields): EncoderConfig {
  const { values } = fields
  const families = Object.keys(encoderFamilies) as EncoderFamily[]
  const family = families.find(each => each === values.model_type)
  if (family === undefined) {
    throw fields.unsupported(
      'model_type',
      values.model_type ?? null,
      `${families.join(', ')}, qwen3, static embeddings`
    )
  }
  const traits: EncoderTraits = encoderFamilies[family]
  for (const [name, wanted] of Object.entries(traits.required)) {
    if ((values[name] ?? wanted) !== wanted) throw fields.unsupported(name, values[name], JSON.stringify(wanted))
  }
  /** Returns the family's name of a field, if the configuration uses it. */
  const named = (name: string): string => {
    const alias = traits.aliases[name]
    return alias !== undefined && values[alias] !== undefined ? alias : name
  }
  const count = (name: string, fallback?: number) => fields.count(named(name), fallback)
  const heads = count('num_attention_heads')
  const hiddenSize = count('hidden_size')
  if (hiddenSize % heads !== 0) {
    throw fields.refuse(named('hidden_size'), `${hiddenSize} is no multiple of ${heads} heads`)
  }
  const activationOf = (name: string): EncoderActivation => {
    const act = String(values[name] ?? traits.activation)
    if (Object.hasOwn(activations, act)) return activations[act as keyof typeof activations]
    throw fields.unsupported(name, act, Object.keys(activations).join(', '))
  }
  const positions = count('max_position_embeddings', 512)
  const layers = readLayers(fields, traits, count('num_hidden_layers'))
  if (layers.some(({ theta }) => theta !== null) && (hiddenSize / heads) % 8 !== 0) {
    throw fields.unsupported(named('hidden_size'), hiddenSize, `a multiple of 8 for each of ${heads} heads`)
  }
  return {
    family,
    traits,
    layers,
    heads,
    hiddenSize,
    innerSize: count('intermediate_size'),
    vocabularySize: fields.count('vocab_size'),
    positions,
    firstPosition: traits.countsFromPadding ? firstPosition(fields, positions) : 0,
    types: readTypes(fields, traits),
    relativeBuckets: traits.names.relative === undefined ? null : readBuckets(fields),
    epsilon: fields.number(named('layer_norm_eps'), traits.epsilon),
    activation: activationOf(named('hidden_act')),
    biases: readBiases(fields, traits),
    classifierPooling: readClassifierPooling(fields, traits),
    classifierActivation: traits.classifier === 'configured' ? activationOf('classifier_activation') : traits.classifier
  }
}

function firstPosition(fields: ConfigFields, positions: number): number {
  const pad = fields.values.pad_token_id ?? 1
  const counted = Number(pad) + 1
  if (Number.isSafeInteger(counted) && counted >= 0 && counted < positions) return counted
  throw fields.refuse('pad_token_id', `${JSON.stringify(pad)} leaves none of ${positions} positions`)
}

/** Buckets for which the logarithmic buckets of relative positions are defined. */
const BUCKETS = { minimum: 4, maximum: 508 } as const

function readBuckets(fields: ConfigFields): number {
  const buckets = fields.count('relative_attention_num_buckets', 32)
  if (buckets >= BUCKETS.minimum && buckets <= BUCKETS.maximum) return buckets
  throw fields.unsupported('relative_attention_num_buckets', buckets, `${BUCKETS.minimum} to ${BUCKETS.maximum}`)
}

function readTypes(fields: ConfigFields, { names }: EncoderTraits): number {
  if (names.types === undefined || fields.values.type_vocab_size === 0) return 0
  return fields.count('type_vocab_size', 2)
}

function readBiases(fields: ConfigFields, { biases }: EncoderTraits): EncoderBiases {
  if (biases !== 'configured') return { ...ALL_BIASES, ...biases }
  return {
    attention: fields.boolean('attention_bias', false),
    inner: fields.boolean('mlp_bias', false),
    norm: fields.boolean('norm_bias', false),
    classifier: fields.boolean('classifier_bias', false)
  }
}

function readClassifierPooling(fields: ConfigFields, { classifier }: EncoderTraits): 'cls' | 'mean' {
  const pooling = classifier === 'configured' ? (fields.values.classifier_pooling ?? 'cls') : 'cls'
  if (pooling === 'cls' || pooling === 'mean') return pooling
  throw fields.unsupported('classifier_pooling', pooling, 'cls, mean')
}

/** Maximum layers of an encoder, so that a wrong number is refused before a graph is built. */
const MAX_LAYERS = 1_024

function readLayers(fields: ConfigFields, traits: EncoderTraits, count: number): readonly LayerAttention[] {
  if (count > MAX_LAYERS) throw fields.refuse('num_hidden_layers', `${count} is more than ${MAX_LAYERS}`)
  const plain: LayerAttention = { theta: null, window: null }
  if (traits.rotary === null) return Array.from({ length: count }, () => plain)
  const parameters = fields.section('rope_parameters')
  if (traits.rotary === 'one') {
    const theta = readTheta(fields, parameters, 'rotary_emb_base', 1_000)
    return Array.from({ length: count }, () => ({ theta, window: null }))
  }
  const full = readTheta(fields, parameters?.section('full_attention') ?? null, 'global_rope_theta', 160_000)
  const local = readTheta(fields, parameters?.section('sliding_attention') ?? null, 'local_rope_theta', 10_000)
  const window = Math.floor(fields.count('local_attention', 128) / 2)
  const period = fields.count('global_attn_every_n_layers', 3)
  const types = fields.values.layer_types
  if (types !== undefined && (!Array.isArray(types) || types.length !== count)) {
    throw fields.refuse('layer_types', `it does not name the attention of each of ${count} layers`)
  }
  return Array.from({ length: count }, (_, index) => {
    const type = types?.[index] ?? (index % period === 0 ? 'full_attention' : 'sliding_attention')
    if (type === 'full_attention') return { theta: full, window: null }
    if (type === 'sliding_attention') return { theta: local, window }
    throw fields.unsupported(`layer_types.${index}`, type, 'full_attention, sliding_attention')
  })
}

function readTheta(fields: ConfigFields, parameters: ConfigFields | null, name: string, fallback: number): number {
  const kind = parameters?.values.rope_type ?? 'default'
  if (kind !== 'default') throw parameters?.unsupported('rope_type', kind, 'default')
  return parameters?.optionalNumber('rope_theta') ?? fields.number(name, fallback)
}
