import t from 'tap'
import { run } from '../run-program.ts'

const DECLARATIONS = `
type Note { title: str, stars: int = 3, tags: List[str] = [], by: Option[str] }
type Page { head: Note = { title: "untitled" }, notes: List[Note] = [] }
type Held = | Held(note: Note)
fn same(note: Note) to Note { note }
fn later(n: int, note: Note = { title: "x" }) to Note { note }
actor Keeper(first: Note) {
    state last: Note = { title: "x" }
    on keep(note: Note) to Note { note }
    on none() to Note { last }
    on other() to Note { last = { title: "x" }
        last }
}
const FIRST: Note = { title: "x" }
`

const SHORT = '{ title: "x" }'
const WHOLE = '{title: x, stars: 3, tags: [], by: None}'

/** Positions of a record (`@`) in the body of a function that returns a Note. */
const IN_NOTE: readonly string[] = [
  '@',
  '(@)',
  'return @',
  'let n: Note = @\n n',
  'let n: Note = (if true { @ } else { Note { title: "y" } })\n n',
  'let n: Note = { @ }\n n',
  'if 1 > 2 { same({ title: "y" }) } else { @ }',
  'if 1 > 2 { same({ title: "y" }) } else if 2 > 1 { @ } else { panic("no") }',
  'match 1 { 1 => @, _ => panic("no") }',
  'match 1 { 1 => { let a = 2\n @ }, _ => panic("no") }',
  'match 1 { 1 => return @, _ => panic("no") }',
  'for x in [1] { return @ }\n panic("no")',
  'side_effect { @ }',
  'same(@)',
  'same(note = @)',
  'same(same(@))',
  '@ |> same',
  '@ |> same()',
  'later(1, @)',
  'later(n = 1, note = @)',
  'later(1)',
  'FIRST',
  'let mut n: Note = Note { title: "y" }\n n = @\n n',
  'let p = Page { head: @ }\n p.head',
  'let p: Page = { head: @ }\n p.head',
  'let p: Page = { notes: [@] }\n p.notes[0]',
  'let p: Page = { }\n same({ title: "x" })',
  'let mut p: Page = { }\n p.head = @\n p.head',
  'let all: List[Note] = [@]\n all[0]',
  'let all: List[Note] = for x in [1] { @ }\n all[0]',
  'let all: List[List[Note]] = [[@]]\n all[0][0]',
  'let all: List[Note] = []\n all.append(@)[0]',
  'let all: Map[str, Note] = { a: @ }\n all["a"]',
  'let two: (int, Note) = (1, @)\n two.1',
  'let some: Option[Note] = Some(@)\n some.unwrap()',
  'let none: Option[Note] = None\n none.unwrap_or(@)',
  'let ok: Result[Note] = Ok(@)\n ok.unwrap()',
  'let bad: Result[int, Note] = Error(@)\n match bad { Ok(_) => panic("no"), Error(n) => n }',
  'let deep: Result[Option[List[Note]]] = Ok(Some([@]))\n deep.unwrap().unwrap()[0]',
  'match Held(@) { Held(n) => n }',
  'let held = Held { note: @ }\n match held { Held(n) => n }',
  'let make = fn() to Note { @ }\n make()',
  'let make: fn() to Note = fn() @\n make()',
  'spawn(Keeper(@)).keep(@)',
  'spawn(Keeper(@)).none()',
  'spawn(Keeper(@)).other()'
]

t.test('a literal record has the defaults of its expected type', t => {
  for (const place of IN_NOTE) {
    const body = place.replaceAll('@', SHORT)
    const { lines, error } = run(`${DECLARATIONS}fn note() to Note { ${body}\n }\nfn main() { print(note()) }`)
    t.same(error?.message ?? lines, [WHOLE], body)
  }
  t.end()
})

t.test('an empty record gets the defaults of its declared type', t => {
  const { lines } = run(`${DECLARATIONS}fn page() to Page { { } }\nfn main() { print(page().head, page().notes) }`)
  t.same(lines, ['{title: untitled, stars: 3, tags: [], by: None} []'])
  t.end()
})

t.test('explicit members override defaults, and other types add no defaults', t => {
  const output = (body: string) => run(`${DECLARATIONS}fn main() { ${body}\n }`).lines
  t.same(output('let n: Note = { stars: 1, title: "x", by: Some("me") }\n print(n)'), [
    '{stars: 1, title: x, by: Some(me), tags: []}'
  ])
  t.same(output('let n = { title: "x" }\n print(n)'), ['{title: x}'])
  t.same(output('let n: any = { title: "x" }\n print(n)'), ['{title: x}'])
  t.same(output('let n: Map[str, str] = { title: "x" }\n print(n)'), ['{title: x}'])
  t.end()
})

t.test('defaults are evaluated for each record', t => {
  const { lines } = run(`${DECLARATIONS}
fn note(title: str) to Note { { title: title } }
fn main() {
    let mut a = note("a")
    let b = note("b")
    a.tags = a.tags.append("red")
    print(a.tags, b.tags)
}`)
  t.same(lines, ['[red] []'])
  t.end()
})
