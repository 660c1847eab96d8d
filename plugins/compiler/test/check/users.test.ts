import { checkFile, programOf, SourceFile } from '@svc/plugin-compiler/testing'
import t from 'tap'

const options = { script: false, allowComponentFunctions: true, suppressHookLints: true }

/** Returns code and source of each error. */
function errors(source: string): string[] {
  return checkFile(new SourceFile('a.vox', source), options)
    .diagnostics.filter(({ severity }) => severity === 'error')
    .map(({ code, span }) => `${code} ${source.slice(span.start, span.end)}`)
}

function program(source: string) {
  return programOf(checkFile(new SourceFile('a.vox', source), options))
}

function ruled(rule: string): string {
  return `@table @rule(${rule}) type Note { owner: Id[User] team: Option[str] body: str open: bool price: dec tags: List[str] }\n@table type User { name: str }`
}

t.test('a rule becomes a condition', async t => {
  const [rules] = program(
    ruled('read: owner is user.id or open, update: not (body is "x") and user.roles.contains("admin")')
  ).rules
  t.match(rules, {
    table: 'Note',
    read: { any: [{ left: { column: 'owner' }, operator: 'is', right: { user: 'id' } }, { holds: 'open' }] },
    update: { all: [{ not: { left: { column: 'body' } } }, { has: 'roles', value: 'admin' }] },
    insert: null,
    delete: null
  })
})

t.test('rules compare values of the same type', async t => {
  for (const rule of [
    'read: true',
    'read: user',
    'read: team is None',
    'read: team is user.id',
    'read: price < 2.5dec',
    'read: price >= 1',
    'read: _id > 4',
    'read: body is user.provider',
    'read: user.scopes.contains("notes.read"), insert: owner is user.id, update: false, delete: user.id is "1"'
  ]) {
    t.strictSame(errors(ruled(rule)), [], rule)
  }
})

t.test('an invalid rule is an error at its cause', async t => {
  t.strictSame(errors(ruled('reed: true')), ['auth.rule reed'])
  t.strictSame(errors(ruled('read: true, read: false')), ['auth.rule read'])
  t.strictSame(errors(ruled('read: onwer is user.id')), ['auth.rule onwer'])
  t.strictSame(errors(ruled('read: body')), ['auth.rule body'])
  t.strictSame(errors(ruled('read: body is 1')), ['auth.rule body is 1'])
  t.strictSame(errors(ruled('read: body is None')), ['auth.rule body is None'])
  t.strictSame(errors(ruled('read: open < true')), ['auth.rule open < true'])
  t.strictSame(errors(ruled('read: tags is user.id')), ['auth.rule tags is user.id'])
  t.strictSame(errors(ruled('read: price is user.id')), ['auth.rule price is user.id'])
  t.strictSame(errors(ruled('read: owner is user.ip')), ['auth.rule ip'])
  t.strictSame(errors(ruled('read: user.roles is "admin"')), ['auth.rule user.roles'])
  t.strictSame(errors(ruled('read: body.len() is 3')), ['auth.rule body.len()'])
  t.strictSame(errors(ruled('read: owner + 1 is user.id')), ['auth.rule owner + 1'])
  t.strictSame(errors('@rule(read: true) @query fn f() to int { 1 }'), ['auth.rule @rule(read: true)'])
  t.strictSame(errors('@table @rule type T { a: int }'), ['auth.rule @rule'])
})

const RAW = 'fn raw() to int { let rows = db.query("SELECT * FROM Note")\n rows.len() }'

