import type { Column, ValueFormat } from '@svc/contracts'
import type { JsonSchema } from '@svc/plugin-sdk'
import { valueAt } from '../bindings.ts'
import { formatOf, schemaAt, titleOf } from '../format.ts'
import type { OperationInfo } from '../protocol.ts'

/** Formats that are drawn on the right of their column. */
export const NUMERIC: ReadonlySet<string> = new Set(['number', 'ms', 'bytes', 'percent', 'tokens'])

/** Column with everything that drawing needs. */
export interface ShownColumn {
  readonly field: string
  readonly title: string
  readonly format: ValueFormat | undefined
  readonly schema: JsonSchema | undefined
  readonly link: Column['link']
}

/** Returns the schema of a row. `rows`: dotted path of the array; undefined for a delta operation or the output itself. */
export function rowSchema(info: OperationInfo | undefined, rows: string | undefined): JsonSchema | undefined {
  if (info === undefined) return undefined
  const array = schemaAt(info.output, info.watch?.mode === 'delta' ? 'upsert' : rows)
  return array?.items as JsonSchema | undefined
}

/** Returns the columns of a view: its own, else those of the command-line view, else the fields of the schema or row. */
export function shownColumns(
  columns: readonly Column[] | undefined,
  schema: JsonSchema | undefined,
  fallback: readonly string[] | undefined,
  sample: unknown
): readonly ShownColumn[] {
  const named: readonly Column[] =
    columns ??
    (fallback ?? Object.keys((schema?.properties as object | undefined) ?? (sample as object | undefined) ?? {})).map(
      field => ({ field })
    )
  return named.map(({ field, title, format, link }) => {
    const own = schemaAt(schema, field)
    return { field, title: title ?? titleOf(field), format, schema: own, link }
  })
}

/** Returns the format of a column's value in a row. */
export function columnFormat(column: ShownColumn, row: unknown): ValueFormat {
  return column.format ?? formatOf(column.schema, valueAt(row, column.field))
}

/** Compares two values of a column: numbers by value, everything else as text. */
export function compareValues(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (a === b) return 0
  if (a === null || a === undefined) return 1
  if (b === null || b === undefined) return -1
  const left = String(a)
  const right = String(b)
  return left < right ? -1 : left > right ? 1 : 0
}
