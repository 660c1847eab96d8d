import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseStore, SqlValue } from '@svc/contracts'
import { openFile } from '@svc/plugin-database/testing'
import t from 'tap'
import { migrateSchema, type SchemaOptions, type SchemaOutcome } from '#schema'
import { programFrom } from '../run-program.ts'

/** Creates a project with a database, which are removed after the test file. */
export const project = mkdtempSync(join(tmpdir(), 'schema-'))
const stores: DatabaseStore[] = []
let files = 0

t.teardown(async () => {
  for (const store of stores) await store.close()
  await rm(project, { recursive: true })
})

export function freshName(): string {
  files += 1
  return join(project, `${files}.db`)
}

export async function openStore(file = freshName()): Promise<DatabaseStore> {
  const store = await openFile(file, { busyTimeoutMs: 5_000, synchronous: 'normal' })
  stores.push(store)
  return store
}

/** Writes the file of a program, and creates its tables. */
export async function apply(
  store: DatabaseStore,
  source: string,
  { path = 'app.vox', ...options }: Partial<SchemaOptions> & { readonly path?: string } = {}
): Promise<SchemaOutcome> {
  const file = join(project, path)
  writeFileSync(file, source)
  return migrateSchema(store, programFrom(source, false, file), { projectRoot: project, ...options })
}

/** Returns each step as one line: `safe Note.body is new …`. */
export function stepTexts({ plan }: SchemaOutcome): string[] {
  return plan.steps.map(
    ({ level, table, column, says }) => `${level} ${column === null ? table : `${table}.${column}`} ${says}`
  )
}

export async function rowsOf(store: DatabaseStore, sql: string): Promise<readonly (readonly SqlValue[])[]> {
  return (await store.query(sql)).rows
}

/** Returns the names of all objects in the database, without internal ones of SQLite and shadow tables. */
export async function namesIn(store: DatabaseStore): Promise<string[]> {
  const rows = await rowsOf(store, "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
  return rows.map(([name]) => String(name)).filter(name => !/_fts_(data|idx|docsize|config)$|shadow/.test(name))
}
