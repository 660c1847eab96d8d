import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isSvcError } from '@svc/plugin-sdk'
import type { LowRankFactors } from '../adapter.ts'
import { inferenceErrors } from '../errors.ts'
import type { Runtime } from '../ort/runtime.ts'
import type { TensorEntry } from '../safetensors.ts'
import { LowRankMerger } from '../weights/low-rank.ts'
import { TensorReader } from '../weights/tensor-reader.ts'

/** Elements that are merged at a time. */
const TILE_ELEMENTS = 2 ** 20
const F32_BYTES = 4

export interface MergedTensor {
  readonly base: TensorEntry
  readonly factors: LowRankFactors
}

export interface MergedFile {
  readonly output: string
  readonly replace: boolean
  readonly tensors: readonly MergedTensor[]
  readonly runtime: Runtime
  readonly threads: number
  readonly signal?: AbortSignal | undefined
  onProgress(done: number, tensor: string): void
}

/**
 * Writes merged tensors to a safetensors file, which appears complete or not at all. Returns its bytes. Throws
 * `INF_MERGE_EXISTS`, `INF_MERGE_UNWRITABLE` and the reason of an aborted signal.
 */
export async function writeMerged(options: MergedFile): Promise<number> {
  const { output, replace } = options
  if (!replace && (await stat(output).catch(() => null)) !== null) throw alreadyThere(output)
  const temporary = `${output}.${process.pid}.tmp`
  let handle: FileHandle | undefined
  try {
    handle = await open(temporary, 'wx')
    const bytes = await fill(handle, options)
    await handle.sync()
    await handle.close()
    handle = undefined
    await rename(temporary, output)
    await syncFolder(dirname(output))
    return bytes
  } catch (error) {
    await handle?.close().catch(() => {})
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(temporary, { force: true }).catch(() => {})
    if (options.signal?.aborted || isSvcError(error) || !(error instanceof Error) || !('syscall' in error)) throw error
    throw inferenceErrors.create('INF_MERGE_UNWRITABLE', `${output} could not be written: ${error.message}`, {
      cause: error,
      at: { file: output },
      data: { file: output },
      hint: 'Free space, or name another file with --output.'
    })
  }
}

async function fill(
  handle: FileHandle,
  { tensors, runtime, threads, signal, onProgress }: MergedFile
): Promise<number> {
  const head = header(tensors)
  await handle.write(head)
  let bytes = head.byteLength
  const reader = new TensorReader()
  const merger = new LowRankMerger(runtime, threads)
  try {
    for (const [index, { base, factors }] of tensors.entries()) {
      const [rows, columns] = base.shape as [number, number]
      const update = await merger.open(factors, reader)
      try {
        const step = Math.max(1, Math.floor(TILE_ELEMENTS / columns))
        for (let row = 0; row < rows; row += step) {
          signal?.throwIfAborted()
          const weight = new Float32Array(Math.min(step, rows - row) * columns)
          await reader.read(base, row * columns, weight)
          await update.apply(weight, row)
          await handle.write(new Uint8Array(weight.buffer))
          bytes += weight.byteLength
        }
      } finally {
        update.close()
      }
      onProgress(index + 1, base.name)
    }
  } finally {
    await merger.close()
    await reader.close()
  }
  return bytes
}

/** Returns the length and the JSON of a safetensors header. The data is aligned to 8 bytes. */
function header(tensors: readonly MergedTensor[]): Uint8Array {
  // The object has no prototype, so that a tensor may have any name.
  const fields: Record<string, unknown> = Object.create(null)
  let offset = 0
  for (const { base } of tensors) {
    const end = offset + base.shape.reduce((product, each) => product * each, F32_BYTES)
    fields[base.name] = { dtype: 'F32', shape: base.shape, data_offsets: [offset, end] }
    offset = end
  }
  const json = JSON.stringify(fields)
  const text = Buffer.from(json.padEnd(json.length + ((8 - (Buffer.byteLength(json) % 8)) % 8)))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(text.byteLength))
  return Buffer.concat([length, text])
}

/** Makes a rename survive a crash, where folders can be synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null)
  try {
    await handle?.sync()
  } catch {
    // Some systems cannot sync folders.
  } finally {
    await handle?.close()
  }
}

function alreadyThere(file: string) {
  return inferenceErrors.create('INF_MERGE_EXISTS', `${file} exists`, {
    at: { file },
    data: { file },
    hint: 'Replace it with --replace, or name another file with --output.'
  })
}
