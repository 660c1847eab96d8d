export type JsonObject = Readonly<Record<string, unknown>>

/** Returns a value if it is a JSON object, and the object in a JSON text; null for anything else. */
export function objectOf(value: unknown): JsonObject | null {
  const json = typeof value === 'string' ? parseJson(value) : value
  return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as JsonObject) : null
}

/** Returns the value of a JSON text; undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}
