import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import t from 'tap'
import { ProjectIndex } from '#indexing'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { DEFAULTS, indexProject } from './index-project.ts'

const FILES = 300
const CHUNKS = 3

const texts = (): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: FILES }, (_, at) => [
      `f${at}.txt`,
      Array.from({ length: 120 }, (_, line) => `line ${line} of file${at} with words`).join('\n')
    ])
  )

/** Starts a process that indexes a project. `blocks`: maximum size of the files that it writes, in 1,024 bytes. */
function indexing(root: string, file: string, blocks: number | null = null): ChildProcess {
  const node = [process.execPath, ...CHILD_ARGUMENTS, join(import.meta.dirname, 'index-child.ts'), root, file, 'whole']
  // A write beyond the limit fails with EFBIG, as the signal of the limit is ignored.
  const limited = `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`
  const [command = '', ...args] = blocks === null ? node : ['bash', '-c', limited, 'bash', ...node]
  return spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}

function outcomeOf(child: ChildProcess): Promise<object> {
  return new Promise(resolve =>
    child.on('message', message => {
      if (typeof message === 'object' && message !== null) resolve(message)
    })
  )
}

/** Returns documents without all of their passages, places or full-text rows. */
async function halves(database: DatabaseStore): Promise<unknown> {
  const { rows } = await database.query(
    `SELECT d.source_uri FROM search_documents AS d LEFT JOIN search_index_files AS f ON f.uri = d.source_uri
      WHERE d.source_uri LIKE '%.txt' AND (f.uri IS NULL
      OR (SELECT COUNT(*) FROM search_document_chunks WHERE document_id = d.id) != ${CHUNKS}
      OR (SELECT COUNT(*) FROM search_document_chunks AS c JOIN search_chunk_places AS p ON p.chunk_id = c.id
        JOIN search_document_chunks_fts AS t ON t.rowid = c.id WHERE c.document_id = d.id) != ${CHUNKS})`
  )
  return rows
}

const NO_LIMIT = process.platform === 'win32' && 'there is no limit of file sizes'
t.test(
  'a full disk ends the run with an error and no half document, and the next run continues',
  { skip: NO_LIMIT },
  async t => {
    const { root, write, database, file, run, store } = await indexProject(t)
    write(texts())
    const outcome = await outcomeOf(indexing(root, file, 1_500))
    t.match(outcome, { code: /^DBS_/, message: String })
    const { documents } = await store.counts()
    t.ok(documents < FILES, `${documents} documents`)
    t.same(await halves(database), [])
    t.same((await database.query('PRAGMA quick_check')).rows, [['ok']])
    t.match(await run(), { indexed: FILES - documents, unchanged: documents })
    t.same(await halves(database), [])
  }
)

t.test('two processes that index one project at once leave each document once', async t => {
  const { root, write, database, file, run, store } = await indexProject(t)
  write(texts())
  const child = indexing(root, file)
  const outcome = outcomeOf(child)
  // Both runs find files that the other one is writing.
  await once(child, 'message')
  const [report, other] = await Promise.all([run(), outcome])
  t.match(report, { files: FILES, removed: 0, skipped: {} })
  t.match(other, { report: { files: FILES, removed: 0, skipped: {} } })
  t.match(await store.counts(), { documents: FILES, chunks: FILES * CHUNKS })
  t.same(await halves(database), [])
  t.match(await run(), { indexed: 0, unchanged: FILES })
  const jobs = await database.query('SELECT DISTINCT status FROM search_indexing_jobs')
  t.same(jobs.rows, [['done']])
})

t.test('the state of an index whose database fails is an error of the caller, and ends no process', async t => {
  const { root, database } = await indexProject(t)
  const index = new ProjectIndex({
    projectRoot: root,
    database,
    settings: () => ({ ...DEFAULTS, index_step_ms: 20_000, index_watch: false, index_skip_sources: [] }),
    serves: false,
    sources: () => [],
    completeVectors: async () => 0,
    onChange: () => undefined,
    log: { debug() {}, info() {}, warn() {}, error() {} } as never
  })
  t.teardown(() => index.close())
  await database.close()
  // The runner fails this test if another promise rejects.
  await t.rejects(index.state(), { code: /^DBS_/ })
})