t.test('raw SQL on a ruled table is an error if an endpoint reaches it', async t => {
  const notes = ruled('read: true')
  const bypass = ['auth.rule_bypass db.query("SELECT * FROM Note")']
  t.strictSame(errors(`${notes}\n${RAW}\nfn main() { print(raw()) }`), [], 'the program itself may')
  t.strictSame(errors(`${notes}\n${RAW}\nfn helper() to int { raw() }\n@server fn f() to int { helper() }`), bypass)
  t.strictSame(errors(`${notes}\n${RAW}\n@mutation fn f() to List[int] { [1].map(fn(x) { raw() }) }`), bypass)
  t.strictSame(errors(`${notes}\nhttp get "/a" to int { db.query("SELECT 1 FROM note_fts").len() }`), [
    'auth.rule_bypass db.query("SELECT 1 FROM note_fts")'
  ])
  t.strictSame(errors(`${notes}\n@server fn f(sql: str) to int { db.query(sql).len() }`), [
    'auth.rule_bypass db.query(sql)'
  ])
  t.strictSame(errors(`${notes}\n@server fn f() to int { db.query("SELECT * FROM user").len() }`), [])
  t.strictSame(errors(`${notes.replace('@rule(read: true)', '')}\n${RAW}\n@server fn f() to int { raw() }`), [])
})

t.test('a table of users names the column with which they sign in', async t => {
  const source = `@table @auth(provider: password, identity: email)
type User { email: str name: str bio: Option[str] role: str = "member" }
@mutation fn on_sign_up(user: User) to Result[Unit, str] { Ok(()) }`
  t.strictSame(errors(source), [])
  const { users, module } = program(source)
  t.strictSame(users, {
    table: 'User',
    identity: 'email',
    hasPassword: true,
    signUpColumns: ['email', 'name'],
    roles: 'role',
    hasOnSignUp: true
  })
  t.strictSame(module.mutation_fns, [], 'a sign-up calls it; it is no endpoint')
  t.strictSame(program('@table type User { email: str }').users, null)
})

t.test('an invalid table of users is an error at its cause', async t => {
  const users = (args: string, columns = 'email: str'): string[] =>
    errors(`@table @auth${args} type User { ${columns} }`)
  t.strictSame(users(''), ['auth.users @auth'])
  t.strictSame(users('(provider: pasword, identity: email)'), ['auth.users pasword'])
  t.strictSame(users('(identity: mail)'), ['auth.users mail'])
  t.strictSame(users('(identity: email)', 'email: int'), ['auth.users email'])
  t.strictSame(users('(identity: email, scheme: bearer)'), ['auth.users scheme'])
  t.strictSame(users('(identity: email)', 'email: str role: str'), ['auth.users role'], 'users would choose their role')
  t.strictSame(users('(identity: email)', 'email: str roles: str = "a"'), ['auth.users roles'])
  for (const name of ['password', 'session', 'next']) {
    t.strictSame(users('(identity: email)', `email: str ${name}: str`), [`auth.users ${name}`], 'a field of sign-ups')
    t.strictSame(users('(identity: email)', `email: str ${name}: str = ""`), [])
    t.strictSame(users('(provider: oauth, identity: email)', `email: str ${name}: str`), [])
  }
  t.strictSame(errors('@table @auth(identity: a) type A { a: str }\n@table @auth(identity: b) type B { b: str }'), [
    'auth.users @auth(identity: b)'
  ])
  t.strictSame(errors('@table @auth(identity: a) type A { a: str }\nfn on_sign_up() { }'), ['auth.users on_sign_up'])
  const signUp = (type: string): string[] =>
    errors(`@table @auth(identity: a) type A { a: str }\ntype Row = A\n@mutation fn on_sign_up(user: ${type}) { }`)
  t.strictSame(signUp('str'), ['auth.users on_sign_up'])
  t.strictSame([signUp('A'), signUp('Row')], [[], []])
})

t.test('a function depends on its caller if it reaches a table with row rules, also through calls', async t => {
  const { facts } = program(`${ruled('read: true')}
fn count() to int { db.Note.count() }
@query fn direct() to int { db.Note.count() }
@query fn through() to int { count() }
@query fn other() to int { db.User.count() }`)
  const used = Object.entries(facts.declarations).filter(([, { request }]) => request !== 'none')
  t.strictSame(Object.fromEntries(used.map(([name, { request }]) => [name, request])), {
    direct: 'user',
    through: 'user',
    count: 'user'
  })
})
