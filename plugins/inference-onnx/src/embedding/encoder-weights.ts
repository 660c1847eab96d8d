import { inferenceErrors } from '../errors.ts'
import type { Dense, EncoderWeights, NormWeights } from '../onnx/encoder.ts'
import type { ExternalTensor, StoredType } from '../onnx/graph.ts'
import type { ExternalWeights } from '../ort/runtime.ts'
import { elementCount } from '../ort/runtime.ts'
import type { Dtype, TensorEntry } from '../safetensors.ts'
import { elementBytes } from '../weights/convert.ts'
import type { Locations } from '../weights/locations.ts'
import { TensorReader } from '../weights/tensor-reader.ts'
import type { EncoderConfig } from './encoder-config.ts'

const stored: Readonly<Partial<Record<Dtype, StoredType>>> = { F32: 'float32', BF16: 'bfloat16', F16: 'float16' }
/** Location of the tensors that the runtime cannot read in place. */
const MEMORY = 'svc-unaligned-weights'

export interface PlannedEncoder {
  readonly weights: EncoderWeights
  readonly parameters: number
  /** Tensors that the runtime reads from their files. */
  readonly inPlace: readonly TensorEntry[]
  /** Tensors to read into memory, each at its offset of the location {@link MEMORY}. */
  readonly inMemory: readonly { readonly entry: TensorEntry; readonly offset: number }[]
  readonly memoryBytes: number
}

/**
 * Finds the tensors of an encoder, with or without the prefix of its family. `isReranker`: whether the layers of a
 * classifier are needed.
 *
 * Throws `INF_RUN_DIR_TENSOR_MISSING` or `INF_RUN_DIR_TENSOR_INVALID`, naming the tensor.
 */
export function planEncoder(
  folder: string,
  config: EncoderConfig,
  tensors: ReadonlyMap<string, TensorEntry>,
  locations: Locations,
  isReranker: boolean
): PlannedEncoder {
  return new Planner(folder, config, tensors, locations).plan(isReranker)
}

/** Reads the tensors that stay in memory, and returns all for a session. */
export async function externalWeights(
  { inMemory, memoryBytes }: PlannedEncoder,
  { folder }: Locations,
  signal?: AbortSignal
): Promise<ExternalWeights> {
  if (inMemory.length === 0) return { folder, inMemory: new Map() }
  const bytes = new Uint8Array(memoryBytes)
  const reader = new TensorReader()
  try {
    for (const { entry, offset } of inMemory) {
      signal?.throwIfAborted()
      await reader.read(entry, 0, new Float32Array(bytes.buffer, offset, elementCount(entry.shape)))
    }
  } finally {
    await reader.close()
  }
  return { folder, inMemory: new Map([[MEMORY, bytes]]) }
}

class Planner {
  readonly #folder: string
  readonly #config: EncoderConfig
  readonly #tensors: ReadonlyMap<string, TensorEntry>
  readonly #locations: Locations
  readonly #prefix: string
  readonly #inPlace: TensorEntry[] = []
  readonly #inMemory: { readonly entry: TensorEntry; readonly offset: number }[] = []
  #memoryBytes = 0
  #parameters = 0

  constructor(folder: string, config: EncoderConfig, tensors: ReadonlyMap<string, TensorEntry>, locations: Locations) {
    this.#folder = folder
    this.#config = config
    this.#tensors = tensors
    this.#locations = locations
    const first = 'embeddings.word_embeddings.weight'
    this.#prefix = ['', 'bert.', 'roberta.'].find(prefix => tensors.has(`${prefix}${first}`)) ?? ''
  }

