import { coordinationErrors, coordinationSql, type DatabaseStore } from '@svc/contracts'
import { lacksTables } from './failures.ts'

const VERSION = "select value from coord_seq where name = 'schema'"

/**
 * Creates the tables of the store in a database that lacks them. Throws `CRD_FAILED` for tables of a later version, and
 * the errors of the database.
 */
export async function ensureTables(database: DatabaseStore): Promise<void> {
  const version = await readVersion(database)
  if (version > coordinationSql.COORDINATION_SCHEMA)
    throw coordinationErrors.create(
      'CRD_FAILED',
      `coordination store in ${database.location}: its tables have version ${version}; this svc supports ${coordinationSql.COORDINATION_SCHEMA}`,
      { hint: 'update svc' }
    )
  if (version < coordinationSql.COORDINATION_SCHEMA)
    await database.migrate(coordinationSql.COORDINATION_TABLES.join(';\n'))
}

/** Returns the version of the tables; 0 if they do not exist. */
async function readVersion(database: DatabaseStore): Promise<number> {
  try {
    const { rows } = await database.query(VERSION)
    return typeof rows[0]?.[0] === 'number' ? rows[0][0] : 0
  } catch (error) {
    if (lacksTables(error)) return 0
    throw error
  }
}
