/** Keywords whose values are data: a `$ref` in them is not a reference. */
const DATA = new Set(['const', 'enum', 'default', 'examples'])

/**
 * Rewrites the local references of a schema that is embedded in another schema.
 * `pointer`: its location in the outer schema, for example `#/properties/arguments`.
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
