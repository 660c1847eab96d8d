import { type ScoredRow, scan, type VectorBlock } from './scan.ts'
import type { ScanThread } from './scan-thread.ts'

/** Numbers up to which a comparison takes about 2 ms, and runs in this thread. */
const INLINE_NUMBERS = 1_000_000
const FIRST_ROWS = 256

export interface Neighbour {
  readonly id: number
  /** Cosine similarity, [-1, 1]. */
  readonly similarity: number
}

/**
 * Exact index of vectors by cosine similarity, in shared memory: 4 bytes per number. Comparisons with many vectors run
 * in a thread.
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

  constructor(dimensions: number, thread: ScanThread) {
    this.dimensions = dimensions
    this.#thread = thread
    this.#values = shared(FIRST_ROWS * dimensions)
  }

  get size(): number {
    return this.#rowOf.size
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
    for (const [at, value] of vector.entries()) this.#values[from + at] = value * scale
    this.#ids[row] = id
    this.#rowOf.set(id, row)
    return true
  }

  delete(id: number): boolean {
    const row = this.#rowOf.get(id)
    if (row === undefined) return false
    this.#rowOf.delete(id)
    this.#ids[row] = 0
    this.#values.fill(0, row * this.dimensions, (row + 1) * this.dimensions)
    this.#free.push(row)
    return true
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
    // Free rows may be among the best: they have the similarity 0.
    const wanted = Math.min(rows, k + this.#free.length)
    let found: readonly ScoredRow[]
    this.#scans += 1
    try {
      found =
        rows * this.dimensions <= INLINE_NUMBERS
          ? scan(block, unit, wanted)
          : await this.#thread.scan(block, unit, wanted)
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

  #newRow(): number {
    // During a scan, a row keeps its meaning.
    const free = this.#scans === 0 ? this.#free.pop() : undefined
    if (free !== undefined) return free
    const row = this.#ids.length
    if ((row + 1) * this.dimensions > this.#values.length) {
      const grown = shared(Math.ceil(this.#values.length * 1.5) + this.dimensions)
      grown.set(this.#values)
      this.#values = grown
    }
    this.#ids.push(0)
    return row
  }
}

function shared(numbers: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(numbers * 4))
}
