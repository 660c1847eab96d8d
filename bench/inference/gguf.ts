import { open } from 'node:fs/promises'
import { readRunDirectory } from '../../plugins/inference-onnx/src/run-directory.ts'
import type { TensorEntry } from '../../plugins/inference-onnx/src/safetensors.ts'
import { TensorReader } from '../../plugins/inference-onnx/src/weights/tensor-reader.ts'

/** Element type numbers of GGUF: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
const types = { F32: 0, F16: 1, Q4_0: 2, Q8_0: 8 } as const
type TensorType = keyof typeof types

/**
 * Type of the matrices. `pure Q4_0` uses one type for all. `Q4_0` is the output of llama.cpp's `llama-quantize` for a
 * model whose head is its embedding: that matrix gets Q6_K, or Q8_0 if its row length is not a multiple of 256, as here
 * (`llama_tensor_get_type_impl` and `tensor_type_fallback` in src/llama-quant.cpp).
 */
export type GgufType = 'Q4_0' | 'pure Q4_0' | 'Q8_0' | 'F16'

/** Number of weights that share a scale. */
const BLOCK = 32
const blockBytes = { F32: 4 * BLOCK, F16: 2 * BLOCK, Q4_0: 2 + BLOCK / 2, Q8_0: 2 + BLOCK } as const
const ALIGNMENT = 32

const modules: Readonly<Record<string, string>> = {
  'model.embed_tokens': 'token_embd',
  'model.norm': 'output_norm',
  input_layernorm: 'attn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  post_attention_layernorm: 'ffn_norm',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down'
}

