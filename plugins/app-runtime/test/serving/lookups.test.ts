import { copyFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ThreadAccess, ThreadConnection } from '@svc/contracts'
import { FileConnection, LibsqlEngine } from '@svc/plugin-database/testing'
import fc from 'fast-check'
import t from 'tap'
import { type DatabaseAccess, ProgramDatabase } from '#database'
import { Interpreter } from '#interpreter'
import { type EndpointResponse, EndpointRunner, endpointsOf, LookupConnection, Lookups, openLookups } from '#serving'
import { WireTypes } from '#wire'
import { freshFile, makeTables } from '../database/with-tables.ts'
import { hostOf, LIMITS, programFrom } from '../run-program.ts'
import { type App, args, ask, serveApp } from './served-app.ts'

const SOURCE = `
type Cause = | Missing(id: int) | Hidden

@table
type Note { text: str
    stars: int = 0
    tag: Option[str] }

@query
fn note(id: Id[Note]) to Option[Note] { db.Note.get(id) }

@query
fn taken(id: Id[Note], least: int = 1) to Result[Note, Cause] {
    match db.Note.get(id) {
        Some(found) if found.stars < least => Error(Hidden)
        Some(found) => Ok(found)
        None => Error(Missing(id))
    }
}

@query
fn text(id: Id[Note]) to Result[str] { Ok(db.Note.get(id)?.unwrap().text) }

@query
fn both(id: Id[Note], other: Id[Note]) to Result[str] {
    match db.Note.get(id) {
        Some(found) => match db.Note.get(other) {
            Some(second) => Ok(found.text + "/" + second.text)
            None => Error("no second")
        }
        None => Error("no first")
    }
}

@query
fn hidden(id: Id[Note]) to str {
    match db.Note.get(id) {
        Ok(_) => "found"
        Error(_) => "the database failed"
    }
}

@query
fn long(id: Id[Note], of: str) to Result[int] {
    let a = of + of
    ${Array.from({ length: 22 }, (_, step) => `let a${step} = ${step === 0 ? 'a + a' : `a${step - 1} + a${step - 1}`}`).join('\n    ')}
    let found = db.Note.get(id)?
    Ok(len(a21))
}

${Array.from({ length: 14 }, (_, step) => `fn step${step}(n: int) to int { ${step === 0 ? 'n' : `step${step - 1}(step${step - 1}(n))`} }`).join('\n')}

@query
fn steps(id: Id[Note]) to Option[Note] { db.Note.get(step13(id)) }

@query
fn notes() to List[Note] { db.Note.all() }
`

const MODULE = fileURLToPath(new URL('../../../database/dist/thread-connection.cjs', import.meta.url))
const PROGRAM = programFrom(SOURCE)
const ENDPOINTS = endpointsOf(PROGRAM)

interface World {
  readonly writer: FileConnection
  readonly file: string
  readonly lookups: Lookups
  /** Runs a lookup; null if it must go to the pool. */
  ask(name: string, values: Readonly<Record<string, unknown>> | string): EndpointResponse | null
}

const place = (name: string): number => ENDPOINTS.findIndex(each => each.name === name)
const query = (values: Readonly<Record<string, unknown>> | string): string =>
  typeof values === 'string' ? values : args(values).slice(1)

/** Milliseconds that connections wait for a lock: longer than a test, so that a lookup that waits fails the test. */
const WAIT_MS = 3_600_000

function accessTo(file: string): DatabaseAccess {
  const options = { file, busyTimeoutMs: WAIT_MS, synchronous: 'normal' }
  return { thread: { module: MODULE, options }, location: file, capabilities: { fts: true, vector: true } }
}

function lookupsOf(file: string): Lookups {
  const access = accessTo(file)
  const connection = new LookupConnection(access.thread as ThreadAccess)
  t.teardown(() => connection.close())
  return new Lookups({ program: PROGRAM, endpoints: ENDPOINTS, access, connection, limits: LIMITS })
}

function world(): World {
  const file = freshFile()
  const writer = new FileConnection({ file, busyTimeoutMs: 30_000, synchronous: 'normal' })
  makeTables(writer, PROGRAM)
  writer.execute('INSERT INTO note (text, stars, tag) VALUES (?, ?, ?)', ['first', 3, null])
  writer.execute('INSERT INTO note (text, stars, tag) VALUES (?, ?, ?)', ['second', 0, 'a tag'])
  const lookups = lookupsOf(file)
  t.teardown(() => {
    lookups.close()
    writer.close()
  })
  return { writer, file, lookups, ask: (name, values) => lookups.answer(place(name), query(values), '') }
}

