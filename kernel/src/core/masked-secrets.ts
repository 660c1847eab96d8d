import type { JsonSchema } from '@svc/plugin-sdk'

/** A shorter secret is part of too many other words to be masked in them. */
const MIN_SECRET_LENGTH = 6
/** Secrets of inputs that are remembered; those of settings are remembered for ever. */
const MAX_PASSING_SECRETS = 256
const MASK = '***'

/** Secrets that this process knows, so that they are masked in logs. */
export class MaskedSecrets {
  readonly #secrets = new Set<string>()
  /** Secrets of inputs, oldest first. */
  readonly #passing = new Set<string>()
  #pattern: RegExp | undefined

  add(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return
    this.#secrets.add(secret)
    this.#compile()
  }

  /** Masks a secret that an operation was called with, until enough others came after it. */
  addPassing(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return
    const isNew = !this.#passing.delete(secret)
    this.#passing.add(secret)
    if (!isNew) return
    const [oldest] = this.#passing
    if (this.#passing.size > MAX_PASSING_SECRETS && oldest !== undefined) this.#passing.delete(oldest)
    this.#compile()
  }

  #compile(): void {
    // In JSON it may look different. Longer ones first, since one may be part of another.
    const forms = new Set(
      [...this.#secrets, ...this.#passing].flatMap(each => [each, JSON.stringify(each).slice(1, -1)])
    )
    const ordered = [...forms].sort((a, b) => b.length - a.length)
    this.#pattern = new RegExp(ordered.map(escaped).join('|'), 'g')
  }

  mask(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, MASK)
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** Whether a schema marks anything with `x-secret`. */
export function hasSecrets(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  if ((schema as JsonSchema)['x-secret'] === true) return true
  return Object.values(schema).some(hasSecrets)
}

/** Values that the schema marks with `x-secret`. */
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
