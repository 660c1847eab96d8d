import fc from 'fast-check'
import t from 'tap'
import { isRecord, type Value } from '#interpreter'
import { callerOf, identity, withCaller } from './with-caller.ts'

const NOTES = `
@table type User { name: str }
@table @rule(
  read: owner is user.id or shared,
  insert: owner is user.id,
  update: owner is user.id,
  delete: owner is user.id and not locked
)
type Note { owner: Id[User]  body: str  shared: bool = false  locked: bool = false  size: int = 2 }
@index Note.by_owner on (owner)
@search_index Note.by_body on (body)

fn seed() {
  db.Note.insert({ owner: 1, body: "one secret" })
  db.Note.insert({ owner: 2, body: "two secret" })
  db.Note.insert({ owner: 2, body: "three shared", shared: true })
  db.Note.insert({ owner: 1, body: "four locked", locked: true })
}
fn bodies() to List[str] { db.Note.all().map(fn(note) { note.body }) }
fn helper() to List[str] { bodies() }
fn one(id: int) to Option[Note] { db.Note.get(id) }
fn owned(owner: int) to int { db.Note.filter({ owner: owner }).count() }
fn total() to int { db.Note.count() }
fn chosen() to int { db.Note.where({ _id: { in: [1, 2, 3] } }).order_by("body", "desc").limit(9).len() }
fn found(word: str) to List[str] { db.Note.where({ body: { contains: word } }).using("fts").map(fn(note) { note.body }) }
fn sum() to int { db.Note.where({ _id: { gt: 0 } }).sum("size") }
fn groups() to int { db.Note.all().group_by("owner").count().len() }
fn page() to int { db.Note.all().page(10, None).items.len() }
fn add(owner: int) to int { db.Note.insert({ owner: owner, body: "new" }) }
fn add_record(owner: int) to int {
  let row = { owner: owner, body: "new" }
  db.Note.insert(row)
}
@mutation fn add_two(owner: int, other: int) to int {
  db.Note.insert({ owner: owner, body: "first" })
  db.Note.insert({ owner: other, body: "second" })
}
fn change(id: int) { db.Note.update(id, { body: "changed" }) }
fn change_nothing(id: int) { db.Note.update(id, {}) }
fn give(id: int, to_user: int) { db.Note.update(id, { owner: to_user }) }
fn remove(id: int) { db.Note.delete(id) }
`

const ANN = callerOf(identity('1'))
const BEN = callerOf(identity('2'))
const ANONYMOUS = callerOf(null)

t.test('a caller reads the rows that the rule allows, through every operation and helper', async t => {
  const { call } = withCaller(NOTES)
  call(null, 'seed')
  t.strictSame(call(ANN, 'bodies'), ['one secret', 'three shared', 'four locked'])
  t.strictSame(call(ANN, 'helper'), call(ANN, 'bodies'))
  t.strictSame(call(BEN, 'bodies'), ['two secret', 'three shared'])
  t.strictSame(call(ANONYMOUS, 'bodies'), ['three shared'])
  t.equal((call(null, 'bodies') as Value[]).length, 4, 'the program itself reads all')
  t.match(call(ANN, 'one', 1), { tag: 'Some' })
  t.match(call(ANN, 'one', 2), { tag: 'None' })
  t.equal(call(ANN, 'total'), 3)
  t.equal(call(ANN, 'owned', 2), 1)
  t.equal(call(ANONYMOUS, 'owned', 2), 1)
  t.equal(call(BEN, 'chosen'), 2)
  t.strictSame(call(ANN, 'found', 'secret'), ['one secret'])
  t.strictSame(call(ANONYMOUS, 'found', 'secret'), [])
  t.equal(call(ANN, 'sum'), 6)
  t.equal(call(BEN, 'groups'), 1)
  t.equal(call(ANONYMOUS, 'page'), 1)
})

