import { openRemote } from '@svc/plugin-database/testing'
import t from 'tap'
import { ChangeFeed } from '#live'
import { startHranaServer } from '../../../database/test/hrana-server.ts'
import { apply, freshName, rowsOf, stepTexts } from './schema-fixture.ts'

t.test('a remote database supports tables, migrations and searches', async t => {
  const server = await startHranaServer(freshName(), 'token')
  t.teardown(() => server.close())
  const store = await openRemote({ url: server.url, token: 'token', timeoutMs: 5_000 })
  t.teardown(() => store.close())
  const source = `@table type Note { title: str n: int }
@search_index Note.words on (title)
@query fn notes() to List[Note] { db.Note.all().live("notes") }
`
  await apply(store, source)
  t.same((await apply(store, source)).plan.statements, [])
  const feed = new ChangeFeed(store, error => t.error(error))
  const rows: number[] = []
  await feed.listen(
    {
      tables: new Set(['note']),
      receive: changes => {
        rows.push(...changes.map(({ row }) => row))
      },
      end: () => undefined
    },
    0
  )
  await store.execute("INSERT INTO note (title, n) VALUES ('one', 1), ('two', 2)")
  feed.nudge()
  while (rows.length < 2) await new Promise(resolve => setTimeout(resolve, 10))
  t.same(rows, [1, 2])
  feed.close()
  t.same(stepTexts(await apply(store, source.replace('n: int', 'n: float = 0.5'))), [
    'safe Note.n changes from int to float',
    'safe Note.n gets the default 0.5'
  ])
  t.same(
    await rowsOf(
      store,
      "SELECT n, typeof(n) FROM note_fts JOIN note ON _id = note_fts.rowid WHERE note_fts MATCH 'two'"
    ),
    [[2, 'real']]
  )
  await t.rejects(apply(store, '@table type Note { title: str }'), { code: 'RUN_SCHEMA_LOSSY' })
  await t.rejects(apply(store, '@table type Note { title: str }', { force: true, copyTo: async () => freshName() }), {
    code: 'RUN_SCHEMA_REFUSED',
    message: /cannot be copied from here/
  })
})
