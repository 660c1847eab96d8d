import { invalid } from '../../body-reader.ts'

/** Value of a template: data as in JSON, whose fields a template names in Go's way: `.ToolCalls` for `tool_calls`. */
export type Value = unknown

const MAX_WIDTH = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_REASON = 300

type Compare = (a: number | string, b: number | string) => boolean

const FUNCTIONS: Readonly<Record<string, (...values: Value[]) => Value>> = {
  not: value => !isTrue(value),
  eq: (first, ...others) => others.some(other => other === first || (other == null && first == null)),
  ne: (a, b) => a !== b,
  lt: ordered((a, b) => a < b),
  le: ordered((a, b) => a <= b),
  gt: ordered((a, b) => a > b),
  ge: ordered((a, b) => a >= b),
  len: value => {
    if (typeof value === 'string') return Buffer.byteLength(value)
    return Array.isArray(value) ? value.length : isMap(value) ? Object.keys(value).length : 0
  },
  index: (value, ...keys) => keys.reduce(elementOf, value),
  slice: (value, from = 0, to = undefined) => {
    if (Array.isArray(value)) return value.slice(...(rangeOf(value.length, from, to) as [number, number]))
    if (typeof value !== 'string') throw failure(`slice of ${shown(value)}`)
    const bytes = Buffer.from(value)
    return bytes.subarray(...(rangeOf(bytes.length, from, to) as [number, number])).toString('utf8')
  },
  print: (...values) => printed(values),
  println: (...values) =>
    joined(values.map((value, at) => () => (at > 0 ? ' ' : '') + shown(value)).concat(() => '\n')),
  printf: (format, ...values) => formatted(shown(format), values),
  json: value => json(value ?? null),
  currentDate: () => new Date().toISOString().slice(0, 'yyyy-mm-dd'.length),
  yesterdayDate: () => new Date(Date.now() - 24 * 3_600_000).toISOString().slice(0, 'yyyy-mm-dd'.length)
}

/** Functions that do not evaluate all their arguments. */
export const LAZY = new Set(['and', 'or'])

export function isFunction(name: string): boolean {
  return LAZY.has(name) || Object.hasOwn(FUNCTIONS, name)
}

export function call(name: string, values: readonly Value[]): Value {
  return FUNCTIONS[name]?.(...values)
}

/** True unless a value is empty: null, false, 0, or without characters or elements. */
export function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (!isMap(value)) return Boolean(value)
  let filled = filledMaps.get(value)
  if (filled === undefined) filledMaps.set(value, (filled = Object.keys(value).length > 0))
  return filled
}

/** Whether maps have keys: to find a first key takes as long as to list all. */
const filledMaps = new WeakMap<object, boolean>()

/** Returns a field of an object: with the same name, or with the name as JSON has it. */
export function fieldOf(value: Value, name: string): Value {
  if (!isMap(value)) return undefined
  for (const key of [name, lowered(name), snake(name)]) if (Object.hasOwn(value, key)) return value[key]
  return undefined
}

/** Returns a value as text, as Go prints it. Objects and lists of objects are printed as JSON. */
export function shown(value: Value): string {
  if (value === null || value === undefined) return ''
  if (!Array.isArray(value)) return isMap(value) ? json(value) : String(value)
  return value.some(each => isMap(each) || Array.isArray(each)) ? json(value) : `[${value.map(shown).join(' ')}]`
}

export function isMap(value: Value): value is Readonly<Record<string, Value>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns JSON as Go writes it: characters of HTML are escaped. */
function json(value: Value): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escaped)
}

function ordered(compare: Compare): (a: Value, b: Value) => boolean {
  return (a, b) => {
    const isNumbers = typeof a === 'number' && typeof b === 'number'
    if (isNumbers || (typeof a === 'string' && typeof b === 'string')) return compare(a as string, b as string)
    throw failure(`${shown(a)} and ${shown(b)} cannot be compared`)
  }
}

function elementOf(value: Value, key: Value): Value {
  if (Array.isArray(value)) {
    if (Number.isInteger(key) && (key as number) >= 0 && (key as number) < value.length) return value[key as number]
    throw failure(`index ${shown(key)} of a list with ${value.length} elements`)
  }
  const name = shown(key)
  return isMap(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function rangeOf(length: number, from: Value, to: Value): readonly [number, number] {
  const end = to ?? length
  const isRange = Number.isInteger(from) && Number.isInteger(end) && 0 <= Number(from) && Number(from) <= Number(end)
  if (!isRange || Number(end) > length) throw failure(`slice from ${shown(from)} to ${shown(end)} of ${length}`)
  return [Number(from), Number(end)]
}

/** Formats like Go's `printf`, with the verbs `%s`, `%v`, `%d`, `%q` and a width, which may be `*`. */
function formatted(format: string, values: readonly Value[]): string {
  let at = 0
  let characters = 0
  return format.replace(
    /%(?:%|(-?)(\d+|\*)?([a-zA-Z])|)/g,
    (verb, left: string, size: string | undefined, kind: string) => {
      if (verb === '%%') return '%'
      const width = size === '*' ? values[at++] : Number(size ?? 0)
      const isWidth = typeof width === 'number' && width <= MAX_WIDTH
      if (!['s', 'v', 'd', 'q'].includes(kind) || !isWidth) throw failure(`printf does not know '${verb}'`)
      const text = kind === 'q' ? JSON.stringify(shown(values[at++])) : shown(values[at++])
      characters += Math.max(text.length, width)
      checkLength(characters)
      return left === '-' ? text.padEnd(width) : text.padStart(width)
    }
  )
}

/** Joins values; those next to each other that are no texts with a space. */
function printed(values: readonly Value[]): string {
  const isText = (value: Value): boolean => typeof value === 'string'
  const isApart = (at: number): boolean => at > 0 && !isText(values[at]) && !isText(values[at - 1])
  return joined(values.map((value, at) => () => (isApart(at) ? ' ' : '') + shown(value)))
}

/** Joins texts, none of which is made after the limit is exceeded. */
function joined(texts: readonly (() => string)[]): string {
  const pieces: string[] = []
  let characters = 0
  for (const text of texts) {
    const piece = text()
    characters += piece.length
    checkLength(characters)
    pieces.push(piece)
  }
  return pieces.join('')
}

/** Throws if a text, or all texts of a template, are too long. */
export function checkLength(characters: number): void {
  if (characters > MAX_CHARACTERS) throw failure(`its text has more than ${MAX_CHARACTERS} characters, the limit`)
}

function lowered(name: string): string {
  return name[0]?.toLowerCase() + name.slice(1)
}

function snake(name: string): string {
  return name.replace(/(?<=[a-z])[A-Z]/g, letter => `_${letter}`).toLowerCase()
}

export function failure(reason: string): Error {
  return invalid(`'template' cannot be rendered: ${reason.slice(0, MAX_REASON)}`, 'template')
}
