import type { DatabaseStore } from '@svc/contracts'
import { pluginErrors } from '../errors.ts'
import { splitScript } from '../sql/admit.ts'
import { seedStatements } from './journeys.ts'
import { BASELINE_TABLES, BASELINE_VERSION, baselineDigest, baselineScript } from './schema.ts'

/** What a database says of its schema. */
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
 * Gives a database that has none the baseline schema with its rows, in one transaction, and to one of an earlier program the
 * tables that have come since. Throws `DBP_SCHEMA_NEWER` for one of a later program, which is left as it is.
 */
export async function applyBaseline(store: DatabaseStore): Promise<void> {
  const { version, digest, missingTables } = await readSchema(store)
  // Where the digest is right, somebody has dropped what is missing, and is told of it.
  const isEarlier = digest !== null && digest !== baselineDigest() && missingTables.length > 0
  if (version === BASELINE_VERSION && !isEarlier) return
  if (version !== null && version > BASELINE_VERSION)
    throw pluginErrors.create(
      'DBP_SCHEMA_NEWER',
      `${store.location} has schema version ${version}, and this program knows ${BASELINE_VERSION}: a legacy schema chain`,
      {
        hint: 'update the program, or export what is needed with the one that wrote it and name another file in SVC_DB_PATH',
        data: { version, expected: BASELINE_VERSION }
      }
    )
  const { fts } = await store.capabilities()
  await store.batch([
    ...splitScript(baselineScript(fts)).map(({ sql }) => sql),
    ...seedStatements(),
    { sql: 'INSERT OR IGNORE INTO schema_version (version) VALUES (?)', parameters: [BASELINE_VERSION] },
    {
      sql: 'INSERT OR REPLACE INTO schema_manifest (version, digest) VALUES (?, ?)',
      parameters: [BASELINE_VERSION, baselineDigest()]
    }
  ])
}

/** One sentence for each thing that does not check out. */
export function schemaProblems({ version, digest, missingTables }: SchemaState): string[] {
  const problems: string[] = []
  if (version !== BASELINE_VERSION)
    problems.push(`schema_version is ${version ?? 'missing'}, and ${BASELINE_VERSION} is needed`)
  if (missingTables.length > 0) problems.push(`tables are missing: ${missingTables.join(', ')}`)
  if (digest !== baselineDigest())
    problems.push(`the manifest digest is ${digest ?? 'missing'}, and ${baselineDigest()} is expected`)
  return problems
}
