/** Names of an encoder's tensors, without `.weight` and `.bias`. */
export interface EncoderNames {
  /** Prefixes of the encoder in checkpoints; the first is that of a checkpoint without a classifier. */
  readonly prefixes: readonly string[]
  readonly tokens: string
  readonly positions?: string
  readonly types?: string
  readonly norm: string
  /** Table of relative positions, shared by all layers. */
  readonly relative?: string
  /** Prefix of a layer; `#` is its index. */
  readonly layer: string
  /** Query, key and value: one matrix, or three. */
  readonly projections: readonly string[]
  readonly output: string
  /** Norm after the attention. */
  readonly outputNorm: string
  /** First feed-forward matrix; of a gated layer, the gate (one matrix or two) and the input that it scales. */
  readonly inner: readonly string[]
  readonly outer: string
  /** Norm after the feed-forward layer; of models that norm first, the norm before the next attention. */
  readonly outerNorm: string
  /** Norm after the last layer, of models that norm first. */
  readonly finalNorm?: string
  /**
   * Layers of a reranker, with or without the prefix: hidden, output and, if there is one, the norm between them; absent
   * if not supported.
   */
  readonly classifier?: { readonly hidden: string; readonly output: string; readonly norm?: string }
}

/** Differences between the encoder families. */
export interface EncoderTraits {
  readonly names: EncoderNames
  /** Other names of the fields of BERT's configuration. */
  readonly aliases: Readonly<Record<string, string>>
  /** Values that fields must have if they are present. */
  readonly required: Readonly<Record<string, unknown>>
  /** Rotary positions: none, with one base, or with one for each kind of layer. */
  readonly rotary: null | 'one' | 'by layer'
  /** Whether positions are counted from the padding token. */
  readonly countsFromPadding: boolean
  /** Whether norms come before attention and feed-forward layers. */
  readonly normsFirst: boolean
  readonly gated: boolean
  /** Biases that differ from BERT, which has all. */
  readonly biases:
    | 'configured'
    | { readonly attention?: boolean; readonly inner?: boolean; readonly classifier?: boolean }
  readonly activation: string
  readonly epsilon: number
  /** Activation of a reranker's classifier. */
  readonly classifier: 'tanh' | 'relu' | 'configured'
}

const bertNames: EncoderNames = {
  prefixes: ['', 'bert.'],
  tokens: 'embeddings.word_embeddings',
  positions: 'embeddings.position_embeddings',
  types: 'embeddings.token_type_embeddings',
  norm: 'embeddings.LayerNorm',
  layer: 'encoder.layer.#.',
  projections: ['attention.self.query', 'attention.self.key', 'attention.self.value'],
  output: 'attention.output.dense',
  outputNorm: 'attention.output.LayerNorm',
  inner: ['intermediate.dense'],
  outer: 'output.dense',
  outerNorm: 'output.LayerNorm',
  classifier: { hidden: 'pooler.dense', output: 'classifier' }
}

const bert: EncoderTraits = {
  names: bertNames,
  aliases: {},
  required: { is_decoder: false, position_embedding_type: 'absolute' },
  rotary: null,
  countsFromPadding: false,
  normsFirst: false,
  gated: false,
  biases: {},
  activation: 'gelu',
  epsilon: 1e-12,
  classifier: 'tanh'
}

const roberta: EncoderTraits = {
  ...bert,
  names: {
    ...bertNames,
    prefixes: ['', 'roberta.'],
    classifier: { hidden: 'classifier.dense', output: 'classifier.out_proj' }
  },
  countsFromPadding: true
}

const { types: _types, ...withoutTypes } = bertNames

const mpnet: EncoderTraits = {
  ...roberta,
  names: {
    ...withoutTypes,
    prefixes: ['', 'mpnet.'],
    relative: 'encoder.relative_attention_bias',
    projections: ['attention.attn.q', 'attention.attn.k', 'attention.attn.v'],
    output: 'attention.attn.o',
    outputNorm: 'attention.LayerNorm',
    classifier: { hidden: 'classifier.dense', output: 'classifier.out_proj' }
  }
}

const distilbert: EncoderTraits = {
  ...bert,
  names: {
    ...withoutTypes,
    prefixes: ['', 'distilbert.'],
    layer: 'transformer.layer.#.',
    projections: ['attention.q_lin', 'attention.k_lin', 'attention.v_lin'],
    output: 'attention.out_lin',
    outputNorm: 'sa_layer_norm',
    inner: ['ffn.lin1'],
    outer: 'ffn.lin2',
    outerNorm: 'output_layer_norm',
    classifier: { hidden: 'pre_classifier', output: 'classifier' }
  },
  aliases: {
    hidden_size: 'dim',
    num_hidden_layers: 'n_layers',
    num_attention_heads: 'n_heads',
    intermediate_size: 'hidden_dim',
    hidden_act: 'activation'
  },
  classifier: 'relu'
}

const nomicBert: EncoderTraits = {
  ...bert,
  names: {
    prefixes: ['', 'nomic_bert.', 'bert.'],
    tokens: 'embeddings.word_embeddings',
    types: 'embeddings.token_type_embeddings',
    norm: 'emb_ln',
    layer: 'encoder.layers.#.',
    projections: ['attn.Wqkv'],
    output: 'attn.out_proj',
    outputNorm: 'norm1',
    inner: ['mlp.fc12', 'mlp.fc11'],
    outer: 'mlp.fc2',
    outerNorm: 'norm2'
  },
  aliases: {
    hidden_size: 'n_embd',
    num_hidden_layers: 'n_layer',
    num_attention_heads: 'n_head',
    intermediate_size: 'n_inner',
    hidden_act: 'activation_function',
    layer_norm_eps: 'layer_norm_epsilon',
    max_position_embeddings: 'n_positions'
  },
  required: {
    causal: false,
    mlp_fc1_bias: false,
    mlp_fc2_bias: false,
    moe_every_n_layers: 0,
    parallel_block: false,
    prenorm: false,
    qkv_proj_bias: false,
    rotary_emb_fraction: 1,
    rotary_emb_interleaved: false,
    rotary_emb_scale_base: null,
    rotary_scaling_factor: null,
    use_rms_norm: false
  },
  rotary: 'one',
  gated: true,
  biases: { attention: false, inner: false },
  activation: 'silu'
}

const modernbert: EncoderTraits = {
  ...bert,
  names: {
    prefixes: ['', 'model.'],
    tokens: 'embeddings.tok_embeddings',
    norm: 'embeddings.norm',
    layer: 'layers.#.',
    projections: ['attn.Wqkv'],
    output: 'attn.Wo',
    outputNorm: 'mlp_norm',
    inner: ['mlp.Wi'],
    outer: 'mlp.Wo',
    outerNorm: 'attn_norm',
    finalNorm: 'final_norm',
    classifier: { hidden: 'head.dense', norm: 'head.norm', output: 'classifier' }
  },
  aliases: { layer_norm_eps: 'norm_eps', hidden_act: 'hidden_activation' },
  required: {},
  rotary: 'by layer',
  normsFirst: true,
  gated: true,
  biases: 'configured',
  epsilon: 1e-5,
  classifier: 'configured'
}

/** Encoder families by `model_type`. */
export const encoderFamilies = {
  bert,
  roberta,
  'xlm-roberta': roberta,
  camembert: roberta,
  mpnet,
  distilbert,
  nomic_bert: nomicBert,
  modernbert
} as const satisfies Readonly<Record<string, EncoderTraits>>

export type EncoderFamily = keyof typeof encoderFamilies
