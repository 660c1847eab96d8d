import { errors } from './errors.ts'

/**
 * Fields that a format defines, that would change the answer, and that are not there. Each has a test for the values
 * that ask for nothing, which clients send by habit; absent and null always pass.
 */
export type UnsupportedFields = Readonly<Record<string, (value: unknown) => boolean>>

/** Throws `MSV_UNSUPPORTED`, naming the field. `within` is where the object lies in the body. */
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
    hint: 'Leave the field out.'
  })
}

/** For a field that asks for what this model cannot do, in the words that clients of Ollama look for. */
export function beyondModel(field: string, model: string, ability: 'tools' | 'thinking' | 'insert'): Error {
  return errors.create('MSV_UNSUPPORTED', `${model} does not support ${ability}`, { data: { param: field } })
}

/** For fields that mean nothing when they hold one value. */
export function only(...values: readonly unknown[]): (value: unknown) => boolean {
  return value => values.includes(value)
}

export function emptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** For fields that are refused whatever they hold. */
export function never(): boolean {
  return false
}
