/** Default limit of nesting levels. Code that later traverses the value is often recursive. */
export const MAX_JSON_DEPTH = 500

export type StrictJsonReason = 'utf8' | 'syntax' | 'duplicate' | 'forbidden' | 'depth'

/** Error with the reason for which JSON is rejected. */
export class StrictJsonError extends SyntaxError {
  readonly reason: StrictJsonReason
  /** Rejected key, for `duplicate` and `forbidden`. */
  readonly key?: string

  constructor(reason: StrictJsonReason, message: string, key?: string) {
    super(message)
    this.name = 'StrictJsonError'
    this.reason = reason
    if (key !== undefined) this.key = key
  }
}

/**
 * Parses JSON for all surfaces. Rejects duplicate keys, which parsers treat differently, keys that change a prototype
 * (`__proto__`, `constructor.prototype`), and nesting deeper than `maxDepth`.
 *
 * Throws a {@link StrictJsonError}.
 */
export function parseStrictJson(text: string, maxDepth = MAX_JSON_DEPTH): unknown {
  const value = parse(text)
  // Counting is cheap: a text that has more keys than its value contains a duplicate.
  if (countKeys(value, 0, maxDepth) !== countColons(text)) {
    const key = findDuplicate(text)
    if (key !== null)
      throw new StrictJsonError('duplicate', `the key ${JSON.stringify(key)} appears twice in one object`, key)
  }
  return value
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Like {@link parseStrictJson}, for UTF-8 bytes. Returns undefined for empty input. Rejects a byte order mark. */
export function readStrictJson(bytes: Uint8Array, maxDepth = MAX_JSON_DEPTH): unknown {
  if (bytes.byteLength === 0) return undefined
  return parseStrictJson(decode(bytes), maxDepth)
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new StrictJsonError('utf8', 'it is not valid UTF-8')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new StrictJsonError('syntax', (error as SyntaxError).message)
  }
}

function countKeys(value: unknown, depth: number, maxDepth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth === maxDepth) throw new StrictJsonError('depth', `it is nested deeper than ${maxDepth} levels`)
  let count = 0
  if (Array.isArray(value)) {
    for (const each of value) count += countKeys(each, depth + 1, maxDepth)
    return count
  }
  for (const key in value) {
    const each = (value as Record<string, unknown>)[key]
    if (isForbidden(key, each)) throw forbidden(key)
    count += 1 + countKeys(each, depth + 1, maxDepth)
  }
  return count
}

function isForbidden(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}

function forbidden(key: string): StrictJsonError {
  const name = key === 'constructor' ? 'constructor.prototype' : key
  return new StrictJsonError('forbidden', `the key ${JSON.stringify(name)} is not allowed`, name)
}

/** Counts the colons outside strings, which is the number of keys. */
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

/** Returns the index of the closing quote of the string that starts at `at`. The text must be valid JSON. */
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
