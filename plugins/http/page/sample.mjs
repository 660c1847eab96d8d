const FORMATS = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  email: 'ada@example.org',
  uri: 'urn:example:1',
  uuid: '00000000-0000-4000-8000-000000000000'
}
/** Maximum depth of a sample; schemas may be recursive. */
const MAX_DEPTH = 5

/**
 * Returns a sample value of a schema. An object has its required properties and those with a default, or all of them if there
 * are none. `api`: OpenAPI document of the schema's references.
 */
export function sampleOf(schema, api, name = 'text', depth = 0) {
  const inner = (other, its = name) => sampleOf(other, api, its, depth + 1)
  if (schema.$ref !== undefined) return depth > MAX_DEPTH ? null : inner(resolve(schema.$ref, api))
  if (schema.examples !== undefined) return schema.examples[0]
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return sampleOf(choices.find(each => each.type !== 'null') ?? {}, api, name, depth)
  const type = Array.isArray(schema.type) ? schema.type.find(each => each !== 'null') : schema.type
  if (type === 'object' || schema.properties !== undefined) return sampleObject(schema, depth, inner)
  if (type === 'array') return sampleArray(schema, depth, inner)
  if (type === 'string')
    return FORMATS[schema.format] ?? name.padEnd(schema.minLength ?? 0, '.').slice(0, schema.maxLength)
  if (type === 'integer' || type === 'number') return sampleNumber(schema)
  return type === 'boolean' ? false : null
}

function sampleObject({ properties = {}, required = [] }, depth, inner) {
  const names = Object.keys(properties)
  const preferred = names.filter(name => required.includes(name) || properties[name].default !== undefined)
  const shown = depth > MAX_DEPTH ? required : preferred.length > 0 ? preferred : names
  return Object.fromEntries(shown.map(name => [name, inner(properties[name] ?? {}, name)]))
}

function sampleArray({ items = {}, minItems = 0, maxItems = 1 }, depth, inner) {
  const length = depth > MAX_DEPTH ? minItems : Math.min(Math.max(minItems, 1), Math.max(maxItems, minItems))
  return Array.from({ length }, () => inner(items))
}

function sampleNumber({ minimum, exclusiveMinimum, maximum = Infinity }) {
  if (minimum !== undefined) return minimum
  if (exclusiveMinimum !== undefined) return Math.min(exclusiveMinimum + 1, (exclusiveMinimum + maximum) / 2)
  return Math.min(1, maximum)
}

/** Resolves a reference into the OpenAPI document. */
function resolve(reference, api) {
  const path = reference.replace(/^#\//, '').split('/')
  return path.reduce((value, key) => value?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], api) ?? {}
}
