import type { Terminal } from './terminal.ts'
import { textWidth, withoutControl, wrapText } from './text.ts'

type Row = Readonly<Record<string, unknown>>

const GAP = '  '
const EMPTY = '–'
/** Minimum column widths: preferred, and the fallback if the table does not fit. */
const PREFERRED_WIDTH_CHARS = 24
const MIN_WIDTH_CHARS = 12

const GOOD = new Set(['active', 'ok', 'ready'])
const BAD = new Set(['error', 'failed', 'invalid', 'quarantined', 'stuck'])
const DUBIOUS = new Set(['degraded', 'draining', 'waiting', 'warning'])
const STATE_COLUMNS = new Set(['state', 'status', 'severity'])

/**
 * Renders rows as a table without columns that are empty in every row. On a terminal, long cells wrap. If columns would
 * become too narrow, sparse columns move below the table. In files and pipes, each row is one line.
 */
export function renderTable(given: readonly Row[], columns: readonly string[], terminal: Terminal): string {
  if (given.length === 0) return '(none)'
  const rows = given.map(row => withTimes(row, columns))
  let used = columns.filter((column, index) => index === 0 || rows.some(row => cellText(row[column]) !== EMPTY))
  const below: string[] = []
  let widths = fit(rows, used, terminal.columns, PREFERRED_WIDTH_CHARS)
  while (widths === undefined) {
    const widest = widestOf(
      rows,
      used.slice(1).filter(column => isSparse(rows, column))
    )
    if (widest === undefined) break
    below.unshift(widest)
    used = used.filter(column => column !== widest)
    widths = fit(rows, used, terminal.columns, PREFERRED_WIDTH_CHARS)
  }
  widths ??= fit(rows, used, terminal.columns, MIN_WIDTH_CHARS)
  const layout: Layout = {
    used,
    widths: widths ?? used.map(column => naturalWidth(rows, column)),
    numeric: new Set(used.filter(column => isNumeric(rows, column))),
    terminal
  }
  const lines = [headingLine(layout), ...rows.flatMap(row => rowLines(row, layout))]
  return [...lines, ...notes(rows, titleColumn(used), below, terminal)].join('\n')
}

interface Layout {
  readonly used: readonly string[]
  readonly widths: readonly number[]
  /** Right-aligned columns. */
  readonly numeric: ReadonlySet<string>
  readonly terminal: Terminal
}

/**
 * Returns widths that fit, shrinking the widest columns first. Undefined if one would become narrower than `minWidth`.
 */
function fit(rows: readonly Row[], used: readonly string[], available: number, minWidth: number): number[] | undefined {
  const widths = used.map(column => naturalWidth(rows, column))
  const total = (): number => widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1))
  while (total() > available) {
    const widest = Math.max(...widths)
    if (widest <= minWidth) return undefined
    const second = Math.max(minWidth, ...widths.filter(width => width < widest))
    widths[widths.indexOf(widest)] = Math.max(second, widest - (total() - available))
  }
  return widths
}

function naturalWidth(rows: readonly Row[], column: string): number {
  const cells = rows.flatMap(row => cellText(row[column]).split('\n'))
  return Math.max(...[heading(column), ...cells].map(textWidth))
}

function widestOf(rows: readonly Row[], columns: readonly string[]): string | undefined {
  const [first, ...others] = columns
  if (first === undefined) return undefined
  return others.reduce((best, each) => (naturalWidth(rows, each) > naturalWidth(rows, best) ? each : best), first)
}

/** True if the column is empty in at least half of the rows. */
function isSparse(rows: readonly Row[], column: string): boolean {
  return rows.filter(row => cellText(row[column]) !== EMPTY).length * 2 <= rows.length
}

/** Returns the column that identifies a row in the notes below the table. */
function titleColumn(used: readonly string[]): string {
  return used.find(column => !STATE_COLUMNS.has(column)) ?? ''
}

