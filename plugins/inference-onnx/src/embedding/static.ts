import { setImmediate as nextTurn } from 'node:timers/promises'
import { closedError } from '../adapters/hot-adapters.ts'
import { inferenceErrors } from '../errors.ts'
import type { TensorEntry } from '../safetensors.ts'
import { TensorReader } from '../weights/tensor-reader.ts'
import type { TextModel } from './embedder.ts'
import type { EncodedText } from './encoder-tokens.ts'
import { readCounts, readNumbers } from './static-tables.ts'

/** Names of the table of vectors: in model2vec, and in the module StaticEmbedding of sentence-transformers. */
export const STATIC_NAMES = ['embeddings', 'embedding.weight'] as const

/** Products between two pauses for other work; about 5 ms. */
const PRODUCTS_PER_TURN = 2 ** 22

/** A vector for each token; a text's vector is their mean, weighted by token if there are weights. */
export class StaticModel implements TextModel {
  readonly dimensions: number
  /** Tokens of the vocabulary. */
  readonly size: number
  readonly parameters: number
  #rows: Float32Array
  readonly #mapping: Int32Array | null
  readonly #weights: Float64Array | null
  /** Products of all callers since the latest pause. */
  #products = 0

  private constructor(
    dimensions: number,
    rows: Float32Array,
    mapping: Int32Array | null,
    weights: Float64Array | null
  ) {
    this.dimensions = dimensions
    this.#rows = rows
    this.#mapping = mapping
    this.#weights = weights
    this.size = mapping?.length ?? rows.length / dimensions
    this.parameters = rows.length + (weights?.length ?? 0)
  }

  /** Reads the tables. Throws `INF_RUN_DIR_TENSOR_INVALID` or `INF_RUN_DIR_UNREADABLE`, naming the tensor. */
  static async read(tensors: ReadonlyMap<string, TensorEntry>, signal?: AbortSignal): Promise<StaticModel> {
    const entry = STATIC_NAMES.map(name => tensors.get(name)).find(each => each !== undefined) as TensorEntry
    const [count = 0, dimensions = 0] = entry.shape
    if (entry.shape.length !== 2 || count * dimensions === 0) throw invalid(entry, 'a matrix [tokens, dimensions]')
    if (!['F32', 'F16', 'BF16'].includes(entry.dtype)) throw invalid(entry, 'F32, F16 or BF16')
    const rows = new Float32Array(count * dimensions)
    const reader = new TensorReader()
    const TILE = 2 ** 20
    try {
      for (let first = 0; first < rows.length; first += TILE) {
        signal?.throwIfAborted()
        await reader.read(entry, first, rows.subarray(first, Math.min(rows.length, first + TILE)))
      }
    } finally {
      await reader.close()
    }
    const mappingEntry = tensors.get('mapping')
    const mapping = mappingEntry === undefined ? null : await readCounts(mappingEntry, count)
    const size = mapping?.length ?? count
    const weightsEntry = tensors.get('weights')
    const weights = weightsEntry === undefined ? null : await readNumbers(weightsEntry)
    if (weights !== null && weights.length !== size) throw invalid(weightsEntry as TensorEntry, `[${size}]`)
    return new StaticModel(dimensions, rows, mapping, weights)
  }

  async compute(texts: readonly EncodedText[], signal?: AbortSignal): Promise<readonly Float32Array[]> {
    signal?.throwIfAborted()
    if (this.#rows.length === 0) throw closedError()
    const rows = this.#rows
    const means: Float32Array[] = []
    for (const { tokens } of texts) means.push(await this.#mean(rows, tokens, signal))
    return means
  }

  async close(): Promise<void> {
    this.#rows = new Float32Array()
  }

  async #mean(rows: Float32Array, tokens: readonly number[], signal?: AbortSignal): Promise<Float32Array> {
    const { dimensions } = this
    const sum = new Float64Array(dimensions)
    for (const token of tokens) {
      this.#products += dimensions
      if (this.#products >= PRODUCTS_PER_TURN) {
        this.#products = 0
        await nextTurn()
        signal?.throwIfAborted()
      }
      const start = (this.#mapping?.[token] ?? token) * dimensions
      const weight = this.#weights?.[token] ?? 1
      for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] as number) + weight * (rows[start + at] as number)
    }
    const scale = tokens.length === 0 ? 0 : 1 / tokens.length
    return Float32Array.from(sum, value => value * scale)
  }
}

function invalid({ file, name, offset, dtype, shape }: TensorEntry, wanted: string) {
  return inferenceErrors.create(
    'INF_RUN_DIR_TENSOR_INVALID',
    `${file}: ${name} at byte ${offset} is ${dtype} [${shape.join(', ')}], not ${wanted}`,
    { at: { file }, data: { file, offset, tensor: name } }
  )
}
