import t from 'tap'
import { plainLookups } from '#serving'
import { programFrom } from '../run-program.ts'

const DECLARED = `
type Cause = | Missing(id: int) | Hidden | Both(one: int, other: int)

@table
type Note { text: str
    stars: int = 0
    tag: Option[str] }

@table
type Owner { name: str }

const LIMIT = 5

fn named(id: Id[Owner]) -> str {
    match db.Owner.get(id) {
        Some(owner) => owner.name
        None => ""
    }
}
fn twice(id: Id[Note]) -> Option[Note] {
    let first = db.Note.get(id)
    if first.is_some() { first } else { db.Note.get(id) }
}
fn below(id: int) -> Option[Note] { if id is 0 { None } else { below(id - 1) } }
fn ping(id: int) -> int { pong(id) }
fn pong(id: int) -> int { ping(id) }
fn said(id: int) -> int {
    print(id)
    id
}
fn all_notes() -> List[Note] { db.Note.all() }
@require(id > 0)
fn checked(id: int) -> Option[Note] { db.Note.get(id) }
`

/** Returns the number of statements of the query `q`; null if it is not plain. */
function statements(query: string): number | null {
  const { queries } = plainLookups(programFrom(`${DECLARED}\n@query\nfn q${query}\n`))
  return queries.get('q') ?? null
}

t.test('queries that find rows by id with simple code around them are plain', async t => {
  const plain: readonly (readonly [query: string, statements: number])[] = [
    ['(id: Id[Note]) -> Option[Note] { db.Note.get(id) }', 1],
    ['(id: Id[Note]) -> Option[Note] { return db.Note.find(id) }', 1],
    ['(id: Id[Note]) -> Result[Option[Note]] { Ok(db.Note.get(id)?) }', 1],
    ['(id: Id[Note]) -> List[Note] { db.Note.where({ _id: id }).limit(1) }', 1],
    ['(id: Id[Note]) -> List[Note] { db.Note.filter({ _id: id, stars: 5 }) }', 1],
    ['(id: Id[Note]) -> int { db.Note.filter({ _id: id }).count() }', 1],
    ['(id: Id[Note], tag: Option[str] = None) -> Option[Note] { db.Note.get(id) }', 1],
    [
      `(id: Id[Note]) -> Result[Note] {
        let found = db.Note.get(id)
        match found {
            Some(note) if note.stars > 3 => Ok(note)
            Some(_) => Error("few stars")
            None => Error("there is no note " + str(id))
        }
      }`,
      1
    ],
    [
      '(id: Id[Note]) -> Result[Note, Cause] { match db.Note.get(id) { Some(n) => Ok(n)\n None => Error(Missing(id)) } }',
      1
    ],
    ['(id: Id[Note]) -> Result[Note, Cause] { match db.Note.get(id) { Some(n) => Ok(n)\n None => Error(Hidden) } }', 1],
    ['(id: Id[Note]) -> Result[str] { Ok(db.Note.get(id)?.unwrap().text) }', 1],
    ['(id: Id[Owner]) -> str { named(id) }', 1],
    ['(id: int) -> str { if db.Note.get(id).is_some() { named(id) } else { "" } }', 2],
    ['(id: Id[Note]) -> Option[Note] { twice(id) }', 2]
  ]
  for (const [query, count] of plain) t.equal(statements(query), count, query)
})

