import { type LinearAttentionConfig, linearSizes } from '../linear-config.ts'
import type { DecoderConfig } from '../model-config.ts'

/** Module paths of projections inside a layer, as in the public checkpoints of all supported families. */
const modules = {
  q: 'self_attn.q_proj',
  k: 'self_attn.k_proj',
  v: 'self_attn.v_proj',
  qkv: 'self_attn.qkv_proj',
  o: 'self_attn.o_proj',
  lin_qkv: 'linear_attn.in_proj_qkv',
  lin_z: 'linear_attn.in_proj_z',
  lin_b: 'linear_attn.in_proj_b',
  lin_a: 'linear_attn.in_proj_a',
  lin_o: 'linear_attn.out_proj',
  gate: 'mlp.gate_proj',
  up: 'mlp.up_proj',
  gate_up: 'mlp.gate_up_proj',
  down: 'mlp.down_proj'
} as const
export type LayerLinear = keyof typeof modules

/** Module paths of norms inside a layer. */
export type LayerNorm = 'attention' | 'attentionOutput' | 'query' | 'key' | 'feedForward' | 'feedForwardOutput'

/**
 * Prefixes of the decoder's tensors; checkpoints of multimodal models nest the decoder one level deeper, and those of
 * embedding models have none.
 */
const prefixes = ['model.', 'model.language_model.', 'language_model.model.', '']

/**
 * Returns the label of a projection in adapters: `l0.q` for the module path `model.layers.0.self_attn.q_proj`,
 * `lm_head` for the head. Null for modules that are not a projection of the decoder.
 */
export function projectionLabel(path: string): string | null {
  if (path === 'lm_head') return path
  const prefix = prefixes.find(start => path.startsWith(`${start}layers.`)) ?? ''
  const [, layer, module] = /^layers\.(\d+)\.(.+)$/.exec(path.slice(prefix.length)) ?? []
  const [kind] = Object.entries(modules).find(([, name]) => name === module) ?? []
  return layer === undefined || kind === undefined ? null : `l${Number(layer)}.${kind}`
}

/** Returns the projections in a layer of a checkpoint. */
export function layerLinears(config: DecoderConfig, layer: number): readonly LayerLinear[] {
  if (config.joinedProjections) return ['qkv', 'o', 'gate_up', 'down']
  const isLinear = config.layerKinds[layer] === 'linear'
  const attention = isLinear
    ? (['lin_qkv', 'lin_z', 'lin_b', 'lin_a', 'lin_o'] as const)
    : (['q', 'k', 'v', 'o'] as const)
  return [...attention, 'gate', 'up', 'down']
}

/** Tensors of linear attention that are not projections. */
export type LinearPart = 'conv1d.weight' | 'norm.weight' | 'A_log' | 'dt_bias'

function normModule({ outputNorms }: DecoderConfig, kind: LayerNorm): string {
  switch (kind) {
    case 'attention':
      return 'input_layernorm'
    case 'attentionOutput':
      return 'post_attention_layernorm'
    case 'query':
      return 'self_attn.q_norm'
    case 'key':
      return 'self_attn.k_norm'
    case 'feedForward':
      return outputNorms ? 'pre_feedforward_layernorm' : 'post_attention_layernorm'
    case 'feedForwardOutput':
      return 'post_feedforward_layernorm'
  }
}

/** Names of the tensors of one checkpoint. */
export class TensorNames {
  readonly #prefix: string

  /** `has`: returns true if the checkpoint has a tensor with that name. */
  constructor(has: (name: string) => boolean) {
    this.#prefix = prefixes.find(prefix => has(`${prefix}embed_tokens.weight`)) ?? 'model.'
  }

  get embedding(): string {
    return `${this.#prefix}embed_tokens.weight`
  }

  get finalNorm(): string {
    return `${this.#prefix}norm.weight`
  }

  readonly head = 'lm_head.weight'

  norm(config: DecoderConfig, layer: number, kind: LayerNorm): string {
    return `${this.#prefix}layers.${layer}.${normModule(config, kind)}.weight`
  }

  linear(layer: number, kind: LayerLinear): string {
    return `${this.#prefix}layers.${layer}.${modules[kind]}.weight`
  }

  linearPart(layer: number, part: LinearPart): string {
    return `${this.#prefix}layers.${layer}.linear_attn.${part}`
  }

  bias(layer: number, kind: LayerLinear): string {
    return `${this.#prefix}layers.${layer}.${modules[kind]}.bias`
  }
}

/** Returns the shape `[out, in]` of a projection. */
export function linearShape(config: DecoderConfig, kind: LayerLinear): readonly [number, number] {
  const query = config.heads * config.headSize
  const gated = config.outputGate ? 2 * query : query
  const keyValue = config.keyValueHeads * config.headSize
  switch (kind) {
    case 'q':
      return [gated, config.hiddenSize]
    case 'k':
    case 'v':
      return [keyValue, config.hiddenSize]
    case 'qkv':
      return [gated + 2 * keyValue, config.hiddenSize]
    case 'o':
      return [config.hiddenSize, query]
    case 'lin_qkv':
      return [linearSizes(linearOf(config)).mixed, config.hiddenSize]
    case 'lin_z':
      return [linearSizes(linearOf(config)).values, config.hiddenSize]
    case 'lin_b':
    case 'lin_a':
      return [linearOf(config).valueHeads, config.hiddenSize]
    case 'lin_o':
      return [config.hiddenSize, linearSizes(linearOf(config)).values]
    case 'gate':
    case 'up':
      return [config.intermediateSize, config.hiddenSize]
    case 'gate_up':
      return [2 * config.intermediateSize, config.hiddenSize]
    case 'down':
      return [config.hiddenSize, config.intermediateSize]
  }
}

function linearOf({ family, linear }: DecoderConfig): LinearAttentionConfig {
  if (linear === null) throw new Error(`${family} has no linear attention`)
  return linear
}

export function hasBias(config: DecoderConfig, kind: LayerLinear): boolean {
  switch (kind) {
    case 'q':
    case 'k':
    case 'v':
    case 'qkv':
      return config.queryKeyValueBias
    case 'o':
      return config.outputBias
    case 'lin_qkv':
    case 'lin_z':
    case 'lin_b':
    case 'lin_a':
    case 'lin_o':
      return false
    default:
      return config.mlpBias
  }
}
