import type { Cursor } from './cursor.ts'
import type { Pauses } from './pauses.ts'

/** Metadata value. Whole numbers of 64 bits that a double does not represent exactly are a bigint. */
export type MetadataValue = string | number | boolean | bigint | readonly MetadataValue[]
export type Metadata = ReadonlyMap<string, MetadataValue>

const STRING = 8
const ARRAY = 9
/** Arrays of arrays of arrays; public files have no nested arrays. */
const MAX_DEPTH = 3
/** Twice the values of the largest public files: 262,144 tokens with scores and types, and 514,906 merges. */
const MAX_VALUES = 2 ** 21
/** Public files have at most some hundreds of keys. */
const MAX_KEYS = 2 ** 14
/** Limit of the format. */
const MAX_KEY_BYTES = 2 ** 16
/** The longest texts are chat templates and licenses, of some hundred thousand bytes. */
const MAX_TEXT_BYTES = 2 ** 22
/** Bytes of a text or key that take as long as a value of an array. */
const BYTES_PER_UNIT = 64

type Reader = (cursor: Cursor) => MetadataValue

const wide = (value: bigint) => (Number.isSafeInteger(Number(value)) ? Number(value) : value)

/** Scalars by type number: bytes, and reader. */
const scalars: Readonly<Record<number, readonly [bytes: number, read: Reader]>> = {
  0: [1, cursor => cursor.u8()],
  1: [1, cursor => cursor.i8()],
  2: [2, cursor => cursor.u16()],
  3: [2, cursor => cursor.i16()],
  4: [4, cursor => cursor.u32()],
  5: [4, cursor => cursor.i32()],
  6: [4, cursor => cursor.f32()],
  7: [1, cursor => cursor.bool()],
  [STRING]: [8, cursor => cursor.string(MAX_TEXT_BYTES)],
  10: [8, cursor => wide(cursor.u64())],
  11: [8, cursor => wide(cursor.i64())],
  12: [8, cursor => cursor.f64()]
}

/**
 * Reads `count` pairs of key and value. Throws for keys that occur twice, and for more than 16,384 keys or 2,097,152
 * values.
 */
export async function readMetadata(cursor: Cursor, count: number, pauses: Pauses): Promise<Metadata> {
  if (count > MAX_KEYS) throw cursor.malformed(`it has ${count} metadata values, more than ${MAX_KEYS}`)
  const metadata = new Map<string, MetadataValue>()
  let values = 0
  const addValues = (added: number) => {
    values += added
    if (values > MAX_VALUES) throw cursor.malformed(`its metadata exceeds the limit of ${MAX_VALUES} values`)
  }
  for (let index = 0; index < count; index++) {
    const at = cursor.offset
    const key = cursor.string(MAX_KEY_BYTES)
    if (metadata.has(key)) throw cursor.malformed(`the key ${JSON.stringify(key)} occurs twice`, at)
    addValues(1)
    metadata.set(key, await readValue({ cursor, pauses, addValues }, cursor.u32(), 0))
    if (pauses.due(1 + (cursor.offset - at) / BYTES_PER_UNIT)) await pauses.take()
  }
  return metadata
}

interface Reading {
  readonly cursor: Cursor
  readonly pauses: Pauses
  addValues(count: number): void
}

async function readValue(reading: Reading, type: number, depth: number): Promise<MetadataValue> {
  const { cursor, pauses, addValues } = reading
  if (type !== ARRAY) return scalar(cursor, type)[1](cursor)
  if (depth === MAX_DEPTH) throw cursor.malformed(`arrays are nested more than ${MAX_DEPTH} deep`)
  const itemType = cursor.u32()
  const length = cursor.count(itemType === ARRAY ? 12 : scalar(cursor, itemType)[0], 'values of an array')
  addValues(length)
  const items: MetadataValue[] = []
  if (itemType === ARRAY) {
    while (items.length < length) {
      items.push(await readValue(reading, ARRAY, depth + 1))
      if (pauses.due()) await pauses.take()
    }
    return items
  }
  const [, read] = scalar(cursor, itemType)
  while (items.length < length) {
    const start = cursor.offset
    items.push(read(cursor))
    if (pauses.due(1 + (cursor.offset - start) / BYTES_PER_UNIT)) await pauses.take()
  }
  return items
}

function scalar(cursor: Cursor, type: number): readonly [bytes: number, read: Reader] {
  const found = scalars[type]
  if (found === undefined) throw cursor.malformed(`the value type ${type} is unknown`)
  return found
}