/** Runs the query as a thread of the pool does. */
function askedOfThread(connection: ThreadConnection, name: string, input: string): EndpointResponse {
  const capabilities = { fts: true, vector: true }
  const database = new ProgramDatabase({ connection, location: 'notes.db', capabilities })
  const interpreter = new Interpreter(PROGRAM, { ...hostOf([]), database })
  const types = new WireTypes(PROGRAM.module, { defaults: PROGRAM.defaults })
  const endpoint = ENDPOINTS[place(name)] as (typeof ENDPOINTS)[number]
  const runner = new EndpointRunner(endpoint, interpreter, types, LIMITS, (kind, work, keeps) => {
    return database.transaction(kind, work, keeps)
  })
  return runner.run(input, { running: () => undefined, committing: () => undefined, committed: () => undefined }, '')
}

t.test('a lookup returns the same response as a thread: rows, None, Errors and invalid arguments', t => {
  const { writer, lookups, ask } = world()
  lookups.open()
  const questions: readonly (readonly [name: string, values: Readonly<Record<string, unknown>> | string])[] = [
    ['note', { id: 1 }],
    ['note', { id: 2 }],
    ['note', { id: 3 }],
    ['note', { id: -1 }],
    ['note', 'id=9223372036854775807'],
    ['taken', { id: 1 }],
    ['taken', { id: 2 }],
    ['taken', { id: 2, least: 0 }],
    ['taken', { id: 3 }],
    ['text', { id: 2 }],
    ['both', { id: 1, other: 2 }],
    ['both', { id: 1, other: 3 }],
    ['both', { id: 3, other: 1 }],
    ['hidden', { id: 1 }],
    ['note', ''],
    ['note', { id: '1' }],
    ['note', { id: 1.5 }],
    ['note', { id: 1, other: 2 }],
    ['note', 'id=x'],
    ['note', 'id=1&id=2'],
    ['note', 'id=9223372036854775808']
  ]
  for (const [name, values] of questions) {
    t.same(ask(name, values), askedOfThread(writer, name, query(values)), `${name} ${query(values)}`)
  }
  t.equal(ask('notes', ''), null, 'a query that is not a lookup goes to the pool')
  t.end()
})

t.test('each lookup sees what was committed before it, and leaves no transaction open', t => {
  const { writer, file, lookups, ask } = world()
  lookups.open()
  const engine = new LibsqlEngine({ engine: 'libsql', file, readOnly: false, busyTimeoutMs: 0, synchronous: 'normal' })
  t.teardown(() => engine.close())
  const stale: number[] = []
  for (let stars = 1; stars <= 200; stars++) {
    writer.execute('UPDATE note SET stars = ? WHERE _id = 1', [stars])
    if (JSON.parse(ask('note', { id: 1 })?.body ?? '{}').stars !== stars) stale.push(stars)
    if (ask('both', { id: 1, other: 2 })?.body !== '"first/second"') stale.push(stars)
  }
  t.same(stale, [])
  // Fails if a transaction is still open.
  const truncate = { sql: 'PRAGMA wal_checkpoint(TRUNCATE)', values: [], verb: 'PRAGMA' }
  t.same(engine.rows(truncate), [[0, 0, 0]])
  writer.begin('write')
  writer.execute('UPDATE note SET stars = 1000 WHERE _id = 1')
  t.match(JSON.parse(ask('note', { id: 1 })?.body ?? '{}'), { stars: 200 }, 'an active writer blocks no reader')
  writer.rollback()
  t.end()
})

t.test('failing, long and large lookups go to the pool', t => {
  const { writer, lookups, ask } = world()
  lookups.open()
  t.equal(ask('text', { id: 3 }), null, 'a failure of the program goes to the pool, which logs it')
  t.equal(ask('steps', { id: 1 }), null)
  t.match(askedOfThread(writer, 'steps', 'id=1'), { status: 200 })
  t.equal(ask('long', { id: 1, of: 'some text' }), null)
  t.match(ask('note', { id: 1 }), { status: 200 })
  writer.execute('ALTER TABLE note ADD COLUMN more TEXT')
  t.match(ask('note', { id: 1 }), { status: 200 }, 'a table that was changed concurrently is read again')
  writer.execute('ALTER TABLE note RENAME TO other')
  t.equal(ask('note', { id: 1 }), null)
  t.equal(ask('hidden', { id: 1 }), null, 'a database failure goes to the pool, even if the program handles it')
  t.match(askedOfThread(writer, 'hidden', 'id=1'), { status: 200, body: '"the database failed"' })
  writer.execute('ALTER TABLE other RENAME TO note')
  t.match(ask('hidden', { id: 1 }), { status: 200, body: '"found"' })
  t.end()
})

