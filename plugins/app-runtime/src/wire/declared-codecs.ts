import { excerpt } from '../interpreter/display.ts'
import { isObject } from '../interpreter/json.ts'
import { isRecord, Json, type RecordValue, SqlRow, Tagged, type Value } from '../interpreter/value.ts'
import type { Codec } from './codec.ts'
import { checkedMembers, checkedTagged, optionCodec, recordIn } from './compound-codecs.ts'
import { inPart, mismatch, shownJson } from './mismatch.ts'
import { BOOL, wrong } from './plain-codecs.ts'

export interface Member {
  readonly name: string
  readonly codec: Codec
  /** Default value; null if there is none: the member is then required, unless its codec is optional. */
  readonly fallback: (() => Value) | null
}

export interface RecordOptions {
  /** True if members may be missing, as in rows of a query that selects some columns. */
  readonly isPartial: boolean
}

/** Codec of a record with declared members. Undeclared members of a value are not written. */
export function recordCodec(name: string, members: () => readonly Member[], { isPartial }: RecordOptions): Codec {
  let known: readonly Member[] | null = null
  let names: ReadonlySet<string> = new Set()
  let codecs: ReadonlyMap<string, Codec> = new Map()
  const declared = (): readonly Member[] => {
    if (known === null) {
      known = members()
      names = new Set(known.map(each => each.name))
      codecs = new Map(known.map(each => [each.name, each.codec]))
    }
    return known
  }
  return {
    name,
    isOptional: false,
    decode(json) {
      if (!isObject(json)) return mismatch(name, shownJson(json))
      const record = decodeMembers(json, declared())
      for (const member of Object.keys(json))
        if (!names.has(member)) refuseMember(name, member, shownJson(json[member]))
      return record
    },
    encode(value) {
      if (!isRecord(value)) return wrong(name, value)
      const object: Record<string, unknown> = {}
      for (const { name: member, codec } of declared()) {
        const each = value.get(member)
        if (each === undefined && (isPartial || codec.isOptional)) continue
        try {
          object[member] = each === undefined ? mismatch(codec.name, 'nothing') : codec.encode(each)
        } catch (thrown) {
          throw inPart(thrown, member)
        }
      }
      return object
    },
    check(value, meter) {
      meter.charge(1)
      const record = recordIn(value) ?? wrong(name, value)
      const complete = completed(record instanceof SqlRow ? withBools(record, declared()) : record, declared())
      if (value instanceof Json || meter.allowsMore !== true) {
        for (const [member, each] of record) if (!names.has(member)) refuseMember(name, member, excerpt(each))
      }
      return checkedMembers(complete, member => codecs.get(member), meter)
    }
  }
}

/** Returns a row of raw SQL with bools in place of 0 and 1, where the members are bools. */
function withBools(row: SqlRow, members: readonly Member[]): RecordValue {
  const converted = new Map(row)
  for (const { name, codec } of members) {
    const value = row.get(name)
    const isBool = codec.name === BOOL.name || codec.name === OPTIONAL_BOOL
    if (isBool && (value === 0 || value === 1)) converted.set(name, value === 1)
  }
  return converted
}

const OPTIONAL_BOOL = optionCodec(BOOL).name

/** Returns a record with the defaults of the members that it omits. */
function completed(record: RecordValue, members: readonly Member[]): RecordValue {
  const omitted = members.filter(({ name }) => !record.has(name))
  if (omitted.length === 0) return record
  const complete = new Map(record)
  for (const { name, codec, fallback } of omitted) {
    if (fallback !== null) complete.set(name, fallback())
    else if (codec.isOptional) complete.set(name, codec.decode(undefined))
    else mismatchIn(name, codec.name, 'nothing')
  }
  return complete
}

export interface Variant {
  readonly name: string
  readonly members: readonly Member[]
}

/** Codec of a variant: `{"_tag": "Circle", "radius": 1}`. */
export function choiceCodec(name: string, variants: () => readonly Variant[]): Codec {
  let known: ReadonlyMap<string, Variant> | null = null
  const declared = (): ReadonlyMap<string, Variant> => {
    known ??= new Map(variants().map(each => [each.name, each]))
    return known
  }
  const expected = (): string => `${name} as {"_tag": ${[...declared().keys()].map(tag => `"${tag}"`).join(' or ')}, …}`
  return {
    name,
    isOptional: false,
    decode(json) {
      const variant = isObject(json) && typeof json._tag === 'string' ? declared().get(json._tag) : undefined
      if (variant === undefined) {
        const tag = isObject(json) && typeof json._tag === 'string' ? ` with the _tag "${json._tag.slice(0, 60)}"` : ''
        return mismatch(expected(), `${shownJson(json)}${tag}`)
      }
      const object = json as Record<string, unknown>
      const { members } = variant
      const record = decodeMembers(object, members)
      for (const member of Object.keys(object)) {
        if (member !== '_tag' && !record.has(member)) refuseMember(variant.name, member, shownJson(object[member]))
      }
      const names = members.map(each => each.name)
      return new Tagged(
        variant.name,
        names.map(each => record.get(each) as Value),
        names
      )
    },
    encode(value) {
      const variant = value instanceof Tagged ? declared().get(value.tag) : undefined
      if (variant === undefined) return wrong(name, value)
      const { fields } = value as Tagged
      const object: Record<string, unknown> = { _tag: variant.name }
      for (const [index, { name: member, codec }] of variant.members.entries()) {
        try {
          object[member] = codec.encode(fields[index] ?? null)
        } catch (thrown) {
          throw inPart(thrown, member)
        }
      }
      return object
    },
    check(value, meter) {
      meter.charge(1)
      const tagged = taggedIn(value, declared()) ?? wrong(name, value)
      const { members } = declared().get(tagged.tag) ?? wrong(name, value)
      const codecOf = (index: number): Codec => (members[index] as Member).codec
      return checkedTagged(tagged, codecOf, meter, index => (members[index] as Member).name)
    }
  }
}

/** Returns a variant, or JSON in the form of one. */
function taggedIn(value: Value, variants: ReadonlyMap<string, Variant>): Tagged | undefined {
  if (value instanceof Tagged) return value
  const record = value instanceof Json ? recordIn(value) : undefined
  const variant = variants.get(String(record?.get('_tag')))
  if (record === undefined || variant === undefined) return undefined
  const complete = completed(record, variant.members)
  for (const [member, each] of complete) {
    const isKnown = member === '_tag' || variant.members.some(({ name }) => name === member)
    if (!isKnown) refuseMember(variant.name, member, excerpt(each))
  }
  const names = variant.members.map(({ name }) => name)
  return new Tagged(
    variant.name,
    names.map(member => complete.get(member) as Value),
    names
  )
}

function decodeMembers(json: Record<string, unknown>, members: readonly Member[]): Map<string, Value> {
  const record = new Map<string, Value>()
  for (const { name, codec, fallback } of members) {
    const given = Object.hasOwn(json, name) ? json[name] : undefined
    if (given === undefined && fallback !== null) {
      record.set(name, fallback())
      continue
    }
    try {
      if (given === undefined && !codec.isOptional) mismatch(codec.name, 'nothing')
      record.set(name, codec.decode(given))
    } catch (thrown) {
      throw inPart(thrown, name)
    }
  }
  return record
}

function refuseMember(of: string, member: string, found: string): never {
  return mismatchIn(member, `nothing, since ${of} has no such member`, found)
}

function mismatchIn(member: string, expected: string, found: string): never {
  try {
    return mismatch(expected, found)
  } catch (thrown) {
    throw inPart(thrown, member)
  }
}
