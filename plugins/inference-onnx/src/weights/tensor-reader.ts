import { type FileHandle, open } from 'node:fs/promises'
import { invalidAdapter } from '../adapters/invalid-adapter.ts'
import { inferenceErrors } from '../errors.ts'
import { fileError } from '../files.ts'
import { dequantise } from '../gguf/dequantise.ts'
import { blockSizes } from '../gguf/element-types.ts'
import { isPlain, type TensorEntry, type TiledHeads } from '../safetensors.ts'
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
    if (!isPlain(entry)) await this.#readRows(entry, first, target)
    else {
      const size = elementBytes(entry.dtype)
      widen(entry.dtype, await this.#bytes(entry, first * size, target.length * size), target)
    }
    const at = findNonFinite(target)
    if (at !== -1) throw nonFinite(entry, first + at, target[at] as number, owner)
  }

  /**
   * Returns the bytes of whole rows of a matrix as they are stored, in the order of the model's rows, and if
   * {@link movesBlocks}, columns.
   */
  async rows(entry: TensorEntry, firstRow: number, count: number): Promise<Uint8Array> {
    const rowBytes = entry.byteLength / rowCount(entry)
    const { headRows, tiled } = entry
    if (tiled?.axis === 'rows') return this.#tiledRows(entry, tiled, firstRow, count)
    if (tiled?.axis === 'columns') {
      const bytes = await this.#bytes(entry, firstRow * rowBytes, count * rowBytes)
      const columns = entry.shape.at(-1) as number
      return movesBlocks(entry) ? untileColumns(bytes, rowBytes, tiled, (tiled.size * rowBytes) / columns) : bytes
    }
    if (headRows === undefined) return this.#bytes(entry, firstRow * rowBytes, count * rowBytes)
    // Rows move only inside their head, so the heads that contain the rows are read.
    const start = Math.floor(firstRow / headRows) * headRows
    const end = Math.ceil((firstRow + count) / headRows) * headRows
    const stored = await this.#bytes(entry, start * rowBytes, (end - start) * rowBytes)
    const bytes = new Uint8Array(count * rowBytes)
    for (let row = firstRow; row < firstRow + count; row++) {
      const inHead = row % headRows
      const [half, index] = [Math.floor((2 * inHead) / headRows), inHead % (headRows / 2)]
      const from = (row - inHead - start + 2 * index + half) * rowBytes
      bytes.set(stored.subarray(from, from + rowBytes), (row - firstRow) * rowBytes)
    }
    return bytes
  }

  /** Reads rows whose heads are tiled, each run of adjacent rows at once. */
  async #tiledRows(entry: TensorEntry, tiled: TiledHeads, firstRow: number, count: number): Promise<Uint8Array> {
    const rowBytes = entry.byteLength / rowCount(entry)
    const bytes = new Uint8Array(count * rowBytes)
    for (let done = 0; done < count; ) {
      const row = firstRow + done
      const inHeads = row - tiled.start
      const left = inHeads < 0 ? -inHeads : tiled.size - (inHeads % tiled.size)
      const run = Math.min(left, count - done)
      const stored = inHeads < 0 ? row : tiled.start + storedPosition(tiled, inHeads)
      bytes.set(await this.#bytes(entry, stored * rowBytes, run * rowBytes), done * rowBytes)
      done += run
    }
    return bytes
  }

  async #readRows(entry: TensorEntry, first: number, target: Float32Array): Promise<void> {
    const columns = entry.shape.length === 1 && entry.encoding === undefined ? 1 : (entry.shape.at(-1) as number)
    const firstRow = Math.floor(first / columns)
    const count = Math.ceil((first + target.length) / columns) - firstRow
    const bytes = await this.rows(entry, firstRow, count)
    const whole = target.length === count * columns
    const values = whole ? target : new Float32Array(count * columns)
    if (entry.encoding === undefined) widen(entry.dtype, bytes, values)
    else dequantise(entry.encoding, bytes, values)
    if (entry.tiled?.axis === 'columns' && !movesBlocks(entry)) {
      values.set(untileColumns(values, columns, entry.tiled, entry.tiled.size))
    }
    if (entry.negatedExponential === true) for (const [at, value] of values.entries()) values[at] = Math.log(-value)
    if (!whole) target.set(values.subarray(first - firstRow * columns, first - firstRow * columns + target.length))
  }

  /** Returns `length` bytes of a tensor, from offset `start` inside it. */
  async #bytes(entry: TensorEntry, start: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    let done = 0
    try {
      let handle = this.#handles.get(entry.file)
      if (handle === undefined) {
        handle = await open(entry.file, 'r')
        this.#handles.set(entry.file, handle)
      }
      while (done < bytes.byteLength) {
        const position = entry.offset + start + done
        const { bytesRead } = await handle.read(bytes, done, bytes.byteLength - done, position)
        if (bytesRead === 0) throw shrunk(entry, position)
        done += bytesRead
      }
    } catch (error) {
      throw fileError(error, entry.file)
    }
    return bytes
  }

  async close(): Promise<void> {
    for (const handle of this.#handles.values()) await handle.close()
    this.#handles.clear()
  }
}

/** True if heads can be moved without decoding them: along columns, they consist of whole blocks. */
export function movesBlocks({ encoding, tiled }: TensorEntry): boolean {
  return tiled?.axis !== 'columns' || tiled.size % (encoding === undefined ? 1 : blockSizes[encoding].weights) === 0
}

/** Returns where the file has a row or column of the model; both count from the first head. */
function storedPosition({ keyHeads, perKey, size }: TiledHeads, position: number): number {
  const head = Math.floor(position / size)
  const [keyHead, member] = [Math.floor(head / perKey), head % perKey]
  return (member * keyHeads + keyHead) * size + (position % size)
}

/** Returns rows of `width` items with their heads of `headWidth` items in the order of the model. */
function untileColumns<T extends Uint8Array | Float32Array>(
  rows: T,
  width: number,
  tiled: TiledHeads,
  headWidth: number
) {
  const ordered = rows.slice() as T
  const heads = { ...tiled, size: headWidth }
  for (let start = 0; start < rows.length; start += width) {
    for (let at = 0; at < width; at += headWidth) {
      const from = start + storedPosition(heads, at)
      ordered.set(rows.subarray(from, from + headWidth), start + at)
    }
  }
  return ordered
}

function rowCount({ shape, encoding }: TensorEntry): number {
  if (shape.length === 1) return encoding === undefined ? (shape[0] as number) : 1
  return shape.slice(0, -1).reduce((product, size) => product * size, 1)
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
