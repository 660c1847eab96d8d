import type { Cursor } from './cursor.ts'

/** Metadata value. Whole numbers of 64 bits that a double does not represent exactly are a bigint. */
export type MetadataValue = string | number | boolean | bigint | readonly MetadataValue[]
export type Metadata = ReadonlyMap<string, MetadataValue>

const STRING = 8
const ARRAY = 9
/** Arrays of arrays of arrays; public files have no nested arrays. */
const MAX_DEPTH = 3
/** Four times the values of the largest public files, whose vocabularies have 262,144 tokens. */
const MAX_VALUES = 2 ** 22

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
  [STRING]: [8, cursor => cursor.string()],
  10: [8, cursor => wide(cursor.u64())],
  11: [8, cursor => wide(cursor.i64())],
  12: [8, cursor => cursor.f64()]
}

/** Reads `count` pairs of key and value. Throws for keys that occur twice and for more than 4,194,304 values. */
export function readMetadata(cursor: Cursor, count: number): Metadata {
  const metadata = new Map<string, MetadataValue>()
  let values = 0
  const addValues = (added: number) => {
    values += added
    if (values > MAX_VALUES) throw cursor.malformed(`its metadata exceeds the limit of ${MAX_VALUES} values`)
  }
  for (let index = 0; index < count; index++) {
    const at = cursor.offset
    const key = cursor.string()
    if (metadata.has(key)) throw cursor.malformed(`the key ${JSON.stringify(key)} occurs twice`, at)
    addValues(1)
    metadata.set(key, readValue(cursor, cursor.u32(), 0, addValues))
  }
  return metadata
}

function readValue(cursor: Cursor, type: number, depth: number, addValues: (count: number) => void): MetadataValue {
  if (type !== ARRAY) return scalar(cursor, type)[1](cursor)
  if (depth === MAX_DEPTH) throw cursor.malformed(`arrays are nested more than ${MAX_DEPTH} deep`)
  const itemType = cursor.u32()
  const length = cursor.count(itemType === ARRAY ? 12 : scalar(cursor, itemType)[0], 'values of an array')
  addValues(length)
  if (itemType === ARRAY) return Array.from({ length }, () => readValue(cursor, ARRAY, depth + 1, addValues))
  const [, read] = scalar(cursor, itemType)
  return Array.from({ length }, () => read(cursor))
}

function scalar(cursor: Cursor, type: number): readonly [bytes: number, read: Reader] {
  const found = scalars[type]
  if (found === undefined) throw cursor.malformed(`the value type ${type} is unknown`)
  return found
}
