import { isObject, jsonValue } from '../interpreter/json.ts'
import {
  error,
  isList,
  isRecord,
  Json,
  NONE,
  ok,
  type RecordValue,
  some,
  Tagged,
  Tuple,
  type Value
} from '../interpreter/value.ts'
import type { Codec, Meter } from './codec.ts'
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
    },
    check(value, meter) {
      const list = listIn(value) ?? wrong(name, value)
      check(list.length)
      meter.charge(1)
      return item.name === ANY ? list : checkedParts(list, () => item, meter)
    }
  }
}

/** Name of the codec that accepts every value. */
const ANY = 'any'

/** Returns a list, or a JSON array as one. */
function listIn(value: Value): readonly Value[] | undefined {
  if (isList(value)) return value
  if (!(value instanceof Json) || !Array.isArray(value.data)) return undefined
  return value.data.map(each => jsonValue(each, value.isBody))
}

/** Returns a record, or a JSON object as one. */
export function recordIn(value: Value): RecordValue | undefined {
  if (isRecord(value)) return value
  if (!(value instanceof Json) || !isObject(value.data)) return undefined
  return new Map(Object.entries(value.data).map(([key, each]) => [key, jsonValue(each, value.isBody)]))
}

/** Returns a list of checked values: the same list if no check converts a value. */
function checkedParts(
  list: readonly Value[],
  codecOf: (index: number) => Codec,
  meter: Meter,
  nameOf: (index: number) => string | number = index => index
): readonly Value[] {
  let converted: Value[] | null = null
  for (let index = 0; index < list.length; index++) {
    const given = list[index] as Value
    try {
      const value = codecOf(index).check(given, meter)
      if (value === given) continue
      if (converted === null) {
        meter.allocate(16 + 8 * list.length)
        converted = [...list]
      }
      converted[index] = value
    } catch (thrown) {
      throw inPart(thrown, nameOf(index))
    }
  }
  return converted ?? list
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
    },
    check(value, meter) {
      meter.charge(1)
      if (value === null || (value instanceof Json && value.data === null)) return NONE
      if (!(value instanceof Tagged) || (value.tag !== 'Some' && value.tag !== 'None')) {
        return some(item.check(value, meter))
      }
      return checkedTagged(value, () => item, meter)
    }
  }
}

/** Returns a variant whose fields are checked. */
export function checkedTagged(
  value: Tagged,
  codecOf: (index: number) => Codec,
  meter: Meter,
  nameOf: (index: number) => string | number = () => 'value'
): Tagged {
  const fields = checkedParts(value.fields, codecOf, meter, nameOf)
  return fields === value.fields ? value : new Tagged(value.tag, fields, value.names)
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
    },
    check(value, meter) {
      meter.charge(1)
      const result = resultIn(value) ?? wrong(name, value)
      return checkedTagged(result, () => (result.tag === 'Ok' ? item : failure), meter)
    }
  }
}

/** Returns a Result, or JSON in the form of one. */
function resultIn(value: Value): Tagged | undefined {
  if (value instanceof Tagged) return value.tag === 'Ok' || value.tag === 'Error' ? value : undefined
  const json = value instanceof Json && isObject(value.data) ? value.data : {}
  if (json._tag !== 'Ok' && json._tag !== 'Err') return undefined
  return (json._tag === 'Ok' ? ok : error)(jsonValue(json.value))
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
    },
    check(value, meter) {
      meter.charge(1)
      const given = value instanceof Tuple ? value.items : value instanceof Json ? listIn(value) : undefined
      if (given === undefined || given.length !== items.length) return wrong(name, value)
      const checked = checkedParts(given, index => items[index] as Codec, meter)
      return value instanceof Tuple && checked === given ? value : new Tuple(checked)
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
    },
    check(value, meter) {
      meter.charge(1)
      const record = recordIn(value) ?? wrong(name, value)
      return item.name === ANY ? record : checkedMembers(record, () => item, meter)
    }
  }
}

/** Returns a record whose members are checked: the same record if no check converts a value. */
export function checkedMembers(
  record: RecordValue,
  codecOf: (member: string) => Codec | undefined,
  meter: Meter
): RecordValue {
  let converted: Map<string, Value> | null = null
  for (const [member, given] of record) {
    try {
      const value = codecOf(member)?.check(given, meter) ?? given
      if (value === given) continue
      if (converted === null) {
        meter.allocate(32 * record.size)
        converted = new Map(record)
      }
      converted.set(member, value)
    } catch (thrown) {
      throw inPart(thrown, member)
    }
  }
  return converted ?? record
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
