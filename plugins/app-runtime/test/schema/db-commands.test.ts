import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { PrimaryDatabase } from '@svc/contracts'
import { checkFile, compilation, descriptionOf, readSources, type SourceFile } from '@svc/plugin-compiler/testing'
import type { CommandHandler } from '@svc/plugin-sdk'
import t from 'tap'
import { applySchema, diffSchema } from '#schema'
import { freshName, openStore, project, rowsOf } from './schema-fixture.ts'

const options = { allowComponentFunctions: false, suppressHookLints: false }
const compiler = {
  compile: compilation(async (file: SourceFile, script: boolean) => checkFile(file, { ...options, script })),
  read: (paths: readonly string[]) => readSources(paths, false),
  describe: descriptionOf
}

async function execute(command: CommandHandler, input: Record<string, unknown>, json = false) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const output = Promise.all([text(stdout), text(stderr)])
  const code = await command(input, { stdin, stdout, stderr, json, signal: new AbortController().signal })
  stdout.end()
  stderr.end()
  const [out, err] = await output
  return { code, out, err }
}

async function open() {
  const folder = mkdtempSync(join(project, 'commands-'))
  const store = (await openStore()) as PrimaryDatabase
  const copies = join(folder, 'copies')
  const parts = {
    compiler,
    store: Object.assign(store, {
      open: async (place: 'memory' | { file: string }) => openStore((place as { file: string }).file)
    }),
    projectRoot: folder,
    database: () => undefined,
    copies: async () => copies
  }
  const file = join(folder, 'app.vox')
  const write = (source: string) => writeFileSync(file, source)
  return { store, file, write, copies, diff: diffSchema(parts), migrate: applySchema(parts) }
}

t.test('db diff shows differences, and db migrate applies them', async t => {
  const { store, file, write, diff, migrate } = await open()
  write('@table type Note { title: str }\n')
  const first = await execute(diff, { file })
  t.equal(first.code, 1)
  t.equal(first.out, `app.vox: ${store.location}\n  + Note is new, with the columns title\n`)
  t.match((await execute(diff, { file, sql: true })).out, /CREATE TABLE "note" \(/)
  t.match(await execute(migrate, { file, 'dry-run': true }), {
    code: 0,
    out: '  + Note is new, with the columns title\n'
  })
  t.same(await rowsOf(store, "SELECT count(*) FROM sqlite_master WHERE name = 'note'"), [[0]])
  t.match(await execute(migrate, { file }), { code: 0, err: '' })
  t.same(await rowsOf(store, "SELECT count(*) FROM sqlite_master WHERE name = 'note'"), [[1]])
  t.match(await execute(diff, { file }), { code: 0, out: /matches the declared tables/ })
  t.match(await execute(migrate, { file }), { code: 0, out: 'nothing to do\n' })
})

t.test('db diff --json prints the differences as JSON', async t => {
  const { store, file, write, diff, migrate } = await open()
  write('@table type Note { title: str }\n')
  const { out, code } = await execute(diff, { file }, true)
  t.equal(code, 1)
  t.match(JSON.parse(out), {
    program: 'app.vox',
    database: store.location,
    level: 'safe',
    steps: [{ level: 'safe', table: 'Note', column: null, says: 'is new, with the columns title', way_out: null }],
    notes: [],
    statements: [/CREATE TABLE IF NOT EXISTS program_schema/, /CREATE TABLE "note"/]
  })
  t.match(JSON.parse((await execute(migrate, { file }, true)).out), { level: 'safe', applied: true, copy: null })
  t.match(JSON.parse((await execute(diff, { file }, true)).out), { level: 'none', steps: [], statements: [] })
})

t.test('a lossy change needs --force, and is made after a copy', async t => {
  const { store, file, write, copies, diff, migrate } = await open()
  write('@table type Note { title: str body: str }\n')
  await execute(migrate, { file })
  await store.execute("INSERT INTO note (title, body) VALUES ('a', 'b')")
  write('@table type Note { title: str text: Option[str] }\n')
  t.match(await execute(diff, { file }), {
    code: 1,
    out: /- Note\.body is dropped, with the values of 1 row \[loses data\]/
  })
  t.equal((await execute(migrate, { file, 'dry-run': true })).code, 1)
  const refused = await execute(migrate, { file })
  t.equal(refused.code, 1)
  t.match(
    refused.err,
    /^error\[RUN_SCHEMA_LOSSY\].*\n[\s\S]*hint: nothing was changed; svc db migrate app\.vox --force/
  )
  t.match(JSON.parse((await execute(migrate, { file }, true)).err), { error: { code: 'RUN_SCHEMA_LOSSY' } })
  t.match(await execute(migrate, { file, rename: ['Note.body=text'], 'dry-run': true }), {
    code: 0,
    out: '  + Note.text is renamed from body\n  + Note.text becomes optional\n'
  })
  const forced = await execute(migrate, { file, force: true })
  t.equal(forced.code, 0)
  const [copy = ''] = readdirSync(copies)
  t.match(forced.out, `the copy of the old database is ${join(copies, copy)}`)
  t.same(await rowsOf(await openStore(join(copies, copy)), 'SELECT body FROM note'), [['b']])
  t.same(await rowsOf(store, 'SELECT * FROM note'), [[1, 'a', null]])
})

t.test('a rename keeps the rows', async t => {
  const { store, file, write, migrate } = await open()
  write('@table type Note { title: str }\n')
  await execute(migrate, { file })
  await store.execute("INSERT INTO note (title) VALUES ('a')")
  write('@table type Memo { heading: str }\n')
  const { code, err } = await execute(migrate, { file, rename: ['Note=Memo', 'Memo.title=heading'] })
  t.equal(code, 0, err)
  t.same(await rowsOf(store, 'SELECT * FROM memo'), [[1, 'a']])
  t.match(
    (await execute(migrate, { file, rename: ['a.b.c=d'] })).err,
    /error\[RUN_ARGUMENTS\]: --rename a\.b\.c=d is not a rename/
  )
  t.match((await execute(migrate, { file, rename: ['None=Memo'] })).err, /Memo cannot be renamed from none/)
})

t.test('--database selects another database, and a file with errors is rejected', async t => {
  const { store, file, write, diff, migrate } = await open()
  write('@table type Note { title: str }\n')
  const database = freshName()
  t.equal((await execute(migrate, { file, database })).code, 0)
  t.equal((await execute(diff, { file, database })).code, 0)
  t.equal((await execute(diff, { file })).code, 1)
  t.same(await rowsOf(store, 'SELECT count(*) FROM sqlite_master'), [[0]])
  write('@table type Note { title }\n')
  t.equal((await execute(diff, { file })).code, 2)
  t.equal((await execute(migrate, { file })).code, 1)
})
