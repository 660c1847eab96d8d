import { Float, isList, NONE, Tagged, Tuple, type Value } from '../interpreter/value.ts'

/** Returns simpler values of the same type, simplest first; none for the simplest value. */
export function simpler(value: Value): Value[] {
  if (typeof value === 'number') {
    if (value === 0) return []
    const half = Math.trunc(value / 2)
    return [...new Set([0, half, value - Math.sign(value), ...(value < 0 ? [-value] : [])])]
  }
  if (typeof value === 'bigint') return [0, Number(value / 4096n)]
  if (value === true) return [false]
  if (typeof value === 'string') return shorter([...value]).map(characters => characters.join(''))
  if (value instanceof Float) return value.value === 0 ? [] : [new Float(0), new Float(Math.trunc(value.value / 2))]
  if (value instanceof Tuple) return inside(value.items).map(items => new Tuple(items))
  if (value !== null && isList(value)) return [...shorter(value), ...inside(value)]
  if (value instanceof Tagged) {
    const others = inside(value.fields).map(fields => new Tagged(value.tag, fields, value.names))
    return value.tag === 'Some' ? [NONE, ...others] : others
  }
  return []
}

function shorter<A>(items: readonly A[]): A[][] {
  if (items.length === 0) return []
  const half = items.length >> 1
  return [[], items.slice(0, half), items.slice(half), items.slice(1), items.slice(0, -1)].filter(
    each => each.length < items.length
  )
}

function inside(items: readonly Value[]): Value[][] {
  return items.flatMap((item, index) => simpler(item).map(other => items.with(index, other)))
}
