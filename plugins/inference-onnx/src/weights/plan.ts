import type { Quantization } from '@svc/contracts'
import type { Adapter, LowRankFactors } from '../adapter.ts'
import { inferenceErrors } from '../errors.ts'
import { linearSizes } from '../linear-config.ts'
import type { DecoderConfig } from '../model-config.ts'
import type { AttentionWeights, DecoderWeights, LayerNorms, LayerWeights } from '../onnx/decoder.ts'
import type { ExternalTensor, StoredType } from '../onnx/graph.ts'
import type { Linear, LinearWeight } from '../onnx/linear.ts'
import type { LinearAttentionWeights } from '../onnx/linear-attention.ts'
import { elementCount } from '../ort/runtime.ts'
import { type Dtype, isPlain, type TensorEntry } from '../safetensors.ts'
import { elementBytes } from './convert.ts'
import { PackedLayout, type PackedTensor } from './layout.ts'
import { hasBias, type LayerLinear, type LayerNorm, linearShape, TensorNames } from './tensor-names.ts'
import { movesBlocks } from './tensor-reader.ts'
import { assignUpdates } from './updates.ts'

/** Supported element types of weights, with their names in the runtime. */
const readable: Readonly<Partial<Record<Dtype, StoredType>>> = { F32: 'float32', BF16: 'bfloat16', F16: 'float16' }

const ALL: readonly Dtype[] = ['F32', 'BF16', 'F16']

/** Checkpoint tensor, and its low-rank update if it has one. */
export interface WeightSource {
  readonly entry: TensorEntry
  readonly update: LowRankFactors | null
}

/**
 * Plan where each weight of a model comes from.
 *
 * - F32 tensors without an update stay in the shards. The others are packed into one new file: converted, merged with
 *   their update and joined (query, key and value; gate and up). A group is joined if any member must be packed;
 *   otherwise copying would cost memory and save no time.
 * - With half precision, the graph joins groups whose members stay in place: a GPU reads one large matrix faster, and
 *   has a separate copy anyway.
 * - With 4 bits, weights that a GGUF file stores as Q4_0 keep their values.
 * - With quantisation, all projections are packed. The embedding is not quantised: its rows are read in place on
 *   lookup, in any element type, and need no memory. A GPU needs the embedding in an element type that it supports.
 */
export interface WeightPlan {
  readonly weights: DecoderWeights
  readonly packed: readonly PackedTensor[]
  readonly packedByteLength: number
  /** Tensors that the runtime reads in place. */
  readonly inPlace: readonly TensorEntry[]
  /** Number of weights of the base model; tied weights count once. */
  readonly parameters: number
  /** Element type or encoding in which the embedding, and in practice the whole model, is stored. */
  readonly precision: string
}

export interface PlanOptions {
  /** Path for messages. */
  readonly runDirectory: string
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly adapter: Adapter | null
  readonly quantization: Quantization
  /** True if `q4` is only for weights that are stored as Q4_0; the others become `q8`. */
  readonly keepStored?: boolean
  /** True to use half precision in place instead of converting it to F32, for devices that support it. */
  readonly keepHalf?: boolean
  /** True if the model runs on a device other than the CPU. */
  readonly onDevice?: boolean
  /** Returns the name of a file in the model; null if the runtime cannot reach the file. */
  readonly locate: (file: string) => string | null
  /** Name of the packed file in the model. */
  readonly packedLocation: string
}

/** Plans the weights. Throws `INF_RUN_DIR_TENSOR_MISSING`, `INF_RUN_DIR_TENSOR_INVALID` or `INF_ADAPTER_INVALID`. */
export function planWeights(config: DecoderConfig, options: PlanOptions): WeightPlan {
  return new Planner(config, options).plan()
}

class Planner {
  readonly #config: DecoderConfig
  readonly #options: PlanOptions
  readonly #names: TensorNames
  readonly #updates: ReadonlyMap<string, LowRankFactors>
  readonly #layout: PackedLayout
  readonly #used = new Map<string, TensorEntry>()
  readonly #inPlaceEntries = new Set<TensorEntry>()
  /** Element types that are used in place. */
  readonly #kept: readonly Dtype[]

  constructor(config: DecoderConfig, options: PlanOptions) {
    this.#config = config
    this.#options = options
    this.#kept = options.keepHalf === true ? ALL : ['F32']
    this.#layout = new PackedLayout(options.packedLocation)
    this.#names = new TensorNames(name => options.tensors.has(name))
    this.#updates = options.adapter === null ? new Map() : assignUpdates(config, this.#names, options.adapter)
  }