t.test('a caller writes only rows that the rule allows, before and after the change', async t => {
  const { call, outcome } = withCaller(NOTES)
  call(null, 'seed')
  t.equal(outcome(ANN, 'add', 1), 5)
  t.equal(outcome(ANN, 'add_record', 1), 6)
  for (const name of ['add', 'add_record']) {
    t.equal(outcome(ANN, name, 2), 'RUN_FORBIDDEN')
    t.equal(outcome(ANONYMOUS, name, 1), 'RUN_FORBIDDEN')
  }
  t.equal(call(null, 'total'), 6, 'no refused row is stored')
  t.equal(outcome(ANN, 'change', 1), null)
  t.equal(outcome(ANN, 'change', 2), 'RUN_FORBIDDEN')
  t.equal(outcome(ANN, 'change', 3), 'RUN_FORBIDDEN', 'a row that it may only read')
  t.equal(outcome(ANN, 'change', 99), 'RUN_FORBIDDEN', 'as for a row that does not exist')
  t.equal(outcome(ANN, 'change_nothing', 1), null)
  for (const id of [2, 3, 99]) t.equal(outcome(ANN, 'change_nothing', id), 'RUN_FORBIDDEN', `no change of ${id}`)
  t.equal(outcome(null, 'change_nothing', 99), null)
  t.equal(outcome(ANN, 'give', 1, 2), 'RUN_FORBIDDEN', 'no row is given away')
  t.equal(call(ANN, 'owned', 1), 4)
  t.equal(outcome(ANN, 'remove', 2), 'RUN_FORBIDDEN')
  t.equal(outcome(ANN, 'remove', 4), 'RUN_FORBIDDEN', 'locked')
  t.equal(outcome(ANN, 'remove', 1), null)
  t.equal(outcome(ANONYMOUS, 'remove', 3), 'RUN_FORBIDDEN')
  t.equal(call(null, 'total'), 5)
})

t.test('a refused row rolls the whole mutation back', async t => {
  const { call, outcome } = withCaller(NOTES)
  t.equal(outcome(ANN, 'add_two', 1, 2), 'RUN_FORBIDDEN')
  t.equal(call(null, 'total'), 0)
  t.equal(outcome(ANN, 'add_two', 1, 1), 2)
})

t.test('an id that is no int matches no row', async t => {
  const { call, outcome } = withCaller(NOTES)
  call(null, 'seed')
  for (const id of ['', 'ann', '01', '1 ', '1.0', '1 OR 1', "1' --", '9'.repeat(30), '+1', '-0']) {
    const caller = callerOf(identity(id))
    t.strictSame(call(caller, 'bodies'), ['three shared'], id)
    t.equal(outcome(caller, 'add', 1), 'RUN_FORBIDDEN', id)
  }
})

t.test('without a rule for an action, callers may not do it', async t => {
  const { call, outcome } = withCaller(`
@table @rule(read: true) type Log { text: str }
@table @rule(insert: true) type Box { text: str }
fn add() to int { db.Log.insert({ text: "a" }) }
fn change() { db.Log.update(1, { text: "b" }) }
fn remove() { db.Log.delete(1) }
fn all() to int { db.Log.all().len() }
fn drop_in() to int { db.Box.insert({ text: "a" }) }
fn look() to int { db.Box.all().len() }
fn one() to bool { db.Box.get(1).is_some() }`)
  t.equal(call(null, 'add'), 1)
  for (const name of ['add', 'change', 'remove']) t.equal(outcome(ANN, name), 'RUN_FORBIDDEN', name)
  t.equal(call(ANN, 'all'), 1)
  t.equal(outcome(ANONYMOUS, 'drop_in'), 1, 'anyone may insert')
  for (const name of ['look', 'one']) t.equal(outcome(ANN, name), 'RUN_FORBIDDEN', name)
})

