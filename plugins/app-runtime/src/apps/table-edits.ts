import type { DatabaseStore, DatabaseTransaction, SqlParameter } from '@svc/contracts'
import type { TableColumn, TableShape } from '../database/table-shape.ts'
import { appErrors } from '../errors.ts'
import { cellParameter, intOf, isSameJson } from './cell.ts'
import { columnOf, withTableErrors } from './table-errors.ts'
import { type RowJson, rowJson, wholeSql } from './table-rows.ts'

type Values = Readonly<Record<string, unknown>>

/**
 * Changes columns of one row, in one transaction that first compares the old values. Returns the new row. Throws
 * `APP_ROW_UNKNOWN`, `APP_ROW_CHANGED` with the current row, `APP_COLUMN_UNKNOWN`, `APP_VALUE_INVALID`, and the errors
 * of the database.
 */
export function updateRow(
  store: DatabaseStore,
  shape: TableShape,
  key: number | string,
  { before, after }: { readonly before: Values; readonly after: Values }
): Promise<RowJson> {
  const changes = parametersOf(shape, after)
  const missing = changes.find(({ column }) => !Object.hasOwn(before, column.name))
  if (missing !== undefined) {
    const place = `${shape.name}.${missing.column.name}`
    throw appErrors.create('APP_VALUE_INVALID', `before has no value of ${place}, which is to be changed`, {
      hint: 'read the row with app.table.rows and pass its values as before'
    })
  }
  return withTableErrors(shape, store, () =>
    store.transaction(async tx => {
      const current = await unchangedRow(tx, shape, key, before)
      if (changes.length === 0) return current
      const sets = changes.map(({ column }) => `${column.quoted} = ?`).join(', ')
      await tx.execute(`UPDATE ${shape.sql} SET ${sets} WHERE ${shape.id.quoted} = ?`, [
        ...changes.map(({ value }) => value),
        idOf(key)
      ])
      return readRow(tx, shape, key)
    })
  )
}

/** Adds a row. An omitted column gets its default. Returns the row. Throws like {@link updateRow}. */
export function insertRow(store: DatabaseStore, shape: TableShape, values: Values): Promise<RowJson> {
  const given = parametersOf(shape, values)
  const names = given.map(({ column }) => column.quoted).join(', ')
  const marks = given.map(() => '?').join(', ')
  const into =
    given.length === 0
      ? `INSERT INTO ${shape.sql} DEFAULT VALUES`
      : `INSERT INTO ${shape.sql} (${names}) VALUES (${marks})`
  return withTableErrors(shape, store, () =>
    store.transaction(async tx => {
      const { lastInsertId } = await tx.execute(
        into,
        given.map(({ value }) => value)
      )
      return readRow(tx, shape, String(lastInsertId))
    })
  )
}

/** Deletes a row, if it has the given values. Returns the deleted row. Throws like {@link updateRow}. */
export function deleteRow(
  store: DatabaseStore,
  shape: TableShape,
  key: number | string,
  before: Values = {}
): Promise<RowJson> {
  return withTableErrors(shape, store, () =>
    store.transaction(async tx => {
      const current = await unchangedRow(tx, shape, key, before)
      await tx.execute(`DELETE FROM ${shape.sql} WHERE ${shape.id.quoted} = ?`, [idOf(key)])
      return current
    })
  )
}

function idOf(key: number | string): number | bigint {
  return typeof key === 'number' ? key : intOf(key)
}

function parametersOf(
  shape: TableShape,
  values: Values
): { readonly column: TableColumn; readonly value: SqlParameter }[] {
  return Object.entries(values).map(([name, json]) => {
    const column = columnOf(shape, name)
    if (column === shape.id) {
      throw appErrors.create('APP_VALUE_INVALID', `${shape.name}._id is assigned by the database`, {
        hint: 'leave _id out of the values'
      })
    }
    return { column, value: withTableErrors(shape, null, () => cellParameter(column, json), column) }
  })
}

async function readRow(tx: DatabaseTransaction, shape: TableShape, key: number | string): Promise<RowJson> {
  const sql = `SELECT ${wholeSql(shape)} FROM ${shape.sql} WHERE ${shape.id.quoted} = ?`
  const [row] = (await tx.query(sql, [idOf(key)])).rows
  if (row !== undefined) return rowJson(shape, row)
  throw appErrors.create('APP_ROW_UNKNOWN', `${shape.name} has no row ${key}`, {
    hint: 'it was deleted; read the rows again'
  })
}

/** Returns the current row. Throws `APP_ROW_CHANGED` if one of the given values differs. */
async function unchangedRow(
  tx: DatabaseTransaction,
  shape: TableShape,
  key: number | string,
  before: Values
): Promise<RowJson> {
  const current = await readRow(tx, shape, key)
  for (const [name, value] of Object.entries(before)) {
    const column = columnOf(shape, name)
    const now = current[column.name]
    if (isOmitted(now)) {
      throw appErrors.create('APP_VALUE_INVALID', `${shape.name}.${name} of row ${key} is too long to be compared`, {
        hint: 'leave the column out of before and after, or change it with a function of the program'
      })
    }
    if (isSameJson(value, now)) continue
    throw appErrors.create('APP_ROW_CHANGED', `${shape.name}: row ${key} was changed since it was read: ${name}`, {
      data: { column: name, row: current },
      hint: 'read the row again and repeat the change'
    })
  }
  return current
}

function isOmitted(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, '$omitted')
}
