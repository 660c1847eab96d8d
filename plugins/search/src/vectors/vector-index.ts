import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ScoredRow, type SignBlock, scan, type VectorBlock, wordsOf, writeSigns } from './scan.ts'
import type { ScanThread } from './scan-thread.ts'

/** Numbers up to which a comparison takes about 2 ms, and runs in this thread. */
const INLINE_NUMBERS = 1_000_000
const FIRST_ROWS = 256
/** Rows whose signs are computed before other work runs. */
const SIGNED_ROWS = 2_000
/** Rows up to which each query is compared with all of them. */
const MAX_EXACT_ROWS = 50_000
/** The signs of fewer numbers tell too little, and a comparison with all of them takes little time. */
const MIN_SIGNED_DIMENSIONS = 128

export interface Neighbour {
  readonly id: number
  /** Cosine similarity, [-1, 1]. */
  readonly similarity: number
}

/**
 * Index of vectors by cosine similarity, in shared memory: 4 bytes per number. Comparisons with many vectors run in a
 * thread. Up to 50,000 vectors, results are exact. With more, the signs of the numbers choose a hundredth of the
 * vectors, which are compared exactly.
 */
export class VectorIndex {
  readonly dimensions: number
  readonly #thread: ScanThread
  readonly #rowOf = new Map<number, number>()
  /** Id by row; 0 for free rows. */
  readonly #ids: number[] = []
  readonly #free: number[] = []
  #values: Float32Array
  #scans = 0
  /** Sums of the vectors, for their mean. */
  readonly #sums: Float64Array
  /** Null while all queries are exact. */
  #signs: SignBlock | null = null
  /** Signs that are being computed. */
  #newSigns: SignBlock | null = null
  /** Vectors that the centre of the signs is the mean of. */
  #centred = 0

  constructor(dimensions: number, thread: ScanThread) {
    this.dimensions = dimensions
    this.#thread = thread
    this.#sums = new Float64Array(dimensions)
    this.#values = shared(FIRST_ROWS * dimensions)
  }

  get size(): number {
    return this.#rowOf.size
  }

  /** True if the next query compares with a part of the vectors. */
  get isApproximate(): boolean {
    return this.#signs !== null
  }

  ids(): Iterable<number> {
    return this.#rowOf.keys()
  }

