import type { Quantization } from '@svc/contracts'
import type { Dense } from '../onnx/dense.ts'
import type { ClassifierWeights, EncoderLayerWeights, EncoderWeights, NormWeights } from '../onnx/encoder.ts'
import type { ExternalTensor } from '../onnx/graph.ts'
import type { LinearWeight } from '../onnx/linear.ts'
import type { ExternalWeights } from '../ort/runtime.ts'
import { elementCount } from '../ort/runtime.ts'
import type { TensorEntry } from '../safetensors.ts'
import { elementBytes } from '../weights/convert.ts'
import { PackedLayout } from '../weights/layout.ts'
import type { Locations } from '../weights/locations.ts'
import type { PackedPlan } from '../weights/pack.ts'
import { TensorReader } from '../weights/tensor-reader.ts'
import type { EncoderConfig } from './encoder-config.ts'
import { requireTensor } from './model-tensors.ts'

/** Location of the tensors that the runtime cannot read in place. */
const MEMORY = 'svc-unaligned-weights'

export interface PlannedEncoder extends PackedPlan {
  readonly weights: EncoderWeights
  readonly parameters: number
  /** Tensors that the runtime reads from their files. */
  readonly inPlace: readonly TensorEntry[]
  /** Tensors to read into memory, each at its offset of the location {@link MEMORY}. */
  readonly inMemory: readonly { readonly entry: TensorEntry; readonly offset: number }[]
  readonly memoryBytes: number
}

export interface EncoderPlanOptions {
  /** Folder of the weights, for messages. */
  readonly folder: string
  readonly config: EncoderConfig
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly locations: Locations
  /** Whether the layers of a classifier are needed. */
  readonly isReranker: boolean
  /** Form of the matrices of the layers. */
  readonly quantization: Quantization
  /** Name of the file with quantised matrices in the model. */
  readonly packedLocation: string
}

/**
 * Finds the tensors of an encoder, with or without the prefix of its family.
 *
 * Throws `INF_RUN_DIR_TENSOR_MISSING` or `INF_RUN_DIR_TENSOR_INVALID`, naming the tensor.
 */
export function planEncoder(options: EncoderPlanOptions): PlannedEncoder {
  return new Planner(options).plan()
}

/** Reads the tensors that stay in memory. */
export async function memoryWeights(
  { inMemory, memoryBytes }: PlannedEncoder,
  signal?: AbortSignal
): Promise<ExternalWeights['inMemory']> {
  if (inMemory.length === 0) return new Map()
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
  return new Map([[MEMORY, bytes]])
}

class Planner {
  readonly #options: EncoderPlanOptions
  readonly #config: EncoderConfig
  readonly #prefix: string
  readonly #layout: PackedLayout
  readonly #inPlace: TensorEntry[] = []
  readonly #inMemory: { readonly entry: TensorEntry; readonly offset: number }[] = []
  #memoryBytes = 0
  #parameters = 0

  constructor(options: EncoderPlanOptions) {
    this.#options = options
    this.#config = options.config
    this.#layout = new PackedLayout(options.packedLocation)
    const { prefixes, tokens: first } = options.config.traits.names
    this.#prefix = prefixes.find(prefix => options.tensors.has(`${prefix}${first}.weight`)) ?? ''
  }

