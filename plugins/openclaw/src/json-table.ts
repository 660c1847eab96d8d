export type JsonTable = Readonly<Record<string, unknown>>

/** null for anything but a JSON object. */
export function tableOf(value: unknown): JsonTable | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonTable) : null
}

/** The first of several keys with a text. */
export function textOf(table: JsonTable | null, names: readonly string[]): string | null {
  for (const name of names) {
    const value = table?.[name]
    if (typeof value === 'string') return value
  }
  return null
}
