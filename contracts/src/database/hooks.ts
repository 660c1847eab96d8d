import { hook } from '@svc/plugin-sdk'

export interface DatabaseMigration {
  /** File or URL of the database. */
  readonly location: string
  /** `baseline`: the schema of svc; `script`: a script of a plugin; `program`: the tables of a program. */
  readonly kind: 'baseline' | 'script' | 'program'
  /** Path of the program; null for the other kinds. */
  readonly program: string | null
}

/** Triggered after the schema of a database was changed. */
export const databaseMigrated = hook<[DatabaseMigration]>('database.migrated', 'parallel', {
  onError: 'skip',
  summary: 'After the schema of a database was changed.',
  payload: {
    location: 'file or URL of the database',
    kind: 'baseline: the schema of svc; script: a script of a plugin; program: the tables of a program',
    program: 'path of the program; null for the other kinds'
  }
})
