/**
 * Parameter and column values of a statement.
 *
 * In: whole numbers within 2^53 and bigints within 64 bits are stored as integers, other finite numbers as reals,
 * booleans as 1 and 0. Other values throw `DBS_VALUE_INVALID`: undefined, NaN, the infinities, larger bigints, text
 * with U+0000 or lone surrogates, and every other kind of object.
 *
 * Out: integers are numbers within 2^53 and bigints beyond it; there are no booleans.
 */
export type SqlValue = null | number | bigint | string | Uint8Array

export type SqlParameter = SqlValue | boolean

/** Parameters by position, or by name without its sigil. Missing and surplus parameters throw `DBS_VALUE_INVALID`. */
export type SqlParameters = readonly SqlParameter[] | { readonly [name: string]: SqlParameter }

/** A statement with its parameters; a plain string if it has none. */
export type SqlStatement = string | { readonly sql: string; readonly parameters?: SqlParameters }

export interface SqlResult {
  readonly columns: readonly string[]
  /** Rows as arrays, in the order of the columns; two columns may have one name. */
  readonly rows: readonly (readonly SqlValue[])[]
  /** Number of rows that an insert, update or delete changed, without triggers and cascades; 0 for other statements. */
  readonly changes: number
  /**
   * Id of the last inserted row; null for other statements. Meaningless if ON CONFLICT turned the insert into an
   * update: use RETURNING.
   */
  readonly lastInsertId: number | bigint | null
}

/** Returns rows as objects by column name. If two columns share a name, the later one wins. */
export function rowsByName({ columns, rows }: Pick<SqlResult, 'columns' | 'rows'>): Record<string, SqlValue>[] {
  return rows.map(row => Object.fromEntries(columns.map((column, at) => [column, row[at] ?? null])))
}
