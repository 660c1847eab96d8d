import { errors } from './errors.ts'

/**
 * Unsupported fields of an API that would change the answer. Each has a predicate for the values without effect, which
 * clients send by default. Absent and null are always accepted.
 */
export type UnsupportedFields = Readonly<Record<string, (value: unknown) => boolean>>

/** Throws `MSV_UNSUPPORTED`, naming the field. `within` is the path of the object in the body. */
export function refuseUnsupported(object: object, fields: UnsupportedFields, within = ''): void {
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined || value === null || !Object.hasOwn(fields, name)) continue
    if (fields[name]?.(value) === true) continue
    throw unsupported(within === '' ? name : `${within}.${name}`)
  }
}

export function unsupported(field: string, because = 'this server does not support it'): Error {
  return errors.create('MSV_UNSUPPORTED', `'${field}': ${because}`, {
    data: { param: field },
    hint: 'Omit the field.'
  })
}

/** Returns the error for an ability that the model lacks. Ollama clients match its wording. */
export function beyondModel(field: string, model: string, ability: 'tools' | 'thinking' | 'insert'): Error {
  return errors.create('MSV_UNSUPPORTED', `${model} does not support ${ability}`, { data: { param: field } })
}

/** Returns a predicate that accepts only these values. */
export function only(...values: readonly unknown[]): (value: unknown) => boolean {
  return value => values.includes(value)
}

export function emptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Rejects every value. */
export function never(): boolean {
  return false
}
