import { type FileHandle, open } from 'node:fs/promises'
import { invalidAdapter } from '../adapters/invalid-adapter.ts'
import { inferenceErrors } from '../errors.ts'
import { fileError } from '../files.ts'
import type { TensorEntry } from '../safetensors.ts'
import { elementBytes, widen } from './convert.ts'
import { findNonFinite } from './finite.ts'

/** Reads parts of tensors as F32. Files stay open until {@link TensorReader.close}. */
export class TensorReader {
  readonly #handles = new Map<string, FileHandle>()

  /**
   * Fills `target` with the elements of `entry` from index `first`. Throws `INF_RUN_DIR_TENSOR_INVALID` for NaN or
   * infinity; `INF_ADAPTER_INVALID` if the tensor belongs to an adapter.
   */
  async read(
    entry: TensorEntry,
    first: number,
    target: Float32Array,
    owner: 'model' | 'adapter' = 'model'
  ): Promise<void> {
    const size = elementBytes(entry.dtype)
    const bytes = new Uint8Array(target.length * size)
    let done = 0
    try {
      let handle = this.#handles.get(entry.file)
      if (handle === undefined) {
        handle = await open(entry.file, 'r')
        this.#handles.set(entry.file, handle)
      }
      while (done < bytes.byteLength) {
        const position = entry.offset + first * size + done
        const { bytesRead } = await handle.read(bytes, done, bytes.byteLength - done, position)
        if (bytesRead === 0) throw shrunk(entry, position)
        done += bytesRead
      }
    } catch (error) {
      throw fileError(error, entry.file)
    }
    widen(entry.dtype, bytes, target)
    const at = findNonFinite(target)
    if (at !== -1) throw nonFinite(entry, first + at, target[at] as number, owner)
  }

  async close(): Promise<void> {
    for (const handle of this.#handles.values()) await handle.close()
    this.#handles.clear()
  }
}

function nonFinite(entry: TensorEntry, element: number, value: number, owner: 'model' | 'adapter') {
  const reason = `${entry.name} contains ${value} at element ${element}`
  const hint = 'Export the weights again: training may have diverged.'
  if (owner === 'adapter') return invalidAdapter(entry.file, reason, hint)
  return inferenceErrors.create('INF_RUN_DIR_TENSOR_INVALID', `${entry.file}: ${reason}`, {
    at: { file: entry.file },
    data: { file: entry.file, tensor: entry.name, element },
    hint
  })
}

function shrunk(entry: TensorEntry, offset: number) {
  return inferenceErrors.create(
    'INF_RUN_DIR_TRUNCATED',
    `${entry.file} ends at byte ${offset}, inside ${entry.name}: it shrank during the read`,
    { at: { file: entry.file }, data: { file: entry.file, offset } }
  )
}
