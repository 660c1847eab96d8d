import { BLOCK } from '../onnx/linear.ts'
import { elementCount } from '../ort/runtime.ts'
import { openEncoder } from './encode.ts'
import type { PackedTensor } from './layout.ts'
import type { LowRankMerger, LowRankUpdate } from './low-rank.ts'
import type { WeightPlan, WeightSource } from './plan.ts'
import { checkHalves, checkScales, reorderBlocks } from './stored-blocks.ts'
import { TensorReader } from './tensor-reader.ts'

/** Elements per step. Limits memory, and the time for which the event loop is blocked to a few milliseconds. */
const TILE_ELEMENTS = 2 ** 20

export interface PackSink {
  write(bytes: Uint8Array, position: number): Promise<void>
}

/** Tensors of a packed file. */
export type PackedPlan = Pick<WeightPlan, 'packed' | 'packedByteLength'>

export interface PackOptions {
  readonly merger: LowRankMerger
  readonly signal?: AbortSignal | undefined
  onProgress(fraction: number): void
}

/**
 * Writes the packed tensors of a plan: converts to F32, merges updates, joins groups, then encodes each tensor.
 *
 * Throws the sink's errors, `INF_RUN_DIR_TRUNCATED` if a shard has shrunk, and the signal's reason.
 */
export async function packWeights(plan: PackedPlan, sink: PackSink, options: PackOptions): Promise<void> {
  const total = plan.packed.reduce((sum, { rows, columns }) => sum + rows * columns, 0)
  let done = 0
  const onElements = (count: number) => {
    done += count
    options.onProgress(done / total)
  }
  const reader = new TensorReader()
  try {
    for (const tensor of plan.packed) await packTensor(tensor, reader, sink, options, onElements)
  } finally {
    await reader.close()
  }
}

async function packTensor(
  tensor: PackedTensor,
  reader: TensorReader,
  sink: PackSink,
  options: PackOptions,
  onElements: (count: number) => void
): Promise<void> {
  if (tensor.form === 'stored-q4_0') return packStored(tensor, reader, sink, options, onElements)
  const encode = openEncoder(tensor, sink)
  for (const source of tensor.sources) {
    const update = source.update === null ? null : await options.merger.open(source.update, reader)
    try {
      for await (const tile of tiles(source, update, reader)) {
        options.signal?.throwIfAborted()
        if (tensor.form === 'half') checkHalves(source.entry, tile)
        await encode(tile)
        onElements(tile.length)
      }
    } finally {
      update?.close()
    }
  }
}

/** Writes Q4_0 blocks in the order of the runtime, without changing values. */
async function packStored(
  { sources, columns, offset, scalesOffset }: PackedTensor,
  reader: TensorReader,
  sink: PackSink,
  options: PackOptions,
  onElements: (count: number) => void
): Promise<void> {
  let [position, scalesPosition] = [offset, scalesOffset]
  const step = Math.max(1, Math.floor(TILE_ELEMENTS / columns))
  for (const { entry } of sources) {
    const rows = entry.shape[0] as number
    for (let first = 0; first < rows; first += step) {
      options.signal?.throwIfAborted()
      const count = Math.min(step, rows - first)
      const { values, scales } = reorderBlocks(await reader.rows(entry, first, count))
      checkScales(entry, scales, (first * columns) / BLOCK)
      await sink.write(values, position)
      await sink.write(new Uint8Array(scales.buffer), scalesPosition)
      position += values.byteLength
      scalesPosition += scales.byteLength
      onElements(count * columns)
    }
  }
}

async function* tiles({ entry }: WeightSource, update: LowRankUpdate | null, reader: TensorReader) {
  const elements = elementCount(entry.shape)
  const columns = entry.shape[1] ?? elements
  const step = Math.max(1, Math.floor(TILE_ELEMENTS / columns)) * columns
  const buffer = new Float32Array(Math.min(step, elements))
  for (let first = 0; first < elements; first += step) {
    const tile = buffer.subarray(0, Math.min(step, elements - first))
    await reader.read(entry, first, tile)
    await update?.apply(tile, first / columns)
    yield tile
  }
}
