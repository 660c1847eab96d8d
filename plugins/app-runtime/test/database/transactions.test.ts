import { FileConnection } from '@svc/plugin-database/testing'
import t from 'tap'
import { Tagged, type Value } from '#interpreter'
import { freshFile, withTables } from './with-tables.ts'

const PROGRAM = `
@table
type Item { name: str }
fn add(name: str) to int { db.Item.insert({ name: name }) }
fn add_and_fail() { db.Item.insert({ name: "x" })
    panic("no") }
fn add_and_refuse() to Result[int] { db.Item.insert({ name: "x" })
    Error("no") }
@mutation
fn mutate(name: str) to Result[int] { db.Item.insert({ name: name })
    if name is "" { return Error("no name") }
    if name is "x" { panic("no") }
    Ok(db.Item.count()) }
fn both() to Result[int] { mutate("a")?
    mutate("") }
fn count() to int { db.Item.count() }
fn sync_count() to int { db.Item.all().sync().count() }
fn nothing() to int { 1 }
fn forever() { while true { db.Item.insert({ name: "x" }) } }
`

function items() {
  const file = freshFile()
  const tables = withTables(PROGRAM, file)
  const other = new FileConnection({ file, busyTimeoutMs: 50, synchronous: 'normal' })
  t.teardown(() => other.close())
  return { ...tables, other, seen: () => other.row('SELECT count(*) FROM item')?.[0] }
}

const isError = (value: Value): boolean => value instanceof Tagged && value.tag === 'Error'

t.test('a write transaction is committed as a whole', async t => {
  const { call, database, seen } = items()
  database.transaction('write', () => {
    call('add', 'a')
    t.equal(call('count'), 1, 'a transaction sees its own changes')
    t.equal(seen(), 0, 'other connections do not see them')
    call('add', 'b')
  })
  t.equal(seen(), 2)
})

t.test('a write transaction is rolled back by a failure, a returned Error and a limit', async t => {
  const { call, database, seen } = items()
  t.throws(() => database.transaction('write', () => call('add_and_fail')), { code: 'RUN_PANIC' })
  const result = database.transaction(
    'write',
    () => call('add_and_refuse'),
    value => !isError(value)
  )
  t.ok(isError(result))
  t.throws(() => database.transaction('write', () => call('forever')), { code: 'RUN_STEP_LIMIT' })
  t.equal(seen(), 0)
  database.transaction('write', () => call('add', 'a'))
  t.equal(seen(), 1, 'the next transaction is a new one')
})

t.test('a write outside a transaction is committed immediately', async t => {
  const { call, seen } = items()
  t.throws(() => call('add_and_fail'), { code: 'RUN_PANIC' })
  t.equal(seen(), 1)
})

t.test('a read transaction sees one snapshot, and cannot write', async t => {
  const { call, database, other } = items()
  database.transaction('read', () => {
    t.equal(call('count'), 0)
    other.execute("INSERT INTO item (name) VALUES ('x')")
    t.equal(call('count'), 0)
    t.equal(call('sync_count'), 1, 'sync updates the replica')
    t.throws(() => call('add', 'y'), { code: 'RUN_DATABASE', message: /is read-only/ })
  })
  t.equal(call('count'), 1)
})

t.test('code without database access does not wait for locks', async t => {
  const { call, database, other } = items()
  other.begin('write')
  t.equal(
    database.transaction('write', () => call('nothing')),
    1
  )
  other.rollback()
})

t.test('nested transactions and writes of the host join the outer transaction', async t => {
  const { call, database, connection, seen } = items()
  t.throws(() =>
    database.transaction('write', () => {
      database.transaction('write', () => call('add', 'a'))
      database.connection.execute("INSERT INTO item (name) VALUES ('host')")
      t.equal(database.connection.inTransaction, true)
      throw new Error('no')
    })
  )
  t.equal(seen(), 0)
  t.equal(connection.inTransaction, false)
  database.connection.begin('write')
  call('add', 'b')
  t.equal(seen(), 0)
  database.connection.commit()
  t.equal(seen(), 1)
})

t.test('a lock timeout is reported', async t => {
  const file = freshFile()
  const { call, connection } = withTables(PROGRAM, file)
  connection.close()
  const holder = new FileConnection({ file, busyTimeoutMs: 0, synchronous: 'normal' })
  const { ProgramDatabase } = await import('#database')
  const { Interpreter } = await import('#interpreter')
  const { hostOf, LIMITS, programFrom } = await import('../run-program.ts')
  const waiting = new FileConnection({ file, busyTimeoutMs: 20, synchronous: 'normal' })
  t.teardown(() => [holder, waiting].map(each => each.close()))
  const database = new ProgramDatabase({
    connection: waiting,
    location: file,
    capabilities: { fts: true, vector: true }
  })
  const interpreter = new Interpreter(programFrom(PROGRAM), { ...hostOf([]), database })
  holder.begin('write')
  t.throws(() => interpreter.call('add', ['x'], LIMITS), { code: 'RUN_DATABASE_BUSY' })
  t.equal(interpreter.call('count', [], LIMITS), 0, 'readers do not wait')
  holder.rollback()
  t.equal(interpreter.call('add', ['x'], LIMITS), 1)
  t.throws(() => call('count'), { code: 'RUN_DATABASE_BUSY' }, 'a closed connection fails')
})

t.test('a mutation that another function calls is a transaction, too', t => {
  const { call, database, seen } = items()
  t.match(call('both'), { tag: 'Error' })
  t.equal(seen(), 1, 'the change with an Error is rolled back, earlier changes are kept')
  t.throws(() => call('mutate', 'x'), { code: 'RUN_PANIC' })
  t.equal(seen(), 1)
  database.transaction('write', () => {
    call('mutate', 'b')
    t.equal(seen(), 1, 'a nested mutation joins the outer transaction')
  })
  t.equal(seen(), 2)
  t.end()
})
