import { inferenceErrors } from '../errors.ts'
import type { TensorEntry } from '../safetensors.ts'

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

export type TensorLayout = 'plain' | 'interleaved' | 'output norms' | 'joined'

/** Tensors that only the configuration uses. */
const factors = /^(?:rope_freqs|rope_factors_long|rope_factors_short)\.weight$/

export interface HeadShape {
  readonly heads: number
  readonly keyValueHeads: number
}

/**
 * Returns the tensors of a GGUF file under the names of checkpoints of transformers.
 *
 * Converters interleave the halves of query and key heads of Llama for another form of rotary embedding, which
 * `TensorEntry.headRows` undoes. Throws `INF_ARCHITECTURE_UNSUPPORTED` for a tensor of unknown meaning.
 */
export function checkpointTensors(
  file: string,
  tensors: ReadonlyMap<string, TensorEntry>,
  layout: TensorLayout,
  { heads, keyValueHeads }: HeadShape
): ReadonlyMap<string, TensorEntry> {
  const modules = {
    ...common,
    ...(layout === 'output norms' ? outputNorms : {}),
    ...(layout === 'joined' ? joined : {})
  }
  const renamed = new Map<string, TensorEntry>()
  for (const [name, entry] of tensors) {
    if (factors.test(name)) continue
    const { target, module } = rename(name, modules)
    if (target === null) throw unknownTensor(file, name)
    const interleaved = layout === 'interleaved' && (module === 'attn_q' || module === 'attn_k')
    const headRows = (entry.shape[0] as number) / (module === 'attn_q' ? heads : keyValueHeads)
    // An odd number of rows has no halves. The planner reports the wrong shape.
    const halves = interleaved && headRows % 2 === 0
    renamed.set(target, { ...entry, name: target, ...(halves ? { headRows } : {}) })
  }
  return renamed
}

function rename(name: string, modules: Readonly<Record<string, string>>) {
  if (Object.hasOwn(outer, name)) return { target: outer[name] ?? null, module: '' }
  const [, layer, module = '', kind] = /^blk\.(0|[1-9]\d{0,3})\.([a-z_]+)\.(weight|bias)$/.exec(name) ?? []
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
