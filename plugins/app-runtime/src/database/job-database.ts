import type { DatabaseStore, PrimaryDatabase, Program } from '@svc/contracts'
import { migrateSchema } from '../schema/migrate.ts'
import { accessTo, type DatabaseAccess, freshAccess } from './access.ts'

/** The database of a program that runs once. */
export interface JobDatabase {
  /** null for a program without tables. */
  readonly access: DatabaseAccess | null
  /** Answers the thread where it has no connection of its own. */
  store(): Promise<DatabaseStore>
  close(): Promise<void>
}

/**
 * `run` uses the primary database, which gets the tables of the program; `test` gets an empty one. Throws what changing the
 * tables throws: `RUN_SCHEMA_LOSSY`, `RUN_SCHEMA_REFUSED` and what the store throws.
 */
export async function openJobDatabase(
  program: Program,
  kind: 'run' | 'test',
  primary: PrimaryDatabase,
  projectRoot: string
): Promise<JobDatabase> {
  if (program.module.tables.length === 0 || kind === 'run') {
    const hasTables = program.module.tables.length > 0
    if (hasTables) await migrateSchema(primary, program, { projectRoot })
    const access = hasTables ? await accessTo(primary) : null
    return { access, store: async () => primary, close: async () => undefined }
  }
  let opened: Promise<DatabaseStore> | null = null
  return {
    access: freshAccess(primary),
    store: () => {
      opened ??= primary.open('memory')
      return opened
    },
    close: async () => (await opened?.catch(() => null))?.close()
  }
}
