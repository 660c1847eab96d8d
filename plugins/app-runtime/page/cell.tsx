import { shownText } from './cell-text.ts'

/** Characters of a value that a table shows. */
const MAX_SHOWN = 300

/** Value of a row. */
export function Cell({ value }: { readonly value: unknown }) {
  if (value === null || value === undefined) return <span class="none">no value</span>
  const text = shownText(value)
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
  return typeof value === 'object' ? <code>{shown}</code> : <span>{shown}</span>
}
