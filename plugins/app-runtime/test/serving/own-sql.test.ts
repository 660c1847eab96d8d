import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Answer, type App, serveApp } from './served-app.ts'

const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)'

const SOURCE = `
@table
type Entry { n: int }

@query
fn quick(n: int) to int { n + 1 }

@query
fn entries() to int { db.Entry.count() }

@mutation
fn enter(n: int) to Result[int] { db.Entry.insert({ n: n }) }

fn rows(sql: str) to int { len(db.query(sql)) }

@server
fn read(sql: str) to int { rows(sql) }

@server
fn ask(sql: str) to int {
    db.Entry.insert({ n: 0 })
    rows(sql)
}

@mutation
fn change(sql: str) to int {
    db.Entry.insert({ n: 1 })
    let changed = rows(sql)
    changed + db.Entry.count()
}
`

// Long enough for short statements on a busy machine.
const LIMITS = { 'app-runtime.time_limit_ms': 3000, 'app-runtime.threads': 3, 'app-runtime.heap_mb': 64 }

/** Makes a call, and other calls until it returns. Returns its response. */
async function beside(t: Test, app: App, call: Promise<Answer>): Promise<Answer> {
  let isOver = false
  const slow = call.finally(() => {
    isOver = true
  })
  const wrong: unknown[] = []
  let answered = 0
  do {
    const answer = await app.get(`/api/query/quick?n=${answered}`)
    if (answer.body !== ++answered) wrong.push(answer)
    await sleep(50)
  } while (!isOver)
  t.same(wrong, [], `${answered} other calls returned`)
  return slow
}

const stopped = { status: 504, body: { code: 'RUN_TIME_LIMIT' } }

let app: App
t.before(async () => {
  app = await serveApp(t as never, SOURCE, LIMITS)
})

const entries = async (): Promise<number> => (await app.get('/api/query/entries')).body as number

t.test('endless SQL is stopped and logged, while other calls return', async t => {
  const join =
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT count(*) FROM n a, n b, n c'
  const read = (sql: string): Promise<Answer> => app.post('/api/read', { sql })
  t.match(await beside(t, app, app.post('/api/ask', { sql: join })), stopped)
  t.match(await app.line(/server ask/), /RUN_TIME_LIMIT/, 'the log names the call')
  // Endless rows exceed the time or the memory limit, whichever comes first.
  const { body } = await beside(t, app, read(`${ENDLESS} SELECT i, hex(randomblob(1000)) FROM n`))
  t.match(body, { code: /RUN_(TIME|MEMORY)_LIMIT/ })
  t.same(await read('SELECT n FROM entry'), { status: 200, body: 1 }, 'earlier changes are kept, and SQL works again')
})

t.test('a mutation with endless SQL writes nothing, and later ones succeed', async t => {
  await app.post('/api/mutation/enter', { n: 1 })
  const before = await entries()
  const insert = `INSERT INTO entry (n) ${ENDLESS} SELECT i FROM n`
  t.match(await beside(t, app, app.post('/api/mutation/change', { sql: insert })), stopped)
  t.equal(await entries(), before, 'the mutation was rolled back')
  t.match(await app.post('/api/mutation/enter', { n: 2 }), { status: 200 })
  const update = { sql: 'UPDATE entry SET n = n + 1 RETURNING n' }
  t.same(
    await app.post('/api/mutation/change', update),
    { status: 200, body: 2 * (before + 2) },
    'it sees what its transaction has written'
  )
  t.equal(await entries(), before + 2)
})

t.test('a mutation whose rows are too large writes nothing, and later ones succeed', async t => {
  const large = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000)'
  const sql = `${large} SELECT hex(randomblob(1000)) FROM n`
  const before = await entries()
  t.match(await app.post('/api/mutation/change', { sql }), { status: 500, body: { code: 'RUN_MEMORY_LIMIT' } })
  t.match(await app.post('/api/mutation/enter', { n: 1 }), { status: 200 })
  t.same(await app.post('/api/mutation/change', { sql: 'SELECT 1' }), { status: 200, body: before + 3 })
})
