import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { BASELINE_TABLES, baselineDigest } from '#baseline'
import { CircuitBreaker, type PrimaryOptions, PrimaryStore } from '#root'
import { openFile } from '#store'
import './built-worker.ts'
import { freshFile } from './files.ts'
import { startHranaServer } from './hrana-server.ts'

/** Tables that the specification names. */
const NAMED = [
  'developer_journey_definitions',
  'developer_journey_steps',
  'conversation_messages',
  'conversations',
  'chat_transcripts',
  'routing_decisions',
  'gamify_policy_snapshots',
  'research_metrics',
  'external_submission_jobs',
  'workflow_run_log',
  'orchestration_lineage_events',
  'agent_reliability',
  'search_documents',
  'agent_sessions',
  'agent_events',
  'distributed_locks'
]

function primary(t: Test, options: Partial<PrimaryOptions> & Pick<PrimaryOptions, 'place'>) {
  const warnings: string[] = []
  const store = new PrimaryStore({
    projectRoot: dirname(freshFile()),
    breaker: null,
    busyTimeoutMs: 2_000,
    synchronous: 'normal',
    remoteTimeoutMs: 2_000,
    signal: new AbortController().signal,
    backups: '/backups',
    warn: message => warnings.push(message),
    ...options
  })
  t.teardown(() => store.close())
  return { store, warnings }
}

const file = (path: string, fallback: string | null = null) => ({ mode: 'file', file: path, fallback }) as const

t.test('the database is created at the first use, with its folder and the baseline schema', async t => {
  const path = join(`${freshFile()}-folder`, 'deep', 'store.db')
  const { store } = primary(t, { place: file(path) })
  t.notOk(existsSync(path))
  t.equal(store.location, path)
  const status = await store.status()
  t.match(status, { ok: true, mode: 'file', location: path, schemaVersion: 1, missingTables: [], problems: [] })
  t.equal(status.digest, baselineDigest())
  t.match(status.digest, /^0x[0-9a-f]{64}$/)
  t.same(
    NAMED.filter(name => !BASELINE_TABLES.includes(name)),
    []
  )
})

t.test('a new database contains the canonical journey with its steps in order', async t => {
  const { store } = primary(t, { place: file(freshFile()) })
  const { rows } = await store.query(
    'SELECT ordinal, step_id, step_json FROM developer_journey_steps WHERE journey_id = ? ORDER BY ordinal',
    ['canonical_journey.v1.greenfield_vox_mens_devloop']
  )
  t.same(
    rows.map(([ordinal, id]) => `${ordinal} ${id}`),
    [
      '1 bootstrap_repo',
      '2 open_workspace_store',
      '3 author_compile',
      '4 structured_plan',
      '5 agentic_assist',
      '6 research_evidence',
      '7 corpus_train',
      '8 verify_ship'
    ]
  )
  t.same(JSON.parse(String(rows[6]?.[2])), {
    ordinal: 7,
    step_id: 'corpus_train',
    actor: 'human',
    primary_operation_id: 'vox.mens.train',
    maturity: 'beta',
    limitation_ids: ['L-005', 'L-006', 'L-007']
  })
})

t.test('triggers synchronise the full-text tables with the rows, and keep the lineage append-only', async t => {
  const { store } = primary(t, { place: file(freshFile()) })
  await store.batch([
    "INSERT INTO knowledge_nodes (id, label, content) VALUES ('a', 'Foxes', 'quick and brown')",
    "UPDATE knowledge_nodes SET content = 'slow and brown' WHERE id = 'a'",
    "INSERT INTO search_documents (source_uri) VALUES ('file:a')",
    "INSERT INTO search_document_chunks (document_id, chunk_index, body_text) VALUES (1, 0, 'lazy dogs')"
  ])
  const found = async (table: string, words: string) =>
    (await store.query(`SELECT count(*) FROM ${table} WHERE ${table} MATCH ?`, [words])).rows[0]?.[0]
  t.equal(await found('knowledge_nodes_fts', 'slow'), 1)
  t.equal(await found('knowledge_nodes_fts', 'quick'), 0)
  t.equal(await found('search_document_chunks_fts', 'dogs'), 1)
  await store.execute("DELETE FROM search_documents WHERE source_uri = 'file:a'")
  t.equal(await found('search_document_chunks_fts', 'dogs'), 0)
  await store.execute("INSERT INTO orchestration_lineage_events (kind, created_at_ms) VALUES ('task_submitted', 1)")
  await t.rejects(store.execute('DELETE FROM orchestration_lineage_events'), { code: 'DBS_CONSTRAINT' })
  await t.rejects(store.execute('UPDATE orchestration_lineage_events SET task_id = 2'), { code: 'DBS_CONSTRAINT' })
})

