/**
 * Index of the search: files a second against a loop by hand that reads the same files and writes the same passages into
 * an FTS5 table, a query over all passages, and the update after a saved file.
 *
 *   node --import tsx --conditions=svc-source bench/search.ts [--json] [--smoke] [--files N]
 *
 * Needs `npm run build`, since the plugin reads files in a built thread. The loop by hand knows no rules of git, no
 * hashes, and keeps nothing to continue from.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { applyBaseline, openFile } from '../plugins/database/src/testing.ts'
import { chunkLines } from '../plugins/search/src/indexing/chunk.ts'
import { IndexStore } from '../plugins/search/src/indexing/index-store.ts'
import { IndexThread } from '../plugins/search/src/indexing/index-thread.ts'
import { Indexer } from '../plugins/search/src/indexing/indexer.ts'
import { PdfProcess } from '../plugins/search/src/pdf/pdf-process.ts'
import { Library } from '../plugins/search/src/store/library.ts'
import { chunkTier } from '../plugins/search/src/tiers/passages.ts'

const { values } = parseArgs({
  options: { json: { type: 'boolean' }, smoke: { type: 'boolean' }, files: { type: 'string', default: '20000' } }
})
const FILES = values.smoke === true ? 300 : Number(values.files)
const QUERIES = values.smoke === true ? 20 : 200
const SAVES = values.smoke === true ? 3 : 30
/** About 10 passages a file: 20,000 files have 200,000. */
const LINES = 330
const WORDS = 20_000

/** Numbers in [0, 1) that are the same in each run. */
let seed = 1
function random(): number {
  seed = (seed * 48_271) % 2_147_483_647
  return seed / 2_147_483_647
}

/** Words with frequencies as in texts: the n-th occurs about 1/n as often as the first. */
const word = (): string => `w${Math.floor(WORDS ** random())}`
const pool = Array.from({ length: 50_000 }, () => Array.from({ length: 9 }, word).join(' '))
const line = (): string => pool[Math.floor(random() * pool.length)] as string

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-search-'))
const root = join(folder, 'project')
for (let file = 0; file < FILES; file++) {
  const place = join(root, `d${file % 100}`)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, `f${file}.txt`), Array.from({ length: LINES }, line).join('\n'))
}

const signal = new AbortController().signal
const database = await openFile(join(folder, 'index.db'), { busyTimeoutMs: 10_000, synchronous: 'normal' })
await applyBaseline(database)
const thread = new IndexThread(() => 60_000)
const pdf = new PdfProcess()
const indexer = new Indexer({
  projectRoot: root,
  store: new IndexStore(database),
  thread,
  pdf,
  settings: () => ({
    ...{ repo_max_files: 1_000_000, repo_skip_dirs: [], index_step_ms: 60_000 },
    ...{ index_max_file_bytes: 1_048_576, index_max_pdf_bytes: 33_554_432, index_max_pdf_pages: 5_000 }
  }),
  onChange: () => undefined
})

try {
  const byHandMs = byHand()
  const began = performance.now()
  const { chunks, indexed } = await indexer.index({ full: false, signal })
  const indexMs = performance.now() - began
  const again = performance.now()
  await indexer.index({ full: false, signal })
  const unchangedMs = performance.now() - again

  const library = new Library(() => database)
  await library.open()
  const tier = chunkTier(library)
  const queryTimes: number[] = []
  for (let query = 0; query < QUERIES; query++) {
    const terms = [...new Set([word(), word(), word()])]
    const start = performance.now()
    await tier.query({ query: terms.join(' '), terms, intent: 'factual_lookup', mode: 'full_text', limit: 8 }, signal)
    queryTimes.push(performance.now() - start)
  }

  const saveTimes: number[] = []
  for (let save = 0; save < SAVES; save++) {
    writeFileSync(join(root, 'd0', 'f0.txt'), Array.from({ length: LINES }, line).join('\n'))
    const start = performance.now()
    await indexer.update(['d0/f0.txt'], signal)
    saveTimes.push(performance.now() - start)
  }
  const result = {
    files: indexed,
    chunks,
    indexMs: Math.round(indexMs),
    byHandMs: Math.round(byHandMs),
    timesOfByHand: round(indexMs / byHandMs),
    unchangedMs: Math.round(unchangedMs),
    queryP50Ms: round(quantile(queryTimes, 0.5)),
    queryP95Ms: round(quantile(queryTimes, 0.95)),
    saveP50Ms: round(quantile(saveTimes, 0.5))
  }
  if (values.json === true) console.log(JSON.stringify(result))
  else console.table(result)
} finally {
  await Promise.all([thread.close(), pdf.close()])
  await database.close()
  rmSync(folder, { recursive: true, force: true })
}

/** Reads all files and inserts their passages into an FTS5 table, 1,000 files a transaction. Returns milliseconds. */
function byHand(): number {
  const require = createRequire(new URL('../plugins/database/package.json', import.meta.url))
  const Database = require('libsql') as new (
    file: string
  ) => {
    exec(sql: string): void
    prepare(sql: string): { run(...values: unknown[]): void }
    close(): void
  }
  const began = performance.now()
  const sql = new Database(join(folder, 'by-hand.db'))
  sql.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE VIRTUAL TABLE passages USING fts5 (path, body)'
  )
  const insert = sql.prepare('INSERT INTO passages (path, body) VALUES (?, ?)')
  let files = 0
  sql.exec('BEGIN')
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    for (const { text } of chunkLines(readFileSync(path, 'utf8'))) insert.run(path, text)
    if (++files % 1_000 === 0) sql.exec('COMMIT; BEGIN')
  }
  sql.exec('COMMIT')
  sql.close()
  return performance.now() - began
}

function quantile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] as number
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
