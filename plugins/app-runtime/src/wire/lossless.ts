import { ActorHandle } from '../interpreter/actor-handle.ts'
import { Decimal } from '../interpreter/decimal.ts'
import { fail } from '../interpreter/failure.ts'
import { typeName } from '../interpreter/type-name.ts'
import { Float, isList, isRecord, Json, NONE, Tagged, Tuple, type Value } from '../interpreter/value.ts'
import { parseJson, printJson } from './json-text.ts'

/**
 * Writes a value as JSON that restores its type, digits and key order without a declared type. Strings, booleans,
 * null, lists, and ints below 2^53 are plain JSON; other values are an object with one key that begins with `$`.
 * A record is a plain object if that preserves its keys and their order.
 *
 * Throws `RUN_TYPE` for functions and host objects, with the path in the value.
 */
export function losslessText(value: Value): string {
  return printJson(written(value, 'the value'))
}

/** Reads JSON of {@link losslessText}; throws `RUN_TYPE` for other JSON. `handle` creates handles of actors. */
export function losslessValue(text: string, handle: MakeHandle): Value {
  return read(parseJson(text), handle)
}

export type MakeHandle = (actor: string, id: string, args: readonly Value[]) => Value

function written(value: Value, path: string): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') {
    return value
  }
  if (typeof value === 'bigint') return { $int: String(value) }
  if (isList(value)) return value.map((item, index) => written(item, `${path}[${index}]`))
  if (isRecord(value)) return writtenRecord(value, path)
  if (value instanceof Float) return { $float: writtenFloat(value.value) }
  if (value instanceof Decimal) return { $dec: value.toString() }
  if (value instanceof Tuple) return { $tuple: value.items.map((item, index) => written(item, `${path}.${index}`)) }
  if (value instanceof Json) return { $json: value.data }
  if (value instanceof Tagged) {
    const fields = value.fields.map((field, index) => written(field, `${path}.${value.names[index] ?? index}`))
    return { $tag: value.names.length === 0 ? [value.tag, fields] : [value.tag, fields, value.names] }
  }
  if (value instanceof ActorHandle) {
    const { actor, id, args } = value.address
    return { $actor: [actor, id, args.map((arg, index) => written(arg, `${path}(${index})`))] }
  }
  return fail('RUN_TYPE', `${path} is a ${typeName(value)}, which cannot be stored`)
}

function writtenRecord(record: ReadonlyMap<string, Value>, path: string): unknown {
  const entries = Array.from(record, ([key, value]) => [key, written(value, `${path}.${key}`)] as const)
  // Objects reorder integer keys, and treat __proto__ specially.
  const isPlain = entries.every(([key]) => !/^(?:\$|\d|__proto__$)/.test(key))
  return isPlain ? Object.fromEntries(entries) : { $record: entries }
}

function writtenFloat(value: number): number | string {
  return Number.isFinite(value) && !Object.is(value, -0) ? value : Object.is(value, -0) ? '-0' : String(value)
}

function read(data: unknown, handle: MakeHandle): Value {
  if (data === null || typeof data === 'string' || typeof data === 'boolean' || typeof data === 'number') return data
  if (Array.isArray(data)) return data.map(item => read(item, handle))
  const entries = Object.entries(data as object)
  const [first] = entries
  if (entries.length !== 1 || first === undefined || !first[0].startsWith('$')) {
    return new Map(entries.map(([key, value]) => [key, read(value, handle)]))
  }
  return readMarked(first[0], first[1], handle)
}

function readMarked(mark: string, content: unknown, handle: MakeHandle): Value {
  switch (mark) {
    case '$int':
      return BigInt(content as string)
    case '$float':
      return new Float(Number(content))
    case '$dec':
      return Decimal.parse(content as string) ?? fail('RUN_TYPE', `the stored decimal ${content} is invalid`)
    case '$tuple':
      return new Tuple((content as unknown[]).map(item => read(item, handle)))
    case '$json':
      return new Json(content)
    case '$record':
      return new Map((content as [string, unknown][]).map(([key, value]) => [key, read(value, handle)]))
    case '$tag': {
      const [tag, fields, names = []] = content as [string, unknown[], string[]?]
      if (tag === 'None' && fields.length === 0) return NONE
      return new Tagged(
        tag,
        fields.map(field => read(field, handle)),
        names
      )
    }
    case '$actor': {
      const [actor, id, args] = content as [string, string, unknown[]]
      return handle(
        actor,
        id,
        args.map(arg => read(arg, handle))
      )
    }
    default:
      return fail('RUN_TYPE', `${mark} is not a valid type mark`)
  }
}
