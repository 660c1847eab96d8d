import type { DatabaseStore } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { pluginErrors } from '../errors.ts'
import { splitScript } from '../sql/admit.ts'
import { compareBaseline, type SchemaObject } from './compare.ts'
import { seedStatements } from './journeys.ts'
import { BASELINE_TABLES, BASELINE_VERSION, baselineDigest, baselineScript } from './schema.ts'

/** Version and digest recorded in a database, and the baseline tables that it lacks. */
export interface SchemaState {
  readonly version: number | null
  readonly digest: string | null
  readonly missingTables: readonly string[]
}

export async function readSchema(store: DatabaseStore): Promise<SchemaState> {
  const { rows } = await store.query("SELECT name FROM sqlite_master WHERE type = 'table'")
  const tables = new Set(rows.map(([name]) => String(name)))
  const missingTables = BASELINE_TABLES.filter(name => !tables.has(name))
  const first = async (table: string, sql: string): Promise<unknown> =>
    tables.has(table) ? (await store.query(sql)).rows[0]?.[0] : null
  const version = await first('schema_version', 'SELECT max(version) FROM schema_version')
  const digest = await first('schema_manifest', 'SELECT digest FROM schema_manifest ORDER BY version DESC LIMIT 1')
  return {
    version: typeof version === 'number' ? version : null,
    digest: typeof digest === 'string' ? digest : null,
    missingTables
  }
}

/**
 * Creates the baseline schema with its rows in one transaction. In a database of an earlier version of svc, adds
 * missing tables, columns, indexes and triggers. Throws `DBP_SCHEMA_NEWER` for a database of a later version, and
 * `DBP_SCHEMA_CONFLICT` if additions are not enough; in both cases the database stays unchanged. Resolves to true if
 * the schema changed.
 */
export async function applyBaseline(store: DatabaseStore): Promise<boolean> {
  const { version, digest } = await readSchema(store)
  if (version !== null && version > BASELINE_VERSION)
    throw pluginErrors.create(
      'DBP_SCHEMA_NEWER',
      `${store.location} has schema version ${version}, but this svc supports only version ${BASELINE_VERSION}`,
      {
        hint: 'update svc, or export the data with the later svc and name another file in SVC_DB_PATH',
        data: { version, expected: BASELINE_VERSION }
      }
    )
  // If the digest matches, missing tables were dropped on purpose; the status reports them.
  if (version === BASELINE_VERSION && digest === baselineDigest()) return false
  const { fts } = await store.capabilities()
  const baseline = splitScript(baselineScript(fts)).map(({ sql }) => sql)
  const { statements, conflicts } =
    version === null ? { statements: [], conflicts: [] } : compareBaseline(await readObjects(store), baseline)
  if (conflicts.length > 0) throw conflict(store, conflicts.join('; '))
  try {
    await store.batch([
      ...statements,
      ...baseline,
      ...seedStatements(),
      { sql: 'INSERT OR IGNORE INTO schema_version (version) VALUES (?)', parameters: [BASELINE_VERSION] },
      {
        sql: 'INSERT OR REPLACE INTO schema_manifest (version, digest) VALUES (?, ?)',
        parameters: [BASELINE_VERSION, baselineDigest()]
      }
    ])
    return true
  } catch (error) {
    if (version === null) throw error
    // Another process may have made the same changes meanwhile.
    if ((await readSchema(store)).digest === baselineDigest()) return false
    if (!isSvcError(error, 'DBS_CONSTRAINT')) throw error
    throw conflict(store, error.message, error)
  }
}

async function readObjects(store: DatabaseStore): Promise<SchemaObject[]> {
  const { rows } = await store.query('SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL')
  return rows.map(([type, name, sql]) => ({ type: String(type), name: String(name), sql: String(sql) }))
}

function conflict(store: DatabaseStore, why: string, cause?: unknown): Error {
  return pluginErrors.create(
    'DBP_SCHEMA_CONFLICT',
    `${store.location} cannot be migrated to the schema of this svc: ${why}`,
    {
      hint: 'export the data with the version of svc that wrote it, name a new file in SVC_DB_PATH, and import it there',
      cause
    }
  )
}

/** Returns one sentence per mismatch. */
export function schemaProblems({ version, digest, missingTables }: SchemaState): string[] {
  const problems: string[] = []
  if (version !== BASELINE_VERSION)
    problems.push(`schema_version is ${version ?? 'missing'}, expected ${BASELINE_VERSION}`)
  if (missingTables.length > 0) problems.push(`tables are missing: ${missingTables.join(', ')}`)
  if (digest !== baselineDigest())
    problems.push(`the manifest digest is ${digest ?? 'missing'}, expected ${baselineDigest()}`)
  return problems
}