t.test('queries that may run long, grow large or access other resources are not plain', async t => {
  const others = [
    // No statement at all.
    '(id: int) -> int { id }',
    // Operations that find several rows, or not by id.
    '() -> List[Note] { db.Note.all() }',
    '(stars: int) -> List[Note] { db.Note.filter({ stars: stars }) }',
    '(id: int) -> List[Note] { db.Note.where({ _id: { gt: id } }) }',
    '(id: int) -> List[Note] { db.Note.where({ or: [{ _id: id }, { stars: 3 }] }) }',
    '(ids: List[int]) -> List[Note] { db.Note.where({ _id: { in: ids } }) }',
    '(id: int) -> List[Note] { db.Note.filter({ _id: id }).live("notes") }',
    '(id: int) -> List[Note] { db.Note.filter({ _id: id }).sync() }',
    '(id: Id[Note]) -> int { let note = db.Note.get(id)\n len(all_notes()) }',
    // Loops, recursion and closures.
    '(id: int) -> Option[Note] { for i in [1, 2] { db.Note.get(i) }\n db.Note.get(id) }',
    '(id: int) -> Option[Note] { let mut i = 0\n while i < 3 { i = i + 1 }\n db.Note.get(id) }',
    '(id: int) -> Option[Note] { let note = db.Note.get(id)\n below(id) }',
    '(id: int) -> Option[Note] { let n = ping(id)\n db.Note.get(n) }',
    '(id: Id[Note]) -> Result[Option[str]] { Ok(db.Note.get(id)?.map(fn(n) { n.text })) }',
    // Constants and host functions.
    '(id: int) -> Option[Note] { print(id)\n db.Note.get(id) }',
    '(id: int) -> Option[Note] { db.Note.get(said(id)) }',
    '() -> Option[Note] { db.Note.get(LIMIT) }',
    '(id: int) -> Option[Note] { checked(id) }',
    // Composite values.
    '(id: int) -> List[Option[Note]] { [db.Note.get(id), db.Note.get(id)] }',
    '(id: int) -> (Option[Note], int) { (db.Note.get(id), id) }',
    '(id: int) -> Result[Note, Cause] { match db.Note.get(id) { Some(n) => Ok(n)\n None => Error(Both(id, id)) } }',
    // Methods that scan a str.
    '(id: int) -> Result[bool] { Ok(db.Note.get(id)?.unwrap().text.contains("x")) }',
    // Defaults that are not plain.
    '(note: Note, id: int) -> Option[Note] { db.Note.get(id) }',
    '(id) -> Option[Note] { db.Note.get(id) }'
  ]
  for (const query of others) t.equal(statements(query), null, query)
  const many = 'match db.Note.get(id) { Some(_) => 1\n None => 0 }'
  t.equal(statements(`(id: int) -> int { ${Array.from({ length: 8 }, () => many).join('\n')} }`), 8)
  t.equal(statements(`(id: int) -> int { ${Array.from({ length: 9 }, () => many).join('\n')} }`), null)
})

t.test('redefined names are not treated as builtins', async t => {
  const query = '@query\nfn q(id: int) -> Option[Note] { let n = str(id)\n db.Note.get(id) }'
  const table = '@table\ntype Note { text: str }'
  t.equal(plainLookups(programFrom(`${table}\n${query}`)).queries.get('q'), 1)
  const own = 'fn str(n: int) -> str { for i in [n] { print(i) }\n "" }'
  t.equal(plainLookups(programFrom(`${table}\n${own}\n${query}`)).queries.size, 0)
})

t.test('the reduced program contains only the dependencies of plain queries', async t => {
  const program = programFrom(`${DECLARED}
@query
fn q(id: Id[Owner]) -> str { named(id) }
@query
fn other() -> List[Note] { all_notes() }
@mutation
fn add(text: str) -> int { db.Note.insert({ text: text, tag: None }) }
http get "/notes" -> List[Note] { all_notes() }
`)
  const { queries, program: own } = plainLookups(program)
  t.same([...queries], [['q', 1]])
  const { functions, query_fns, mutation_fns, routes, tables } = own.module
  t.same(
    [functions, query_fns, mutation_fns, routes].map(all => all.map(each => ('name' in each ? each.name : ''))),
    [['named'], ['q'], [], []]
  )
  t.same(
    tables.map(({ name }) => name),
    ['Note', 'Owner']
  )
  t.same([own.constants, own.tests, own.conditions], [[], [], []])
})

t.test('a guarded query stays plain if it reads only the identity of its caller', t => {
  const guarded = (body: string): number | null => {
    const source = `${DECLARED}\n@auth\n@query\nfn q(id: Id[Note]) to Option[Note] { ${body} }\n`
    return plainLookups(programFrom(source)).queries.get('q') ?? null
  }
  t.equal(guarded('db.Note.get(id)'), 1)
  t.equal(guarded('if request.user.id is "ann" { db.Note.get(id) } else { None }'), 1)
  t.equal(guarded('if request.header("a").is_some() { db.Note.get(id) } else { None }'), null)
  t.end()
})