t.test('raw SQL that is computed cannot reach a ruled table for a caller', async t => {
  const { call, outcome } = withCaller(`
@table @rule(read: false) type Note { body: str }
@table type Open { body: str }
fn run(sql: str) to int { db.query(sql).len() }
fn seed() { db.Note.insert({ body: "a" }) }`)
  call(null, 'seed')
  t.equal(call(null, 'run', 'SELECT * FROM note'), 1)
  for (const sql of [
    'SELECT * FROM note',
    'SELECT * FROM "NOTE"',
    'SELECT * FROM open, [note]',
    'SELECT 1 FROM main.note'
  ]) {
    t.equal(outcome(ANN, 'run', sql), 'RUN_FORBIDDEN', sql)
  }
  t.equal(outcome(ANN, 'run', 'SELECT * FROM open'), 0)
})

t.test('roles and signed-in callers', async t => {
  const { call } = withCaller(`
@table @rule(read: open or user and level < 2 or user.roles.contains("admin"), insert: true)
type Doc { open: bool  level: int }
fn seed() { for each in [0, 1, 2] { db.Doc.insert({ open: each is 0, level: each }) } }
fn count() to int { db.Doc.count() }`)
  call(null, 'seed')
  t.equal(call(ANONYMOUS, 'count'), 1)
  t.equal(call(ANN, 'count'), 2)
  t.equal(call(callerOf(identity('7', ['editor'])), 'count'), 2)
  t.equal(call(callerOf(identity('7', ['editor', 'admin'])), 'count'), 3)
})

/** Rules of every form, against an evaluation in TypeScript. */
type Truth = boolean | null
interface Row {
  readonly _id: number
  readonly a: number
  readonly b: number | null
  readonly s: string
  readonly open: boolean
}
interface Who {
  readonly id: string | null
  readonly roles: readonly string[]
}
interface Rule {
  readonly text: string
  /** null: unknown, also if it is negated. */
  holds(row: Row, who: Who): Truth
  negated(row: Row, who: Who): Truth
}

const ROWS: readonly Omit<Row, '_id'>[] = [
  { a: 1, b: null, s: '1', open: true },
  { a: 2, b: 1, s: 'ann', open: false },
  { a: 1, b: 2, s: '2', open: false },
  { a: 0, b: 1, s: '', open: true }
]
const both = (holds: Rule['holds'], text: string): Rule => ({
  text,
  holds,
  negated: (row, who) => {
    const truth = holds(row, who)
    return truth === null ? null : !truth
  }
})
const numeric = (row: Row, name: string): number | null => row[name as 'a' | 'b']

const leaf: fc.Arbitrary<Rule> = fc.oneof(
  fc.constant(both(row => row.open, 'open')),
  fc.boolean().map(value => both(() => value, String(value))),
  fc.constant(both((_, { id }) => id !== null, 'user')),
  fc.constantFrom('admin', 'staff').map(role => {
    return both((_, { id, roles }) => (id === null ? null : roles.includes(role)), `user.roles.contains("${role}")`)
  }),
  fc.constant(both(row => row.b === null, 'b is None')),
  fc
    .tuple(fc.constantFrom('a', 'b'), fc.constantFrom('is', 'isnt'), fc.integer({ min: 0, max: 2 }))
    .map(([of, op, value]) => both(row => (numeric(row, of) === value) === (op === 'is'), `${of} ${op} ${value}`)),
  fc
    .tuple(fc.constantFrom('a', 'b'), fc.constantFrom('<', '<=', '>', '>='), fc.integer({ min: 0, max: 2 }))
    .map(([of, op, value]) =>
      both(row => {
        const found = numeric(row, of)
        if (found === null) return null
        return op === '<' ? found < value : op === '<=' ? found <= value : op === '>' ? found > value : found >= value
      }, `${of} ${op} ${value}`)
    ),
  fc.constantFrom('is', 'isnt').map(op => both(row => (row.a === row.b) === (op === 'is'), `a ${op} b`)),
  fc
    .constantFrom('is', 'isnt')
    .map(op => both((row, { id }) => (id === null ? null : (row.s === id) === (op === 'is')), `s ${op} user.id`)),
  fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('is', 'isnt')).map(([of, op]): Rule => {
    const truth =
      (isEqual: boolean): Rule['holds'] =>
      (row, { id }) => {
        if (id === null || !/^\d+$/.test(id)) return null
        const found = numeric(row, of)
        // An empty column is no caller, which `isnt` says and `is` does not deny.
        if (found === null) return isEqual ? null : true
        return (found === Number(id)) === isEqual
      }
    return { text: `${of} ${op} user.id`, holds: truth(op === 'is'), negated: truth(op !== 'is') }
  })
)
const every = (all: readonly Truth[]): Truth => (all.includes(false) ? false : all.includes(null) ? null : true)
const some = (all: readonly Truth[]): Truth => (all.includes(true) ? true : all.includes(null) ? null : false)

