import type { ConfigFields } from './config-fields.ts'
import type { FamilyTraits } from './model-families.ts'

/** Kind of a layer: attention over all positions, or linear attention, which keeps a state of fixed size instead. */
export type LayerKind = 'full' | 'linear'

/** Linear attention with a gated delta rule, as in Qwen3.5 (https://arxiv.org/abs/2412.06464). */
export interface LinearAttentionConfig {
  readonly keyHeads: number
  /** A multiple of `keyHeads`. */
  readonly valueHeads: number
  /** Size of one head. */
  readonly keySize: number
  readonly valueSize: number
  /** Positions that the convolution before the attention sees, including the current one. */
  readonly taps: number
}

/** Returns the kind of each layer. */
export function layerKinds(fields: ConfigFields, traits: FamilyTraits, layers: number): readonly LayerKind[] {
  if (!traits.linearAttention) return Array.from({ length: layers }, () => 'full')
  const types = fields.values.layer_types ?? null
  const interval = fields.count('full_attention_interval', 4)
  return Array.from({ length: layers }, (_, layer) => {
    const isFull = Array.isArray(types) ? types[layer] === 'full_attention' : (layer + 1) % interval === 0
    return isFull ? 'full' : 'linear'
  })
}

/** Returns the parameters of linear attention. Throws `INF_ARCHITECTURE_UNSUPPORTED` and `INF_RUN_DIR_MALFORMED`. */
export function linearAttention(fields: ConfigFields): LinearAttentionConfig {
  const keyHeads = fields.count('linear_num_key_heads')
  const valueHeads = fields.count('linear_num_value_heads')
  if (valueHeads % keyHeads !== 0)
    throw fields.refuse('linear_num_value_heads', `${valueHeads} value heads cannot share ${keyHeads} key heads`)
  const taps = fields.count('linear_conv_kernel_dim')
  if (taps < 2) throw fields.unsupported('linear_conv_kernel_dim', taps, '2 or more')
  return {
    keyHeads,
    valueHeads,
    keySize: fields.count('linear_key_head_dim'),
    valueSize: fields.count('linear_value_head_dim'),
    taps
  }
}

/** Returns the number of values in the three parts of the projection: queries and keys each, values, and all. */
export function linearSizes({ keyHeads, valueHeads, keySize, valueSize }: LinearAttentionConfig) {
  const keys = keyHeads * keySize
  const values = valueHeads * valueSize
  return { keys, values, mixed: 2 * keys + values }
}
