/** Levels of objects and arrays that an envelope may have. */
export const MAX_DEPTH = 32

/** Bytes of an envelope as JSON. */
export const MAX_ENVELOPE_BYTES = 131_072

const PROTOTYPE_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/** U+0000 and lone surrogates: no column of a database takes them. */
const UNSTORABLE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

export function isStorable(text: string): boolean {
  return !UNSTORABLE.test(text)
}

/** The text with U+FFFD in place of what cannot be stored. */
export function storable(text: string): string {
  return isStorable(text) ? text : text.replace(new RegExp(UNSTORABLE, 'g'), '\uFFFD')
}

/**
 * Why a value is none that may come in from outside, in words that follow its name; null where it may. Does not recurse, so that no
 * depth is too much for it.
 */
export function boundsProblem(root: unknown): string | null {
  const waiting: [value: unknown, depth: number][] = [[root, 0]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [value, depth] = next
    if (typeof value === 'string' && !isStorable(value)) return 'holds U+0000 or half of a surrogate pair'
    if (typeof value === 'number' && !Number.isFinite(value)) return 'holds a number that JSON does not have'
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`
    for (const key of Object.keys(value)) {
      if (PROTOTYPE_KEYS.has(key)) return `has a field named ${key}`
      if (!isStorable(key)) return 'has a name with U+0000 or half of a surrogate pair'
      waiting.push([(value as Record<string, unknown>)[key], depth + 1])
    }
  }
  return null
}
