import type { DecoderConfig } from '../model-config.ts'

export const layerLinears = ['q', 'k', 'v', 'o', 'gate', 'up', 'down'] as const
export type LayerLinear = (typeof layerLinears)[number]

/** Module paths inside a layer, as the public checkpoints of all supported families name them. */
const modules: Readonly<Record<LayerLinear, string>> = {
  q: 'self_attn.q_proj',
  k: 'self_attn.k_proj',
  v: 'self_attn.v_proj',
  o: 'self_attn.o_proj',
  gate: 'mlp.gate_proj',
  up: 'mlp.up_proj',
  down: 'mlp.down_proj'
}

/** Checkpoints of models that also see or hear keep their decoder one level deeper. */
const prefixes = ['model.', 'model.language_model.']

/** Names of the tensors of one checkpoint. */
export class TensorNames {
  readonly #prefix: string

  /** `has` says whether the checkpoint holds a tensor of that name. */
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

  inputNorm(layer: number): string {
    return `${this.#prefix}layers.${layer}.input_layernorm.weight`
  }

  postAttentionNorm(layer: number): string {
    return `${this.#prefix}layers.${layer}.post_attention_layernorm.weight`
  }

  linear(layer: number, kind: LayerLinear): string {
    return `${this.#prefix}layers.${layer}.${modules[kind]}.weight`
  }

  bias(layer: number, kind: LayerLinear): string {
    return `${this.#prefix}layers.${layer}.${modules[kind]}.bias`
  }
}

/** `[out, in]` of a projection. */
export function linearShape(config: DecoderConfig, kind: LayerLinear): readonly [number, number] {
  const query = config.heads * config.headSize
  const keyValue = config.keyValueHeads * config.headSize
  switch (kind) {
    case 'q':
      return [query, config.hiddenSize]
    case 'k':
    case 'v':
      return [keyValue, config.hiddenSize]
    case 'o':
      return [config.hiddenSize, query]
    case 'gate':
    case 'up':
      return [config.intermediateSize, config.hiddenSize]
    case 'down':
      return [config.hiddenSize, config.intermediateSize]
  }
}

export function hasBias(config: DecoderConfig, kind: LayerLinear): boolean {
  if (kind === 'o') return config.outputBias
  return kind === 'q' || kind === 'k' || kind === 'v' ? config.queryKeyValueBias : config.mlpBias
}
