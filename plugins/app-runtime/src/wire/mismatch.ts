/** A value or JSON has an unexpected type. Each enclosing codec adds its part to the path. */
export class Mismatch extends Error {
  readonly expected: string
  readonly found: string
  readonly path: (string | number)[] = []

  constructor(expected: string, found: string) {
    super()
    this.name = 'Mismatch'
    this.expected = expected
    this.found = found
  }

  /** The path as text: `note.tags[2]`; empty for the whole value. */
  get pathText(): string {
    const parts = this.path.map((part, index) => {
      if (typeof part === 'number') return `[${part}]`
      return /^\w+$/.test(part) ? `${index === 0 ? '' : '.'}${part}` : `[${JSON.stringify(part)}]`
    })
    return parts.join('')
  }

  /** The message: `note.tags[2]: expected str, found 1`. */
  get reason(): string {
    const { pathText, expected, found } = this
    return `${pathText === '' ? 'the value' : pathText}: expected ${expected}, found ${found}`
  }
}

/** Throws a {@link Mismatch}. Captures no stack, because it would not describe the JSON. */
export function mismatch(expected: string, found: string): never {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const error = new Mismatch(expected, found)
  Error.stackTraceLimit = stackTraceLimit
  throw error
}

/** Prepends a path segment to a thrown mismatch. */
export function inPart(thrown: unknown, part: string | number): unknown {
  if (thrown instanceof Mismatch) thrown.path.unshift(part)
  return thrown
}

const MAX_SHOWN = 60

/** Describes JSON in messages. */
export function shownJson(json: unknown): string {
  if (json === undefined) return 'nothing'
  if (json === null) return 'null'
  if (Array.isArray(json)) return `an array of ${json.length}`
  if (typeof json === 'object') return 'an object'
  const text = typeof json === 'bigint' ? String(json) : JSON.stringify(json)
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`
}
