import type { JsonSchema } from '@svc/plugin-sdk'

/** A shorter text occurs in too many other words by chance. */
const SHORTEST = 6
const MASK = '***'

/** Secrets that this process knows, to keep them out of everything that is written or told. */
export class Concealed {
  readonly #secrets = new Set<string>()
  #pattern: RegExp | undefined

  add(secret: string): void {
    if (secret.length < SHORTEST || this.#secrets.has(secret)) return
    this.#secrets.add(secret)
    // In JSON it may look different. Longer ones first, since one may be part of another.
    const forms = new Set([...this.#secrets].flatMap(each => [each, JSON.stringify(each).slice(1, -1)]))
    const ordered = [...forms].sort((a, b) => b.length - a.length)
    this.#pattern = new RegExp(ordered.map(escaped).join('|'), 'g')
  }

  hide(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, MASK)
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** Values of settings that the schema marks with `x-secret`. */
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
