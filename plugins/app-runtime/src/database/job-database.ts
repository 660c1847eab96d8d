import type { DatabaseStore, PrimaryDatabase, Program } from '@svc/contracts'
import { migrateSchema } from '../schema/migrate.ts'
import { usesFiles } from '../storage/uses-files.ts'
import { accessTo, type DatabaseAccess, freshAccess } from './access.ts'

/** The database of a program that is not served. */
export interface JobDatabase {
  /** null for a program without a database. */
  readonly access: DatabaseAccess | null
  /** Opens the store in the main thread, for a thread without its own connection. */
  store(): Promise<DatabaseStore>
  close(): Promise<void>
}

/**
 * Opens the database of a job: an empty one for `test`, else the primary database after a migration.
 * Throws `RUN_SCHEMA_LOSSY`, `RUN_SCHEMA_REFUSED` and the errors of the store.
 */
export async function openJobDatabase(
  program: Program,
  kind: 'run' | 'test' | 'workflow' | 'replay',
  primary: PrimaryDatabase,
  projectRoot: string,
  /** `memory`, or the path of a file, to replace the primary database of a run. */
  location?: string
): Promise<JobDatabase> {
  if (location !== undefined) return placedDatabase(program, await openPlace(primary, location), projectRoot)
  const { tables, workflows } = program.module
  const hasTables = tables.length > 0 || usesFiles(program)
  if (!hasTables || kind !== 'test') {
    if (hasTables) await migrateSchema(primary, program, { projectRoot })
    // A program with workflows stores its runs in the database.
    const isUsed = hasTables || (workflows.length > 0 && kind !== 'test')
    const access = isUsed ? await accessTo(primary) : null
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

/** Opens a database: `memory`, or the path of a file. The caller closes it. */
export function openPlace(primary: PrimaryDatabase, location: string): Promise<DatabaseStore> {
  return primary.open(location === 'memory' ? location : { file: location })
}

async function placedDatabase(program: Program, store: DatabaseStore, projectRoot: string): Promise<JobDatabase> {
  try {
    await migrateSchema(store, program, { projectRoot })
    return { access: await accessTo(store), store: async () => store, close: () => store.close() }
  } catch (error) {
    await store.close()
    throw error
  }
}
