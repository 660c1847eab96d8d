/** A column as `app.describe` returns it. */
export interface Column {
  readonly name: string
  readonly type: string
  readonly kind: 'int' | 'bool' | 'id' | 'float' | 'str' | 'char' | 'dec' | 'json' | 'vector'
  readonly optional: boolean
  readonly has_default: boolean
}

/** Values by column, with `_id`. */
export type Row = Readonly<Record<string, unknown>>

/** Length of a value that was too long to be read; null for any other value. */
export function omittedLength(value: unknown): number | null {
  const { $omitted } = (typeof value === 'object' && value !== null ? value : {}) as { readonly $omitted?: unknown }
  return typeof $omitted === 'number' ? $omitted : null
}

/** Text of a value for the table. */
export function shownText(value: unknown): string {
  const length = omittedLength(value)
  if (length !== null) return `${length} characters`
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Text of a value for the editor. */
export function editText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/** Returns the JSON of an edited text. Throws a SyntaxError if a column of documents gets a text that is not JSON. */
export function editedValue({ kind }: Column, text: string): unknown {
  switch (kind) {
    case 'bool':
      return text === 'true'
    case 'float':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
    case 'int':
    case 'id':
    case 'dec':
      return text.trim()
    case 'json':
    case 'vector':
      return JSON.parse(text)
    default:
      return text
  }
}