t.test('a database of an earlier version gets new tables, and keeps its rows', async t => {
  const path = freshFile()
  const { store } = primary(t, { place: file(path) })
  await store.execute("INSERT INTO agent_sessions (id, created_at_ms, updated_at_ms) VALUES ('old', 1, 1)")
  await store.execute('DROP TABLE orchestrator_records')
  await store.execute("UPDATE schema_manifest SET digest = '0x00'")
  await store.close()
  const { store: again } = primary(t, { place: file(path) })
  t.match(await again.status(), { ok: true, missingTables: [], problems: [], digest: baselineDigest() })
  t.same((await again.query('SELECT id FROM agent_sessions')).rows, [['old']])
})

/** Creates a database with the schema of an earlier version: the current schema, changed by `change`. */
async function earlier(change: string): Promise<string> {
  const path = freshFile()
  const store = new PrimaryStore({
    place: file(path),
    projectRoot: dirname(path),
    breaker: null,
    busyTimeoutMs: 2_000,
    synchronous: 'normal',
    remoteTimeoutMs: 2_000,
    signal: new AbortController().signal,
    backups: '/backups',
    warn: () => undefined
  })
  await store.execute("INSERT INTO agent_sessions (id, created_at_ms, updated_at_ms) VALUES ('old', 1, 1)")
  await store.migrate(`${change}; UPDATE schema_manifest SET digest = '0x00'`)
  await store.close()
  return path
}

for (const [lacking, change] of [
  ['a column', 'ALTER TABLE a2a_messages DROP COLUMN last_claim_error'],
  [
    'a column with a default and its index',
    'DROP INDEX a2a_messages_inbox; ALTER TABLE a2a_messages DROP COLUMN acknowledged'
  ],
  ['an index', 'DROP INDEX a2a_messages_inbox'],
  [
    'the current form of an index',
    'DROP INDEX a2a_messages_inbox; CREATE INDEX a2a_messages_inbox ON a2a_messages (receiver_agent)'
  ],
  ['a trigger', 'DROP TRIGGER orchestration_lineage_events_kept'],
  [
    'the current form of a trigger',
    'DROP TRIGGER orchestration_lineage_events_kept; CREATE TRIGGER orchestration_lineage_events_kept BEFORE DELETE ON orchestration_lineage_events BEGIN SELECT 1; END'
  ]
] as const) {
  t.test(`a database of an earlier version without ${lacking} gets it, and keeps its rows`, async t => {
    const shapeOf = async (store: PrimaryStore): Promise<unknown> => {
      const { rows } = await store.query(
        `SELECT m.name, c.name, c.type, c."notnull", c.dflt_value FROM sqlite_master m, pragma_table_info(m.name) c
         UNION ALL SELECT name, sql, '', '', '' FROM sqlite_master WHERE type IN ('index', 'trigger') ORDER BY 1, 2`
      )
      return rows
    }
    const { store: fresh } = primary(t, { place: file(freshFile()) })
    const { store } = primary(t, { place: file(await earlier(change)) })
    t.match(await store.status(), { ok: true, problems: [], digest: baselineDigest() })
    t.same(await shapeOf(store), await shapeOf(fresh))
    t.same((await store.query('SELECT id FROM agent_sessions')).rows, [['old']])
  })
}

