import { LargeFloat } from './json-text.ts'

/** Returns JSON with a text of digits for each bigint, which `JSON.stringify` refuses. */
export function withDigits(json: unknown): unknown {
  if (typeof json === 'bigint') return String(json)
  if (json instanceof LargeFloat) return Number(json.value)
  if (Array.isArray(json)) return json.map(withDigits)
  if (typeof json !== 'object' || json === null) return json
  // Creates own members even for the name __proto__.
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, withDigits(value)]))
}
