/** Mistake in a contribution. The message begins with its place, such as `view.columns[2].field: …`. */
export class Mistake extends Error {
  constructor(place: string, message: string) {
    super(place === '' ? message : `${place}: ${message}`)
    this.name = 'Mistake'
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Returns an object with these fields. Throws a {@link Mistake} for another value, and for missing or unknown fields. */
export function fieldsOf(
  value: unknown,
  place: string,
  required: readonly string[],
  optional: readonly string[] = []
): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Mistake(place, 'it is not an object')
  const fields = value as Fields
  const known = [...required, ...optional]
  for (const name of Object.keys(fields))
    if (!known.includes(name))
      throw new Mistake(inside(place, name), `unknown field; known fields: ${known.join(', ')}`)
  for (const name of required) if (fields[name] === undefined) throw new Mistake(inside(place, name), 'it is missing')
  return fields
}

/** Maximum length of a text in a contribution, such as a title. */
const MAX_TEXT_CHARS = 2_000

export function textAt(value: unknown, place: string): string {
  if (typeof value !== 'string' || value === '') throw new Mistake(place, 'it is not a text')
  if (value.length > MAX_TEXT_CHARS) throw new Mistake(place, `it is longer than ${MAX_TEXT_CHARS} characters`)
  return value
}

export function numberAt(value: unknown, place: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Mistake(place, 'it is not a number')
  return value
}

export function listAt(value: unknown, place: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Mistake(place, 'it is not a list')
  return value
}

export function textsAt(value: unknown, place: string): readonly string[] {
  return listAt(value, place).map((each, index) => textAt(each, `${place}[${index}]`))
}

export function choiceAt<const A extends string>(value: unknown, place: string, choices: readonly A[]): A {
  if (!(choices as readonly unknown[]).includes(value)) throw new Mistake(place, `it is none of ${choices.join(', ')}`)
  return value as A
}

/** Returns the place of a field. */
export function inside(place: string, name: string): string {
  return place === '' ? name : `${place}.${name}`
}