for (const [difference, change, why] of [
  [
    'a column of another type',
    'ALTER TABLE a2a_messages DROP COLUMN last_claim_error; ALTER TABLE a2a_messages ADD COLUMN last_claim_error INTEGER',
    /column a2a_messages\.last_claim_error is "INTEGER", not "TEXT"/
  ],
  [
    'no unique column',
    'DROP TABLE context_entries; CREATE TABLE context_entries (repository_id TEXT NOT NULL, expires_at_ms INTEGER)',
    /column context_entries\.key \(TEXT NOT NULL\) is missing and cannot be added/
  ],
  [
    'a column that needs a value',
    'DROP TABLE agent_sessions; CREATE TABLE agent_sessions (id TEXT PRIMARY KEY, more TEXT NOT NULL)',
    /agent_sessions\.more \(TEXT NOT NULL\) needs a value/
  ],
  [
    'rows that violate a unique index',
    `DROP INDEX conversations_session;
     INSERT INTO conversations (repository_id, external_session_id) VALUES ('r', 's'), ('r', 's')`,
    /UNIQUE/
  ]
] as const) {
  t.test(`opening a database of an earlier version with ${difference} fails without a change`, async t => {
    const path = await earlier(change)
    const { store } = primary(t, { place: file(path) })
    await t.rejects(store.query('SELECT 1'), { code: 'DBP_SCHEMA_CONFLICT', message: why, hint: /export.*import/ })
    t.match(await store.status(), { ok: false, problems: [why] })
    await t.rejects(store.execute('DELETE FROM users'), { code: 'DBP_SCHEMA_CONFLICT' })
    const left = await openFile(path, { busyTimeoutMs: 100, synchronous: 'normal' })
    t.same((await left.query('SELECT digest FROM schema_manifest')).rows, [['0x00']])
    await left.close()
  })
}

t.test('the status reports mismatches of version, tables and digest', async t => {
  const path = freshFile()
  const { store } = primary(t, { place: file(path) })
  await store.execute('DROP TABLE agent_events')
  t.match(await store.status(), { ok: false, missingTables: ['agent_events'], problems: [/agent_events/] })
  await store.execute("UPDATE schema_manifest SET digest = '0x00'")
  t.match((await store.status()).problems, [/agent_events/, /digest is 0x00/])
})

t.test('opening a database of a later version fails without a change', async t => {
  const path = freshFile()
  const later = await openFile(path, { busyTimeoutMs: 100, synchronous: 'normal' })
  await later.migrate(
    'CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT); INSERT INTO schema_version VALUES (2, 0)'
  )
  await later.close()
  const { store } = primary(t, { place: file(path) })
  await t.rejects(store.query('SELECT 1'), {
    code: 'DBP_SCHEMA_NEWER',
    message: /supports only version 1/,
    hint: /export/
  })
  t.match(await store.status(), { ok: false, problems: [/schema version 2/] })
})

t.test('opening a new file twice concurrently creates one schema', async t => {
  const path = freshFile()
  const stores = [primary(t, { place: file(path) }).store, primary(t, { place: file(path) }).store]
  for (const { ok, problems } of await Promise.all(stores.map(store => store.status())))
    t.same([ok, problems], [true, []])
  t.same((await stores[0]?.query('SELECT count(*) FROM developer_journey_steps'))?.rows, [[8]])
})

t.test("uses the user's database if the project's cannot be written, with a warning", async t => {
  const folder = `${freshFile()}-blocked`
  writeFileSync(folder, 'in the way')
  const blocked = join(folder, 'store.db')
  const canonical = freshFile()
  const { store, warnings } = primary(t, { place: file(blocked, canonical) })
  t.match(await store.status(), { ok: true, location: canonical })
  t.equal(store.replaced, blocked)
  t.match(warnings, [new RegExp(`${blocked}.*${canonical}`)])
  const strict = primary(t, { place: file(blocked) })
  t.match(await strict.store.status(), { ok: false, location: blocked, problems: [/cannot be created/] })
  t.equal(strict.store.replaced, null)
})