  /**
   * Adds or replaces a vector. Returns false for one of another length, with numbers that are not finite, or of length
   * zero: such a vector is not stored. `id`: positive.
   */
  set(id: number, vector: Float32Array): boolean {
    if (vector.length !== this.dimensions) return false
    let squares = 0
    for (const value of vector) squares += value * value
    if (!Number.isFinite(squares) || squares === 0) return false
    // A scan in progress must not take the new vector for the old one.
    this.delete(id)
    const row = this.#newRow()
    const scale = 1 / Math.sqrt(squares)
    const from = row * this.dimensions
    for (const [at, value] of vector.entries()) {
      this.#values[from + at] = value * scale
      this.#sums[at] = (this.#sums[at] as number) + value * scale
    }
    for (const signs of [this.#signs, this.#newSigns]) if (signs !== null) this.#sign(signs, row)
    this.#ids[row] = id
    this.#rowOf.set(id, row)
    return true
  }

  delete(id: number): boolean {
    const row = this.#rowOf.get(id)
    if (row === undefined) return false
    this.#rowOf.delete(id)
    this.#ids[row] = 0
    const from = row * this.dimensions
    for (let at = 0; at < this.dimensions; at++)
      this.#sums[at] = (this.#sums[at] as number) - (this.#values[from + at] as number)
    this.#values.fill(0, from, from + this.dimensions)
    this.#free.push(row)
    return true
  }

  /**
   * Returns the similarity of a query with the vector of an id; null without such a vector, or for a query of another
   * length or of length zero.
   */
  similarity(id: number, query: Float32Array): number | null {
    const row = this.#rowOf.get(id)
    if (row === undefined || query.length !== this.dimensions) return null
    const from = row * this.dimensions
    let [product, squares] = [0, 0]
    for (const [at, value] of query.entries()) {
      product += value * (this.#values[from + at] as number)
      squares += value * value
    }
    return Number.isFinite(squares) && squares > 0 ? product / Math.sqrt(squares) : null
  }

  /**
   * Returns the most similar vectors, best first, at most `k`. Throws `RangeError` for a query of another length, or
   * with numbers that are not finite; nothing is similar to a query of length zero.
   */
  async search(query: Float32Array, k: number): Promise<readonly Neighbour[]> {
    if (query.length !== this.dimensions)
      throw new RangeError(`the query has ${query.length} numbers, and the index has vectors of ${this.dimensions}`)
    let squares = 0
    for (const value of query) squares += value * value
    if (!Number.isFinite(squares)) throw new RangeError('the query has numbers that are not finite')
    if (squares === 0 || this.size === 0) return []
    const unit = query.map(value => value / Math.sqrt(squares))
    const rows = this.#ids.length
    const block: VectorBlock = { values: this.#values, dimensions: this.dimensions, rows }
    const signs = this.#currentSigns()
    // Free rows may be among the best: they have the similarity 0.
    const free = signs === null ? this.#free.length : Math.min(k, this.#free.length)
    const wanted = Math.min(rows, k + free)
    let found: readonly ScoredRow[]
    this.#scans += 1
    try {
      found =
        rows * this.dimensions <= INLINE_NUMBERS
          ? scan(block, unit, wanted)
          : await this.#thread.scan(block, unit, wanted, signs)
    } finally {
      this.#scans -= 1
    }
    return found
      .flatMap(({ row, similarity }) => {
        const id = this.#ids[row] ?? 0
        return id === 0 ? [] : [{ id, similarity }]
      })
      .slice(0, k)
  }

  /** Signs are computed when the index has become large, and when it has doubled. Until then, queries are exact. */
  #currentSigns(): SignBlock | null {
    const isLarge = this.size > MAX_EXACT_ROWS && this.dimensions >= MIN_SIGNED_DIMENSIONS
    if (!isLarge) this.#signs = null
    else if (this.#newSigns === null && (this.#signs === null || this.size > 2 * this.#centred))
      void this.#computeSigns()
    return this.#signs
  }

  async #computeSigns(): Promise<void> {
    const { dimensions } = this
    const size = this.size
    const centre = new Float32Array(new SharedArrayBuffer(dimensions * 4))
    for (const [at, sum] of this.#sums.entries()) centre[at] = sum / size
    const signs = { words: sharedWords(this.#values.length / dimensions, dimensions), centre }
    this.#newSigns = signs
    for (let row = 0; row < this.#ids.length && this.#newSigns === signs; row++) {
      this.#sign(signs, row)
      if (row % SIGNED_ROWS === SIGNED_ROWS - 1) await nextTurn()
    }
    // The block may have grown meanwhile.
    if (this.#newSigns !== signs) return
    this.#newSigns = null
    this.#signs = signs
    this.#centred = size
  }

  #sign({ words, centre }: SignBlock, row: number): void {
    writeSigns(this.#values, row * this.dimensions, centre, words, row * wordsOf(this.dimensions))
  }

  #newRow(): number {
    // During a scan, a row keeps its meaning.
    const free = this.#scans === 0 ? this.#free.pop() : undefined
    if (free !== undefined) return free
    const row = this.#ids.length
    if ((row + 1) * this.dimensions > this.#values.length) {
      const grown = shared(Math.ceil(this.#values.length * 1.5) + this.dimensions)
      grown.set(this.#values)
      this.#values = grown
      this.#newSigns = null
      if (this.#signs !== null) {
        const words = sharedWords(grown.length / this.dimensions, this.dimensions)
        words.set(this.#signs.words)
        this.#signs = { words, centre: this.#signs.centre }
      }
    }
    this.#ids.push(0)
    return row
  }
}

function shared(numbers: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(numbers * 4))
}

function sharedWords(rows: number, dimensions: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Math.floor(rows) * wordsOf(dimensions) * 4))
}