  plan(): PlannedEncoder {
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
      classifier: this.#options.isReranker ? this.#classifier() : null
    }
    return {
      weights,
      parameters: this.#parameters,
      packed: this.#layout.tensors,
      packedByteLength: this.#layout.byteLength,
      inPlace: this.#inPlace,
      inMemory: this.#inMemory,
      memoryBytes: this.#memoryBytes
    }
  }

  #layer(index: number): EncoderLayerWeights {
    const { traits, hiddenSize, innerSize, biases, layers } = this.#config
    const { names, gated, normsFirst } = traits
    const inLayer = (name: string, at = index) => `${this.#prefix}${names.layer.replace('#', String(at))}${name}`
    const isLast = index === layers.length - 1
    const nextNorm = isLast ? `${this.#prefix}${names.finalNorm}` : inLayer(names.outerNorm, index + 1)
    return {
      projections: this.#dense(
        names.projections.map(each => inLayer(each)),
        3 * hiddenSize,
        hiddenSize,
        biases.attention
      ),
      output: this.#dense([inLayer(names.output)], hiddenSize, hiddenSize, biases.attention),
      outputNorm: this.#norm(inLayer(names.outputNorm)),
      inner: this.#dense(
        names.inner.map(each => inLayer(each)),
        (gated ? 2 : 1) * innerSize,
        hiddenSize,
        biases.inner
      ),
      outer: this.#dense([inLayer(names.outer)], hiddenSize, innerSize, biases.inner),
      outerNorm: this.#norm(normsFirst ? nextNorm : inLayer(names.outerNorm))
    }
  }

  #classifier(): ClassifierWeights {
    const { traits, hiddenSize, biases } = this.#config
    const names = traits.names.classifier
    if (names === undefined) throw new Error('a reranker of a family without classifier was planned')
    // BERT's hidden layer is a part of the encoder; those of other families are next to it.
    const inEncoder = this.#options.tensors.has(`${this.#prefix}${names.hidden}.weight`)
    const hidden = `${inEncoder ? this.#prefix : ''}${names.hidden}`
    return {
      hidden: this.#plain(hidden, hiddenSize, biases.classifier),
      norm: names.norm === undefined ? null : this.#norm(names.norm),
      output: this.#plain(names.output, 1, true)
    }
  }

  /** Returns matrices of a layer that are computed together; each has the same share of the rows. */
  #dense(names: readonly string[], rows: number, columns: number, biased: boolean): Dense {
    const shape = [rows / names.length, columns] as const
    const weight = this.#weight(names, shape)
    return { weight, bias: biased ? names.map(name => this.#tensor(`${name}.bias`, [shape[0]])) : [] }
  }

  #weight(names: readonly string[], shape: readonly [number, number]): LinearWeight {
    const { quantization } = this.#options
    if (quantization !== 'none') {
      const sources = names.map(name => ({ entry: this.#source(`${name}.weight`, shape).entry, update: null }))
      return this.#layout.weight(`packed.${names[0]}`, sources, quantization)
    }
    const parts = names.map(name => this.#tensor(`${name}.weight`, shape))
    const [values] = parts as [ExternalTensor]
    return parts.length === 1 ? { form: 'float', values } : { form: 'joined', parts }
  }

  /** Returns a matrix that is never quantised. */
  #plain(name: string, rows: number, biased: boolean): Dense {
    const values = this.#tensor(`${name}.weight`, [rows, this.#config.hiddenSize])
    return { weight: { form: 'float', values }, bias: biased ? [this.#tensor(`${name}.bias`, [rows])] : [] }
  }

  /** Finds a norm; checkpoints from TensorFlow call its parts gamma and beta. */
  #norm(name: string): NormWeights {
    const part = (names: readonly string[]) => {
      const found = names.map(each => `${name}.${each}`).find(each => this.#options.tensors.has(each))
      return this.#tensor(found ?? `${name}.${names[0]}`, [this.#config.hiddenSize])
    }
    return { weight: part(['weight', 'gamma']), bias: this.#config.biases.norm ? part(['bias', 'beta']) : null }
  }

  #source(name: string, shape: readonly number[]) {
    const { folder, tensors } = this.#options
    const source = requireTensor(folder, tensors, name, shape)
    this.#parameters += elementCount(shape)
    return source
  }

  #tensor(name: string, shape: readonly number[]): ExternalTensor {
    const { entry, type } = this.#source(name, shape)
    const aligned = entry.offset % elementBytes(entry.dtype) === 0
    const location = aligned ? this.#options.locations.of(entry.file) : null
    if (location !== null) {
      this.#inPlace.push(entry)
      return { name, shape, location, offset: entry.offset, byteLength: entry.byteLength, type }
    }
    const [offset, byteLength] = [this.#memoryBytes, elementCount(shape) * Float32Array.BYTES_PER_ELEMENT]
    this.#inMemory.push({ entry, offset })
    this.#memoryBytes += byteLength
    return { name, shape, location: MEMORY, offset, byteLength, type: 'float32' }
  }
}