t.test('a lookup does not wait for an exclusive lock', t => {
  const file = freshFile()
  const engine = new LibsqlEngine({ engine: 'libsql', file, readOnly: false, busyTimeoutMs: 0, synchronous: 'normal' })
  const lookups = lookupsOf(file)
  t.teardown(() => {
    lookups.close()
    engine.close()
  })
  engine.exec('PRAGMA journal_mode = WAL; PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t (a)')
  t.throws(() => lookups.open(), { code: 'DBS_BUSY' })
  t.equal(lookups.answer(place('note'), 'id=1', ''), null)
  engine.exec('PRAGMA journal_mode = DELETE; PRAGMA locking_mode = NORMAL; SELECT * FROM t')
  lookups.open()
  t.end()
})

t.test('only a query with slow rows goes to the pool, for a time', async t => {
  const { writer, lookups, ask } = world()
  lookups.open()
  writer.execute('UPDATE note SET text = ? WHERE _id = 2', ['\u00e9\n'.repeat(2 ** 21)])
  let answered = 0
  while (answered < 1000 && ask('note', { id: 2 }) !== null) answered++
  t.ok(answered > 0 && answered < 1000, 'the slow query goes to the pool after a few calls')
  t.equal(ask('note', { id: 1 }), null)
  t.match(ask('taken', { id: 1 }), { status: 200 })
  for (let tries = 0; ask('note', { id: 1 }) === null; tries++) {
    if (tries > 3000) throw new Error('the query stayed in the pool')
    await sleep(10)
  }
})

t.test('a query string without encoded characters means the same as one with them', t => {
  const { lookups, ask } = world()
  lookups.open()
  // Each character but the separators, so that there is something to decode.
  const encoded = (text: string): string => text.replaceAll(/[^&=]/g, each => `%${each.charCodeAt(0).toString(16)}`)
  const part = fc.oneof(
    fc.constantFrom(
      'id',
      'least',
      'id=1',
      'id=2',
      'least=0',
      'least=-0',
      'id=01',
      'id=1.0',
      'id=1e0',
      'least=null',
      '='
    ),
    fc.string({ unit: fc.constantFrom('i', 'd', '=', '1', '-', '"', '{', '}', '.', ':') })
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), parts => {
      const text = parts.join('&')
      t.strictSame(ask('taken', text), ask('taken', encoded(text)), text)
    }),
    { numRuns: 300 }
  )
  t.end()
})

t.test('the database is opened after the first query, and lookups end with `close`', async t => {
  const { lookups, ask } = world()
  t.equal(ask('note', { id: 1 }), null)
  for (let tries = 0; ask('note', { id: 1 }) === null; tries++) {
    if (tries > 3000) throw new Error('the database was not opened')
    await sleep(10)
  }
  lookups.close()
  t.equal(ask('note', { id: 1 }), null)
  lookups.open()
  t.equal(ask('note', { id: 1 }), null)
})

t.test('the connection survives a reload, until the file is replaced', async t => {
  const { file } = world()
  const kept = new Map<string, unknown>()
  const closed: (() => void)[] = []
  const ctx = {
    async keep<A>(key: string, open: () => A | Promise<A>): Promise<A> {
      if (!kept.has(key)) kept.set(key, await open())
      return kept.get(key) as A
    },
    effect: (_: string, close: () => void) => {
      closed.push(close)
      return close
    }
  } as unknown as Parameters<typeof openLookups>[0]
  t.teardown(() => [...kept.values()].map(each => (each as LookupConnection).close()))
  const options = { program: PROGRAM, endpoints: ENDPOINTS, access: accessTo(file), limits: LIMITS }
  const [first, second] = [await openLookups(ctx, options), await openLookups(ctx, options)]
  t.equal(kept.size, 1)
  for (const lookups of [first, second]) lookups?.open()
  closed[0]?.()
  t.equal(first?.answer(place('note'), 'id=1', ''), null)
  t.match(second?.answer(place('note'), 'id=1', ''), { status: 200 })
  renameSync(file, `${file}.old`)
  t.equal(await openLookups(ctx, options), null, 'without a connection there are no lookups')
  copyFileSync(`${file}.old`, file)
  t.not(await openLookups(ctx, options), null)
  t.equal(kept.size, 2)
  t.equal(await openLookups(ctx, { ...options, access: null }), null)
  t.equal(await openLookups(ctx, { ...options, access: { ...options.access, thread: null } }), null)
  const program = programFrom('@query\nfn one() to int { 1 }')
  t.equal(await openLookups(ctx, { ...options, program, endpoints: endpointsOf(program) }), null)
  t.equal(kept.size, 2)
})

