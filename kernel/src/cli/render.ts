import { type CliView, isSvcError } from '@svc/plugin-sdk'

/** A result for a person, by the operation's view; without one as an indented tree. */
export function renderResult(output: unknown, view: CliView | undefined, width = 120): string {
  const fields = (output ?? {}) as Record<string, unknown>
  if (view?.text !== undefined) return String(fields[view.text] ?? '')
  if (view?.rows !== undefined) {
    const rows = (fields[view.rows] ?? []) as Record<string, unknown>[]
    return renderTable(rows, view.columns ?? Object.keys(rows[0] ?? {}), width)
  }
  return typeof output === 'string' ? output : JSON.stringify(output, null, 2)
}

/** Columns as wide as their widest cell; the last takes what is left and wraps nothing. */
export function renderTable(
  rows: readonly Record<string, unknown>[],
  columns: readonly string[],
  width: number
): string {
  if (rows.length === 0) return '(none)'
  const used = columns.filter(column => rows.some(row => cell(row[column]) !== '–'))
  const lines = [used.map(heading), ...rows.map(row => used.map(column => cell(row[column])))]
  const widths = used.map((_, index) => Math.max(...lines.map(line => line[index]?.length ?? 0)))
  return lines
    .map(line =>
      line.map((text, index) => (index === used.length - 1 ? text : text.padEnd(widths[index] ?? 0))).join('  ')
    )
    .map(line => (line.length > width && width > 40 ? `${line.slice(0, width - 1)}…` : line).trimEnd())
    .join('\n')
}

function heading(column: string): string {
  return column.replace(/[A-Z]/g, letter => `-${letter}`).toUpperCase()
}

function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : value.toFixed(1)
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Message, place, code and the next step; a stack only where nobody foresaw the error. */
export function renderError(error: unknown): string {
  if (!isSvcError(error)) return `error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
  const place =
    error.at?.file === undefined ? '' : `${[error.at.file, error.at.line, error.at.column].filter(Boolean).join(':')}  `
  const lines = [`error: ${place}${error.message}`, `  code: ${error.code}`]
  if (error.hint !== undefined) lines.push(`  try:  ${error.hint}`)
  return lines.join('\n')
}

export function errorJson(error: unknown): object {
  if (!isSvcError(error))
    return { error: { code: 'OPR_FAILED', message: error instanceof Error ? error.message : String(error) } }
  const { code, message, hint, at, data, plugin } = error
  return { error: { code, message, hint, at, data, plugin } }
}
