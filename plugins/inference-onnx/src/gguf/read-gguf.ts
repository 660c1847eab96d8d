import { type FileHandle, open } from 'node:fs/promises'
import { inferenceErrors } from '../errors.ts'
import { fileError } from '../files.ts'
import type { TensorEntry } from '../safetensors.ts'
import { Cursor, MoreBytesNeeded } from './cursor.ts'
import { elementType, elementTypeName, supportedTypes } from './element-types.ts'
import { type Metadata, readMetadata } from './metadata.ts'
import { Pauses } from './pauses.ts'

export interface GgufFile {
  readonly path: string
  readonly byteLength: number
  readonly metadata: Metadata
  /** Tensors under their names in the file; shapes start with the rows, as in safetensors. */
  readonly tensors: ReadonlyMap<string, TensorEntry>
}

/** `GGUF`, little-endian. */
const MAGIC = 0x46554747
const VERSIONS: readonly number[] = [2, 3]
/** First read; most of a header is the vocabulary. */
const FIRST_BYTES = 2 ** 20
/** Three times the header of the largest public vocabularies, of 20 MB. */
const MAX_HEADER_BYTES = 2 ** 26
/** Ten times the tensors of the largest public models. */
const MAX_TENSORS = 2 ** 15
/** Eight times the limit of llama.cpp. */
const MAX_NAME_BYTES = 512
const MAX_DIMENSIONS = 4
/** Name length, number of dimensions, one dimension, type and offset. */
const MIN_TENSOR_BYTES = 8 + 4 + 8 + 4 + 8
const MIN_PAIR_BYTES = 8 + 4 + 1
const DEFAULT_ALIGNMENT = 32
const MAX_ALIGNMENT = 2 ** 20

/**
 * Reads the header of a GGUF file of version 2 or 3, little-endian, and checks all counts, lengths and offsets against
 * the file size. Pauses for other events between values, every 8 ms. Refuses headers of more than 64 MiB, and counts far
 * above those of public models.
 *
 * Throws `INF_RUN_DIR_TRUNCATED`, `INF_RUN_DIR_MALFORMED` or `INF_RUN_DIR_UNREADABLE`, with `file` and `offset` in
 * `data`, and `INF_RUN_DIR_TENSOR_INVALID` for element types that are not supported. Format:
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
 */
export async function readGguf(path: string): Promise<GgufFile> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, 'r')
    const stat = await handle.stat()
    if (!stat.isFile()) throw new Cursor(path, 0, Buffer.alloc(0)).malformed('it is not a regular file')
    for (let wanted = FIRST_BYTES; ; wanted *= 4) {
      const bytes = await readBeginning(handle, Math.min(wanted, stat.size, MAX_HEADER_BYTES))
      const file = await parseGguf(path, stat.size, bytes)
      if (file !== null) return file
      if (bytes.byteLength < Math.min(wanted, stat.size)) throw tooLong(path, stat.size, bytes)
    }
  } catch (error) {
    throw fileError(error, path)
  } finally {
    await handle?.close()
  }
}

/** Parses the header at the beginning of a file. Null if it continues after `bytes`. */
export async function parseGguf(path: string, fileSize: number, bytes: Buffer): Promise<GgufFile | null> {
  const pauses = new Pauses()
  const cursor = new Cursor(path, fileSize, bytes)
  try {
    checkVersion(cursor)
    const tensorCount = cursor.count(MIN_TENSOR_BYTES, 'tensors')
    if (tensorCount > MAX_TENSORS) throw cursor.malformed(`it has ${tensorCount} tensors, more than ${MAX_TENSORS}`, 8)
    const metadata = await readMetadata(cursor, cursor.count(MIN_PAIR_BYTES, 'metadata values'), pauses)
    const infos: TensorInfo[] = []
    while (infos.length < tensorCount) {
      infos.push(readInfo(cursor))
      if (pauses.due()) await pauses.take()
    }
    const alignment = alignmentOf(cursor, metadata)
    const dataStart = Math.ceil(cursor.offset / alignment) * alignment
    return {
      path,
      byteLength: fileSize,
      metadata,
      tensors: await placeTensors(cursor, infos, dataStart, alignment, pauses)
    }
  } catch (error) {
    if (error instanceof MoreBytesNeeded) return null
    throw error
  }
}

function checkVersion(cursor: Cursor): void {
  if (cursor.u32() !== MAGIC) throw cursor.malformed('it does not begin with GGUF', 0)
  const version = cursor.u32()
  if (VERSIONS.includes(version)) return
  const swapped = VERSIONS.includes(Buffer.from(Uint32Array.of(version).buffer).readUInt32BE(0))
  const found = swapped ? 'the file is big-endian' : `the version is ${version}`
  throw cursor.malformed(`${found}; supported: version ${VERSIONS.join(' and ')}, little-endian`, 4)
}

