import type { PrimaryDatabase } from '@svc/contracts'
import { backupErrors } from '../errors.ts'

/** Copies and checks SQLite files with the engine of the plugin `database`. */
export interface Databases {
  /** Writes a consistent copy while others use the file. */
  copy(file: string, target: string): Promise<void>
  /** Returns the versions of a file's schema. */
  versions(file: string): Promise<{ readonly user_version: number; readonly schema_version: number | null }>
  /** Returns what `PRAGMA integrity_check` found; null if the file is intact. */
  check(file: string): Promise<string | null>
}

export function databasesOf(store: PrimaryDatabase | undefined): Databases {
  const within = async <A>(file: string, use: (opened: Awaited<ReturnType<PrimaryDatabase['open']>>) => Promise<A>) => {
    if (store === undefined)
      throw backupErrors.create('BKP_NO_ENGINE', `${file} is a database, and the plugin database does not run`, {
        hint: 'enable it: svc plugins enable database'
      })
    const opened = await store.open({ file })
    try {
      return await use(opened)
    } finally {
      await opened.close()
    }
  }
  return {
    copy: (file, target) => within(file, opened => opened.backup(target)),
    versions: file =>
      within(file, async opened => {
        const { rows } = await opened.query('PRAGMA user_version')
        const table = await opened.query(
          "SELECT count(*) FROM pragma_table_info('schema_version') WHERE name = 'version'"
        )
        const hasVersion = Number(table.rows[0]?.[0] ?? 0) > 0
        const schema = hasVersion ? await opened.query('SELECT max(version) FROM schema_version') : null
        const version = schema?.rows[0]?.[0] ?? null
        return { user_version: Number(rows[0]?.[0] ?? 0), schema_version: version === null ? null : Number(version) }
      }),
    check: file =>
      within(file, async opened => {
        const { rows } = await opened.query('PRAGMA integrity_check(1)')
        const result = String(rows[0]?.[0])
        return result === 'ok' ? null : result
      })
  }
}
