import { open } from 'node:fs/promises'
import { inferenceErrors } from '../errors.ts'
import { fileError } from '../files.ts'
import type { TensorEntry } from '../safetensors.ts'

/** Numbers of an element in a view, by element type. */
const readers: Readonly<Record<string, (view: DataView, at: number) => number>> = {
  F64: (view, at) => view.getFloat64(at * 8, true),
  F32: (view, at) => view.getFloat32(at * 4, true),
  I64: (view, at) => Number(view.getBigInt64(at * 8, true)),
  I32: (view, at) => view.getInt32(at * 4, true)
}

/** Reads a vector of finite numbers. Throws `INF_RUN_DIR_TENSOR_INVALID`. */
export async function readNumbers(entry: TensorEntry): Promise<Float64Array> {
  const read = readers[entry.dtype]
  if (entry.shape.length !== 1 || read === undefined) throw invalid(entry, `is not a vector of ${Object.keys(readers)}`)
  const view = await readBytes(entry)
  const numbers = Float64Array.from({ length: entry.shape[0] as number }, (_, at) => read(view, at))
  const wrong = numbers.findIndex(number => !Number.isFinite(number))
  if (wrong !== -1) throw invalid(entry, `contains ${numbers[wrong]} at element ${wrong}`)
  return numbers
}

/** Reads a vector of whole numbers from 0 to `limit`, exclusive. Throws `INF_RUN_DIR_TENSOR_INVALID`. */
export async function readCounts(entry: TensorEntry, limit: number): Promise<Int32Array> {
  const numbers = await readNumbers(entry)
  const wrong = numbers.findIndex(number => !Number.isInteger(number) || number < 0 || number >= limit)
  if (wrong !== -1)
    throw invalid(entry, `contains ${numbers[wrong]} at element ${wrong}, not a row from 0 to ${limit - 1}`)
  return Int32Array.from(numbers)
}

async function readBytes(entry: TensorEntry): Promise<DataView> {
  const { file, offset, byteLength } = entry
  const bytes = new Uint8Array(byteLength)
  try {
    const handle = await open(file, 'r')
    try {
      const { bytesRead } = await handle.read(bytes, 0, byteLength, offset)
      if (bytesRead < byteLength) throw invalid(entry, 'ends within the tensor: the file shrank during the read')
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw fileError(error, file)
  }
  return new DataView(bytes.buffer)
}

function invalid({ file, name, offset }: TensorEntry, reason: string) {
  return inferenceErrors.create('INF_RUN_DIR_TENSOR_INVALID', `${file}: ${name} ${reason}`, {
    at: { file },
    data: { file, offset, tensor: name }
  })
}
