/** Keywords that hold data, in which a `$ref` is none. */
const DATA = new Set(['const', 'enum', 'default', 'examples'])

/**
 * A schema that has become part of another: its references to itself lead to where it is now.
 * `pointer` is that place, for example `#/properties/arguments`.
 */
export function movedSchema<A>(schema: A, pointer: string): A {
  if (Array.isArray(schema)) return schema.map(each => movedSchema(each, pointer)) as A
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([keyword, value]) => {
    if (keyword === '$ref' && typeof value === 'string' && value.startsWith('#')) {
      return [keyword, pointer + value.slice(1)]
    }
    return [keyword, DATA.has(keyword) ? value : movedSchema(value, pointer)]
  })
  return Object.fromEntries(entries) as A
}
