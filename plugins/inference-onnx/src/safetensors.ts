import { type FileHandle, open } from 'node:fs/promises'
import { inferenceErrors } from './errors.ts'
import { fileError } from './files.ts'
import type { BlockEncoding } from './gguf/element-types.ts'
import { findDuplicateKey } from './json-scan.ts'

/** Bits per element, by element type. */
const bitsOf = {
  BOOL: 8,
  U8: 8,
  I8: 8,
  F8_E5M2: 8,
  F8_E4M3: 8,
  F8_E8M0: 8,
  F6_E2M3: 6,
  F6_E3M2: 6,
  F4: 4,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  I64: 64,
  U64: 64,
  F64: 64,
  C64: 64
} as const

export type Dtype = keyof typeof bitsOf

export interface TensorEntry {
  readonly name: string
  readonly dtype: Dtype
  readonly shape: readonly number[]
  /** Absolute path of the file. */
  readonly file: string
  /** Offset of the first byte in the file. */
  readonly offset: number
  readonly byteLength: number
  /** Encoding in blocks, which only GGUF files have; the decoded elements have the type `dtype`. */
  readonly encoding?: BlockEncoding
  /**
   * Rows of an attention head, if the file interleaves the halves of each head: row `2j + h` of a head in the file is row
   * `h * headRows / 2 + j`. A vector has rows of one element.
   */
  readonly headRows?: number
  /** Order of value heads, if the file has another one than the model. */
  readonly tiled?: TiledHeads
  /** True if the file contains -exp(x) for each element x. */
  readonly negatedExponential?: boolean
}

/** Rows or columns of value heads in the order of a GGUF file: head `r * keyHeads + k` is head `k * perKey + r`. */
export interface TiledHeads {
  readonly axis: 'rows' | 'columns'
  /** First row or column of the heads; those before it are in the order of the model. */
  readonly start: number
  readonly keyHeads: number
  /** Value heads of a key head. */
  readonly perKey: number
  /** Rows or columns of a head. */
  readonly size: number
}

/** True if the elements in the file are those of the model, in its order. */
export function isPlain({ encoding, headRows, tiled, negatedExponential }: TensorEntry): boolean {
  return encoding === undefined && headRows === undefined && tiled === undefined && negatedExponential !== true
}

export interface SafetensorsFile {
  readonly path: string
  readonly byteLength: number
  readonly tensors: ReadonlyMap<string, TensorEntry>
}

const LENGTH_BYTES = 8
/** Limit of the reference implementation; a larger header indicates an attack or another format. */
const MAX_HEADER_BYTES = 100_000_000

/**
 * Reads the header of a safetensors file, and checks all offsets against the file size.
 *
 * Throws `INF_RUN_DIR_TRUNCATED`, `INF_RUN_DIR_MALFORMED` or `INF_RUN_DIR_UNREADABLE`, with `file` and `offset` in
 * `data`. Format: https://huggingface.co/docs/safetensors
 */
export async function readSafetensors(path: string): Promise<SafetensorsFile> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, 'r')
    const stat = await handle.stat()
    if (!stat.isFile()) throw malformed(path, 0, 'it is not a regular file')
    const prefix = new Uint8Array(LENGTH_BYTES)
    await readAt(handle, prefix, 0, path, stat.size)
    const length = headerLength(path, prefix, stat.size)
    const header = new Uint8Array(length)
    await readAt(handle, header, LENGTH_BYTES, path, stat.size)
    return { path, byteLength: stat.size, tensors: parseSafetensorsHeader(path, stat.size, header) }
  } catch (error) {
    throw fileError(error, path)
  } finally {
    await handle?.close()
  }
}

/**
 * Parses a header, and returns its tensors by name, with offsets from the start of the file.
 *
 * The tensors must cover the data without overlaps or gaps, as the format requires.
 */
export function parseSafetensorsHeader(
  path: string,
  fileSize: number,
  header: Uint8Array
): ReadonlyMap<string, TensorEntry> {
  const tensors = new Map<string, TensorEntry>()
  const dataStart = LENGTH_BYTES + header.byteLength
  for (const [name, value] of Object.entries(parseJson(path, header))) {
    if (name === '__metadata__') checkMetadata(path, value)
    else tensors.set(name, checkEntry(path, fileSize, dataStart, name, value))
  }
  checkCoverage(path, fileSize, dataStart, [...tensors.values()])
  return tensors
}

