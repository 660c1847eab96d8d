/**
 * Index of the search: the time of a project against ripgrep with a loop by hand that reads the same files and writes the
 * same passages into an FTS5 table, a query over all passages, and the update after a saved file.
 *
 *   node --import tsx --conditions=svc-source bench/search.ts [--json] [--smoke] [--files N] [--rounds N]
 *
 * Each round measures both, in alternating order. Needs `npm run build`, since the plugin reads files in a built thread.
 * ripgrep (`RG`, or `rg` in PATH) lists the files by the rules of git; without it, Node.js does, without the rules. The
 * loop by hand computes no hashes, and keeps nothing to continue from.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { applyBaseline, openFile } from '../plugins/database/src/testing.ts'
import { chunkLines } from '../plugins/search/src/indexing/chunk.ts'
import { IndexStore } from '../plugins/search/src/indexing/index-store.ts'
import { IndexThread } from '../plugins/search/src/indexing/index-thread.ts'
import { Indexer } from '../plugins/search/src/indexing/indexer.ts'
import { PdfProcess } from '../plugins/search/src/pdf/pdf-process.ts'
import { Library } from '../plugins/search/src/store/library.ts'
import { chunkTier } from '../plugins/search/src/tiers/passages.ts'
import { type Figure, figureOf, ratioOf } from './figures.ts'

export interface SearchResult {
  readonly files: number
  readonly chunks: number
  /** Program that lists the files of the loop by hand. */
  readonly lister: 'ripgrep' | 'Node.js'
  readonly indexMs: Figure
  readonly byHandMs: Figure
  readonly timesOfByHand: Figure
  /** A run without changes. */
  readonly unchangedMs: number
  /** Median and range of the inner 90 % of the queries. */
  readonly queryMs: Figure
  /** The same of the updates after a save. */
  readonly saveMs: Figure
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean' },
    smoke: { type: 'boolean' },
    files: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' }
  }
})
const FILES = values.smoke === true ? 300 : Number(values.files)
const ROUNDS = values.smoke === true ? 1 : Number(values.rounds)
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
const thread = new IndexThread(() => 60_000)
const pdf = new PdfProcess()
const open = async (name: string) => {
  const database = await openFile(join(folder, name), { busyTimeoutMs: 10_000, synchronous: 'normal' })
  await applyBaseline(database)
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
  return { database, indexer }
}
let opened = await open('index-0.db')
let lister: SearchResult['lister'] = 'Node.js'

try {
  const [indexTimes, handTimes]: [number[], number[]] = [[], []]
  let [chunks, indexed] = [0, 0]
  const index = async (round: number): Promise<void> => {
    if (round > 0) {
      await opened.database.close()
      removeDatabase(`index-${round - 1}.db`)
      opened = await open(`index-${round}.db`)
    }
    const began = performance.now()
    const report = await opened.indexer.index({ full: false, signal })
    indexTimes.push(performance.now() - began)
    ;({ chunks, indexed } = report)
  }
  for (let round = 0; round < ROUNDS; round++) {
    if (round % 2 === 0) handTimes.push(byHand())
    await index(round)
    if (round % 2 === 1) handTimes.push(byHand())
  }
  const { database, indexer } = opened
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
  const result: SearchResult = {
    files: indexed,
    chunks,
    lister,
    indexMs: figureOf(indexTimes),
    byHandMs: figureOf(handTimes),
    timesOfByHand: ratioOf(indexTimes, handTimes),
    unchangedMs: Math.round(unchangedMs),
    queryMs: inner(queryTimes),
    saveMs: inner(saveTimes)
  }
  if (values.json === true) console.log(JSON.stringify(result))
  else console.log(result)
} finally {
  await Promise.all([thread.close(), pdf.close()])
  await opened.database.close()
  rmSync(folder, { recursive: true, force: true })
}

/** Lists the files, reads them and inserts their passages into an FTS5 table, 1,000 files a transaction. Returns milliseconds. */
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
  for (const path of listed()) {
    for (const { text } of chunkLines(readFileSync(join(root, path), 'utf8'))) insert.run(path, text)
    if (++files % 1_000 === 0) sql.exec('COMMIT; BEGIN')
  }
  sql.exec('COMMIT')
  sql.close()
  const ms = performance.now() - began
  removeDatabase('by-hand.db')
  return ms
}

function listed(): readonly string[] {
  try {
    const out = execFileSync(process.env.RG ?? 'rg', ['--files', '--hidden'], { cwd: root, maxBuffer: 64_000_000 })
    lister = 'ripgrep'
    return out.toString().trimEnd().split('\n')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => relative(root, join(entry.parentPath, entry.name)))
  }
}

function removeDatabase(name: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(folder, `${name}${suffix}`), { force: true })
}

function inner(times: readonly number[]): Figure {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number
  return { median: at(0.5), min: at(0.05), max: at(0.95) }
}