  plan(): WeightPlan {
    const config = this.#config
    const source = this.#source(this.#names.embedding, [config.vocabularySize, config.hiddenSize])
    const embedding = this.#embedding(source)
    const weights = {
      embedding,
      layers: Array.from({ length: config.layers }, (_, layer) => this.#layer(layer)),
      finalNorm: this.#vector(this.#names.finalNorm, config.hiddenSize),
      head: { weight: this.#head(source, embedding), bias: null }
    }
    return {
      weights,
      packed: this.#layout.tensors,
      packedByteLength: this.#layout.byteLength,
      inPlace: [...this.#inPlaceEntries],
      parameters: [...this.#used.values()].reduce((sum, { shape }) => sum + elementCount(shape), 0),
      precision: source.entry.encoding ?? source.entry.dtype
    }
  }

  #layer(layer: number): LayerWeights {
    return {
      norms: this.#norms(layer),
      mixer: this.#config.layerKinds[layer] === 'linear' ? this.#linearAttention(layer) : this.#attention(layer),
      gateUp: this.#pair(layer, this.#config.joinedProjections ? ['gate_up'] : ['gate', 'up']),
      down: this.#linear(layer, ['down'])
    }
  }

  #attention(layer: number): AttentionWeights {
    const { joinedProjections, headNorms, headSize } = this.#config
    const [q, k, v] = this.#group(layer, joinedProjections ? ['qkv'] : ['q', 'k', 'v'])
    const norm = (kind: LayerNorm) => this.#vector(this.#names.norm(this.#config, layer, kind), headSize)
    return {
      kind: 'full',
      queryKeyValue: k === undefined || v === undefined ? (q as Linear) : [q as Linear, k, v],
      headNorms: headNorms ? { query: norm('query'), key: norm('key') } : null,
      output: this.#linear(layer, ['o'])
    }
  }

  #linearAttention(layer: number): LinearAttentionWeights {
    const { linear } = this.#config
    if (linear === null) throw new Error(`layer ${layer} has linear attention without parameters`)
    const { valueHeads, valueSize, taps } = linear
    const convolution = this.#names.linearPart(layer, 'conv1d.weight')
    return {
      kind: 'linear',
      mixedAndGate: this.#pair(layer, ['lin_qkv', 'lin_z']),
      // These are small, and the decay passes through an exponential, so rounding would hurt.
      betaAndDecay: this.#pair(layer, ['lin_b', 'lin_a'], 'none'),
      convolution: this.#place(convolution, [this.#source(convolution, [linearSizes(linear).mixed, 1, taps])]),
      decay: this.#vector(this.#names.linearPart(layer, 'A_log'), valueHeads),
      timeBias: this.#vector(this.#names.linearPart(layer, 'dt_bias'), valueHeads),
      norm: this.#vector(this.#names.linearPart(layer, 'norm.weight'), valueSize),
      output: this.#linear(layer, ['lin_o'])
    }
  }

  /** Returns two projections, or one with the rows of both. */
  #pair(
    layer: number,
    kinds: readonly LayerLinear[],
    quantization = this.#options.quantization
  ): Linear | readonly [Linear, Linear] {
    const [first, second] = this.#group(layer, kinds, quantization)
    return second === undefined ? (first as Linear) : [first as Linear, second]
  }

