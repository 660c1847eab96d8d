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

/** Returns a value as one of a type, with the defaults of structs. Throws if it is none; \`at\` names the place. */
function as_type(value: unknown, type: Expected, at: string, outer: readonly Expected[]): unknown {
  const fail = (expected: string): never => {
    const found = value === undefined ? 'missing' : JSON.stringify(value)
    throw Object.assign(new TypeError(\`\${at} is \${found}, not \${expected}\`), { code: 'RUN_TYPE' })
  }
  const members = (record: Readonly<Record<string, unknown>>, fields: Members): Record<string, unknown> => {
    const within = [...outer, type]
    const known = Object.entries(fields).map(
      ([name, field]) => [name, as_type(record[name], field, \`\${at}.\${name}\`, within)] as const
    )
    // A record may have more members than the type.
    return { ...record, ...Object.fromEntries(known) }
  }
  switch (type) {
    case 'int':
      return Number.isInteger(value) ? value : fail('an int')
    case 'float':
      return typeof value === 'number' ? value : fail('a float')
    case 'str':
      return typeof value === 'string' ? value : fail('a str')
    case 'bool':
      return typeof value === 'boolean' ? value : fail('a bool')
    case 'dec':
      if (Number.isInteger(value)) return String(value)
      return typeof value === 'string' && /^-?\\d+(\\.\\d+)?$/.test(value) ? value : fail('a dec')
    case 'unit':
      return value === null || value === undefined ? null : fail('empty')
    case 'any':
      return value ?? null
  }
  if ('up' in type) {
    const place = outer.length - type.up
    return as_type(value, outer[place] ?? 'any', at, outer.slice(0, place))
  }
  if ('option' in type) return value === null || value === undefined ? null : as_type(value, type.option, at, outer)
  if ('list' in type || 'tuple' in type) {
    if (!Array.isArray(value)) return fail('a list')
    const items = 'list' in type ? value.map(() => type.list) : type.tuple
    if (items.length !== value.length) return fail(\`a list of \${items.length} items\`)
    return items.map((item, index) => as_type(value[index], item, \`\${at}[\${index}]\`, outer))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail('a record')
  const record = value as Readonly<Record<string, unknown>>
  if ('map' in type) {
    const entries = Object.entries(record)
    return Object.fromEntries(entries.map(([key, each]) => [key, as_type(each, type.map, \`\${at}.\${key}\`, outer)]))
  }
  if ('fields' in type) {
    const defaults = Object.entries(type.defaults?.() ?? {}).filter(([name]) => !Object.hasOwn(record, name))
    return members({ ...record, ...Object.fromEntries(defaults) }, type.fields)
  }
  const { _tag: tag } = record
  if ('cases' in type) {
    const fields = typeof tag === 'string' && Object.hasOwn(type.cases, tag) ? type.cases[tag] : undefined
    return fields === undefined ? fail(\`one of \${Object.keys(type.cases).join(', ')}\`) : members(record, fields)
  }
  if (tag !== 'Ok' && tag !== 'Err') return fail('a Result')
  return { _tag: tag, value: as_type(record['value'], type.result[tag === 'Ok' ? 0 : 1], \`\${at}.value\`, outer) }
}
`
  },
  checked: {
    source: `/** Returns a value whose type was unknown until now. Throws if it is no value of the type. */
export function checked<T>(value: unknown, type: Expected): T {
  return as_type(value, type, 'the value', []) as T
}
`,
    needs: ['as_type']
  }
} satisfies Readonly<Record<string, Helper>>
