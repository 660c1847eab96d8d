/** Levels of nesting that a body may have; whatever walks it after this is recursive too. */
export const MAX_DEPTH = 500

/**
 * The first key that one object of a JSON text holds twice, or null. JSON.parse keeps the last of them silently, so two
 * readers of one text may see two values. `value` is what the text parses to.
 *
 * Counting keys is cheap and nearly always enough; only a text that has more keys than its value is looked at closely.
 * Throws a `SyntaxError` for a value nested deeper than {@link MAX_DEPTH}.
 */
export function duplicateKey(text: string, value: unknown): string | null {
  return countKeys(value) === countColons(text) ? null : findDuplicate(text)
}

function countKeys(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth > MAX_DEPTH) throw new SyntaxError(`it is nested deeper than ${MAX_DEPTH} levels`)
  let count = 0
  if (Array.isArray(value)) {
    for (const each of value) count += countKeys(each, depth + 1)
    return count
  }
  for (const key in value) count += 1 + countKeys((value as Record<string, unknown>)[key], depth + 1)
  return count
}

/** Colons outside strings: one per key. */
function countColons(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === COLON) count += 1
    else if (code === QUOTE) at = stringEnd(text, at)
  }
  return count
}

function findDuplicate(text: string): string | null {
  const open: Set<string>[] = []
  let last = ''
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = stringEnd(text, at)
      last = text.slice(at, end + 1)
      at = end
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) open.push(new Set())
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) open.pop()
    else if (code === COLON) {
      const keys = open.at(-1) as Set<string>
      const key = JSON.parse(last) as string
      if (keys.has(key)) return key
      keys.add(key)
    }
  }
  return null
}

/** Index of the quote that ends the string which begins at `at`, in a text that is known to be valid. */
function stringEnd(text: string, at: number): number {
  let end = text.indexOf('"', at + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
  return slashes % 2 === 1
}

const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
