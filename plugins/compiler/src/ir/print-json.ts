/** Maximum line length, in characters; longer values are broken. */
const WIDTH = 120

/**
 * Maximum depth that is broken into lines. Deeper values stay on one line, since indentation would be most of the
 * output.
 */
const BROKEN_LEVELS = 50

const ON_ONE_LINE = -1

/**
 * Prints a value as readable JSON; values that fit stay on one line. Ints beyond 2^53 are bigints, printed with all
 * digits. Keys with the value undefined are omitted. Takes linear time.
 */
export function printJson(value: unknown): string {
  const printer = new Printer()
  printer.print(value, 0, 0)
  return printer.parts.join('')
}

class Printer {
  readonly parts: string[] = []
  /** One-line lengths of objects and arrays. */
  readonly #lengths = new Map<object, number>()

  /** `before` is the current column; ignored for one-line output. */
  print(value: unknown, depth: number, before: number): void {
    if (typeof value !== 'object' || value === null) {
      this.parts.push(scalar(value))
      return
    }
    const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
    const isBroken = before !== ON_ONE_LINE && depth < BROKEN_LEVELS && before + this.#length(value) > WIDTH
    const indent = isBroken ? '  '.repeat(depth + 1) : ''
    let separator = isBroken ? `\n${indent}` : ''
    this.parts.push(open)
    for (const [key, inner] of entries(value)) {
      this.parts.push(separator, key)
      this.print(inner, depth + 1, isBroken ? indent.length + key.length : ON_ONE_LINE)
      separator = isBroken ? `,\n${indent}` : ', '
    }
    this.parts.push(isBroken ? `\n${'  '.repeat(depth)}${close}` : close)
  }

  #length(value: unknown): number {
    if (typeof value !== 'object' || value === null) return scalar(value).length
    const known = this.#lengths.get(value)
    if (known !== undefined) return known
    const length = entries(value).reduce((sum, [key, inner]) => sum + 2 + key.length + this.#length(inner), 0)
    this.#lengths.set(value, length)
    return length
  }
}

/** Returns the entries of an object or an array, each with its printed key. */
function entries(value: object): [key: string, inner: unknown][] {
  if (Array.isArray(value)) return value.map(inner => ['', inner])
  return Object.entries(value).flatMap(([key, inner]) =>
    inner === undefined ? [] : [[`${JSON.stringify(key)}: `, inner] as [string, unknown]]
  )
}

function scalar(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}
