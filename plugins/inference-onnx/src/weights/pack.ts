import { elementCount } from '../ort/runtime.ts'
import type { LowRankMerger, LowRankUpdate } from './low-rank.ts'
import type { PackedTensor, WeightPlan, WeightSource } from './plan.ts'
import { TensorReader } from './tensor-reader.ts'

/** Elements handled at once: memory stays small, and the event loop is never held for more than some milliseconds. */
const TILE_ELEMENTS = 2 ** 20

export interface PackSink {
  write(bytes: Uint8Array, position: number): Promise<void>
}

export interface PackOptions {
  readonly merger: LowRankMerger
  readonly signal?: AbortSignal | undefined
  onProgress(fraction: number): void
}

/**
 * Writes the packed tensors of a plan: converted to F32, updates merged, groups joined.
 *
 * Throws what the sink throws, `INF_RUN_DIR_TRUNCATED` when a shard shrank meanwhile, and the signal's reason.
 */
export async function packWeights(plan: WeightPlan, sink: PackSink, options: PackOptions): Promise<void> {
  const reader = new TensorReader()
  try {
    for (const tensor of plan.packed) await packTensor(plan, tensor, reader, sink, options)
  } finally {
    await reader.close()
  }
}

async function packTensor(
  plan: WeightPlan,
  tensor: PackedTensor,
  reader: TensorReader,
  sink: PackSink,
  options: PackOptions
): Promise<void> {
  let position = tensor.offset
  for (const source of tensor.sources) {
    const update = source.update === null ? null : await options.merger.open(source.update, reader)
    try {
      for await (const tile of tiles(source, update, reader)) {
        options.signal?.throwIfAborted()
        await sink.write(new Uint8Array(tile.buffer, tile.byteOffset, tile.byteLength), position)
        position += tile.byteLength
        options.onProgress(position / plan.packedByteLength)
      }
    } finally {
      update?.close()
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
