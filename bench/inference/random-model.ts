import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Shape of a Qwen2 model. */
export interface RandomShape {
  readonly hidden: number
  readonly layers: number
  readonly heads: number
  readonly keyValueHeads: number
  readonly headSize: number
  readonly intermediate: number
  readonly vocabulary: number
  /** Whether the head has separate weights; default false. */
  readonly ownHead?: boolean
}

/** Shape with 88 million weights: enough that memory bandwidth limits the speed, not overhead. */
export const smallShape: RandomShape = {
  hidden: 896,
  layers: 4,
  heads: 14,
  keyValueHeads: 2,
  headSize: 64,
  intermediate: 4864,
  vocabulary: 32_000
}

/** Shape of Qwen2.5-0.5B, with 494 million weights. */
export const halfBillionShape: RandomShape = { ...smallShape, layers: 24, vocabulary: 151_936 }

/**
 * Writes a run directory with random weights, F32 or BF16. All tensors differ, because ONNX Runtime stores equal
 * tensors once, which would reduce the measured memory. Every token has text, so that servers send something for it. No
 * token is an end token, so that all answers have the maximum length.
 */
export async function writeRandomModel(
  folder: string,
  tokenizerFolder: string,
  shape: RandomShape = smallShape,
  dtype: 'F32' | 'BF16' = 'F32'
): Promise<void> {
  const config = {
    architectures: ['Qwen2ForCausalLM'],
    model_type: 'qwen2',
    hidden_act: 'silu',
    hidden_size: shape.hidden,
    intermediate_size: shape.intermediate,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.keyValueHeads,
    vocab_size: shape.vocabulary,
    max_position_embeddings: 4096,
    rms_norm_eps: 1e-6,
    rope_theta: 1_000_000,
    tie_word_embeddings: shape.ownHead !== true
  }
  await writeRandomTensors(folder, { tokenizerFolder, config, tensors: tensors(shape), dtype })
}

export interface RandomTensors {
  readonly tokenizerFolder: string
  /** Content of `config.json`. */
  readonly config: { readonly vocab_size: number }
  /** Dimensions of the tensors, by name. */
  readonly tensors: ReadonlyMap<string, readonly number[]>
  readonly dtype: 'F32' | 'BF16'
}

/** Writes a run directory of any family like {@link writeRandomModel}. */
export async function writeRandomTensors(folder: string, random: RandomTensors): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeTokenizer(folder, random.tokenizerFolder, random.config.vocab_size)
  await writeFile(join(folder, 'config.json'), JSON.stringify(random.config))
  await writeWeights(join(folder, 'model.safetensors'), random.tensors, random.dtype)
}

async function writeTokenizer(folder: string, source: string, vocabulary: number): Promise<void> {
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
    const text = (await readFile(join(source, name), 'utf8')).replaceAll('<|im_end|>', '<|turn|>')
    const content = JSON.parse(text)
    if (name === 'tokenizer.json') {
      const known = Object.keys(content.model.vocab).length
      for (let id = known; id < vocabulary; id++) content.model.vocab[word(id)] = id
      // Otherwise the tokenizer would build words by merging letters.
      content.model.ignore_merges = true
    } else content.eos_token = null
    await writeFile(join(folder, name), JSON.stringify(content))
  }
}

/** Returns a space (Ġ) and letters. Text that consists of such words is tokenised to the tokens that generated it. */
function word(id: number): string {
  return `Ġq${String(id).replaceAll(/\d/g, digit => 'abcdefghij'.charAt(Number(digit)))}`
}

function tensors(shape: RandomShape): Map<string, readonly number[]> {
  const { hidden, intermediate, vocabulary } = shape
  const query = shape.heads * shape.headSize
  const keyValue = shape.keyValueHeads * shape.headSize
  const all = new Map<string, readonly number[]>([['model.embed_tokens.weight', [vocabulary, hidden]]])
  for (let layer = 0; layer < shape.layers; layer++) {
    const name = (part: string) => `model.layers.${layer}.${part}`
    all.set(name('input_layernorm.weight'), [hidden])
    for (const [part, rows] of [
      ['q', query],
      ['k', keyValue],
      ['v', keyValue]
    ] as const) {
      all.set(name(`self_attn.${part}_proj.weight`), [rows, hidden])
      all.set(name(`self_attn.${part}_proj.bias`), [rows])
    }
    all.set(name('self_attn.o_proj.weight'), [hidden, query])
    all.set(name('post_attention_layernorm.weight'), [hidden])
    all.set(name('mlp.gate_proj.weight'), [intermediate, hidden])
    all.set(name('mlp.up_proj.weight'), [intermediate, hidden])
    all.set(name('mlp.down_proj.weight'), [hidden, intermediate])
  }
  if (shape.ownHead === true) all.set('lm_head.weight', [vocabulary, hidden])
  return all.set('model.norm.weight', [hidden])
}

async function writeWeights(
  file: string,
  tensors: ReadonlyMap<string, readonly number[]>,
  dtype: 'F32' | 'BF16'
): Promise<void> {
  const size = dtype === 'F32' ? 4 : 2
  const header: Record<string, unknown> = {}
  let offset = 0
  const counts = [...tensors].map(([name, dimensions]) => {
    const count = dimensions.reduce((a, b) => a * b, 1)
    header[name] = { dtype, shape: dimensions, data_offsets: [offset, offset + count * size] }
    offset += count * size
    return count
  })
  const json = JSON.stringify(header)
  const text = Buffer.from(json.padEnd(Math.ceil(json.length / 8) * 8))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.byteLength))
  const handle = await open(file, 'w')
  await handle.writeFile(Buffer.concat([length, text]))
  let state = 1
  for (const count of counts) {
    const values = new Float32Array(count)
    for (let i = 0; i < count; i++) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      values[i] = (state / 2 ** 31) * 0.05
    }
    await handle.writeFile(dtype === 'F32' ? new Uint8Array(values.buffer) : upperHalves(values))
  }
  await handle.close()
}

/** Converts to BF16, the upper half of an F32, rounded towards zero. */
function upperHalves(values: Float32Array): Uint8Array {
  const halves = new Uint16Array(values.buffer)
  const upper = new Uint16Array(values.length)
  for (let i = 0; i < upper.length; i++) upper[i] = halves[2 * i + 1] as number
  return new Uint8Array(upper.buffer)
}
