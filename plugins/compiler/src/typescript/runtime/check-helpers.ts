import type { Helper } from './helpers.ts'

/** Checks of values whose type is known only when the page runs. */
export const CHECK_HELPERS = {
  flaw_of: {
    source: `/** Expected type of a value. \`up\` refers to the fields or cases so many levels up. */
type Expected =
  | 'int' | 'float' | 'str' | 'bool' | 'dec' | 'unit' | 'any'
  | { readonly tuple: readonly Expected[] }
  | { readonly list: Expected }
  | { readonly map: Expected }
  | { readonly option: Expected }
  | { readonly result: readonly [Expected, Expected] }
  | { readonly fields: Members }
  | { readonly cases: Readonly<Record<string, Members>> }
  | { readonly up: number }

type Members = Readonly<Record<string, Expected>>

/** Returns where and how a value differs from a type; null if it is a value of it. */
function flaw_of(value: unknown, type: Expected, at: string, outer: readonly Expected[]): string | null {
  const wrong = (expected: string): string => \`\${at} is \${JSON.stringify(value) ?? 'missing'}, not \${expected}\`
  const first = (parts: readonly (string | null)[]): string | null => parts.find(part => part !== null) ?? null
  const members = (holder: object, fields: Members): string | null =>
    first(
      Object.entries(fields).map(([name, field]) =>
        flaw_of((holder as Readonly<Record<string, unknown>>)[name], field, \`\${at}.\${name}\`, [...outer, type])
      )
    )
  switch (type) {
    case 'int':
      return Number.isInteger(value) ? null : wrong('an int')
    case 'float':
      return typeof value === 'number' ? null : wrong('a float')
    case 'str':
      return typeof value === 'string' ? null : wrong('a str')
    case 'bool':
      return typeof value === 'boolean' ? null : wrong('a bool')
    case 'dec':
      return typeof value === 'string' && /^-?\\d+(\\.\\d+)?$/.test(value) ? null : wrong('a decimal')
    case 'unit':
      return value === null || value === undefined ? null : wrong('empty')
    case 'any':
      return null
  }
  if ('up' in type) {
    const place = outer.length - type.up
    return flaw_of(value, outer[place] ?? 'any', at, outer.slice(0, place))
  }
  if ('option' in type) return value === null || value === undefined ? null : flaw_of(value, type.option, at, outer)
  if (typeof value !== 'object' || value === null) return wrong('list' in type || 'tuple' in type ? 'a list' : 'a record')
  if ('list' in type || 'tuple' in type) {
    if (!Array.isArray(value)) return wrong('a list')
    const items = 'list' in type ? value.map(() => type.list) : type.tuple
    if (items.length !== value.length) return wrong(\`\${items.length} items\`)
    return first(items.map((item, index) => flaw_of(value[index], item, \`\${at}[\${index}]\`, outer)))
  }
  if ('map' in type) {
    return first(Object.entries(value).map(([key, each]) => flaw_of(each, type.map, \`\${at}.\${key}\`, outer)))
  }
  if ('fields' in type) return members(value, type.fields)
  const { _tag, value: held } = value as { readonly _tag?: unknown; readonly value?: unknown }
  if ('cases' in type) {
    const found = typeof _tag === 'string' && Object.hasOwn(type.cases, _tag) ? type.cases[_tag] : undefined
    return found === undefined ? wrong(\`one of \${Object.keys(type.cases).join(', ')}\`) : members(value, found)
  }
  if (_tag !== 'Ok' && _tag !== 'Err') return wrong('a Result')
  return flaw_of(held, type.result[_tag === 'Ok' ? 0 : 1], \`\${at}.value\`, outer)
}
`
  },
  checked: {
    source: `/** Returns a value whose type was unknown until now. Throws if it is no value of the type. */
export function checked<T>(value: unknown, type: Expected): T {
  const flaw = flaw_of(value, type, 'the value', [])
  if (flaw !== null) throw Object.assign(new TypeError(flaw), { code: 'RUN_TYPE' })
  return value as T
}
`,
    needs: ['flaw_of']
  }
} satisfies Readonly<Record<string, Helper>>
