import { halfBillionShape, type RandomShape } from '../inference/random-model.ts'

/** Shapes that are measured, by name. */
export const shapes: Readonly<Record<string, RandomShape>> = {
  /** To see that everything runs. */
  tiny: { hidden: 128, layers: 2, heads: 4, keyValueHeads: 2, headSize: 32, intermediate: 256, vocabulary: 2000 },
  /** That of Qwen2.5-0.5B. */
  '0.5b': halfBillionShape,
  /** That of Qwen2.5-7B. */
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

/** Weights that every token reads: all projections and the head, but of the embedding only a row. */
export function weightsRead({ hidden, layers, heads, keyValueHeads, headSize, intermediate, vocabulary }: RandomShape) {
  const attention = hidden * headSize * (2 * heads + 2 * keyValueHeads)
  return layers * (attention + 3 * hidden * intermediate) + vocabulary * hidden
}

/** Numbers of keys and values that one position of a sequence takes. */
export function numbersPerPosition({ layers, keyValueHeads, headSize }: RandomShape): number {
  return 2 * layers * keyValueHeads * headSize
}
