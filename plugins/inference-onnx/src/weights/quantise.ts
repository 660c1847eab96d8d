import { rotate, rotationSize } from '../hadamard.ts'
import { BLOCK } from '../onnx/linear.ts'

const INT8_LARGEST = 127
/** Nibble that represents 0: values from -8 to 7 are offset by 8. */
const NIBBLE_ZERO = 8
const NIBBLE_MIN = -8
const NIBBLE_MAX = 7
/**
 * Candidate scales of a block, relative to the scale that covers its largest magnitude. Clipping that value often loses
 * less than coarser steps for all others.
 */
const CANDIDATE_SCALES = [1, 0.94, 0.88, 0.82, 0.76]
/** Adding and subtracting this number rounds a double to an integer, faster than Math.round. */
const ROUNDER = 1.5 * 2 ** 52

/** Target of a transpose: row `n` becomes column `first + n` of `[columns, stride]`. */
export interface Transposed {
  readonly values: Int8Array
  readonly stride: number
  readonly first: number
}

/**
 * Rotates each row of `[rows, columns]` in place, and rounds it to 8 bits by its largest magnitude. Returns the scales
 * of the rows.
 */
export function quantiseChannels(weights: Float32Array, columns: number, target: Transposed): Float32Array {
  const { values, stride } = target
  const scales = new Float32Array(weights.length / columns)
  rotate(weights, rotationSize(columns))
  for (let row = 0; row < scales.length; row++) {
    const start = row * columns
    let largest = 0
    for (let i = start; i < start + columns; i++) {
      const magnitude = Math.abs(weights[i] as number)
      if (magnitude > largest) largest = magnitude
    }
    const inverse = largest === 0 ? 0 : INT8_LARGEST / largest
    scales[row] = largest / INT8_LARGEST
    const column = target.first + row
    for (let i = 0; i < columns; i++) {
      values[i * stride + column] = (weights[start + i] as number) * inverse + ROUNDER - ROUNDER
    }
  }
  return scales
}

export interface Blocks {
  /** `[rows, blocks, BLOCK / 2]`. */
  readonly values: Uint8Array
  /** `[rows, blocks]`. */
  readonly scales: Float32Array
}

export function blocksPerRow(columns: number): number {
  return Math.ceil(columns / BLOCK)
}

/** Rounds each block of `[rows, columns]` to 4 bits, with the candidate scale that has the smallest error. */
export function quantiseBlocks(weights: Float32Array, columns: number): Blocks {
  const rows = weights.length / columns
  const blocks = blocksPerRow(columns)
  const values = new Uint8Array((rows * blocks * BLOCK) / 2)
  const scales = new Float32Array(rows * blocks)
  const padded = new Float32Array(BLOCK)
  for (let index = 0; index < rows * blocks; index++) {
    const row = Math.floor(index / blocks)
    const first = (index % blocks) * BLOCK
    const count = Math.min(BLOCK, columns - first)
    padded.fill(0, count)
    padded.set(weights.subarray(row * columns + first, row * columns + first + count))
    const scale = bestScale(padded)
    scales[index] = scale
    const inverse = scale === 0 ? 0 : 1 / scale
    const target = (index * BLOCK) / 2
    for (let i = 0; i < BLOCK; i += 2) {
      const low = nibble((padded[i] as number) * inverse)
      values[target + i / 2] = low + NIBBLE_ZERO + ((nibble((padded[i + 1] as number) * inverse) + NIBBLE_ZERO) << 4)
    }
  }
  return { values, scales }
}

/** Returns the scale. Its sign maps the largest magnitude to -8, because the range is wider on that side. */
function bestScale(block: Float32Array): number {
  let peak = 0
  for (const weight of block) if (Math.abs(weight) > Math.abs(peak)) peak = weight
  if (peak === 0) return 0
  let best = 0
  let minError = Number.POSITIVE_INFINITY
  for (const part of CANDIDATE_SCALES) {
    const scale = Math.fround((peak / NIBBLE_MIN) * part)
    const inverse = 1 / scale
    let error = 0
    for (let i = 0; i < BLOCK; i++) {
      const weight = block[i] as number
      const difference = weight - nibble(weight * inverse) * scale
      error += difference * difference
    }
    if (error < minError) {
      minError = error
      best = scale
    }
  }
  return best
}

function nibble(value: number): number {
  const bounded = value < NIBBLE_MIN ? NIBBLE_MIN : value > NIBBLE_MAX ? NIBBLE_MAX : value
  return bounded + ROUNDER - ROUNDER
}
