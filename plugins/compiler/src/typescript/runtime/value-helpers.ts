import type { Helper } from './helpers.ts'

/** Helpers for operations on values that differ from JavaScript. */
export const VALUE_HELPERS = {
  same: {
    source: `/** True if two values have the same content. */
export function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (a === null || a === undefined || b === null || b === undefined) return (a ?? null) === (b ?? null)
  if (typeof a !== 'object' || typeof b !== 'object') return a === b
  if (Array.isArray(a) && Array.isArray(b) && a.length !== b.length) return false
  const [first, second] = [a as Record<string, unknown>, b as Record<string, unknown>]
  const keys = Object.keys(first)
  if (keys.length !== Object.keys(second).length) return false
  return keys.every(key => Object.hasOwn(second, key) && same(first[key], second[key]))
}
`
  },
  text: {
    source: `/** Formats a value like \`str\` and \`print\`. */
export function text(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return 'None'
  if (Array.isArray(value)) return \`[\${value.map(text).join(', ')}]\`
  if (typeof value === 'number') return float_text(value)
  if (typeof value !== 'object') return String(value)
  const { _tag, ...fields } = value as Record<string, unknown>
  if (typeof _tag === 'string') {
    const held = Object.values(fields)
    return held.length === 0 ? _tag : \`\${_tag}(\${held.map(text).join(', ')})\`
  }
  return \`{\${Object.entries(value).map(([key, each]) => \`\${key}: \${text(each)}\`).join(', ')}}\`
}
`,
    needs: ['float_text']
  },
  float_text: {
    source: `/** Formats a float like \`str\` and \`print\`: without an exponent. */
export function float_text(value: number): string {
  const [digits = '', power] = String(value).split('e')
  if (power === undefined) return digits
  const sign = value < 0 ? '-' : ''
  const all = digits.replace(/[-.]/g, '')
  const exponent = Number(power)
  return exponent < 0 ? \`\${sign}0.\${'0'.repeat(-exponent - 1)}\${all}\` : sign + all.padEnd(exponent + 1, '0')
}
`
  },
  some: {
    source: `/** \`Some(None)\` and the like: null would be \`None\`. */
class SomeOfNull {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }

  toJSON(): null {
    return null
  }
}

/** Returns \`Some(value)\`. */
export function some<T>(value: T): T {
  const is_marked = value === null || value === undefined || value instanceof SomeOfNull
  return is_marked ? (new SomeOfNull(value) as T) : value
}
`
  },
  some_value: {
    source: `/** Returns the value in an option that is not \`None\`. */
export function some_value<T>(option: unknown): T {
  return (option instanceof SomeOfNull ? option.value : option) as T
}
`,
    needs: ['some']
  },
  item_option: {
    source: `/** Returns an item of a list as an option; negative positions count from its end. */
export function item_option<T>(items: readonly T[], index: number): T | null {
  const at = index < 0 ? items.length + index : index
  return at in items ? some(items[at] as T) : null
}
`,
    needs: ['some']
  },
  found_option: {
    source: `/** Returns the first item that passes a test, as an option. */
export function found_option<T>(items: readonly T[], test: (item: T) => boolean): T | null {
  const at = items.findIndex(item => test(item))
  return at === -1 ? null : some(items[at] as T)
}
`,
    needs: ['some']
  },
  own_option: {
    source: `/** Returns the value of a key as an option. */
export function own_option<T>(values: Readonly<Record<string, T>>, key: string): T | null {
  return Object.hasOwn(values, key) ? some(values[key] as T) : null
}
`,
    needs: ['some']
  },
  text_of: {
    source: `/** Parts of a type that its values do not show. \`up\` refers to the fields or cases so many levels up. */
interface Shape {
  readonly tuple?: readonly (Shape | null)[]
  readonly option?: Shape | null
  readonly result?: Shape | null
  readonly list?: Shape
  readonly map?: Shape
  readonly fields?: Readonly<Record<string, Shape>>
  readonly cases?: Readonly<Record<string, Readonly<Record<string, Shape>>>>
  readonly up?: number
}

/** Formats a value of a type like \`str\` and \`print\`. */
export function text_of(value: unknown, shape: Shape | null, outer: readonly Shape[] = []): string {
  if (shape === null) return text(value)
  if (shape.up !== undefined) {
    const at = outer.length - shape.up
    return text_of(value, outer[at] ?? null, outer.slice(0, at))
  }
  if (shape.option !== undefined) {
    return value === null || value === undefined ? 'None' : \`Some(\${text_of(some_value(value), shape.option, outer)})\`
  }
  if (shape.result !== undefined) {
    const { _tag, value: held } = value as { readonly _tag: string; readonly value: unknown }
    return _tag === 'Ok' ? \`Ok(\${text_of(held, shape.result, outer)})\` : \`Error(\${text(held)})\`
  }
  if (shape.tuple !== undefined) {
    const { tuple } = shape
    const items = (value as readonly unknown[]).map((item, index) => text_of(item, tuple[index] ?? null, outer))
    return \`(\${items.join(', ')})\`
  }
  if (shape.list !== undefined) {
    const { list } = shape
    return \`[\${(value as readonly unknown[]).map(item => text_of(item, list, outer)).join(', ')}]\`
  }
  const { _tag, ...entries } = value as Readonly<Record<string, unknown>>
  const within = shape.map === undefined ? [...outer, shape] : outer
  const fields = shape.cases?.[String(_tag)] ?? shape.fields ?? {}
  const held = Object.entries(entries).map(
    ([key, each]) => [key, text_of(each, shape.map ?? fields[key] ?? null, within)] as const
  )
  if (shape.cases === undefined) return \`{\${held.map(([key, each]) => \`\${key}: \${each}\`).join(', ')}}\`
  return held.length === 0 ? String(_tag) : \`\${String(_tag)}(\${held.map(([, each]) => each).join(', ')})\`
}
`,
    needs: ['text', 'some_value']
  },
  size_of: {
    source: `/** Returns the number of items of a list, of characters of a string, or of entries of a record. */
export function size_of(value: unknown): number {
  if (typeof value === 'string') return [...value].length
  return Array.isArray(value) ? value.length : Object.keys(value ?? {}).length
}
`
  },
  contains: {
    source: `/** True if a string contains a substring, or a list an item. */
export function contains(value: string | readonly unknown[], part: unknown): boolean {
  return typeof value === 'string' ? value.includes(String(part)) : value.some(each => same(each, part))
}
`,
    needs: ['same']
  },
  rounded: {
    source: `/** Returns the nearest whole number; a half is rounded away from zero. */
export function rounded(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value))
}
`
  },
  item_at: {
    source: `/** Returns an item of a list; negative positions count from its end. Throws if the item does not exist. */
export function item_at<T>(items: readonly T[], index: number): T {
  const at = index < 0 ? int_sum(items.length, index) : index
  if (!Number.isInteger(at) || at < 0 || at >= items.length) {
    fail('RUN_INDEX', \`there is no element \${index}: the length is \${items.length}\`)
  }
  return items[at] as T
}
`,
    needs: ['fail', 'int_sum']
  },
  entry_of: {
    source: `/** Returns an entry of a record or a map. Throws if it does not exist. */
export function entry_of<T>(entries: Readonly<Record<string, T>>, key: string): T {
  if (!Object.hasOwn(entries, key)) fail('RUN_INDEX', \`there is no key \${key}\`)
  return entries[key] as T
}
`,
    needs: ['fail']
  },
  with_item: {
    source: `/** Returns a copy of a list with one item replaced. Throws if the position does not exist. */
export function with_item<T>(items: readonly T[], index: number, item: T): T[] {
  const at = index < 0 ? int_sum(items.length, index) : index
  if (!(at in items)) fail('RUN_INDEX', \`there is no element \${index}: the length is \${items.length}\`)
  return items.map((each, place) => (place === at ? item : each))
}
`,
    needs: ['fail', 'int_sum']
  },
  slice_of: {
    source: `/** Returns the characters of a string from \`start\` up to, but not including, \`end\`. Ints may be bigints. */
export function slice_of(value: string, start: number, end = value.length): string {
  return [...value].slice(Math.max(Number(start), 0), Math.max(Number(end), 0)).join('')
}
`
  },
  items_between: {
    source: `/** Returns the items of a list from \`start\` up to, but not including, \`end\`. */
export function items_between<T>(items: readonly T[], start: number, end: number): T[] {
  return items.slice(Math.max(Number(start), 0), Math.max(Number(end), 0))
}
`
  },
  fold: {
    source: `/** Combines the items of a list into one value. */
export function fold<T, U>(items: readonly T[], start: U, combine: (total: U, item: T) => U): U {
  return items.reduce((total, item) => combine(total, item), start)
}
`
  },
  zip: {
    source: `/** Returns pairs of the items of two lists. */
export function zip<T, U>(items: readonly T[], others: readonly U[]): (readonly [T, U])[] {
  return items.slice(0, others.length).map((item, index) => [item, others[index] as U] as const)
}
`
  },
  ordered: {
    source: `/** Compares two numbers or two strings. */
export function ordered(a: unknown, b: unknown): number {
  const [first, second] = [a as number, b as number]
  return first < second ? -1 : first > second ? 1 : 0
}
`
  },
  sorted_by: {
    source: `/** Returns the items of a list in the ascending order of their keys; equal keys keep their order. */
export function sorted_by<T, K>(
  items: readonly T[],
  key: (item: T) => K,
  compare: (a: K, b: K) => number = ordered
): T[] {
  return items
    .map(item => ({ item, key: key(item) }))
    .sort((a, b) => compare(a.key, b.key))
    .map(({ item }) => item)
}
`,
    needs: ['ordered']
  },
  parts_of: {
    source: `/** Returns the parts of a text between the separators; with an empty separator, the characters. */
export function parts_of(value: string, separator: string): string[] {
  return separator === '' ? [...value] : value.split(separator)
}
`
  },
  own_value: {
    source: `/** Returns the value of a key; null if there is none. */
export function own_value<T>(values: Readonly<Record<string, T>>, key: string): T | null {
  return Object.hasOwn(values, key) ? (values[key] as T) : null
}
`
  },
  place_of: {
    source: `/** Returns the position of a substring, in characters; null if the string does not contain it. */
export function place_of(value: string, part: string): number | null {
  const at = value.indexOf(part)
  return at === -1 ? null : [...value.slice(0, at)].length
}
`
  },
  to_bool: {
    source: `/** True if a value is neither zero nor empty. */
export function to_bool(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}
`
  },
  picked_files: {
    source: `/** Returns the files that a person has chosen, with the members of stored files. */
export function picked_files({ files }: HTMLInputElement) {
  return Array.from(files ?? []).map(file => Object.assign(file, { id: '', content_type: file.type }))
}
`
  },
  picked_file: {
    source: `/** Returns the file that a person has chosen. */
export function picked_file(input: HTMLInputElement) {
  return picked_files(input)[0] ?? null
}
`,
    needs: ['picked_files']
  },
  empty_input: {
    source: `/** Empties an input for files whose state is empty. */
export function empty_input(input: HTMLInputElement | null, files: unknown): void {
  if (input !== null && (files === null || (Array.isArray(files) && files.length === 0))) input.value = ''
}
`
  },
  type_of: {
    source: `/** Returns the name of the type of a value, as far as a browser knows it. */
export function type_of(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'List'
  if (typeof value === 'bigint') return 'int'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float'
  const names: Readonly<Record<string, string>> = { string: 'str', boolean: 'bool', function: 'fn' }
  return names[typeof value] ?? 'Object'
}
`
  },
  panic: {
    source: `/** Stops the program with an error. */
export function panic(message: string): never {
  fail('RUN_PANIC', message === '' ? 'the program panicked' : message)
}
`,
    needs: ['fail']
  },
  assert: {
    source: `/** Throws if a condition is false. */
export function assert(condition: boolean, message = 'the assertion failed'): void {
  if (!condition) fail('RUN_ASSERTION', message)
}
`,
    needs: ['fail']
  },
  differ: {
    source: `/** Compares values of types that are never equal. */
export function differ(_a: unknown, _b: unknown): boolean {
  return true
}
`
  },
  refuse_operands: {
    source: `/** Stops the program because an operator does not accept the types of its operands. */
export function refuse_operands(message: string, ..._operands: unknown[]): never {
  fail('RUN_TYPE', message)
}
`,
    needs: ['fail']
  },
  no_match: {
    source: `/** Stops the program because no arm of a match matches the value. */
export function no_match(): never {
  fail('RUN_NO_MATCH', 'no arm matches the value')
}
`,
    needs: ['fail']
  },
  unwrap_some: {
    source: `/** Returns the value of an option. Throws if it is None. */
export function unwrap_some<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) fail('RUN_PANIC', 'unwrap of None')
  return value
}
`,
    needs: ['fail']
  }
} satisfies Readonly<Record<string, Helper>>
