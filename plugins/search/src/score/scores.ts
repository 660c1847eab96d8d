const DAY_MS = 86_400_000
const HALF_LIFE_DAYS = 180
const MIN_DECAY = 0.1

const STATUS_FACTORS: Readonly<Record<string, number>> = {
  current: 1.2,
  experimental: 0.8,
  research: 0.6,
  roadmap: 0.6,
  legacy: 0.2,
  deprecated: 0.2
}

export function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value))
}

/** Score of a passage in a full-text list; `rank` from 0. */
export function rankScore(rank: number): number {
  return 1 / (1 + rank)
}

/** Score of a passage by its vector: twice the cosine similarity, which is clamped to [0, 1]. */
export function chunkVectorScore(similarity: number): number {
  return clamp(similarity, 0, 1) * 2
}

/** Score of a memory by its vector; `distance`: cosine distance, [0, 2]. */
export function memoryVectorScore(distance: number): number {
  return clamp(1 - distance / 2, 0, 1) * 2
}

/** Cosine similarity, [-1, 1]; 0 for a zero vector. Throws `RangeError` if the lengths differ. */
export function cosine(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) throw new RangeError(`vectors of ${a.length} and ${b.length} numbers`)
  let [dot, aa, bb] = [0, 0, 0]
  for (let at = 0; at < a.length; at++) {
    const [x, y] = [a[at] as number, b[at] as number]
    dot += x * y
    aa += x * x
    bb += y * y
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb)
}

/** Factor for the status of a memory, such as `legacy`. */
export function statusFactor(status: string): number {
  return STATUS_FACTORS[status.toLowerCase()] ?? 1
}

/** Factor for the age: halves in 180 days, at least 0.1, at most 1. */
export function ageFactor(ageMs: number): number {
  return clamp(Math.exp((-(ageMs / DAY_MS) * Math.LN2) / HALF_LIFE_DAYS), MIN_DECAY, 1)
}

export interface Bm25 {
  readonly k1: number
  readonly b: number
}

/** Corpus of BM25: number of texts, their mean length in words, and how many contain each term. */
export interface Bm25Corpus {
  readonly texts: number
  readonly meanWords: number
  readonly having: ReadonlyMap<string, number>
}

/** Okapi BM25 with idf = ln(1 + (N - n + 0.5) / (n + 0.5)). */
export function bm25(counts: ReadonlyMap<string, number>, words: number, corpus: Bm25Corpus, { k1, b }: Bm25): number {
  const length = k1 * (1 - b + (b * words) / Math.max(1, corpus.meanWords))
  let score = 0
  for (const [term, count] of counts) {
    const having = Math.min(corpus.texts, corpus.having.get(term) ?? 0)
    const idf = Math.log(1 + (corpus.texts - having + 0.5) / (having + 0.5))
    score += (idf * count * (k1 + 1)) / (count + length)
  }
  return score
}

const MAX_WINDOW = 50_000
const MAX_MULTIPLIER_WITHOUT_FTS = 30

/** Number of stored vectors that a query compares with; more if there is no full-text search. */
export function candidateWindow(limit: number, multiplier: number, hasFts: boolean): number {
  const factor = hasFts ? multiplier : Math.max(multiplier, Math.min(MAX_MULTIPLIER_WITHOUT_FTS, 2 * multiplier))
  return Math.min(MAX_WINDOW, clamp(limit, 1, 500) * factor)
}
