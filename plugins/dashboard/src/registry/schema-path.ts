import type { JsonSchema } from '@svc/plugin-sdk'

/** Schemas that a value may match; `any` if its fields are not known. */
export type Shape = readonly JsonSchema[] | 'any'

/** Limit of references and alternatives in one schema, which may refer to itself. */
const MAX_DEPTH = 16
const ARRAY_INDEX = /^\d+$/

/** Returns the shape that a schema describes. `root`: schema with the definitions of its references. */
export function shapeOf(schema: JsonSchema, root: JsonSchema = schema): Shape {
  return expand(schema, root, 0)
}

/** Returns the shape of a field by its dotted path; null if no alternative has it. */
export function fieldShape(shape: Shape, path: string, root: JsonSchema): Shape | null {
  let current: Shape | null = shape
  for (const name of path.split('.')) {
    if (current === 'any' || current === null) return current
    current = step(current, name, root)
  }
  return current
}

/** Returns the shape of the items of an array; null if no alternative is an array. */
export function itemShape(shape: Shape, root: JsonSchema): Shape | null {
  if (shape === 'any') return 'any'
  const arrays = shape.filter(schema => isOf(schema, 'array'))
  if (arrays.length === 0) return null
  return union(arrays.map(({ items }) => (isSchema(items) ? expand(items, root, 0) : 'any')))
}

/** Returns the names of the known fields, for messages. */
export function fieldNames(shape: Shape): readonly string[] {
  return shape === 'any'
    ? []
    : [...new Set(shape.flatMap(({ properties }) => Object.keys((properties ?? {}) as object)))]
}

function step(shape: readonly JsonSchema[], name: string, root: JsonSchema): Shape | null {
  const found: Shape[] = []
  for (const schema of shape) {
    const next = child(schema, name)
    if (next === 'any') return 'any'
    if (next !== null) found.push(expand(next, root, 0))
  }
  return found.length === 0 ? null : union(found)
}

function child(schema: JsonSchema, name: string): JsonSchema | 'any' | null {
  const { properties, additionalProperties, patternProperties, items } = schema
  const own = (properties as Readonly<Record<string, unknown>> | undefined)?.[name]
  if (isSchema(own)) return own
  if (isOf(schema, 'array') && ARRAY_INDEX.test(name)) return isSchema(items) ? items : 'any'
  if (!isOf(schema, 'object')) return null
  if (patternProperties !== undefined) return 'any'
  if (isSchema(additionalProperties)) return additionalProperties
  return additionalProperties === false ? null : 'any'
}

function expand(schema: JsonSchema, root: JsonSchema, depth: number): Shape {
  if (depth > MAX_DEPTH) return 'any'
  const { $ref, anyOf, oneOf, allOf } = schema
  if (typeof $ref === 'string') {
    const target = resolve($ref, root)
    return target === null ? 'any' : expand(target, root, depth + 1)
  }
  const parts = [anyOf, oneOf, allOf].flatMap(each => (Array.isArray(each) ? each : [])).filter(isSchema)
  if (parts.length === 0) return Object.keys(schema).some(key => SHAPING.has(key)) ? [schema] : 'any'
  const own = schema.properties === undefined ? [] : [[schema]]
  return union([...own, ...parts.map(part => expand(part, root, depth + 1))])
}

/** Keywords without which a schema accepts any value. */
const SHAPING = new Set(['type', 'properties', 'items', 'enum', 'const', 'additionalProperties'])

function union(shapes: readonly Shape[]): Shape {
  const all: JsonSchema[] = []
  for (const shape of shapes) {
    if (shape === 'any') return 'any'
    all.push(...shape)
  }
  return all
}

function resolve(reference: string, root: JsonSchema): JsonSchema | null {
  if (!reference.startsWith('#')) return null
  let current: unknown = root
  for (const part of reference.slice(1).split('/').filter(Boolean)) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    current = (current as Readonly<Record<string, unknown>> | undefined)?.[key]
  }
  return isSchema(current) ? current : null
}

function isOf({ type, properties, items }: JsonSchema, kind: 'object' | 'array'): boolean {
  if (type === undefined)
    return kind === 'object' ? properties !== undefined || items === undefined : items !== undefined
  return Array.isArray(type) ? type.includes(kind) : type === kind
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
