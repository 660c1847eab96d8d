import { factsOf, type Program } from '@svc/contracts'
import t from 'tap'
import { checkFile, programOf, SourceFile } from '#root'

const TABLES = `@table type Note { text: str }
@table type Tag { name: str note: Id[Note] }
`

function programFrom(source: string): Program {
  const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }
  const checked = checkFile(new SourceFile('program.vox', TABLES + source), options)
  const errors = checked.diagnostics.filter(({ severity }) => severity === 'error')
  if (errors.length > 0) throw new Error(`${source}: ${errors[0]?.code} ${errors[0]?.message}`)
  return programOf(checked)
}

t.test(
  'tables that a function reads and changes, also through calls, function values, handlers and workflows',
  async t => {
    const { facts } = programFrom(`fn read() to int { return len(db.Note.all()) }
fn write() { db.Tag.insert({ name: "a", note: 1 }) }
fn both() to int { write()
  return read() }
fn apply(f: fn() to int) to int { return f() }
fn through_value() to int { return apply(read) }
fn in_lambda() to int { return apply(fn() read()) }
fn recursive(n: int) to int { return if n > 0 { recursive(n - 1) } else { read() } }
actor Store() { on add() { write() } }
fn asks() { let s = spawn(Store())
  s.add() }
workflow later() to Result[int] { return Ok(read()) }
fn starts() to Result[int] { return later() }
fn nothing() to int { return 1 }
fn included() to int { return len(db.Tag.all().include("note")) }`)
    const of = (name: string): unknown => {
      const { reads, writes } = factsOf(facts, name)
      return [reads, writes]
    }
    t.same(of('read'), [['Note'], []])
    t.same(of('write'), [[], ['Tag']])
    t.same(of('both'), [['Note'], ['Tag']])
    t.same(of('through_value'), [['Note'], []])
    t.same(of('in_lambda'), [['Note'], []])
    t.same(of('recursive'), [['Note'], []])
    t.same(of('Store'), [[], ['Tag']])
    t.same(of('asks'), [[], ['Tag']])
    t.same(of('starts'), [['Note'], []])
    t.same(of('nothing'), [[], []])
    t.same(of('included'), [['Tag', 'Note'], []])
    t.notOk('nothing' in facts.declarations, 'a function without facts takes no space')
    t.same(factsOf(facts, 'constructor').reads, [], 'names of Object are no declarations')
  }
)

t.test('raw SQL, also in constants, conditions and defaults', async t => {
  const direct = programFrom(`fn sql() to int { return len(db.query("SELECT 1", [])) }
fn calls() to int { return sql() }
fn other() to int { return 1 }
http get "/a" to int { return calls() }`).facts
  t.ok(factsOf(direct, 'calls').rawSql)
  t.ok(factsOf(direct, 'GET /a').rawSql)
  t.notOk(factsOf(direct, 'other').rawSql)
  const constant = programFrom(`let rows = len(db.query("SELECT 1", []))
fn other() to int { return 1 }`).facts
  t.ok(factsOf(constant, 'other').rawSql, 'any function may be the first that needs the constants')
  const condition = programFrom(`@require(len(db.query("SELECT 1", [])) > 0) fn guarded() to int { return 1 }
fn other() to int { return 1 }`).facts
  t.ok(factsOf(condition, 'guarded').rawSql)
  t.notOk(factsOf(condition, 'other').rawSql)
  t.notOk(factsOf(programFrom('fn text() to str { return "db.query(1)" }').facts, 'text').rawSql, 'a text is no code')
})

t.test('live operations, searches, files, deferred calls and the use of the database', async t => {
  const { facts } = programFrom(`@query fn notes() to List[Note] { return db.Note.all().live("fresh") }
@query fn tags() to List[Tag] { return db.Tag.all() }
@search_index Note.by_text on (text)
@query fn found(text: str) to List[Note] { return db.Note.where({ text: { contains: text } }).using("fts") }
fn save() { let f = std.files.put("a", "b") }
@mutation fn defer() { run_later("1s", save()) }`)
  t.same(factsOf(facts, 'notes').live, [{ table: 'Note', topic: 'fresh' }])
  t.same(factsOf(facts, 'tags').live, [])
  t.same(facts.live, [{ table: 'Note', topic: 'fresh' }])
  t.same(facts.searched, ['Note'])
  t.ok(facts.usesFiles && facts.defersCalls && facts.usesDatabase)
  const plain = programFrom('fn f() to str { return "std.files.put run_later db.Note" }').facts
  t.notOk(plain.usesFiles || plain.defersCalls || plain.usesDatabase)
  const own = programFrom('fn run_later(a: int) to int { return a }\nfn f() to int { return run_later(1) }').facts
  t.notOk(own.defersCalls, 'the function of the program wins')
})