const { rule } = fc.letrec<{ rule: Rule }>(tie => ({
  rule: fc.oneof(
    { maxDepth: 4 },
    leaf,
    tie('rule').map(({ text, holds, negated }): Rule => ({ text: `not (${text})`, holds: negated, negated: holds })),
    fc.tuple(tie('rule'), tie('rule'), fc.boolean()).map(
      ([one, other, isAnd]): Rule => ({
        text: `(${one.text} ${isAnd ? 'and' : 'or'} ${other.text})`,
        holds: (row, who) => (isAnd ? every : some)([one.holds(row, who), other.holds(row, who)]),
        negated: (row, who) => (isAnd ? some : every)([one.negated(row, who), other.negated(row, who)])
      })
    )
  )
}))

const CALLERS: readonly Who[] = [
  { id: null, roles: [] },
  { id: '1', roles: ['admin'] },
  { id: '2', roles: [] },
  { id: 'ann', roles: ['staff'] }
]

t.test('rules of every form allow the rows that an evaluation of them allows', async () => {
  fc.assert(
    fc.property(rule, ({ text, holds }) => {
      const { call, outcome } = withCaller(`
@table @rule(read: ${text}, insert: ${text}, update: ${text}, delete: ${text})
type T { a: int  b: Option[int]  s: str  open: bool }
fn add(a: int, b: Option[int], s: str, open: bool) to int { db.T.insert({ a: a, b: b, s: s, open: open }) }
fn all() to List[T] { db.T.all() }
fn count() to int { db.T.count() }
fn touch(id: int, a: int) { db.T.update(id, { a: a }) }
fn remove(id: int) { db.T.delete(id) }`)
      const rows = ROWS.map((row, index): Row => ({ _id: index + 1, ...row }))
      const optional = (b: number | null): Value => b as Value
      for (const { a, b, s, open } of rows) call(null, 'add', a, optional(b), s, open)
      for (const who of CALLERS) {
        const caller = callerOf(who.id === null ? null : identity(who.id, who.roles))
        const allowed = rows.filter(row => holds(row, who) === true)
        const read = (call(caller, 'all') as Value[]).map(row => isRecord(row) && row.get('_id'))
        if (read.join() !== allowed.map(({ _id }) => _id).join()) return false
        if (call(caller, 'count') !== allowed.length) return false
        for (const row of rows) {
          const isAllowed = allowed.includes(row)
          if ((outcome(caller, 'touch', row._id, row.a) === null) !== isAllowed) return false
        }
        for (const { a, b, s, open } of ROWS) {
          const added = outcome(caller, 'add', a, optional(b), s, open)
          const isAllowed = holds({ _id: 9, a, b, s, open }, who) === true
          if ((added === 'RUN_FORBIDDEN') === isAllowed) return false
          if (typeof added === 'number') call(null, 'remove', added)
        }
      }
      return true
    }),
    { numRuns: 150 }
  )
})