const SERVED = `
@table
type Note { text: str
    stars: int = 0 }

@query
fn note(id: Id[Note]) to Option[Note] { db.Note.get(id) }

@query
fn text(id: Id[Note]) to Result[str] { Ok(db.Note.get(id)?.unwrap().text) }

@mutation
fn add(text: str) to int { db.Note.insert({ text: text }) }

@mutation
fn rate(id: Id[Note], stars: int) to Unit { db.Note.update(id, { stars: stars }) }

@server
fn spin() to int {
    print("it spins")
    let mut i = 0
    while true { i = i + 1 }
    i
}
`

/** Sends requests while the only thread is busy. */
async function answeredBeside(app: App): Promise<unknown> {
  const asked = new AbortController()
  t.teardown(() => asked.abort())
  const { signal } = asked
  const spun = ask(`${app.app}/api/spin`, { method: 'POST', signal }).catch(() => null)
  await app.line(/it spins/)
  const found = new Promise<unknown>(resolve => {
    const again = async (): Promise<void> => {
      // Until the database is open, requests wait for the thread.
      void ask(`${app.app}/api/query/note?id=1`, { signal }).then(resolve, () => null)
      await sleep(50)
      if (!signal.aborted) await again()
    }
    void again()
  })
  const first = await Promise.race([found, spun.then(() => 'the thread is idle again')])
  asked.abort()
  return first
}

t.test('a lookup is served while the only thread is busy, and sees each acknowledged change', async t => {
  const app = await serveApp(t, SERVED, {
    'app-runtime.threads': 1,
    'app-runtime.steps': 1_000_000_000_000,
    'app-runtime.time_limit_ms': 40_000
  })
  t.same(await app.post('/api/mutation/add', { text: 'first' }), { status: 200, body: 1 })
  const unseen: unknown[] = []
  for (let stars = 1; stars <= 150; stars++) {
    await app.post('/api/mutation/rate', { id: 1, stars })
    const answers = await Promise.all([1, 2, 3].map(() => app.get('/api/query/note?id=1')))
    for (const { status, body } of answers) {
      if (status !== 200 || (body as { stars: number }).stars !== stars) unseen.push({ stars, status, body })
    }
  }
  t.same(unseen, [])
  t.match(await app.get('/api/query/note?id=2'), { status: 200, body: null })
  t.match(await app.get('/api/query/note?id=x'), { status: 400, body: { code: 'RUN_ARGUMENTS' } })
  t.match(await app.get('/api/query/text?id=1'), { status: 200, body: 'first' })
  t.match(await app.get('/api/query/text?id=2'), { status: 500, body: { code: 'RUN_PANIC' } })
  await app.line(/RUN_PANIC/)
  // The access record of the request contains the code, too.
  const failures = app.lines.filter(line => line.includes('RUN_PANIC') && line.includes('unwrap of None'))
  t.equal(failures.length, 1, 'the failure is logged once')
  t.same(await answeredBeside(app), { status: 200, body: { _id: 1, text: 'first', stars: 150 } })
})

t.test('a saved program gets new lookups', async t => {
  const app = await serveApp(t, SERVED)
  t.same(await app.post('/api/mutation/add', { text: 'first' }), { status: 200, body: 1 })
  const shown = async (): Promise<string> => JSON.stringify((await app.get('/api/query/note?id=1')).body)
  for (let count = 0; count < 100; count++) await shown()
  const saved = SERVED.replace('stars: int = 0 }', 'stars: int = 0\n    more: str = "more" }')
  writeFileSync(join(app.folder, 'app.vox'), saved)
  const wanted = '{"_id":1,"text":"first","stars":0,"more":"more"}'
  for (let tries = 0; (await shown()) !== wanted; tries++) {
    if (tries > 3000) throw new Error(`the program was not reloaded: ${await shown()}\n${app.lines.join('\n')}`)
    await sleep(10)
  }
  const wrong: string[] = []
  for (let count = 0; count < 100; count++) {
    const found = await shown()
    if (found !== wanted) wrong.push(found)
  }
  t.same(wrong, [])
})
