/**
 * Database access from programs of the language: inserts with `db.T.insert` in one transaction, queries for one row
 * with `db.T.get`, and lists with `db.T.filter`. The peer is JavaScript with prepared statements of libsql, on the same
 * kind of file. Rounds alternate in one process; the median is reported. Above 1.0, the program is faster.
 *
 *   npm run build && node --import tsx --conditions=svc-source bench/program-database.ts [--json] [--rounds 15]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ProgramDatabase } from '../plugins/app-runtime/src/database/program-database.ts'
import { Interpreter } from '../plugins/app-runtime/src/interpreter/interpreter.ts'
import { freshSchema } from '../plugins/app-runtime/src/schema/migrate.ts'
import { checkFile } from '../plugins/compiler/src/compile.ts'
import { programOf } from '../plugins/compiler/src/program.ts'
import { SourceFile } from '../plugins/compiler/src/source-file.ts'
import { FileConnection } from '../plugins/database/src/thread/file-connection.ts'
import { figureOf, ratioOf, withRange } from './figures.ts'
import { SILENT_HOST } from './silent-host.ts'

const ROWS = 10_000
const LISTED = 100
const LIMITS = { steps: 1e12, milliseconds: 1e9, bytes: 2 ** 31, depth: 1000 }
const PRAGMAS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = normal; PRAGMA cache_size = -16384'

const { values } = parseArgs({ options: { json: { type: 'boolean' }, rounds: { type: 'string', default: '15' } } })
const rounds = Number(values.rounds)

const SOURCE = `@table
type Item {
    title: str
    amount: int
    price: float
    done: bool
    shelf: int
}
@index Item.by_shelf on (shelf)

fn insert(count: int) {
    let mut i = 0
    while i < count {
        db.Item.insert({ title: "item", amount: i, price: 1.5, done: false, shelf: i / ${LISTED} })
        i += 1
    }
}

fn get(count: int) to int {
    let mut i = 0
    let mut sum = 0
    while i < count {
        i += 1
        match db.Item.get(i) { Some(item) => sum += item.amount, None => sum += 0 }
    }
    sum
}

fn list(count: int) to int {
    let mut i = 0
    let mut sum = 0
    while i < count {
        sum += len(db.Item.filter({ shelf: i }))
        i += 1
    }
    sum
}
`

interface Peer {
  exec(sql: string): void
  prepare(sql: string): {
    run(values: readonly unknown[]): { readonly lastInsertRowid: number }
    get(values: readonly unknown[]): Record<string, unknown>
    all(values: readonly unknown[]): Record<string, unknown>[]
  }
  close(): void
}

const folder = mkdtempSync(join(tmpdir(), 'bench-program-'))
const require = createRequire(join(import.meta.dirname, '..', 'plugins', 'database', 'package.json'))
const Libsql = require('libsql') as new (file: string) => Peer

const file = new SourceFile('bench.vox', SOURCE)
const checked = checkFile(file, { script: false, allowComponentFunctions: false, suppressHookLints: false })
const program = programOf(checked)
const schema = freshSchema(program, { fts: true, vector: true })

const connection = new FileConnection({ file: join(folder, 'program.db'), busyTimeoutMs: 1000, synchronous: 'normal' })
for (const sql of schema) connection.execute(sql)
const database = new ProgramDatabase({ connection, location: 'bench', capabilities: { fts: true, vector: true } })
const host = { ...SILENT_HOST, database }
const interpreter = new Interpreter(program, host)

const peer = new Libsql(join(folder, 'peer.db'))
peer.exec(PRAGMAS)
for (const sql of schema) peer.exec(sql)
const insert = peer.prepare('INSERT INTO item (title, amount, price, done, shelf) VALUES (?, ?, ?, ?, ?)')
const get = peer.prepare('SELECT _id, title, amount, price, done, shelf FROM item WHERE _id = ?')
const list = peer.prepare('SELECT _id, title, amount, price, done, shelf FROM item WHERE shelf = ?')

const TASKS = [
  {
    task: `${ROWS} inserts in one transaction`,
    // Ids start at 1 again.
    before() {
      for (const table of ['item', 'sqlite_sequence']) {
        connection.execute(`DELETE FROM ${table}`)
        peer.exec(`DELETE FROM ${table}`)
      }
    },
    own: () => database.transaction('write', () => interpreter.call('insert', [ROWS], LIMITS)),
    peer() {
      peer.exec('BEGIN IMMEDIATE')
      for (let i = 0; i < ROWS; i++) insert.run(['item', i, 1.5, 0, Math.trunc(i / LISTED)])
      peer.exec('COMMIT')
    }
  },
  {
    task: `${ROWS} rows by _id`,
    before: () => undefined,
    own: () => interpreter.call('get', [ROWS], LIMITS),
    peer() {
      let sum = 0
      for (let i = 1; i <= ROWS; i++) sum += Number(get.get([i])?.amount ?? 0)
      return sum
    }
  },
  {
    task: `${ROWS / LISTED} lists of ${LISTED} rows`,
    before: () => undefined,
    own: () => interpreter.call('list', [ROWS / LISTED], LIMITS),
    peer() {
      let sum = 0
      for (let i = 0; i < ROWS / LISTED; i++) sum += list.all([i]).length
      return sum
    }
  }
]

function milliseconds(run: () => unknown): number {
  const began = performance.now()
  run()
  return performance.now() - began
}

const results = TASKS.map(({ task, before, own, peer }) => {
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    before()
    ours.push(milliseconds(own))
    theirs.push(milliseconds(peer))
  }
  return { task, own_ms: figureOf(ours), libsql_ms: figureOf(theirs), ratio: ratioOf(theirs, ours) }
})
connection.close()
peer.close()
rmSync(folder, { recursive: true })

if (values.json) console.log(JSON.stringify({ rounds, results }))
else {
  for (const { task, own_ms, libsql_ms, ratio } of results) {
    console.log(`${task}: ${withRange(own_ms, ' ms')}, libsql ${withRange(libsql_ms, ' ms')}, ${withRange(ratio, 'x')}`)
  }
}
