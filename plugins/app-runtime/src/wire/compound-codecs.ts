import { isObject } from '../interpreter/json.ts'
import { error, isList, isRecord, NONE, ok, some, Tagged, Tuple, type Value } from '../interpreter/value.ts'
import type { Codec } from './codec.ts'
import { inPart, mismatch, shownJson } from './mismatch.ts'
import { wrong } from './plain-codecs.ts'

export function listCodec(item: Codec, name = `List[${item.name}]`, length: number | null = null): Codec {
  const check = (found: number): void => {
    if (length !== null && found !== length) mismatch(`${length} elements`, String(found))
  }
  return {
    name,
    isOptional: false,
    decode(json) {
      if (!Array.isArray(json)) return mismatch(name, shownJson(json))
      check(json.length)
      return parts(json, each => item.decode(each))
    },
    encode(value) {
      if (!isList(value)) return wrong(name, value)
      check(value.length)
      return parts(value, each => item.encode(each))
    }
  }
}

function parts<A, B>(list: readonly A[], convert: (each: A) => B): B[] {
  let index = 0
  try {
    const converted: B[] = new Array(list.length)
    for (; index < list.length; index++) converted[index] = convert(list[index] as A)
    return converted
  } catch (thrown) {
    throw inPart(thrown, index)
  }
}

/** Codec of an Option. A missing member and null mean None. */
export function optionCodec(item: Codec): Codec {
  return {
    name: `Option[${item.name}]`,
    isOptional: true,
    decode: json => (json === null || json === undefined ? NONE : some(item.decode(json))),
    encode(value) {
      if (value === null || value === NONE) return null
      if (!(value instanceof Tagged)) return item.encode(value)
      if (value.tag === 'None') return null
      return item.encode(value.tag === 'Some' ? (value.fields[0] ?? null) : value)
    }
  }
}

/** Codec of a nested Result. The Result that a function returns is handled by its caller instead. */
export function resultCodec(item: Codec, failure: Codec): Codec {
  const name = `Result[${item.name}]`
  return {
    name,
    isOptional: false,
    decode(json) {
      if (!isObject(json) || (json._tag !== 'Ok' && json._tag !== 'Err')) {
        return mismatch(`${name} as {"_tag":"Ok","value":…} or {"_tag":"Err","value":…}`, shownJson(json))
      }
      try {
        return json._tag === 'Ok' ? ok(item.decode(json.value)) : error(failure.decode(json.value))
      } catch (thrown) {
        throw inPart(thrown, 'value')
      }
    },
    encode(value) {
      if (!(value instanceof Tagged) || (value.tag !== 'Ok' && value.tag !== 'Error')) {
        return { _tag: 'Ok', value: item.encode(value) }
      }
      const [first = null] = value.fields
      return value.tag === 'Ok'
        ? { _tag: 'Ok', value: item.encode(first) }
        : { _tag: 'Err', value: failure.encode(first) }
    }
  }
}

export function tupleCodec(items: readonly Codec[]): Codec {
  const name = `(${items.map(each => each.name).join(', ')})`
  return {
    name,
    isOptional: false,
    decode(json) {
      if (!Array.isArray(json) || json.length !== items.length) {
        return mismatch(`${name} as an array of ${items.length}`, shownJson(json))
      }
      let index = -1
      return new Tuple(parts(json, each => (items[++index] as Codec).decode(each)))
    },
    encode(value) {
      if (!(value instanceof Tuple) || value.items.length !== items.length) return wrong(name, value)
      let index = -1
      return parts(value.items, each => (items[++index] as Codec).encode(each))
    }
  }
}

/** Codec of a record with arbitrary keys and values of one type. */
export function mapCodec(key: Codec, item: Codec): Codec {
  const name = `Map[${key.name}, ${item.name}]`
  return {
    name,
    isOptional: false,
    decode(json) {
      if (!isObject(json)) return mismatch(name, shownJson(json))
      const record = new Map<string, Value>()
      for (const [member, each] of Object.entries(json)) {
        try {
          record.set(member, item.decode(each))
        } catch (thrown) {
          throw inPart(thrown, member)
        }
      }
      return record
    },
    encode(value) {
      if (!isRecord(value)) return wrong(name, value)
      return written(value, () => item)
    }
  }
}

/** Builds an object without a prototype, so that no member name is special. */
export function written(
  record: ReadonlyMap<string, Value>,
  codecOf: (member: string) => Codec
): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null)
  for (const [member, value] of record) {
    try {
      object[member] = codecOf(member).encode(value)
    } catch (thrown) {
      throw inPart(thrown, member)
    }
  }
  return object
}
