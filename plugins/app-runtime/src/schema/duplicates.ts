import type { SqlValue } from '@svc/contracts'
import type { ReadDatabase } from './existing-schema.ts'
import { quoted } from './names.ts'

/** Number of equal values that a message shows. */
const SHOWN = 5
/** Number of rows that a message names for each value. */
const SHOWN_ROWS = 3
/** Maximum characters of a shown value. */
const SHOWN_CHARACTERS = 40

/** Rows of a table whose values are equal, although they must be unique. */
export interface Duplicates {
  /** Number of values that several rows have. */
  readonly count: number
  /** The first of them. */
  readonly shown: readonly { readonly values: readonly SqlValue[]; readonly rows: number; readonly ids: string }[]
}

/** Finds rows with equal values of the expressions. Rows with an empty value never conflict. */
export async function findDuplicates(
  database: ReadDatabase,
  table: string,
  expressions: readonly string[]
): Promise<Duplicates> {
  const names = expressions.map((_, index) => `v${index}`)
  const values = expressions.map((expression, index) => `${expression} AS v${index}`).join(', ')
  const present = names.map(name => `${name} IS NOT NULL`).join(' AND ')
  const groups =
    `(SELECT ${names.join(', ')}, count(*) AS rows, group_concat(id, ', ') AS ids ` +
    `FROM (SELECT ${values}, "_id" AS id FROM ${quoted(table)} ORDER BY "_id") ` +
    `WHERE ${present} GROUP BY ${names.join(', ')} HAVING count(*) > 1)`
  const { rows: counted } = await database.query(`SELECT count(*) FROM ${groups}`)
  const count = Number(counted[0]?.[0] ?? 0)
  if (count === 0) return { count, shown: [] }
  const { rows } = await database.query(`SELECT * FROM ${groups} ORDER BY ${names.join(', ')} LIMIT ${SHOWN}`)
  const shown = rows.map(row => ({
    values: row.slice(0, names.length),
    rows: Number(row[names.length]),
    ids: String(row[names.length + 1])
  }))
  return { count, shown }
}

/** Describes duplicates: `2 values are in several rows: "a" (_id 1, 4), "b" (_id 2, 3, 5 and 12 more)`. */
export function duplicatesText({ count, shown }: Duplicates): string {
  const each = shown.map(({ values, rows, ids }) => {
    const listed = ids.split(', ').slice(0, SHOWN_ROWS).join(', ')
    const more = rows > SHOWN_ROWS ? ` and ${rows - SHOWN_ROWS} more` : ''
    return `${values.map(valueText).join(' and ')} (_id ${listed}${more})`
  })
  const rest = count > shown.length ? `, and ${count - shown.length} more` : ''
  return `${count === 1 ? '1 value is' : `${count} values are`} in several rows: ${each.join(', ')}${rest}`
}

function valueText(value: SqlValue): string {
  if (value instanceof Uint8Array) return `${value.length} bytes`
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(value.length > SHOWN_CHARACTERS ? `${value.slice(0, SHOWN_CHARACTERS)}…` : value)
}
