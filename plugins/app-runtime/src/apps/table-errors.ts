import type { DatabaseStore } from '@svc/contracts'
import { databaseFailure } from '../database/database-failure.ts'
import type { TableColumn, TableShape } from '../database/table-shape.ts'
import { appErrors, runErrors } from '../errors.ts'
import { RunError } from '../interpreter/failure.ts'
import { Mismatch } from '../wire/mismatch.ts'

/** Returns a declared column. Throws `APP_COLUMN_UNKNOWN`. */
export function columnOf(shape: TableShape, name: string): TableColumn {
  const column = shape.column(name)
  if (column !== undefined) return column
  const known = ['_id', ...shape.columns.map(each => each.name)].join(', ')
  throw appErrors.create('APP_COLUMN_UNKNOWN', `${shape.name} has no column ${JSON.stringify(name.slice(0, 100))}`, {
    hint: `its columns: ${known}`
  })
}

/**
 * Runs work on a table, whose result may be a promise. Converts a value of the wrong type to `APP_VALUE_INVALID`, and
 * errors of the database to those of programs, without the path of the database.
 */
export function withTableErrors<A>(
  shape: TableShape,
  store: Pick<DatabaseStore, 'location'> | null,
  run: () => A,
  column: TableColumn | null = null
): A {
  const coded = (thrown: unknown): unknown => {
    if (thrown instanceof Mismatch) {
      const { reason, pathText: path, expected, found } = thrown
      const place = column === null ? shape.name : `${shape.name}.${column.name}`
      return appErrors.create('APP_VALUE_INVALID', `${place}: ${reason}`, {
        data: { column: column?.name ?? path, expected, found },
        hint: 'pass a value of the declared type; svc app describe shows the types'
      })
    }
    const failure = store === null ? thrown : databaseFailure(thrown, shape.name, store.location)
    return failure instanceof RunError ? runErrors.create(failure.code, failure.message) : failure
  }
  try {
    const result = run()
    return result instanceof Promise
      ? (result.catch((thrown: unknown) => {
          throw coded(thrown)
        }) as A)
      : result
  } catch (thrown) {
    throw coded(thrown)
  }
}
