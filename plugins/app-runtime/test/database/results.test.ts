import t from 'tap'
import { display } from '#interpreter'
import { freshFile, withTables } from './with-tables.ts'

const USERS = `
@table
type User { email: str  age: Option[int] }
`

/** A table with a unique index on email. */
function users(body: string) {
  const tables = withTables(`${USERS}${body}`)
  tables.connection.execute('CREATE UNIQUE INDEX one_email ON user (email)')
  tables.connection.execute("INSERT INTO user (email) VALUES ('a@x')")
  return tables
}

const AGAIN = 'db.User.insert({ email: "a@x", age: None })'

t.test('an operation returns its value, or a Result if one is expected', async t => {
  const asResult: Record<string, string> = {
    'fn main() to any { len(db.User.all()) }': '1',
    'fn main() to any { match db.User.get(1) { Some(user) => user.email, None => "none" } }': 'a@x',
    'fn main() to any { match db.User.all() { Ok(rows) => len(rows), Error(_) => -1 } }': '1',
    'fn main() to any { match db.User.get(9) { Ok(user) => user, Error(_) => -1 } }': 'None',
    'fn main() to Result[int] { let id = db.User.insert({ email: "b", age: 1 })?\n Ok(id + 1) }': 'Ok(3)',
    'fn main() to Result[int] { db.User.count() }': 'Ok(1)',
    'fn main() to Result[int] { match db.User.count() { n => n } }': 'Ok(1)',
    'fn main() to int { match db.User.count() { n => n + 1 } }': '2',
    'fn main() to Option[User] { match db.User.get(9) { Some(user) => Some(user), other => other } }': 'None',
    'fn main() to Result[int] { return db.User.count() }': 'Ok(1)',
    'fn main() to int { db.User.count()? + 1 }': '2',
    'fn main() to any { db.User.count().is_ok() }': 'true',
    'fn main() to any { db.User.get(1).unwrap().is_some() }': 'true',
    'fn main() to any { db.User.get(1).is_some() }': 'true',
    'fn main() to any { let rows = db.User.all()\n if rows.is_ok() { len(rows) } else { 0 } }': '1',
    'fn main() to any { let rows = db.User.all()\n match rows { Ok(r) => len(r) + len(rows), Error(_) => 0 } }': '2',
    'fn main() to any { let n: Result[int] = db.User.count()\n n }': 'Ok(1)',
    'fn main() to any { let f = fn() to Result[int] { db.User.count() }\n f() }': 'Ok(1)',
    'fn take(r: Result[int]) to any { r }\nfn main() to any { take(db.User.count()) }': 'Ok(1)',
    'fn main() to Result[int] { let n = db.User.count()\n if n > 0 { n } else { Error("no") } }': 'Ok(1)'
  }
  for (const [body, expected] of Object.entries(asResult)) t.equal(display(users(body).call('main')), expected, body)
})

t.test('a failure is an Error if a Result is expected', async t => {
  const same = 'Error(User: another row has the same email)'
  const asResult: Record<string, string> = {
    [`fn main() to any { match ${AGAIN} { Ok(_) => "in", Error(why) => why } }`]: same.slice(6, -1),
    [`fn main() to Result[int] { let id = ${AGAIN}?\n Ok(id) }`]: same,
    [`fn main() to Result[int] { ${AGAIN} }`]: same,
    [`fn main() to any { ${AGAIN}.is_err() }`]: 'true',
    [`fn main() to Result[int] { match ${AGAIN} { r => r } }`]: same,
    [`fn main() to Result[int] { match ${AGAIN} { Ok(n) if n > 9 => Ok(n), r => { let s = r\n s } } }`]: same,
    [`fn main() to Result[int] { match ${AGAIN} { r => { let s = r\n let t = (s)\n t } } }`]: same,
    [`fn main() to Result[int] { let r = ${AGAIN}\n match r { s => s } }`]: same,
    [`fn main() to Result[int] { let r = if 1 > 0 { ${AGAIN} } else { db.User.count() }\n r }`]: same,
    [`fn main() to any { let r = ${AGAIN}\n match r { Ok(_) => "in", Err(why) => why } }`]: same.slice(6, -1),
    [`fn main() to any { ${AGAIN}.unwrap_or(-1) }`]: '-1'
  }
  for (const [body, expected] of Object.entries(asResult)) t.equal(display(users(body).call('main')), expected, body)
})

t.test('an unhandled failure ends the program, with its position and the table', async t => {
  for (const body of [AGAIN, `let id = ${AGAIN}`, `${AGAIN}?`, `let r = ${AGAIN}\n    r?`]) {
    const { call } = users(`fn main() to Unit {\n    ${body}\n}`)
    t.throws(
      () => call('main'),
      { code: 'RUN_CONSTRAINT', message: /^program\.vox:5:\d+: User: another row has the same email$/ },
      body
    )
  }
  const { call } = users(`fn main() {\n let r = ${AGAIN}\n if r.is_err() { print(r + 1) }\n}`)
  t.throws(() => call('main'), { code: 'RUN_DATABASE', message: /User: another row has the same email/ })
})

t.test('messages do not name files', async t => {
  const file = freshFile()
  const { call, connection } = withTables(`${USERS}fn main() { db.User.all() }`, file)
  connection.execute('DROP TABLE user')
  t.throws(() => call('main'), { code: 'RUN_DATABASE', message: /User: no such table: user/ })
  try {
    call('main')
  } catch (error) {
    t.notMatch((error as Error).message, file)
  }
})

t.test('a program without a database gets an error', async t => {
  const { run } = await import('../run-program.ts')
  const { code, error } = run(`${USERS}fn main() { db.User.all() }`)
  t.equal(code, 'RUN_UNSUPPORTED')
  t.match(error?.message, /no database here/)
})
