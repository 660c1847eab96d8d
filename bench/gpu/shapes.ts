import { halfBillionShape, type RandomShape } from '../inference/random-model.ts'

/** Shapes to measure, by name. */
export const shapes: Readonly<Record<string, RandomShape>> = {
  /** Small shape for a smoke run. */
  tiny: { hidden: 128, layers: 2, heads: 4, keyValueHeads: 2, headSize: 32, intermediate: 256, vocabulary: 2000 },
  /** Shape of Qwen2.5-0.5B. */
  '0.5b': halfBillionShape,
  /** Shape of Qwen2.5-7B. */
  '7b': {
    hidden: 3584,
    layers: 28,
    heads: 28,
    keyValueHeads: 4,
    headSize: 128,
    intermediate: 18_944,
    vocabulary: 152_064,
    ownHead: true
  }
}

/** Returns the number of weights that a run reads: all projections, the head, and one row of the embedding. */
export function weightsRead({ hidden, layers, heads, keyValueHeads, headSize, intermediate, vocabulary }: RandomShape) {
  const attention = hidden * headSize * (2 * heads + 2 * keyValueHeads)
  return layers * (attention + 3 * hidden * intermediate) + vocabulary * hidden
}

/** Returns how many numbers the cache holds for one position of a sequence. */
export function numbersPerPosition({ layers, keyValueHeads, headSize }: RandomShape): number {
  return 2 * layers * keyValueHeads * headSize
}
