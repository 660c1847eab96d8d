import { inferenceErrors } from '../errors.ts'
import { type LinearAttentionConfig, linearSizes } from '../linear-config.ts'
import type { TensorEntry, TiledHeads } from '../safetensors.ts'

/** Tensors outside the layers. */
const outer: Readonly<Record<string, string>> = {
  'token_embd.weight': 'model.embed_tokens.weight',
  'output_norm.weight': 'model.norm.weight',
  'output.weight': 'lm_head.weight'
}

/** Modules of a layer in all architectures. */
const common: Readonly<Record<string, string>> = {
  attn_norm: 'input_layernorm',
  attn_q: 'self_attn.q_proj',
  attn_k: 'self_attn.k_proj',
  attn_v: 'self_attn.v_proj',
  attn_output: 'self_attn.o_proj',
  attn_q_norm: 'self_attn.q_norm',
  attn_k_norm: 'self_attn.k_norm',
  ffn_norm: 'post_attention_layernorm',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj'
}

/** Modules of Gemma, which also normalises the outputs of attention and feed-forward. */
const outputNorms: Readonly<Record<string, string>> = {
  post_attention_norm: 'post_attention_layernorm',
  ffn_norm: 'pre_feedforward_layernorm',
  post_ffw_norm: 'post_feedforward_layernorm'
}

/** Modules of Phi-3: joined query, key and value, and joined gate and up. */
const joined: Readonly<Record<string, string>> = { attn_qkv: 'self_attn.qkv_proj', ffn_up: 'mlp.gate_up_proj' }

/** Modules of Qwen3.5, with linear attention in most layers. */
const linear: Readonly<Record<string, string>> = {
  post_attention_norm: 'post_attention_layernorm',
  attn_qkv: 'linear_attn.in_proj_qkv',
  attn_gate: 'linear_attn.in_proj_z',
  ssm_beta: 'linear_attn.in_proj_b',
  ssm_alpha: 'linear_attn.in_proj_a',
  ssm_conv1d: 'linear_attn.conv1d',
  ssm_norm: 'linear_attn.norm',
  ssm_out: 'linear_attn.out_proj'
}

/** Vectors of linear attention whose names in checkpoints have no `weight` or `bias`. */
const linearVectors: Readonly<Record<string, string>> = { ssm_a: 'A_log', 'ssm_dt.bias': 'dt_bias' }

export type TensorLayout = 'plain' | 'interleaved' | 'output norms' | 'joined' | 'linear'

/** Tensors that only the configuration uses. */
const factors = /^(?:rope_freqs|rope_factors_long|rope_factors_short)\.weight$/

export interface HeadShape {
  readonly heads: number
  readonly keyValueHeads: number
  readonly layers: number
  /** Heads of linear attention; null for other architectures. */
  readonly linear: LinearAttentionConfig | null
}

/**
 * Returns the tensors of a GGUF file under the names of checkpoints of transformers.
 *
 * Converters interleave the halves of query and key heads of Llama for another form of rotary embedding, which
 * `TensorEntry.headRows` undoes, and reorder the value heads of linear attention, which `TensorEntry.tiled` undoes.
 * Layers after the last, which predict further tokens, are left out. Throws `INF_ARCHITECTURE_UNSUPPORTED` for a tensor of
 * unknown meaning.
 */
export function checkpointTensors(
  file: string,
  tensors: ReadonlyMap<string, TensorEntry>,
  layout: TensorLayout,
  { heads, keyValueHeads, layers, linear: linearHeads }: HeadShape
): ReadonlyMap<string, TensorEntry> {
  const modules = {
    ...common,
    ...(layout === 'output norms' ? outputNorms : {}),
    ...(layout === 'joined' ? joined : {}),
    ...(layout === 'linear' ? linear : {})
  }
  const renamed = new Map<string, TensorEntry>()
  for (const [name, entry] of tensors) {
    if (factors.test(name)) continue
    if (layout === 'linear' && layerOf(name) >= layers) continue
    const { target, module } = rename(name, modules, layout)
    if (target === null) throw unknownTensor(file, name)
    const interleaved = layout === 'interleaved' && (module === 'attn_q' || module === 'attn_k')
    const headRows = (entry.shape[0] as number) / (module === 'attn_q' ? heads : keyValueHeads)
    // An odd number of rows has no halves. The planner reports the wrong shape.
    const halves = interleaved && headRows % 2 === 0
    const named = { ...entry, name: target, ...(halves ? { headRows } : {}) }
    renamed.set(target, linearHeads === null ? named : ofLinearAttention(named, module, linearHeads))
  }
  return renamed
}

const layerName = /^blk\.(0|[1-9]\d{0,3})\./

/** Returns the layer of a tensor; -1 for a tensor outside the layers. */
function layerOf(name: string): number {
  return Number(layerName.exec(name)?.[1] ?? -1)
}

/** Returns the tensor with the form that it has in checkpoints. */
function ofLinearAttention(entry: TensorEntry, module: string, heads: LinearAttentionConfig): TensorEntry {
  const tiled = tiledHeads(module, heads)
  const [channels, taps] = entry.shape
  return {
    ...entry,
    ...(tiled === null ? {} : { tiled }),
    ...(module === 'ssm_a' ? { negatedExponential: true } : {}),
    ...(module === 'ssm_conv1d' && taps !== undefined ? { shape: [channels as number, 1, taps] } : {})
  }
}

/** Returns the order of a tensor's value heads; null if it is that of checkpoints. */
function tiledHeads(module: string, heads: LinearAttentionConfig): TiledHeads | null {
  const { keyHeads, valueHeads, valueSize } = heads
  const perKey = valueHeads / keyHeads
  // Other ratios than whole ones are refused with the configuration.
  if (perKey === 1 || !Number.isInteger(perKey)) return null
  const tiled = (start: number, size: number, axis: TiledHeads['axis'] = 'rows') => ({
    axis,
    start,
    keyHeads,
    perKey,
    size
  })
  switch (module) {
    case 'attn_qkv':
    case 'ssm_conv1d':
      return tiled(2 * linearSizes(heads).keys, valueSize)
    case 'attn_gate':
      return tiled(0, valueSize)
    case 'ssm_alpha':
    case 'ssm_beta':
    case 'ssm_a':
    case 'ssm_dt.bias':
      return tiled(0, 1)
    case 'ssm_out':
      return tiled(0, valueSize, 'columns')
    default:
      return null
  }
}

function rename(name: string, modules: Readonly<Record<string, string>>, layout: TensorLayout) {
  if (Object.hasOwn(outer, name)) return { target: outer[name] ?? null, module: '' }
  const vector = name.replace(layerName, '')
  if (layout === 'linear' && layerOf(name) >= 0 && Object.hasOwn(linearVectors, vector)) {
    return { target: `model.layers.${layerOf(name)}.linear_attn.${linearVectors[vector]}`, module: vector }
  }
  const [, layer, module = '', kind] = /^blk\.(0|[1-9]\d{0,3})\.([a-z_0-9]+)\.(weight|bias)$/.exec(name) ?? []
  if (layer === undefined || !Object.hasOwn(modules, module)) return { target: null, module }
  return { target: `model.layers.${Number(layer)}.${modules[module]}.${kind}`, module }
}

function unknownTensor(file: string, name: string) {
  return inferenceErrors.create(
    'INF_ARCHITECTURE_UNSUPPORTED',
    `${file}: the tensor ${JSON.stringify(name)} is not supported: its meaning in this architecture is unknown`,
    {
      at: { file, path: name },
      data: { field: name, value: name, supported: 'tensors of the supported architectures' }
    }
  )
}
