import type { Dense } from '../onnx/dense.ts'
import type { ClassifierWeights, EncoderLayerWeights, EncoderWeights, NormWeights } from '../onnx/encoder.ts'
import type { ExternalTensor } from '../onnx/graph.ts'
import type { ExternalWeights } from '../ort/runtime.ts'
import { elementCount } from '../ort/runtime.ts'
import type { TensorEntry } from '../safetensors.ts'
import { elementBytes } from '../weights/convert.ts'
import type { Locations } from '../weights/locations.ts'
import { TensorReader } from '../weights/tensor-reader.ts'
import type { EncoderConfig } from './encoder-config.ts'
import { requireTensor } from './model-tensors.ts'

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
    const { prefixes, tokens: first } = config.traits.names
    this.#prefix = prefixes.find(prefix => tensors.has(`${prefix}${first}.weight`)) ?? ''
  }

  plan(isReranker: boolean): PlannedEncoder {
    const { traits, hiddenSize, vocabularySize, positions, types, relativeBuckets, heads, layers } = this.#config
    const { names } = traits
    const table = (name: string | undefined, rows: number, columns = hiddenSize) =>
      name === undefined || rows === 0 ? null : this.#tensor(`${this.#prefix}${name}.weight`, [rows, columns])
    const weights: EncoderWeights = {
      tokens: this.#tensor(`${this.#prefix}${names.tokens}.weight`, [vocabularySize, hiddenSize]),
      positions: table(names.positions, positions),
      types: table(names.types, types),
      relative: table(names.relative, relativeBuckets ?? 0, heads),
      norm: this.#norm(`${this.#prefix}${names.norm}`),
      layers: layers.map((_, index) => this.#layer(index)),
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

  #layer(index: number): EncoderLayerWeights {
    const { traits, hiddenSize, innerSize, biases, layers } = this.#config
    const { names, gated, normsFirst } = traits
    const inLayer = (name: string, at = index) => `${this.#prefix}${names.layer.replace('#', String(at))}${name}`
    /** Splits the rows of a part of the layer between its matrices. */
    const parts = (list: readonly string[], rows: number, columns: number, biased: boolean) =>
      list.map(name => this.#dense(inLayer(name), rows / list.length, columns, biased))
    const isLast = index === layers.length - 1
    const nextNorm = isLast ? `${this.#prefix}${names.finalNorm}` : inLayer(names.outerNorm, index + 1)
    return {
      projections: parts(names.projections, 3 * hiddenSize, hiddenSize, biases.attention),
      output: this.#dense(inLayer(names.output), hiddenSize, hiddenSize, biases.attention),
      outputNorm: this.#norm(inLayer(names.outputNorm)),
      inner: parts(names.inner, (gated ? 2 : 1) * innerSize, hiddenSize, biases.inner),
      outer: this.#dense(inLayer(names.outer), hiddenSize, innerSize, biases.inner),
      outerNorm: this.#norm(normsFirst ? nextNorm : inLayer(names.outerNorm))
    }
  }

  #classifier(): ClassifierWeights {
    const { traits, hiddenSize, biases } = this.#config
    const names = traits.names.classifier
    if (names === undefined) throw new Error('a reranker of a family without classifier was planned')
    // BERT's hidden layer is a part of the encoder; those of other families are next to it.
    const inEncoder = this.#tensors.has(`${this.#prefix}${names.hidden}.weight`)
    const hidden = `${inEncoder ? this.#prefix : ''}${names.hidden}`
    return {
      hidden: this.#dense(hidden, hiddenSize, hiddenSize, biases.classifier),
      norm: names.norm === undefined ? null : this.#norm(names.norm),
      output: this.#dense(names.output, 1, hiddenSize, true)
    }
  }

  #dense(name: string, rows: number, columns: number, biased: boolean): Dense {
    return {
      weight: this.#tensor(`${name}.weight`, [rows, columns]),
      bias: biased ? this.#tensor(`${name}.bias`, [rows]) : null
    }
  }

  /** Finds a norm; checkpoints from TensorFlow call its parts gamma and beta. */
  #norm(name: string): NormWeights {
    const part = (names: readonly string[]) => {
      const found = names.map(each => `${name}.${each}`).find(each => this.#tensors.has(each))
      return this.#tensor(found ?? `${name}.${names[0]}`, [this.#config.hiddenSize])
    }
    return { weight: part(['weight', 'gamma']), bias: this.#config.biases.norm ? part(['bias', 'beta']) : null }
  }

  #tensor(name: string, shape: readonly number[]): ExternalTensor {
    const { entry, type } = requireTensor(this.#folder, this.#tensors, name, shape)
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
