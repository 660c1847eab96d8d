import { Decimal } from '../interpreter/decimal.ts'
import { Float, isList, isRecord, NONE, Tagged, Tuple, type Value } from '../interpreter/value.ts'

/** Returns simpler values of the same type, simplest first; none for the simplest value. */
export function simpler(value: Value): Value[] {
  if (typeof value === 'number' || typeof value === 'bigint') return closerToZero(BigInt(value)).map(intOf)
  if (value === true) return [false]
  if (typeof value === 'string') return simplerText([...value])
  if (value instanceof Float) return simplerFloat(value.value)
  if (value instanceof Decimal) return simplerDecimal(value)
  if (value instanceof Tuple) return inside(value.items).map(items => new Tuple(items))
  if (value !== null && isList(value)) return [...shorter(value), ...inside(value)]
  if (isRecord(value)) return simplerRecord([...value])
  if (value instanceof Tagged) {
    const others = inside(value.fields).map(fields => new Tagged(value.tag, fields, value.names))
    return value.tag === 'Some' ? [NONE, ...others] : others
  }
  return []
}

/**
 * Returns 0, the positive value, and values whose distance from `value` is halved each time. So the boundary of a
 * property is found in a logarithmic number of steps.
 */
function closerToZero(value: bigint): bigint[] {
  const found = value < 0n ? [0n, -value] : value === 0n ? [] : [0n]
  for (let distance = value / 2n; distance !== 0n; distance /= 2n) found.push(value - distance)
  return found.filter(each => each !== value)
}

function intOf(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

function simplerText(characters: readonly string[]): string[] {
  const others = characters.flatMap((each, index) => (each === 'a' ? [] : [characters.with(index, 'a')]))
  return [...shorter(characters), ...others].map(each => each.join(''))
}

function simplerFloat(value: number): Float[] {
  if (value === 0) return []
  const whole = Math.trunc(value)
  if (whole !== value || !Number.isSafeInteger(whole)) return [0, whole, whole / 2].map(each => new Float(each))
  return closerToZero(BigInt(whole)).map(each => new Float(Number(each)))
}

function simplerDecimal({ digits, scale }: Decimal): Decimal[] {
  if (scale > 0)
    return [new Decimal(0n, 0), new Decimal(digits / 10n ** BigInt(scale), 0), new Decimal(digits / 10n, scale - 1)]
  return closerToZero(digits).map(each => new Decimal(each, 0))
}

/** A record keeps its keys, since it may be a struct. */
function simplerRecord(entries: readonly (readonly [string, Value])[]): Value[] {
  return entries.flatMap(([key, value], index) =>
    simpler(value).map(other => new Map(entries.with(index, [key, other])))
  )
}

function shorter<A>(items: readonly A[]): A[][] {
  if (items.length === 0) return []
  const half = items.length >> 1
  const without = items.map((_, index) => items.toSpliced(index, 1))
  return [[], items.slice(0, half), items.slice(half), ...without].filter(each => each.length < items.length)
}

function inside(items: readonly Value[]): Value[][] {
  return items.flatMap((item, index) => simpler(item).map(other => items.with(index, other)))
}
