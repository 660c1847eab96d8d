import type { SqlParameter, SqlValue } from '@svc/contracts'
import { Decimal } from '../interpreter/decimal.ts'
import { Float, isInt, isList, Json, NONE, some, Tagged, type Value } from '../interpreter/value.ts'
import type { ColumnKind, ColumnType } from '../schema/column-type.ts'
import { fileIdOf, fileValue } from '../storage/file-info.ts'
import type { Codec } from '../wire/codec.ts'
import { parseJson, printJson } from '../wire/json-text.ts'
import { mismatch } from '../wire/mismatch.ts'
import { wrong } from '../wire/plain-codecs.ts'

/** Converts values of a column to values of the language, and back. Both throw a `Mismatch`. */
export interface ColumnCodec {
  encode(value: Value): SqlParameter
  decode(stored: SqlValue): Value
}

/** Returns the codec of a column. `document` is the JSON codec of the declared type, for columns stored as JSON. */
export function columnCodec({ kind, nullable, declared, sql }: ColumnType, document: Codec): ColumnCodec {
  if (kind === 'json') return documentCodec(document, nullable)
  const plain =
    kind === 'vector' ? vectorCodec(Number(/\d+/.exec(sql.slice('F32_BLOB'.length))?.[0]), declared) : PLAIN[kind]
  return nullable ? optionalCodec(plain) : plain
}

function stored(expected: string, value: SqlValue): never {
  const text = value instanceof Uint8Array ? `${value.length} bytes` : JSON.stringify(value, bigintText)
  return mismatch(`${expected} in the database`, text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text)
}

const MAX_SHOWN = 60
const bigintText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

const INT: ColumnCodec = {
  encode: value => (isInt(value) ? value : wrong('int', value)),
  decode(value) {
    if (typeof value === 'number' && Number.isInteger(value)) return value
    return typeof value === 'bigint' ? value : stored('an int', value)
  }
}

const STR: ColumnCodec = {
  encode: value => (typeof value === 'string' ? value : wrong('str', value)),
  decode: value => (typeof value === 'string' ? value : stored('text', value))
}

const PLAIN: Readonly<Record<Exclude<ColumnKind, 'json' | 'vector'>, ColumnCodec>> = {
  int: INT,
  id: INT,
  str: STR,
  bool: {
    encode: value => (typeof value === 'boolean' ? value : wrong('bool', value)),
    decode: value => (value === 1 ? true : value === 0 ? false : stored('0 or 1', value))
  },
  float: {
    encode: value => (value instanceof Float ? value.value : isInt(value) ? Number(value) : wrong('float', value)),
    decode: value => {
      return typeof value === 'number' || typeof value === 'bigint'
        ? new Float(Number(value))
        : stored('a number', value)
    }
  },
  char: {
    encode: value => (typeof value === 'string' && [...value].length === 1 ? value : wrong('char', value)),
    decode: STR.decode
  },
  file: {
    encode: value => fileIdOf(value) ?? wrong('File', value),
    decode(value) {
      const { id, name, content_type: contentType, size } = fileJson(value)
      return fileValue({ id, name, contentType, size })
    }
  },
  dec: {
    encode: value => (value instanceof Decimal ? value.toString() : wrong('dec', value)),
    decode: value => (typeof value === 'string' ? Decimal.parse(value) : undefined) ?? stored('a decimal', value)
  }
}

interface FileJson {
  readonly id: string
  readonly name: string
  readonly content_type: string
  readonly size: number
}

/** Parses what is known of a file, as `TableColumn.read` selects it. */
function fileJson(value: SqlValue): FileJson {
  if (typeof value === 'string' && value.startsWith('{')) return JSON.parse(value) as FileJson
  return stored('a stored file', value)
}

/** Returns the codec of an optional column. None is NULL; a value is accepted with and without Some. */
function optionalCodec(inner: ColumnCodec): ColumnCodec {
  return {
    encode: value => {
      if (value === null || value === NONE) return null
      if (value instanceof Tagged && value.tag === 'None') return null
      return inner.encode(value instanceof Tagged && value.tag === 'Some' ? (value.fields[0] ?? null) : value)
    },
    decode: value => (value === null ? NONE : some(inner.decode(value)))
  }
}

function documentCodec(document: Codec, nullable: boolean): ColumnCodec {
  return {
    encode(value) {
      // A part of an external JSON document may have any type, so it is validated here.
      const json = document.encode(value instanceof Json ? document.decode(value.data) : value)
      return json === null && nullable ? null : printJson(json)
    },
    decode(value) {
      if (value === null && nullable) return NONE
      if (typeof value !== 'string') return stored('JSON', value)
      let json: unknown
      try {
        json = parseJson(value)
      } catch {
        return stored('JSON', value)
      }
      return document.decode(json)
    }
  }
}

/** Returns the codec of a vector: 32-bit floats in little-endian order, as SQL vector functions expect. */
function vectorCodec(size: number, declared: string): ColumnCodec {
  return {
    encode(value) {
      if (!isList(value)) return wrong(declared, value)
      if (value.length !== size) return mismatch(`${size} numbers`, `${value.length}`)
      const bytes = new Uint8Array(4 * size)
      const view = new DataView(bytes.buffer)
      for (const [index, each] of value.entries()) {
        const number = each instanceof Float ? each.value : isInt(each) ? Number(each) : wrong('a number', each)
        if (!Number.isFinite(Math.fround(number))) mismatch('a 32-bit number', String(number))
        view.setFloat32(4 * index, number, true)
      }
      return bytes
    },
    decode(value) {
      if (!(value instanceof Uint8Array) || value.length !== 4 * size) return stored(declared, value)
      const view = new DataView(value.buffer, value.byteOffset, value.byteLength)
      return Array.from({ length: size }, (_, index) => new Float(view.getFloat32(4 * index, true)))
    }
  }
}
