import t from 'tap'
import { apply, openStore } from './schema-fixture.ts'

const FILE = 'a'.repeat(32)

/** Opens a database with a photo whose file exists. */
async function withPhoto(source: string) {
  const store = await openStore()
  await apply(store, source)
  await store.execute(
    `INSERT INTO program_files (id, program, name, content_type, size, sha256, created_at_ms)
      VALUES (?, 'app.vox', 'a.png', 'image/png', 3, '', 0)`,
    [FILE]
  )
  await store.execute('INSERT INTO photo (title, image) VALUES (?, ?)', ['sun', FILE])
  const rows = async (columns: string) => (await store.query(`SELECT ${columns} FROM photo`)).rows.map(row => [...row])
  return { store, rows }
}

const PHOTO = '@table type Photo { title: str, image: File }\n'

t.test('changes of file columns keep the files, or are refused without --force', async t => {
  for (const [source, code] of [
    ['@table type Photo { title: str }\n', 'RUN_SCHEMA_LOSSY'],
    ['@table type Photo { title: str, image: int }\n', 'RUN_SCHEMA_REFUSED'],
    ['@table type Photo { title: File, image: File }\n', 'RUN_SCHEMA'],
    ['@table type Photo { title: str, image: File, other: File }\n', 'RUN_SCHEMA_REFUSED']
  ] as const) {
    const { store, rows } = await withPhoto(PHOTO)
    await t.rejects(apply(store, source), { code: new RegExp(`^${code}`) }, source)
    t.same(await rows('title, image'), [['sun', FILE]], source)
  }
  for (const [source, columns, expected] of [
    ['@table type Photo { title: str, image: Option[File] }\n', 'title, image', ['sun', FILE]],
    ['@table type Photo { title: str, image: File, other: Option[File] }\n', 'image, other', [FILE, null]],
    ['@table type Photo { title: str, image: str }\n', 'title, image', ['sun', FILE]],
    // The table stays, since it has rows.
    ['@table type Other { title: str }\n', 'title, image', ['sun', FILE]]
  ] as const) {
    const { store, rows } = await withPhoto(PHOTO)
    await apply(store, source)
    t.same(await rows(columns), [expected], source)
    t.same((await store.query('PRAGMA integrity_check')).rows.flat(), ['ok'])
  }
})

t.test('an optional file column becomes required only if every row has a file', async t => {
  const optional = PHOTO.replace('image: File', 'image: Option[File]')
  const { store, rows } = await withPhoto(optional)
  await store.execute("INSERT INTO photo (title) VALUES ('moon')")
  await t.rejects(apply(store, PHOTO), { code: /^RUN_SCHEMA/ })
  t.same(await rows('title, image'), [
    ['sun', FILE],
    ['moon', null]
  ])
  await store.execute("DELETE FROM photo WHERE title = 'moon'")
  await apply(store, PHOTO)
  t.same(await rows('title, image'), [['sun', FILE]])
  await t.rejects(store.execute("INSERT INTO photo (title, image) VALUES ('x', 'unknown')"), {
    message: /image must be a stored file/
  })
})
