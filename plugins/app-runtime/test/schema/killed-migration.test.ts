import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CHILD_ARGUMENTS } from '../../../../test/child-arguments.ts'
import { apply, freshName, namesIn, openStore, project, rowsOf } from './schema-fixture.ts'

const ROWS = 30_000
const OLD = '@table type Note { title: str n: int }\n@index Note.by_n on (n)\n@search_index Note.words on (title)\n'
const NEW =
  '@table type Note { title: str n: float more: int = 1 }\n@index Note.by_title on (title)\n@search_index Note.words on (title)\n'

/** Milliseconds until the child ended or was killed. */
async function migrate(file: string, lifetime: number | null): Promise<{ done: boolean; took: number }> {
  const args = [...CHILD_ARGUMENTS, join(import.meta.dirname, 'migrating-child.ts')]
  const child = spawn(process.execPath, [...args, file, project, NEW], { stdio: ['ignore', 'pipe', 'inherit'] })
  let began = 0
  let done = false
  let took = 0
  for await (const line of createInterface(child.stdout)) {
    if (line === 'begins') {
      began = performance.now()
      if (lifetime !== null) void sleep(lifetime).then(() => child.kill('SIGKILL'))
    } else if (line === 'done') {
      done = true
      took = performance.now() - began
    }
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return { done, took }
}

async function shape(file: string) {
  const store = await openStore(file)
  const names = await namesIn(store)
  const columns = (
    await rowsOf(store, "SELECT name || ' ' || type FROM pragma_table_xinfo('note') ORDER BY cid")
  ).flat()
  const [[rows, sum] = []] = await rowsOf(store, 'SELECT count(*), sum(n) FROM note')
  const [[words] = []] = await rowsOf(store, "SELECT count(*) FROM note_fts WHERE note_fts MATCH 'word'")
  const [[check] = []] = await rowsOf(store, 'PRAGMA integrity_check')
  await store.close()
  return { names, columns, rows, sum, words, check }
}

t.test('a killed migration leaves the old or the new tables, with all rows', async t => {
  const file = freshName()
  const store = await openStore(file)
  await apply(store, OLD)
  await store.execute(
    `INSERT INTO note (title, n) WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${ROWS})
SELECT 'word ' || i, i FROM c`
  )
  const measured = freshName()
  await store.backup(measured)
  await store.close()
  const before = await shape(file)
  t.equal(before.rows, ROWS)
  const { done, took } = await migrate(measured, null)
  t.ok(done)
  const after = await shape(measured)
  t.not(after.columns, before.columns)
  t.same({ rows: after.rows, sum: after.sum, words: after.words }, { rows: ROWS, sum: before.sum, words: ROWS })
  let killed = 0
  for (let round = 0; round < 5; round += 1) {
    const outcome = await migrate(file, (took * (round + 0.5)) / 5)
    const now = await shape(file)
    if (!outcome.done) killed += 1
    const isNew = now.columns.length === after.columns.length
    if (outcome.done) t.ok(isNew, 'a migration that was reported is complete')
    t.same(now, isNew ? after : before, `killed in part ${round}`)
    if (isNew) break
  }
  t.ok(killed > 0, 'some migrations were killed before their end')
})
