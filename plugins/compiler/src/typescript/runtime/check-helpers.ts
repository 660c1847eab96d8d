import type { Helper } from './helpers.ts'

/** Checks of values whose type is known only when the page runs. */
export const CHECK_HELPERS = {
  as_type: {
    source: `/** Expected type of a value. \`up\` refers to the fields or cases so many levels up. */
type Expected =
  | 'int' | 'float' | 'str' | 'bool' | 'dec' | 'unit' | 'any'
  | { readonly tuple: readonly Expected[] }
  | { readonly list: Expected }
  | { readonly map: Expected }
  | { readonly option: Expected }
  | { readonly result: readonly [Expected, Expected] }
  | { readonly fields: Members; readonly defaults?: () => Readonly<Record<string, unknown>> }
  | { readonly cases: Readonly<Record<string, Members>> }
  | { readonly up: number }

type Members = Readonly<Record<string, Expected>>

/** The value and where it is. \`allowsMore\`: true if records may have members that their type does not declare. */
interface Place {
  readonly at: string
  readonly outer: readonly Expected[]
  readonly allowsMore: boolean
}

/** True for an int beyond 2^53. */
function is_long(value: unknown): value is bigint {
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value
}

/** Returns a value as one of a type, with the defaults of structs. Throws if it is none. */
function as_type(value: unknown, type: Expected, place: Place): unknown {
  const { at, outer, allowsMore } = place
  const part = (inner: unknown, of: Expected, name: string): unknown =>
    as_type(inner, of, { ...place, at: \`\${at}\${name}\` })
  const wrong = (expected: string): never => {
    const found = value === undefined ? 'missing' : json_text(value)
    fail('RUN_TYPE', \`\${at} is \${found}, not \${expected}\`)
  }
  const members = (record: Readonly<Record<string, unknown>>, fields: Members): Record<string, unknown> => {
    const within = [...outer, type]
    const more = Object.keys(record).find(name => name !== '_tag' && !Object.hasOwn(fields, name))
    if (more !== undefined && !allowsMore) wrong(\`a record without the member \${more}\`)
    const known = Object.entries(fields).map(
      ([name, field]) =>
        [name, as_type(record[name], field, { ...place, at: \`\${at}.\${name}\`, outer: within })] as const
    )
    return { ...record, ...Object.fromEntries(known) }
  }
  switch (type) {
    case 'int':
      return Number.isSafeInteger(value) || is_long(value) ? value : wrong('an int')
    case 'float':
      return typeof value === 'number' || is_long(value) ? Number(value) : wrong('a float')
    case 'str':
      return typeof value === 'string' ? value : wrong('a str')
    case 'bool':
      return typeof value === 'boolean' ? value : wrong('a bool')
    case 'dec':
      if (Number.isSafeInteger(value) || typeof value === 'bigint') return String(value)
      return typeof value === 'string' && /^-?\\d+(\\.\\d+)?$/.test(value) ? value : wrong('a dec')
    case 'unit':
      return value === null || value === undefined ? null : wrong('empty')
    case 'any':
      return value ?? null
  }
  if ('up' in type) {
    const from = outer.length - type.up
    return as_type(value, outer[from] ?? 'any', { ...place, outer: outer.slice(0, from) })
  }
  if ('option' in type) return value === null || value === undefined ? null : as_type(value, type.option, place)
  if ('list' in type || 'tuple' in type) {
    if (!Array.isArray(value)) return wrong('a list')
    const items = 'list' in type ? value.map(() => type.list) : type.tuple
    if (items.length !== value.length) return wrong(\`a list of \${items.length} items\`)
    return items.map((item, index) => part(value[index], item, \`[\${index}]\`))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong('a record')
  const record = value as Readonly<Record<string, unknown>>
  if ('map' in type) {
    const entries = Object.entries(record)
    return Object.fromEntries(entries.map(([key, each]) => [key, part(each, type.map, \`.\${key}\`)]))
  }
  if ('fields' in type) {
    const defaults = Object.entries(type.defaults?.() ?? {}).filter(([name]) => !Object.hasOwn(record, name))
    return members({ ...record, ...Object.fromEntries(defaults) }, type.fields)
  }
  const { _tag: tag } = record
  if ('cases' in type) {
    const fields = typeof tag === 'string' && Object.hasOwn(type.cases, tag) ? type.cases[tag] : undefined
    return fields === undefined ? wrong(\`one of \${Object.keys(type.cases).join(', ')}\`) : members(record, fields)
  }
  if (tag !== 'Ok' && tag !== 'Err') return wrong('a Result')
  return { _tag: tag, value: part(record['value'], type.result[tag === 'Ok' ? 0 : 1], '.value') }
}
`,
    needs: ['fail', 'json_text']
  },
  checked: {
    source: `/**
 * Returns a value whose type was unknown until now, or whose records become structs. Throws if it is no value of the
 * type.
 */
export function checked<T>(value: unknown, type: Expected, allowsMore = false): T {
  return as_type(value, type, { at: 'the value', outer: [], allowsMore }) as T
}
`,
    needs: ['as_type']
  }
} satisfies Readonly<Record<string, Helper>>
