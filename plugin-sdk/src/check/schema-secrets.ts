import type { JsonSchema } from '../schema.ts'

/** Returns true if a schema contains `x-secret`. */
export function hasSecrets(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  if ((schema as JsonSchema)['x-secret'] === true) return true
  return Object.values(schema).some(hasSecrets)
}

/** Yields the values that the schema marks with `x-secret`. */
export function* secretsIn(schema: unknown, value: unknown): Generator<string> {
  if (typeof schema !== 'object' || schema === null || value === undefined) return
  const { 'x-secret': secret, properties, additionalProperties, items, anyOf, oneOf, allOf } = schema as JsonSchema
  if (secret === true) yield* stringsIn(value)
  for (const choices of [anyOf, oneOf, allOf]) {
    if (Array.isArray(choices)) for (const choice of choices) yield* secretsIn(choice, value)
  }
  if (Array.isArray(value)) for (const item of value) yield* secretsIn(items, item)
  else if (typeof value === 'object' && value !== null) {
    const known = (properties ?? {}) as Record<string, unknown>
    for (const [key, item] of Object.entries(value)) yield* secretsIn(known[key] ?? additionalProperties, item)
  }
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) yield* stringsIn(item)
}
