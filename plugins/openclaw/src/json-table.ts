export type JsonTable = Readonly<Record<string, unknown>>

/** Returns a JSON object; null for any other value. */
export function tableOf(value: unknown): JsonTable | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonTable) : null
}

/** Returns the value of the first key that has a string; null if none has. */
export function textOf(table: JsonTable | null, names: readonly string[]): string | null {
  for (const name of names) {
    const value = table?.[name]
    if (typeof value === 'string') return value
  }
  return null
}
