import { inferenceErrors } from '../errors.ts'
import { blockSizes } from '../gguf/element-types.ts'
import { BLOCK } from '../onnx/linear.ts'
import type { TensorEntry } from '../safetensors.ts'
import { halfValues } from './convert.ts'
import { findNonFinite } from './finite.ts'
import type { Blocks } from './quantise.ts'

const { bytes: BLOCK_BYTES } = blockSizes.Q4_0
const SCALE_BYTES = 2
const MAX_HALF = 65_504

/**
 * Converts Q4_0 blocks to the form of `BlockInt4Weight`. Both store `weight = (nibble - 8) * scale` for 32 weights. In
 * Q4_0, byte `j` holds weights `j` and `j + 16`; in the runtime's form, weights `2j` and `2j + 1`.
 */
export function reorderBlocks(bytes: Uint8Array): Blocks {
  const count = bytes.byteLength / BLOCK_BYTES
  const values = new Uint8Array((count * BLOCK) / 2)
  const scales = new Float32Array(count)
  const halves = halfValues()
  for (let block = 0; block < count; block++) {
    const from = block * BLOCK_BYTES
    scales[block] = halves[(bytes[from] as number) | ((bytes[from + 1] as number) << 8)] as number
    const target = (block * BLOCK) / 2
    for (let i = 0; i < BLOCK / 2; i += 2) {
      const [first, second] = [bytes[from + SCALE_BYTES + i] as number, bytes[from + SCALE_BYTES + i + 1] as number]
      values[target + i / 2] = (first & 15) | ((second & 15) << 4)
      values[target + BLOCK / 4 + i / 2] = (first >> 4) | (second & 0xf0)
    }
  }
  return { values, scales }
}

/** Throws `INF_RUN_DIR_TENSOR_INVALID` for NaN or infinity. `first`: index of the first block in the tensor. */
export function checkScales(entry: TensorEntry, scales: Float32Array, first: number): void {
  const at = findNonFinite(scales)
  if (at !== -1) throw invalid(entry, `contains the scale ${scales[at]} at element ${(first + at) * BLOCK}`)
}

/** Throws `INF_RUN_DIR_TENSOR_INVALID` for a weight that half precision cannot represent. */
export function checkHalves(entry: TensorEntry, weights: Float32Array): void {
  const wrong = weights.find(weight => Math.abs(weight) > MAX_HALF)
  if (wrong !== undefined) throw invalid(entry, `contains ${wrong}, more than half precision represents`)
}

function invalid(entry: TensorEntry, reason: string) {
  return inferenceErrors.create('INF_RUN_DIR_TENSOR_INVALID', `${entry.file}: ${entry.name} ${reason}`, {
    at: { file: entry.file },
    data: { file: entry.file, tensor: entry.name },
    hint: 'Download the file again, or convert the model again.'
  })
}