function headerLength(path: string, prefix: Uint8Array, fileSize: number): number {
  const length = new DataView(prefix.buffer).getBigUint64(0, true)
  if (length > BigInt(MAX_HEADER_BYTES)) {
    throw malformed(path, 0, `its header of ${length} bytes exceeds the limit of ${MAX_HEADER_BYTES} bytes`)
  }
  if (length > BigInt(fileSize - LENGTH_BYTES)) {
    throw truncated(path, LENGTH_BYTES, `the header needs ${length} bytes, but the file has only ${fileSize} bytes`)
  }
  return Number(length)
}

function parseJson(path: string, header: Uint8Array): Record<string, unknown> {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(header)
  } catch {
    throw malformed(path, LENGTH_BYTES, 'the header is not UTF-8')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw malformed(path, LENGTH_BYTES, `the header is not JSON (${(error as Error).message})`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed(path, LENGTH_BYTES, 'the header is not a JSON object')
  }
  const duplicate = findDuplicateKey(text)
  if (duplicate !== null) {
    const offset = LENGTH_BYTES + Buffer.byteLength(text.slice(0, duplicate.index))
    throw malformed(path, offset, `the name ${JSON.stringify(duplicate.key)} occurs twice`)
  }
  return value as Record<string, unknown>
}

function checkMetadata(path: string, value: unknown): void {
  const valid =
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every(entry => typeof entry === 'string')
  if (!valid) throw malformed(path, LENGTH_BYTES, '__metadata__ is not a map of strings')
}

function checkEntry(path: string, fileSize: number, dataStart: number, name: string, value: unknown): TensorEntry {
  const refuse = (reason: string) => malformed(path, dataStart, `tensor ${JSON.stringify(name)}: ${reason}`)
  if (typeof value !== 'object' || value === null) throw refuse('its entry is not an object')
  const { dtype, shape, data_offsets: range } = value as Record<string, unknown>
  if (typeof dtype !== 'string' || !Object.hasOwn(bitsOf, dtype)) {
    throw refuse(`unknown element type ${JSON.stringify(dtype)}`)
  }
  if (!Array.isArray(shape) || !shape.every(isCount)) throw refuse('its shape is not a list of whole numbers')
  if (!Array.isArray(range) || range.length !== 2 || !range.every(isCount)) {
    throw refuse('data_offsets is not a pair of whole numbers')
  }
  const [begin, end] = range as [number, number]
  if (begin > end) throw refuse(`data_offsets run backwards, from ${begin} to ${end}`)
  const bits = shape.reduce((product, dimension) => product * BigInt(dimension), BigInt(bitsOf[dtype as Dtype]))
  if (bits !== BigInt(end - begin) * 8n) {
    throw refuse(`${dtype} [${shape.join(', ')}] needs ${bits} bits, but data_offsets span ${end - begin} bytes`)
  }
  if (end > fileSize - dataStart) {
    throw truncated(
      path,
      dataStart + begin,
      `tensor ${JSON.stringify(name)} ends at byte ${dataStart + end} of ${fileSize}`
    )
  }
  return { name, dtype: dtype as Dtype, shape, file: path, offset: dataStart + begin, byteLength: end - begin }
}

function checkCoverage(path: string, fileSize: number, dataStart: number, tensors: TensorEntry[]): void {
  let position = dataStart
  for (const tensor of tensors.sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength)) {
    const name = JSON.stringify(tensor.name)
    if (tensor.offset < position) throw malformed(path, tensor.offset, `tensor ${name} overlaps the one before it`)
    if (tensor.offset > position) throw malformed(path, position, `no tensor covers the bytes before ${name}`)
    position += tensor.byteLength
  }
  if (position < fileSize) throw malformed(path, position, `${fileSize - position} bytes belong to no tensor`)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

async function readAt(
  handle: FileHandle,
  target: Uint8Array,
  position: number,
  path: string,
  fileSize: number
): Promise<void> {
  let done = 0
  while (done < target.byteLength) {
    const { bytesRead } = await handle.read(target, done, target.byteLength - done, position + done)
    if (bytesRead === 0) throw truncated(path, position + done, `it has ${fileSize} bytes`)
    done += bytesRead
  }
}

function malformed(file: string, offset: number, reason: string) {
  return inferenceErrors.create(
    'INF_RUN_DIR_MALFORMED',
    `${file} is not a valid safetensors file at byte ${offset}: ${reason}`,
    {
      at: { file },
      data: { file, offset },
      hint: 'Copy or download the file again.'
    }
  )
}

function truncated(file: string, offset: number, reason: string) {
  return inferenceErrors.create('INF_RUN_DIR_TRUNCATED', `${file} is truncated at byte ${offset}: ${reason}`, {
    at: { file },
    data: { file, offset },
    hint: 'Copy or download the file again.'
  })
}