t.test("a damaged database of the project is not replaced by the user's", async t => {
  const path = freshFile()
  writeFileSync(path, randomBytes(8_192))
  const before = readFileSync(path)
  const canonical = freshFile()
  const { store, warnings } = primary(t, { place: file(path, canonical) })
  await t.rejects(store.execute('DELETE FROM users'), {
    code: 'DBS_CORRUPT',
    message: `${path}: file is not a database`,
    hint: `restore a backup with svc db restore FILE (svc db backup writes to /backups), or move ${path} away to start with an empty database`
  })
  t.match(await store.status(), { ok: false, location: path, problems: [/not a database/] })
  t.equal(store.replaced, null)
  t.same(warnings, [])
  t.notOk(existsSync(canonical))
  t.same(readFileSync(path), before)
})

t.test(
  'an error for an unwritable parent folder names the folder',
  {
    skip: existsSync('/proc/self') ? false : 'this system has no /proc'
  },
  async t => {
    const { store } = primary(t, { place: file('/proc/nothing/store.db') })
    await t.rejects(store.query('SELECT 1'), {
      code: 'DBS_OPEN_FAILED',
      message: /its folder cannot be created: ENOENT/
    })
  }
)

t.test('retries a failed opening at the next use', async t => {
  const folder = `${freshFile()}-blocked`
  writeFileSync(folder, 'in the way')
  const { store } = primary(t, { place: file(join(folder, 'store.db')) })
  await t.rejects(store.query('SELECT 1'), { code: 'DBS_OPEN_FAILED' })
  await rm(folder)
  mkdirSync(folder)
  t.same((await store.query('SELECT 1')).rows, [[1]])
})

t.test('a remote database has the same schema', async t => {
  const server = await startHranaServer(freshFile(), 'token')
  t.teardown(() => server.close())
  const { store } = primary(t, { place: { mode: 'remote', url: server.url, token: 'token' } })
  t.match(await store.status(), { ok: true, mode: 'remote', location: server.url })
})

t.test('after five faults the breaker rejects writes, but no queries', async t => {
  const server = await startHranaServer(freshFile(), 'token')
  t.teardown(() => server.close())
  const place = { mode: 'remote', url: server.url, token: 'token' } as const
  const { store } = primary(t, { place, breaker: new CircuitBreaker() })
  await store.query('SELECT 1')
  server.fault = 'unauthorized'
  for (let at = 0; at < 5; at += 1) await t.rejects(store.execute('DELETE FROM users'), { code: 'DBS_UNAUTHORIZED' })
  const { requests } = server
  for (const write of [
    () => store.execute('DELETE FROM users'),
    () => store.batch(['DELETE FROM users']),
    () => store.transaction(async () => {}),
    () => store.migrate('DELETE FROM users')
  ])
    await t.rejects(async () => void (await write()), { code: 'DBP_CIRCUIT_OPEN' })
  t.equal(server.requests, requests)
  server.fault = 'none'
  t.same((await store.query('SELECT 1')).rows, [[1]])
})

t.test('without the native binding, only in-memory databases can be opened', async t => {
  // With this variable the binding searches for a development build, which does not exist.
  process.env.LIBSQL_JS_DEV = '1'
  t.teardown(() => delete process.env.LIBSQL_JS_DEV)
  const path = freshFile()
  const { store } = primary(t, { place: file(path, freshFile()) })
  await t.rejects(store.query('SELECT 1'), { code: 'DBS_NO_BINDING', hint: /libsql/ })
  t.match(await store.status(), { ok: false, location: path, problems: [/./] })
  t.notOk(existsSync(path))
  const memory = await store.open('memory')
  t.same((await memory.query('SELECT 1')).rows, [[1]])
  t.equal((await memory.capabilities()).fts, false)
  await memory.close()
  await t.rejects(store.open({ file: 'other.db' }), { code: 'DBS_NO_BINDING' })
})

t.test('a closed store stays closed', async t => {
  const { store } = primary(t, { place: file(freshFile()) })
  await store.query('SELECT 1')
  await store.close()
  for (const use of [() => store.query('SELECT 1'), () => store.open('memory'), () => store.sync()])
    await t.rejects(async () => void (await use()), { code: 'DBS_CLOSED' })
})
