import { valueAt } from '../bindings.ts'
import { textOf } from '../format.ts'
import { columnFormat, NUMERIC, type ShownColumn } from './columns.ts'

/** Texts of at most this many characters are shown whole. */
const MAX_SHORT = 18
/** Limits of a long column's share of the width, in characters. */
const MIN_SHARE = 22
const MAX_SHARE = 48
const WHOLE: ReadonlySet<string> = new Set([...NUMERIC, 'time', 'state', 'boolean'])

/**
 * Returns the width of each column for CSS: short columns are as wide as their texts, and the others share the rest by
 * the length of theirs. Without a long column all share the width. States are never cut: a part of one may read as
 * another.
 */
export function columnWidths(columns: readonly ShownColumn[], sample: readonly unknown[]): readonly string[] {
  const found = columns.map(column => {
    const texts = sample.map(row => textOf(valueAt(row, column.field), columnFormat(column, row)))
    const lengths = [...texts, ...choicesOf(column)].map(({ length }) => length)
    const format = columnFormat(column, sample[0])
    const longest = Math.max(0, ...lengths)
    const isShort = longest <= MAX_SHORT || WHOLE.has(format)
    // A badge has a margin on both sides of its text; a title may have an arrow.
    const own = format === 'state' ? longest + 2 : longest + 1
    return {
      isShort,
      isState: format === 'state',
      own: Math.max(own, column.title.length + 2),
      usual: quantile(lengths, 0.9)
    }
  })
  const hasLong = found.some(({ isShort }) => !isShort)
  return found.map(({ isShort, isState, own, usual }) => {
    const least = isState ? `${own}ch` : '0'
    if (!hasLong) return `minmax(${least}, ${own}fr)`
    if (isShort) return isState ? least : `minmax(0, ${own}ch)`
    return `minmax(min(${MIN_SHARE}ch, 14%), ${Math.min(Math.max(usual, MIN_SHARE), MAX_SHARE)}fr)`
  })
}

/** Returns the values that a column can have: a state that changes needs no other width. */
function choicesOf({ schema }: ShownColumn): readonly string[] {
  return Array.isArray(schema?.enum) ? schema.enum.map(String) : []
}

function quantile(values: readonly number[], share: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0
}
