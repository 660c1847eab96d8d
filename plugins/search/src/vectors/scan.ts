/** Vectors of unit length in one block of memory, which threads share. */
export interface VectorBlock {
  /** Row-major, `[rows][dimensions]`. Rows without a vector are zero. */
  readonly values: Float32Array
  readonly dimensions: number
  readonly rows: number
}

/** Signs of the numbers of each row, for a comparison that leaves out most rows. */
export interface SignBlock {
  /** Row-major, `[rows][wordsOf(dimensions)]`: bit `n % 32` of word `n / 32` is set if number `n` exceeds the centre's. */
  readonly words: Int32Array
  /** Mean of the vectors: their signs would agree otherwise where all vectors have one sign. */
  readonly centre: Float32Array
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

/** Rows that {@link scanNearest} compares exactly: a hundredth, but not fewer. */
const MIN_COMPARED = 2_000
const COMPARED_SHARE = 0.01
const COMPARED_OF_K = 50

/** Rows that the distance of the signs is kept for, between scans. */
let distances = new Uint16Array(0)

/**
 * Like {@link scan}, but compares only those rows exactly whose signs differ least from the query's. For vectors of
 * texts, at least 95 of 100 of the most similar rows are among them.
 */
export function scanNearest(
  block: VectorBlock,
  signs: SignBlock,
  query: Float32Array,
  k: number
): readonly ScoredRow[] {
  const { values, dimensions, rows } = block
  const compared = Math.max(MIN_COMPARED, COMPARED_OF_K * k, Math.ceil(rows * COMPARED_SHARE))
  if (compared >= rows) return scan(block, query, k)
  const words = wordsOf(dimensions)
  const wanted = new Int32Array(words)
  writeSigns(query, 0, signs.centre, wanted, 0)
  if (distances.length < rows) distances = new Uint16Array(Math.ceil(rows * 1.25))
  const counts = new Int32Array(dimensions + 1)
  for (let row = 0, at = 0; row < rows; row++) {
    let distance = 0
    for (let word = 0; word < words; word++, at++)
      distance += bitCount((signs.words[at] as number) ^ (wanted[word] as number))
    distances[row] = distance
    counts[distance] = (counts[distance] as number) + 1
  }
  let limit = 0
  for (let sum = counts[0] as number; sum < compared; sum += counts[limit] as number) limit += 1
  const best = new Heap(k)
  for (let row = 0; row < rows; row++) {
    if ((distances[row] as number) > limit) continue
    const similarity = dot(values, row * dimensions, query)
    if (similarity > best.least) best.add(row, similarity)
  }
  return best.sorted()
}

/** 32-bit words for the signs of a vector. */
export function wordsOf(dimensions: number): number {
  return Math.ceil(dimensions / 32)
}

/** Writes the signs of the vector at `from`, as many numbers as the centre has, to `words` from index `to`. */
export function writeSigns(
  values: Float32Array,
  from: number,
  centre: Float32Array,
  words: Int32Array,
  to: number
): void {
  for (let first = 0, word = to; first < centre.length; first += 32, word++) {
    const end = Math.min(centre.length, first + 32)
    let bits = 0
    for (let at = first; at < end; at++)
      if ((values[from + at] as number) > (centre[at] as number)) bits |= 1 << (at - first)
    words[word] = bits
  }
}

/** Counts bits in groups of 2, 4 and 8, and adds the four bytes by a multiplication. */
function bitCount(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
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