interface TensorInfo {
  readonly name: string
  readonly shape: readonly number[]
  readonly type: number
  /** Offset from the start of the data. */
  readonly offset: bigint
  /** Offset of this description in the file. */
  readonly at: number
}

function readInfo(cursor: Cursor): TensorInfo {
  const at = cursor.offset
  const name = cursor.string(MAX_NAME_BYTES)
  const dimensions = cursor.u32()
  if (dimensions === 0 || dimensions > MAX_DIMENSIONS) {
    throw cursor.malformed(`tensor ${JSON.stringify(name)} has ${dimensions} dimensions`, at)
  }
  const shape: number[] = []
  for (let axis = 0; axis < dimensions; axis++) {
    const size = cursor.u64()
    if (size === 0n || size > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw cursor.malformed(`tensor ${JSON.stringify(name)} has a dimension of ${size}`, at)
    }
    shape.unshift(Number(size))
  }
  return { name, shape, type: cursor.u32(), offset: cursor.u64(), at }
}

function alignmentOf(cursor: Cursor, metadata: Metadata): number {
  const value = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT
  const valid = typeof value === 'number' && value >= 8 && value <= MAX_ALIGNMENT && Number.isInteger(Math.log2(value))
  if (valid) return value
  throw cursor.malformed(`general.alignment is ${value}, not a power of 2 from 8 to ${MAX_ALIGNMENT}`, 0)
}

async function placeTensors(
  cursor: Cursor,
  infos: readonly TensorInfo[],
  dataStart: number,
  alignment: number,
  pauses: Pauses
): Promise<ReadonlyMap<string, TensorEntry>> {
  const tensors = new Map<string, TensorEntry>()
  for (const info of infos) {
    if (tensors.has(info.name)) throw cursor.malformed(`tensor ${JSON.stringify(info.name)} occurs twice`, info.at)
    tensors.set(info.name, placeTensor(cursor, info, dataStart, alignment))
    if (pauses.due()) await pauses.take()
  }
  let position = dataStart
  for (const { name, offset, byteLength } of [...tensors.values()].sort((a, b) => a.offset - b.offset)) {
    if (offset < position) throw cursor.malformed(`tensor ${JSON.stringify(name)} overlaps the one before it`, offset)
    position = offset + byteLength
  }
  return tensors
}

function placeTensor(cursor: Cursor, info: TensorInfo, dataStart: number, alignment: number): TensorEntry {
  const { name, shape, at } = info
  const quoted = JSON.stringify(name)
  const type = elementType(info.type)
  if (type === null) throw unsupportedType(cursor.path, info)
  const columns = shape.at(-1) as number
  if (columns % type.weights !== 0) {
    throw cursor.malformed(
      `tensor ${quoted} has rows of ${columns} weights, not a multiple of ${type.weights} as in ${elementTypeName(info.type)}`,
      at
    )
  }
  const elements = shape.reduce((product, size) => product * BigInt(size), 1n)
  const byteLength = (elements / BigInt(type.weights)) * BigInt(type.bytes)
  if (info.offset % BigInt(alignment) !== 0n) {
    throw cursor.malformed(`tensor ${quoted} begins at ${info.offset}, not a multiple of ${alignment}`, at)
  }
  const end = BigInt(dataStart) + info.offset + byteLength
  if (end > BigInt(cursor.fileSize)) {
    throw cursor.truncated(`tensor ${quoted} ends at byte ${end} of ${cursor.fileSize}`, cursor.fileSize)
  }
  return {
    name,
    dtype: type.dtype,
    shape,
    file: cursor.path,
    offset: dataStart + Number(info.offset),
    byteLength: Number(byteLength),
    ...(type.encoding === null ? {} : { encoding: type.encoding })
  }
}

function unsupportedType(file: string, { name, type, at }: TensorInfo) {
  const typeName = elementTypeName(type)
  return inferenceErrors.create(
    'INF_RUN_DIR_TENSOR_INVALID',
    `${file}: ${name} has the element type ${typeName}, which is not supported; supported: ${supportedTypes.join(', ')}`,
    {
      at: { file },
      data: { file, offset: at, tensor: name },
      hint: 'Use a file of this model in Q4_K_M, Q8_0 or F16.'
    }
  )
}

function tooLong(path: string, fileSize: number, bytes: Buffer) {
  return new Cursor(path, fileSize, bytes).malformed(`its header exceeds the limit of ${MAX_HEADER_BYTES} bytes`, 0)
}

async function readBeginning(handle: FileHandle, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await handle.read(bytes, done, length - done, done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes.subarray(0, done)
}