t.test('parts of the request that a function depends on', async t => {
  const { facts } = programFrom(`@query @auth fn who() to str { return request.user.id }
@query @auth fn address() to str { return request.ip() }
@query @auth fn guarded() to int { return 1 }
@query @public fn free() to int { return 1 }
fn asks() to str { return who() }
workflow detached() to Result[str] { return Ok(who()) }
@mutation @public fn starts() to Result[str] { return detached() }`)
  const of = (name: string): string => factsOf(facts, name).request
  t.same(
    ['who', 'address', 'guarded', 'free', 'asks', 'starts'].map(of),
    ['user', 'all', 'user', 'none', 'user', 'none'],
    'a workflow runs without the caller that starts it'
  )
})

t.test('what runs outside of the body: defaults, functions in constants, and options of activities', async t => {
  const rule = '@table @rule(read: owner is user.id) type Own { owner: str }\n'
  const request = (source: string): string => factsOf(programFrom(`${rule}${source}`).facts, 'f').request
  const address = '@query @public fn address() to str { return request.ip() }\n'
  t.equal(request(`${address}type D { a: str = address() }\n@query @public fn f() to D { return D {} }`), 'all')
  t.equal(
    request('type D { n: int = db.Own.count() }\n@query @public fn f() to D { return D {} }'),
    'user',
    'the rules of the table depend on the caller'
  )
  t.equal(request('const G = fn() to int db.Own.count()\n@query @public fn f() to int { return G() }'), 'user')
  t.equal(
    request('fn g() to int { return db.Own.count() }\nconst G = g\n@query @public fn f() to int { return G() }'),
    'user'
  )
  t.equal(
    request('const N = db.Own.count()\n@query @public fn f() to int { return N }'),
    'none',
    'the program itself computes a constant'
  )
  const options = programFrom(`activity step() to Result[int] with { retries: len(db.Note.all()) } { return Ok(1) }
workflow f() to Result[int] { return step() }`)
  t.same(factsOf(options.facts, 'f').reads, ['Note'])
})

t.test('a message whose handler is not known may run any handler, and the account is a row of a table', async t => {
  const sends = (event: string): unknown => {
    const source = `actor Store { on add() { db.Note.insert({ text: "a" }) } }
actor Idle { on wait() { } }
fn f(a: any) { a.send(${event}) }`
    return factsOf(programFrom(source).facts, 'f').writes
  }
  t.same(['"add"', '"wait"', '"add" + ""'].map(sends), [['Note'], [], ['Note']])
  const { facts } = programFrom(`@table @auth(provider: password, identity: email) type Member { email: str name: str }
@query @auth fn name() to str { return request.account.name }`)
  t.same(factsOf(facts, 'name').reads, ['Member'])
})

t.test('lookups: functions that only find rows by their id', async t => {
  const { facts } = programFrom(`@query fn one(id: int) to Option[Note] { return db.Note.get(id) }
@query fn two(id: int) to bool { return one(id).is_some() and helper(id) }
fn helper(id: int) to bool { return db.Tag.filter({ _id: id }).is_empty() }
fn unused(id: int) to Option[Note] { return db.Note.get(id) }
@query fn some(id: int) to bool { return db.Tag.get(id).is_some() }
@query fn all() to List[Note] { return db.Note.all() }
@query fn loop(id: int) to Option[Note] { for x in [1] { print(x) }
  return db.Note.get(id) }
@query fn recursive(id: int) to Option[Note] { return recursive(id) }
@query @require(id > 0) fn checked(id: int) to Option[Note] { return db.Note.get(id) }`)
  const of = (name: string): number | null => factsOf(facts, name).plainLookup
  t.same(['one', 'two', 'helper', 'unused', 'some', 'all', 'loop', 'recursive', 'checked'].map(of), [
    1,
    null,
    null,
    null,
    1,
    null,
    null,
    null,
    null
  ])
})

t.test('a function has its facts whatever its name is', async t => {
  const { facts } = programFrom(
    'fn __proto__() to int { return db.Note.count() }\nfn constructor() to int { return 1 }'
  )
  t.same(factsOf(facts, '__proto__').reads, ['Note'])
  t.same(factsOf(facts, 'constructor').reads, [])
  t.same(factsOf(structuredClone(facts), '__proto__').reads, ['Note'], 'in a thread, too')
})