function ggufName(name: string): string {
  const [, layer, module, kind] = /^(?:model\.layers\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(name) ?? []
  const target = modules[module ?? '']
  if (target === undefined) throw new Error(`the tensor ${name} has no name in GGUF`)
  return `${layer === undefined ? '' : `blk.${layer}.`}${target}.${kind}`
}

/**
 * Writes the weights of a Qwen2 or Llama run directory as GGUF, with matrices of `type`. The vocabulary consists of numbered
 * words, because only token ids are used.
 */
export async function writeGguf(runDirectory: string, file: string, type: GgufType): Promise<void> {
  const { tensors, configuration } = await readRunDirectory(runDirectory, { adapter: false })
  const entries = [...tensors.values()].map(entry => ({ entry, type: tensorType(entry, type) }))
  const number = (name: string) => configuration[name] as number
  const words = Array.from({ length: number('vocab_size') }, (_, id) => `w${id}`)
  const architecture = configuration.model_type as string
  const headSize =
    (configuration.head_dim as number | undefined) ?? number('hidden_size') / number('num_attention_heads')
  const header = new Writer().text('GGUF', false).u32(3).u64(entries.length).u64(16)
  header.string('general.architecture', architecture).string('general.name', 'random')
  for (const [name, value] of [
    ['block_count', number('num_hidden_layers')],
    ['context_length', number('max_position_embeddings')],
    ['embedding_length', number('hidden_size')],
    ['feed_forward_length', number('intermediate_size')],
    ['attention.head_count', number('num_attention_heads')],
    ['attention.head_count_kv', number('num_key_value_heads')],
    ['attention.key_length', headSize]
  ] as const) {
    header.text(`${architecture}.${name}`).u32(4).u32(value)
  }
  const { rope_theta: theta } = (configuration.rope_parameters ?? configuration) as { rope_theta: number }
  header.text(`${architecture}.attention.layer_norm_rms_epsilon`).u32(6).f32(number('rms_norm_eps'))
  header.text(`${architecture}.rope.freq_base`).u32(6).f32(theta)
  header.string('tokenizer.ggml.model', 'gpt2').string('tokenizer.ggml.pre', 'qwen2')
  header.strings('tokenizer.ggml.tokens', words).strings('tokenizer.ggml.merges', ['w 0'])
  header.text('tokenizer.ggml.eos_token_id').u32(4).u32(0)
  let offset = 0
  for (const { entry, type } of entries) {
    header.text(ggufName(entry.name)).u32(entry.shape.length)
    for (const size of entry.shape.toReversed()) header.u64(size)
    header.u32(types[type]).u64(offset)
    offset += padded(byteLength(entry, type))
  }
  const handle = await open(file, 'w')
  const reader = new TensorReader()
  let position = padded(header.bytes().byteLength)
  await handle.write(header.bytes(), 0, header.bytes().byteLength, 0)
  for (const { entry, type } of entries) {
    const values = new Float32Array(entry.shape.reduce((a, b) => a * b, 1))
    await reader.read(entry, 0, values)
    const interleaved = architecture === 'llama' && /\.self_attn\.[qk]_proj\./.test(entry.name)
    const bytes = encode(interleaved ? interleave(values, entry.shape, headSize) : values, type)
    await handle.write(bytes, 0, bytes.byteLength, position)
    position += padded(bytes.byteLength)
  }
  await reader.close()
  await handle.truncate(position)
  await handle.close()
}

/** Returns the rows of each head with its two halves interleaved, as llama.cpp expects them for Llama. */
function interleave(values: Float32Array, [rows = 0, columns = 1]: readonly number[], headSize: number): Float32Array {
  const target = new Float32Array(values.length)
  for (let row = 0; row < rows; row++) {
    const inHead = row % headSize
    const to = row - inHead + 2 * (inHead % (headSize / 2)) + Math.floor((2 * inHead) / headSize)
    target.set(values.subarray(row * columns, (row + 1) * columns), to * columns)
  }
  return target
}

function tensorType({ name, shape }: TensorEntry, type: GgufType): TensorType {
  if (shape.length === 1) return 'F32'
  if (type === 'pure Q4_0') return 'Q4_0'
  return type === 'Q4_0' && name === 'model.embed_tokens.weight' ? 'Q8_0' : type
}

function byteLength({ shape }: TensorEntry, type: TensorType): number {
  return (shape.reduce((a, b) => a * b, 1) / BLOCK) * blockBytes[type]
}

const padded = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT

/** Quantises to blocks of 32 numbers with a half-precision scale, like ggml's reference quantisation. */
function encode(values: Float32Array, type: TensorType): Uint8Array {
  if (type === 'F32') return new Uint8Array(values.buffer)
  if (type === 'F16') {
    const halves = new Uint16Array(values.length)
    for (let i = 0; i < values.length; i++) halves[i] = halfBits(values[i] as number)
    return new Uint8Array(halves.buffer)
  }
  const size = blockBytes[type]
  const bytes = new Uint8Array((values.length / BLOCK) * size)
  const view = new DataView(bytes.buffer)
  for (let block = 0; block < values.length / BLOCK; block++) {
    const weights = values.subarray(block * BLOCK, (block + 1) * BLOCK)
    let peak = 0
    for (const weight of weights) if (Math.abs(weight) > Math.abs(peak)) peak = weight
    const scale = type === 'Q4_0' ? peak / -8 : Math.abs(peak) / 127
    const inverse = scale === 0 ? 0 : 1 / scale
    view.setUint16(block * size, halfBits(scale), true)
    for (let i = 0; i < BLOCK; i++) {
      const value = (weights[i] as number) * inverse
      if (type === 'Q8_0') view.setInt8(block * size + 2 + i, Math.round(value))
      else {
        const at = block * size + 2 + (i % (BLOCK / 2))
        bytes[at] = (bytes[at] as number) | (Math.min(15, Math.floor(value + 8.5)) << (i < BLOCK / 2 ? 0 : 4))
      }
    }
  }
  return bytes
}

const word = new DataView(new ArrayBuffer(4))

/** Converts to F16 by truncation. Does not handle subnormals and overflow: scales of random weights are in range. */
function halfBits(value: number): number {
  word.setFloat32(0, value)
  const bits = word.getUint32(0)
  const exponent = ((bits >>> 23) & 255) - 112
  return ((bits >>> 16) & 0x8000) | (exponent <= 0 ? 0 : (exponent << 10) | ((bits >>> 13) & 1023))
}

class Writer {
  readonly #parts: Buffer[] = []

  bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }

  u32(value: number): this {
    return this.#number(4, buffer => buffer.writeUInt32LE(value))
  }

  u64(value: number): this {
    return this.#number(8, buffer => buffer.writeBigUInt64LE(BigInt(value)))
  }

  f32(value: number): this {
    return this.#number(4, buffer => buffer.writeFloatLE(value))
  }

  text(value: string, counted = true): this {
    const bytes = Buffer.from(value)
    if (counted) this.u64(bytes.byteLength)
    this.#parts.push(bytes)
    return this
  }

  string(name: string, value: string): this {
    return this.text(name).u32(8).text(value)
  }

  strings(name: string, values: readonly string[]): this {
    this.text(name).u32(9).u32(8).u64(values.length)
    for (const value of values) this.text(value)
    return this
  }

  #number(size: number, write: (buffer: Buffer) => void): this {
    const buffer = Buffer.alloc(size)
    write(buffer)
    this.#parts.push(buffer)
    return this
  }
}