  #norms(layer: number): LayerNorms {
    const { hiddenSize, outputNorms } = this.#config
    const norm = (kind: LayerNorm) => this.#vector(this.#names.norm(this.#config, layer, kind), hiddenSize)
    return {
      attention: norm('attention'),
      attentionOutput: outputNorms ? norm('attentionOutput') : null,
      feedForward: norm('feedForward'),
      feedForwardOutput: outputNorms ? norm('feedForwardOutput') : null
    }
  }

  #embedding(source: WeightSource): ExternalTensor {
    const { entry } = source
    const { embedding } = this.#names
    const { quantization, onDevice } = this.#options
    const location = quantization === 'none' || onDevice === true ? null : this.#inPlace(source, ALL)
    const { encoding } = entry
    if (location === null && encoding !== undefined && quantization !== 'none' && onDevice !== true) {
      // Blocks have half-precision scales, so half precision loses little; rows are converted after the lookup.
      return this.#layout.halves(embedding, [source])
    }
    if (location === null) return this.#place(embedding, [source])
    this.#inPlaceEntries.add(entry)
    const { shape, offset, byteLength } = entry
    return { name: embedding, shape, location, offset, byteLength, type: readable[entry.dtype] ?? 'float32' }
  }

  #head(embeddingSource: WeightSource, embedding: ExternalTensor): LinearWeight {
    const { head } = this.#names
    const quantization = headQuantization(this.#options)
    const present = this.#options.tensors.has(head)
    if (present && this.#config.tiedHead !== true) {
      return this.#weight(
        head,
        [this.#source(head, [this.#config.vocabularySize, this.#config.hiddenSize])],
        quantization
      )
    }
    // An update of a tied head must not change the embedding, so the two are separated here.
    const update = this.#updates.get(head)
    if (update === undefined && this.#options.quantization === 'none') return { form: 'float', values: embedding }
    return this.#weight(head, [{ entry: embeddingSource.entry, update: update ?? null }], quantization)
  }

  #group(layer: number, kinds: readonly LayerLinear[], quantization = this.#options.quantization): readonly Linear[] {
    const inPlace = kinds.every(kind => this.#inPlace(this.#linearSource(layer, kind)) !== null)
    return inPlace && quantization === 'none' && this.#options.keepHalf !== true
      ? kinds.map(kind => this.#linear(layer, [kind], quantization))
      : [this.#linear(layer, kinds, quantization)]
  }

  #linear(layer: number, kinds: readonly LayerLinear[], quantization = this.#options.quantization): Linear {
    const name = `layers.${layer}.${kinds.join('_')}`
    const weights = kinds.map(kind => this.#linearSource(layer, kind))
    const biases = kinds
      .filter(kind => hasBias(this.#config, kind))
      .map(kind => this.#source(this.#names.bias(layer, kind), [linearShape(this.#config, kind)[0]]))
    return {
      weight: this.#weight(`${name}.weight`, weights, quantization),
      bias: biases.length > 0 ? this.#place(`${name}.bias`, biases) : null
    }
  }

  #weight(name: string, sources: readonly WeightSource[], quantization = this.#options.quantization): LinearWeight {
    const joins = quantization === 'none' && this.#options.keepHalf === true && sources.length > 1
    if (joins && sources.every(source => this.#inPlace(source) !== null)) {
      return { form: 'joined', parts: sources.map(source => this.#place(source.entry.name, [source])) }
    }
    if (quantization === 'none') return { form: 'float', values: this.#place(name, sources) }
    if (quantization === 'q4' && sources.every(isStoredAsQ4)) return this.#layout.stored(name, sources)
    return this.#layout.weight(name, sources, this.#options.keepStored === true ? 'q8' : quantization)
  }

  #linearSource(layer: number, kind: LayerLinear): WeightSource {
    return this.#source(this.#names.linear(layer, kind), linearShape(this.#config, kind))
  }

  #vector(name: string, size: number): ExternalTensor {
    return this.#place(name, [this.#source(name, [size])])
  }

  #source(name: string, shape: readonly number[]): WeightSource {
    const entry = this.#options.tensors.get(name)
    if (entry === undefined) {
      throw inferenceErrors.create(
        'INF_RUN_DIR_TENSOR_MISSING',
        `No weight file of ${this.#options.runDirectory} contains ${name} [${shape.join(', ')}]`,
        {
          data: { tensor: name, shape },
          hint: 'Check that no shard is missing and that the configuration belongs to these weights.'
        }
      )
    }
    const fits = entry.shape.length === shape.length && entry.shape.every((size, axis) => size === shape[axis])
    if (!fits || readable[entry.dtype] === undefined) {
      const wanted = fits ? Object.keys(readable).join(', ') : `[${shape.join(', ')}], as in the configuration`
      throw inferenceErrors.create(
        'INF_RUN_DIR_TENSOR_INVALID',
        `${entry.file}: ${name} at byte ${entry.offset} is ${entry.dtype} [${entry.shape.join(', ')}], not ${wanted}`,
        { at: { file: entry.file }, data: { file: entry.file, offset: entry.offset, tensor: name } }
      )
    }
    this.#used.set(name, entry)
    return { entry, update: this.#updates.get(name) ?? null }
  }

  #place(name: string, sources: readonly WeightSource[]): ExternalTensor {
    const [{ entry }] = sources as [WeightSource]
    const location = sources.length === 1 ? this.#inPlace(sources[0] as WeightSource) : null
    if (location === null) return this.#layout.floats(name, sources)
    this.#inPlaceEntries.add(entry)
    const type = readable[entry.dtype] ?? 'float32'
    return { name, shape: entry.shape, location, offset: entry.offset, byteLength: entry.byteLength, type }
  }

  /** Returns the location of the tensor if the runtime can read it in place, or null. */
  #inPlace({ entry, update }: WeightSource, dtypes = this.#kept): string | null {
    if (!isPlain(entry)) return null
    const usable = dtypes.includes(entry.dtype) && update === null && entry.offset % elementBytes(entry.dtype) === 0
    return usable ? this.#options.locate(entry.file) : null
  }
}

/** True for blocks that the runtime's 4-bit operator represents without loss. */
function isStoredAsQ4({ entry, update }: WeightSource): boolean {
  return entry.encoding === 'Q4_0' && update === null && movesBlocks(entry)
}

/**
 * Returns 8 bits for the head if the others get 4, because its errors directly affect predictions. GPUs lack 8 bits.
 */
function headQuantization({ quantization, onDevice }: Pick<PlanOptions, 'quantization' | 'onDevice'>): Quantization {
  return quantization === 'q4' && onDevice !== true ? 'q8' : quantization
}
