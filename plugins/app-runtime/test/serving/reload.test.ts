import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { runSvc } from '../../../../test/e2e/run-svc.ts'
import { type App, ask, serveApp } from './served-app.ts'

const source = (revision: number, more = ''): string => `
@table
type Entry { revision: int }

@query
fn revision() to int { ${revision} }

@mutation
fn enter() to Result[int] { db.Entry.insert({ revision: ${revision} }) }

@query
fn entries() to int { db.Entry.count() }
${more}`

/** Waits as long as the test may take, because a busy machine is slow. */
async function until(read: () => Promise<unknown>, wanted: unknown): Promise<void> {
  while ((await read()) !== wanted) await sleep(20)
}

/** Served app that several tests share. Each test uses higher revisions than the previous one. */
let shared: App
t.before(async () => {
  shared = await serveApp(t as never, source(0))
})

const entries = async (): Promise<number> => (await shared.get('/api/query/entries')).body as number

t.test('no request is dropped and no write is lost while a program is saved eight times', async t => {
  const app = shared
  let ended = false
  let writes = 0
  let requests = 0
  const failures: unknown[] = []
  const load = async (index: number): Promise<void> => {
    let last = 0
    while (!ended) {
      const isWrite = index % 4 === 0
      const answer = isWrite ? await app.post('/api/mutation/enter', {}) : await app.get('/api/query/revision')
      requests++
      if (answer.status !== 200) failures.push(answer)
      else if (isWrite) writes++
      else if ((answer.body as number) < last) failures.push({ last, answer })
      else last = answer.body as number
      await sleep(20)
    }
  }
  const clients = Promise.allSettled(Array.from({ length: 12 }, (_, index) => load(index)))
  try {
    for (let revision = 1; revision <= 8; revision++) {
      const file = join(app.folder, 'app.vox')
      // Some editors write into the file, others replace it.
      if (revision % 3 > 0) writeFileSync(file, source(revision))
      else {
        writeFileSync(`${file}.new`, source(revision))
        renameSync(`${file}.new`, file)
      }
      await until(async () => (await app.get('/api/query/revision')).body, revision)
    }
  } finally {
    ended = true
    for (const client of await clients) if (client.status === 'rejected') failures.push(client.reason)
  }
  t.same(failures, [])
  t.ok(requests > 20, `${requests} requests`)
  t.same(await app.get('/api/query/entries'), { status: 200, body: writes })
})

t.test('a saved program with errors is reported, and the old program stays in service', async t => {
  const app = shared
  const { body: before } = await app.get('/api/query/revision')
  const file = join(app.folder, 'app.vox')
  writeFileSync(file, source(102, 'fn broken( {'))
  t.match(await app.line(/the previous program stays in service/), /app\.vox:\d+:\d+/)
  t.same(await app.get('/api/query/revision'), { status: 200, body: before })
  writeFileSync(file, source(103))
  await until(async () => (await app.get('/api/query/revision')).body, 103)
  t.pass('the corrected program serves')
})

t.test('routes follow the program, and a new column keeps the rows', async t => {
  const app = shared
  await app.post('/api/mutation/enter', {})
  const before = await entries()
  const file = join(app.folder, 'app.vox')
  writeFileSync(
    file,
    source(104, 'http get "/extra" to str { "extra" }').replace('revision: int', 'revision: int\n  note: Option[str]')
  )
  await until(async () => (await app.get('/extra')).body, 'extra')
  t.equal(await entries(), before)
  writeFileSync(file, source(105).replace('revision: int', 'revision: int\n  note: Option[str]'))
  await until(async () => (await app.get('/extra')).status, 404)
  t.match(await ask(`${app.app}/extra`), { status: 404, body: { code: 'RUN_NOT_FOUND' } })
})

t.test('a change that would lose data is refused, and the old program stays in service', async t => {
  const app = shared
  await app.post('/api/mutation/enter', {})
  const { body: before } = await app.get('/api/query/revision')
  const from = app.lines.length
  const other = source(106)
    .replace('{ revision: int }', '{ other: str }')
    .replace('{ revision: 106 }', '{ other: "a" }')
  writeFileSync(join(app.folder, 'app.vox'), other)
  t.match(await app.line(/was not reloaded/, from), /cannot have.*follow the advice on each line/)
  t.same(await app.get('/api/query/revision'), { status: 200, body: before })
  t.match(await app.post('/api/mutation/enter', {}), { status: 200 })
})

t.test('after several saves in quick succession, only the last program is served', async t => {
  const app = await serveApp(t, source(0))
  const file = join(app.folder, 'app.vox')
  for (let revision = 1; revision <= 30; revision++) {
    writeFileSync(file, source(revision))
    await sleep(12)
  }
  await until(async () => (await app.get('/api/query/revision')).body, 30)
  const reloads = app.lines.filter(line => line.includes('was reloaded in'))
  t.ok(reloads.length < 30, `${reloads.length} reloads`)
  writeFileSync(file, source(31))
  t.equal(await app.stop('SIGINT'), 0)
  t.notMatch(app.lines.join('\n'), /"level":(40|50)/)
})

t.test('a program refused for its tables is served when it is saved again after a migration', async t => {
  const app = shared
  await app.post('/api/mutation/enter', {})
  const before = await entries()
  const from = app.lines.length
  const file = join(app.folder, 'app.vox')
  const other = source(107)
    .replace('{ revision: int }', '{ other: int\n  note: Option[str] }')
    .replace('{ revision: 107 }', '{ other: 107 }')
  writeFileSync(file, other)
  await app.line(/was not reloaded/, from)
  t.match(await runSvc(app.folder, ['db', 'migrate', 'app.vox', '--force', '--rename', 'Entry.revision=other']), {
    code: 0
  })
  writeFileSync(file, other)
  await until(async () => (await app.get('/api/query/revision')).body, 107)
  t.equal(await entries(), before)
})
