/** Maximum nesting of an envelope. */
const MAX_DEPTH = 32

/** Maximum size of an envelope as JSON, in bytes. */
export const MAX_ENVELOPE_BYTES = 131_072

const PROTOTYPE_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/** Matches U+0000 and lone surrogates, which database columns cannot store. */
const UNSTORABLE = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

export function isStorable(text: string): boolean {
  return !UNSTORABLE.test(text)
}

/** Replaces characters that cannot be stored by U+FFFD. */
export function storable(text: string): string {
  return isStorable(text) ? text : text.replace(new RegExp(UNSTORABLE, 'g'), '\uFFFD')
}

/**
 * Returns the reason why an external value is rejected, worded to follow its name; null if it is valid. Iterative, so
 * that any depth is safe.
 */
export function boundsProblem(root: unknown): string | null {
  const waiting: [value: unknown, depth: number][] = [[root, 0]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [value, depth] = next
    if (typeof value === 'string' && !isStorable(value)) return 'contains U+0000 or a lone surrogate'
    if (typeof value === 'number' && !Number.isFinite(value)) return 'contains a number that JSON cannot represent'
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`
    for (const key of Object.keys(value)) {
      if (PROTOTYPE_KEYS.has(key)) return `has a field named ${key}`
      if (!isStorable(key)) return 'has a field name with U+0000 or a lone surrogate'
      waiting.push([(value as Record<string, unknown>)[key], depth + 1])
    }
  }
  return null
}
