import { remembered } from '../digest.ts'
import { elementCount } from '../ort/runtime.ts'
import type { TensorEntry } from '../safetensors.ts'
import { TensorReader } from './tensor-reader.ts'

const TILE_ELEMENTS = 2 ** 20

export interface FiniteCheckOptions {
  /** SHA-256 over the files of the tensors; files that were already checked are not read again. */
  readonly digest: string
  readonly cacheDirectory: string
  readonly signal?: AbortSignal | undefined
}

/** Checks tensors that the runtime reads in place. Throws `INF_RUN_DIR_TENSOR_INVALID` for NaN or infinity. */
export async function checkFinite(entries: readonly TensorEntry[], options: FiniteCheckOptions): Promise<void> {
  if (entries.length === 0) return
  const { digest, cacheDirectory, signal } = options
  const names = entries.map(({ name }) => name).sort()
  await remembered(cacheDirectory, ['finite', digest, ...names].join('\0'), async () => {
    const reader = new TensorReader()
    try {
      for (const entry of entries) {
        const elements = elementCount(entry.shape)
        const buffer = new Float32Array(Math.min(TILE_ELEMENTS, elements))
        for (let first = 0; first < elements; first += TILE_ELEMENTS) {
          signal?.throwIfAborted()
          await reader.read(entry, first, buffer.subarray(0, Math.min(TILE_ELEMENTS, elements - first)))
        }
      }
    } finally {
      await reader.close()
    }
    return digest
  })
}