  plan(isReranker: boolean): PlannedEncoder {
    const { hiddenSize, innerSize, vocabularySize, positions, types, layers } = this.#config
    const table = (name: string, rows: number) =>
      this.#tensor(`${this.#prefix}embeddings.${name}.weight`, [rows, hiddenSize])
    const weights: EncoderWeights = {
      tokens: table('word_embeddings', vocabularySize),
      positions: table('position_embeddings', positions),
      types: table('token_type_embeddings', types),
      norm: this.#norm(`${this.#prefix}embeddings.LayerNorm`),
      layers: Array.from({ length: layers }, (_, index) => {
        const dense = (name: string, rows: number, columns: number) =>
          this.#dense(`${this.#prefix}encoder.layer.${index}.${name}`, rows, columns)
        const square = (name: string) => dense(name, hiddenSize, hiddenSize)
        const norm = (name: string) => this.#norm(`${this.#prefix}encoder.layer.${index}.${name}.LayerNorm`)
        return {
          projections: [
            square('attention.self.query'),
            square('attention.self.key'),
            square('attention.self.value')
          ] as const,
          output: square('attention.output.dense'),
          outputNorm: norm('attention.output'),
          inner: dense('intermediate.dense', innerSize, hiddenSize),
          outer: dense('output.dense', hiddenSize, innerSize),
          outerNorm: norm('output')
        }
      }),
      classifier: isReranker ? this.#classifier() : null
    }
    return {
      weights,
      parameters: this.#parameters,
      inPlace: this.#inPlace,
      inMemory: this.#inMemory,
      memoryBytes: this.#memoryBytes
    }
  }

  #classifier(): readonly Dense[] {
    const { hiddenSize, family } = this.#config
    const names =
      family === 'bert' ? [`${this.#prefix}pooler.dense`, 'classifier'] : ['classifier.dense', 'classifier.out_proj']
    return [this.#dense(names[0] as string, hiddenSize, hiddenSize), this.#dense(names[1] as string, 1, hiddenSize)]
  }

  #dense(name: string, rows: number, columns: number): Dense {
    return { weight: this.#tensor(`${name}.weight`, [rows, columns]), bias: this.#tensor(`${name}.bias`, [rows]) }
  }

  /** Finds a norm; checkpoints from TensorFlow call its parts gamma and beta. */
  #norm(name: string): NormWeights {
    const part = (names: readonly string[]) => {
      const found = names.map(each => `${name}.${each}`).find(each => this.#tensors.has(each))
      return this.#tensor(found ?? `${name}.${names[0]}`, [this.#config.hiddenSize])
    }
    return { weight: part(['weight', 'gamma']), bias: part(['bias', 'beta']) }
  }

  #tensor(name: string, shape: readonly number[]): ExternalTensor {
    const entry = this.#tensors.get(name)
    if (entry === undefined) {
      throw inferenceErrors.create('INF_RUN_DIR_TENSOR_MISSING', `${this.#folder}: ${name} is in no weight file`, {
        at: { file: this.#folder },
        data: { file: this.#folder, tensor: name },
        hint: 'Download the weights again, or check that config.json belongs to them.'
      })
    }
    const type = stored[entry.dtype]
    const fits = entry.shape.length === shape.length && entry.shape.every((size, axis) => size === shape[axis])
    if (!fits || type === undefined) {
      const wanted = fits ? Object.keys(stored).join(', ') : `[${shape.join(', ')}], as in config.json`
      throw inferenceErrors.create(
        'INF_RUN_DIR_TENSOR_INVALID',
        `${entry.file}: ${name} at byte ${entry.offset} is ${entry.dtype} [${entry.shape.join(', ')}], not ${wanted}`,
        { at: { file: entry.file }, data: { file: entry.file, offset: entry.offset, tensor: name } }
      )
    }
    const elements = elementCount(shape)
    this.#parameters += elements
    const location = entry.offset % elementBytes(entry.dtype) === 0 ? this.#locations.of(entry.file) : null
    if (location !== null) {
      this.#inPlace.push(entry)
      return { name, shape, location, offset: entry.offset, byteLength: entry.byteLength, type }
    }
    const [offset, byteLength] = [this.#memoryBytes, elements * Float32Array.BYTES_PER_ELEMENT]
    this.#inMemory.push({ entry, offset })
    this.#memoryBytes += byteLength
    return { name, shape, location: MEMORY, offset, byteLength, type: 'float32' }
  }
}
