/** Vectors of unit length in one block of memory, which threads share. */
export interface VectorBlock {
  /** Row-major, `[rows][dimensions]`. Rows without a vector are zero. */
  readonly values: Float32Array
  readonly dimensions: number
  readonly rows: number
}

export interface ScoredRow {
  readonly row: number
  /** Cosine similarity, [-1, 1]. */
  readonly similarity: number
}

/** Compares all rows with a query of unit length. Returns the most similar, best first, at most `k`. */
export function scan({ values, dimensions, rows }: VectorBlock, query: Float32Array, k: number): readonly ScoredRow[] {
  const best = new Heap(k)
  for (let row = 0; row < rows; row++) {
    const similarity = dot(values, row * dimensions, query)
    if (similarity > best.least) best.add(row, similarity)
  }
  return best.sorted()
}

function dot(values: Float32Array, from: number, query: Float32Array): number {
  // Four sums do not wait for each other.
  let [a, b, c, d] = [0, 0, 0, 0]
  const whole = query.length - (query.length % 4)
  let at = 0
  for (; at < whole; at += 4) {
    a += (values[from + at] as number) * (query[at] as number)
    b += (values[from + at + 1] as number) * (query[at + 1] as number)
    c += (values[from + at + 2] as number) * (query[at + 2] as number)
    d += (values[from + at + 3] as number) * (query[at + 3] as number)
  }
  for (; at < query.length; at++) a += (values[from + at] as number) * (query[at] as number)
  return a + b + c + d
}

/** The `k` rows with the highest similarities; the least is at the root. */
class Heap {
  readonly #k: number
  readonly #rows: ScoredRow[] = []

  constructor(k: number) {
    this.#k = k
  }

  /** Similarity that a row must exceed. */
  get least(): number {
    return this.#rows.length < this.#k
      ? Number.NEGATIVE_INFINITY
      : (this.#rows[0]?.similarity ?? Number.POSITIVE_INFINITY)
  }

  add(row: number, similarity: number): void {
    const rows = this.#rows
    if (rows.length < this.#k) rows.push({ row, similarity })
    else rows[0] = { row, similarity }
    if (rows.length < this.#k || this.#k === 1) return
    // The heap is built when it is full.
    if (!this.#isHeap) {
      this.#isHeap = true
      rows.sort((a, b) => a.similarity - b.similarity)
    } else this.#sink()
  }

  sorted(): readonly ScoredRow[] {
    return this.#rows.toSorted((a, b) => b.similarity - a.similarity || a.row - b.row)
  }

  #isHeap = false

  #sink(): void {
    const rows = this.#rows
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let least = at
      for (const child of [left, right])
        if (child < rows.length && (rows[child] as ScoredRow).similarity < (rows[least] as ScoredRow).similarity)
          least = child
      if (least === at) return
      const held = rows[at] as ScoredRow
      rows[at] = rows[least] as ScoredRow
      rows[least] = held
      at = least
    }
  }
}
