import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { indexProject } from './index-project.ts'

const FILES = 400

t.test('a process that is killed while it writes leaves no half document, and the next run continues', async t => {
  const { root, write, database, file, run, store, find } = await indexProject(t)
  const body = (at: number) =>
    Array.from({ length: 120 }, (_, line) => `line ${line} of file${at} with words`).join('\n')
  write(Object.fromEntries(Array.from({ length: FILES }, (_, at) => [`f${at}.txt`, body(at)])))
  const child = fork(join(import.meta.dirname, 'index-child.ts'), [root, file], {
    execArgv: [...CHILD_ARGUMENTS],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc']
  })
  let written = 0
  child.on('message', message => {
    if (message === 'written') written += 1
    // The third write has begun.
    if (message === 'writing' && written === 2) child.kill('SIGKILL')
  })
  const [, signal] = await once(child, 'exit')
  t.equal(signal, 'SIGKILL')

  t.match(await store.lastJob(), { status: 'running', detail: { pid: child.pid } })
  const { documents } = await store.counts()
  t.ok(documents >= 128 && documents < FILES, `${documents} documents`)
  const half = await database.query(
    `SELECT d.source_uri FROM search_documents AS d LEFT JOIN search_index_files AS f ON f.uri = d.source_uri
      WHERE f.uri IS NULL OR (SELECT COUNT(*) FROM search_document_chunks WHERE document_id = d.id) != 3
      OR (SELECT COUNT(*) FROM search_document_chunks AS c JOIN search_chunk_places AS p ON p.chunk_id = c.id
        WHERE c.document_id = d.id) != 3`
  )
  t.same(half.rows, [])

  t.match(await run(), { files: FILES, indexed: FILES - documents, unchanged: documents })
  t.equal((await store.counts()).documents, FILES)
  t.equal((await find(`file${FILES - 1}`)).length, 3)
  const jobs = await database.query('SELECT status FROM search_indexing_jobs ORDER BY id')
  t.same(jobs.rows, [['interrupted'], ['done']])
})
