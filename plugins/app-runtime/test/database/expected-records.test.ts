import t from 'tap'
import { display } from '#interpreter'
import { withTables } from './with-tables.ts'

const DECLARATIONS = `
type Note { title: str, stars: int = 3 }

@table
type Page {
    head: Note
    second: Option[Note]
    notes: List[Note]
    owner: Option[str]
}
`

const NOTE = '{title: x, stars: 3}'

t.test('a stored record has the defaults of its column type', t => {
  for (const [write, expected] of [
    ['db.Page.insert({ head: @, second: None, notes: [] })', `${NOTE} None []`],
    ['db.Page.insert({ head: @, second: @, notes: [@, @] })', `${NOTE} Some(${NOTE}) [${NOTE}, ${NOTE}]`],
    ['db.Page.insert({ head: @, second: Some(@), notes: [] })', `${NOTE} Some(${NOTE}) []`],
    ['db.Page.insert(head = @, second = None, notes = [@])', `${NOTE} None [${NOTE}]`],
    ['let page: Page = { head: @, notes: [@] }\n db.Page.insert(page)', `${NOTE} None [${NOTE}]`],
    ['db.Page.insert(Page { head: @, notes: [@] })', `${NOTE} None [${NOTE}]`],
    [
      'let id = db.Page.insert({ head: { title: "y" }, notes: [] })?\n db.Page.update(id, { head: @ })',
      `${NOTE} None []`
    ]
  ] as const) {
    const body = write.replaceAll('@', '{ title: "x" }')
    const { call, lines } = withTables(`${DECLARATIONS}
fn main() {
    ${body}
    let page = db.Page.get(1).unwrap().unwrap()
    print(page.head, page.second, page.notes)
}`)
    call('main')
    t.same(lines, [expected], body)
  }
  t.end()
})

t.test('a literal row has None for omitted optional columns', t => {
  const { call } = withTables(`${DECLARATIONS}
fn main() to Page { { _id: 1, head: { title: "x" }, notes: [] } }`)
  t.equal(display(call('main')), `{_id: 1, head: ${NOTE}, notes: [], second: None, owner: None}`)
  t.end()
})