function headingLine({ used, widths, numeric, terminal }: Layout): string {
  const cells = used.map((column, index) => pad(heading(column), widths[index] ?? 0, numeric.has(column)))
  return terminal.paint('bold', cells.join(GAP).trimEnd())
}

function rowLines(row: Row, { used, widths, numeric, terminal }: Layout): string[] {
  const flat = !Number.isFinite(terminal.columns)
  const cells = used.map((column, index) => {
    const text = cellText(row[column])
    return flat ? [text.replaceAll('\n', ' ')] : wrapText(text, widths[index] ?? 0)
  })
  const height = Math.max(...cells.map(lines => lines.length))
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, index) => {
        const column = used[index] ?? ''
        const text = pad(lines[line] ?? '', widths[index] ?? 0, numeric.has(column))
        return STATE_COLUMNS.has(column) ? paintState(text, terminal) : text
      })
      .join(GAP)
      .trimEnd()
  )
}

function notes(rows: readonly Row[], titles: string, below: readonly string[], terminal: Terminal): string[] {
  return below.flatMap(column => {
    const filled = rows.filter(row => cellText(row[column]) !== EMPTY)
    return filled.flatMap((row, index) => {
      const text = wrapText(cellText(row[column]), terminal.columns - GAP.length).map(line => `${GAP}${line}`)
      const title = `${cellText(row[titles])} ${heading(column).toLowerCase()}:`
      return [...(index === 0 ? [''] : []), terminal.paint('bold', title), ...text]
    })
  })
}

/** Names of fields with a time in Unix milliseconds, such as `created_at_ms`. */
const TIME = /_at_ms$/

/** Returns the name of a field without the unit of a time. */
export function headingOf(column: string): string {
  return TIME.test(column) ? column.replace(/_ms$/, '') : column
}

/** Returns a time in Unix milliseconds as ISO 8601, by the name of its field; any other value unchanged. */
export function timed(column: string, value: unknown): unknown {
  const isTime = TIME.test(column) && typeof value === 'number' && Math.abs(value) <= MAX_DATE_MS
  return isTime ? new Date(value).toISOString() : value
}

/** Maximum of a `Date`. */
const MAX_DATE_MS = 8.64e15

function heading(column: string): string {
  return headingOf(column)
    .replace(/[A-Z]/g, letter => `-${letter}`)
    .toUpperCase()
}

function withTimes(row: Row, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map(column => [column, timed(column, row[column])]))
}

function cellText(value: unknown): string {
  if (value === null || value === undefined || value === '') return EMPTY
  if (typeof value === 'number') return numberText(value)
  if (Array.isArray(value)) return value.length === 0 ? EMPTY : value.map(cellText).join(', ')
  return typeof value === 'object' ? objectText(value) : withoutControl(String(value))
}

/** Returns an object of scalars in the form of a flag, `path=src/a.ts,access=write`; any other as JSON. */
function objectText(value: object): string {
  const entries = Object.entries(value)
  const isFlat = entries.length > 0 && entries.every(([, each]) => each === null || typeof each !== 'object')
  return isFlat
    ? entries.map(([name, each]) => `${withoutControl(name)}=${cellText(each)}`).join(',')
    : withoutControl(JSON.stringify(value))
}

/** Rounds to three significant digits. */
function numberText(value: number): string {
  if (Number.isInteger(value)) return String(value)
  return Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
}

function isNumeric(rows: readonly Row[], column: string): boolean {
  const values = rows.map(row => row[column]).filter(value => cellText(value) !== EMPTY)
  return values.length > 0 && values.every(value => typeof value === 'number')
}

function pad(text: string, width: number, right: boolean): string {
  const space = ' '.repeat(Math.max(width - textWidth(text), 0))
  return right ? space + text : text + space
}

function paintState(text: string, terminal: Terminal): string {
  const word = text.trim()
  if (GOOD.has(word)) return terminal.paint('green', text)
  if (BAD.has(word)) return terminal.paint('red', text)
  return DUBIOUS.has(word) ? terminal.paint('yellow', text) : text
}
