import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isSmoke } from '../smoke-mode.ts'
import { bundledModel, scratch } from './peers.ts'
import { writeRandomTensors } from './random-model.ts'

/** Shape of a Qwen3.5 model: in each group of four layers, three with linear attention and one with attention. */
export interface HybridShape {
  readonly hidden: number
  readonly layers: number
  readonly heads: number
  readonly keyValueHeads: number
  readonly headSize: number
  readonly intermediate: number
  readonly vocabulary: number
  readonly linearKeyHeads: number
  readonly linearValueHeads: number
  /** Size of a head of linear attention. */
  readonly linearSize: number
}

const INTERVAL = 4
const TAPS = 4

/** Shapes to measure, by name. The sizes are those of the text parts of the published models. */
export const hybridShapes: Readonly<Record<string, HybridShape>> = {
  tiny: {
    hidden: 128,
    layers: 4,
    heads: 4,
    keyValueHeads: 2,
    headSize: 64,
    intermediate: 256,
    vocabulary: 2048,
    linearKeyHeads: 2,
    linearValueHeads: 4,
    linearSize: 32
  },
  '0.8b': {
    hidden: 1024,
    layers: 24,
    heads: 8,
    keyValueHeads: 2,
    headSize: 256,
    intermediate: 3584,
    vocabulary: 248_320,
    linearKeyHeads: 16,
    linearValueHeads: 16,
    linearSize: 128
  },
  '4b': {
    hidden: 2560,
    layers: 32,
    heads: 16,
    keyValueHeads: 4,
    headSize: 256,
    intermediate: 9216,
    vocabulary: 248_320,
    linearKeyHeads: 16,
    linearValueHeads: 32,
    linearSize: 128
  }
}

/** Returns a run directory with random weights in BF16, which is written on the first run. */
export async function hybridModel(name: string): Promise<string> {
  const shape = hybridShapes[name]
  if (shape === undefined) throw new Error(`shape ${name}: unknown; use one of ${Object.keys(hybridShapes).join(', ')}`)
  const folder = join(scratch, 'models', `random-qwen3.5-${name}${isSmoke ? '-smoke' : ''}`)
  if (existsSync(folder)) return folder
  const unfinished = `${folder}.unfinished`
  await rm(unfinished, { recursive: true, force: true })
  await writeRandomTensors(unfinished, {
    tokenizerFolder: bundledModel,
    config: configuration(shape),
    tensors: tensors(shape),
    dtype: 'BF16'
  })
  await rename(unfinished, folder)
  return folder
}

function configuration(shape: HybridShape) {
  return {
    architectures: ['Qwen3_5ForCausalLM'],
    model_type: 'qwen3_5_text',
    hidden_act: 'silu',
    hidden_size: shape.hidden,
    intermediate_size: shape.intermediate,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.keyValueHeads,
    head_dim: shape.headSize,
    full_attention_interval: INTERVAL,
    linear_conv_kernel_dim: TAPS,
    linear_key_head_dim: shape.linearSize,
    linear_value_head_dim: shape.linearSize,
    linear_num_key_heads: shape.linearKeyHeads,
    linear_num_value_heads: shape.linearValueHeads,
    vocab_size: shape.vocabulary,
    max_position_embeddings: 8192,
    rms_norm_eps: 1e-6,
    rope_parameters: { rope_type: 'default', rope_theta: 10_000_000, partial_rotary_factor: 0.25 },
    tie_word_embeddings: true
  }
}

function tensors(shape: HybridShape): Map<string, readonly number[]> {
  const { hidden, intermediate, headSize, linearSize, linearValueHeads } = shape
  const [query, keyValue] = [shape.heads * headSize, shape.keyValueHeads * headSize]
  const [keys, values] = [shape.linearKeyHeads * linearSize, linearValueHeads * linearSize]
  const mixed = 2 * keys + values
  const full = {
    // Each head has the rows of its query and of its gate.
    'self_attn.q_proj.weight': [2 * query, hidden],
    'self_attn.k_proj.weight': [keyValue, hidden],
    'self_attn.v_proj.weight': [keyValue, hidden],
    'self_attn.o_proj.weight': [hidden, query],
    'self_attn.q_norm.weight': [headSize],
    'self_attn.k_norm.weight': [headSize]
  }
  const linear = {
    'linear_attn.in_proj_qkv.weight': [mixed, hidden],
    'linear_attn.in_proj_z.weight': [values, hidden],
    'linear_attn.in_proj_a.weight': [linearValueHeads, hidden],
    'linear_attn.in_proj_b.weight': [linearValueHeads, hidden],
    'linear_attn.conv1d.weight': [mixed, 1, TAPS],
    'linear_attn.A_log': [linearValueHeads],
    'linear_attn.dt_bias': [linearValueHeads],
    'linear_attn.norm.weight': [linearSize],
    'linear_attn.out_proj.weight': [hidden, values]
  }
  const shared = {
    'input_layernorm.weight': [hidden],
    'post_attention_layernorm.weight': [hidden],
    'mlp.gate_proj.weight': [intermediate, hidden],
    'mlp.up_proj.weight': [intermediate, hidden],
    'mlp.down_proj.weight': [hidden, intermediate]
  }
  const all = new Map<string, readonly number[]>([['model.embed_tokens.weight', [shape.vocabulary, hidden]]])
  for (let layer = 0; layer < shape.layers; layer++) {
    const parts = { ...((layer + 1) % INTERVAL === 0 ? full : linear), ...shared }
    for (const [name, dimensions] of Object.entries(parts)) all.set(`model.layers.${layer}.${name}`, dimensions)
  }
  return all.set('model.norm.weight', [hidden])
}
