import type { Choices } from './choices.ts'

/** Columns of the table of the programs, with literals of their types. */
const COLUMNS = {
  title: ['"a"', '"b"', '"A%_"', '"ä b"', '""'],
  rank: ['0', '1', '-3', '7', '9007199254740993'],
  weight: ['0.5', '-1.25', '2.0', '123456789012345680000.0', '0.1'],
  price: ['0dec', '1.5dec', '1.50dec', '-2.25dec', '12345678901234567890.05dec'],
  tip: ['0.1dec', '3dec', '-1dec'],
  done: ['true', 'false'],
  code: ['"x"', '"y"', '"z"', '"u"', '"v"', '"w"', '"X"', '""'],
  author: ['1', '2']
} as const satisfies Readonly<Record<string, readonly string[]>>

type Column = keyof typeof COLUMNS

const OPTIONAL: ReadonlySet<Column> = new Set(['rank', 'tip', 'code'])
const NUMBERS: readonly Column[] = ['rank', 'weight', 'price', 'tip']
const ORDERED: readonly Column[] = ['title', 'rank', 'weight', 'price', 'tip', 'code', 'author']
const TEXTS: readonly Column[] = ['title', 'code']
const GROUPS: readonly Column[] = ['title', 'done', 'rank', 'author']
const ALL = Object.keys(COLUMNS) as Column[]

const TABLES = `@table type Author { name: str }

@table
type Note {
    title: str
    rank: Option[int]
    weight: float
    price: dec
    tip: Option[dec]
    done: bool
    @unique code: Option[str]
    author: Id[Author]
    editor_id: Option[Id[Author]]
    tags: List[str]
}

@index Note.in_title on (title, done)

fn told(outcome: Result[any]) {
    match outcome {
        Ok(value) => { print("ok", value) }
        Error(reason) => { print("error", reason) }
    }
}
`

/** Returns a program whose `main` changes the rows of two tables and prints what queries find. */
export function generateQueries(choices: Choices): string {
  const statements = Array.from({ length: 4 + choices.below(8) }, () => insert(choices))
  const walks: string[] = []
  for (let count = 4 + choices.below(10); count > 0; count--) {
    const kind = choices.below(12)
    if (kind < 8) statements.push(`print(${query(choices)})`)
    else if (kind < 10) statements.push(change(choices))
    else {
      walks.push(walk(choices, walks.length))
      statements.push(`walk${walks.length - 1}(None, 9)`)
    }
  }
  return `${TABLES}${walks.join('')}
fn main() {
    db.Author.insert({ name: "ann" })
    db.Author.insert({ name: "bob" })
    ${statements.join('\n    ')}
}
`
}

const literal = (choices: Choices, column: Column): string => choices.pick(COLUMNS[column])

function stored(choices: Choices, column: Column): string {
  if (OPTIONAL.has(column)) return choices.often(30) ? 'None' : `Some(${literal(choices, column)})`
  return literal(choices, column)
}

function insert(choices: Choices): string {
  const values = ALL.map(column => `${column}: ${stored(choices, column)}`)
  const tags = choices.pick(['[]', '["t"]', '["t", "ü"]'])
  return `told(db.Note.insert({ ${values.join(', ')}, editor_id: ${choices.pick(['None', 'Some(1)', 'Some(7)'])}, tags: ${tags} }))`
}

function change(choices: Choices): string {
  const id = 1 + choices.below(9)
  if (choices.often(30)) return `told(db.Note.delete(${id}))`
  const column = choices.pick(ALL)
  return `told(db.Note.update(${id}, { ${column}: ${stored(choices, column)} }))`
}

function condition(choices: Choices, depth: number): string {
  const kind = choices.below(depth > 0 ? 10 : 7)
  if (kind >= 7) {
    if (kind === 9) return `{ not: ${condition(choices, depth - 1)} }`
    const parts = Array.from({ length: 1 + choices.below(2) }, () => condition(choices, depth - 1))
    return `{ ${kind === 7 ? 'and' : 'or'}: [${parts.join(', ')}] }`
  }
  if (kind === 6) return `{ ${choices.pick([...OPTIONAL])}: { is_null: ${choices.pick(['true', 'false'])} } }`
  if (kind === 5) return `{ ${choices.pick(TEXTS)}: { contains: ${choices.pick(['"a"', '"%"', '"_"', '"Ä"', '""'])} } }`
  const column = choices.pick(kind === 4 ? ALL : ORDERED)
  if (kind === 4) {
    const values = Array.from({ length: 1 + choices.below(3) }, () => literal(choices, column))
    return `{ ${column}: { in: [${values.join(', ')}] } }`
  }
  if (kind === 3) return `{ ${column}: ${literal(choices, column)} }`
  return `{ ${column}: { ${choices.pick(['eq', 'neq', 'lt', 'lte', 'gt', 'gte'])}: ${literal(choices, column)} } }`
}

function rows(choices: Choices): string {
  return choices.often(70) ? `db.Note.where(${condition(choices, 2)})` : 'db.Note.all()'
}

function direction(choices: Choices): string {
  return choices.pick(['', ', "desc"', ', "asc"'])
}

/** Rows with equal values are in the order of their ids. */
function ordered(choices: Choices): string {
  const by = choices.pick(ORDERED)
  return `.order_by("${by}"${direction(choices)})`
}

function query(choices: Choices): string {
  const found = rows(choices)
  switch (choices.below(9)) {
    case 0:
      return `${found}.count()`
    case 1:
      return `${found}.${choices.pick(['sum', 'avg', 'min', 'max'])}("${choices.pick(NUMBERS)}")`
    case 2:
      return `${found}.${choices.pick(['min', 'max'])}("${choices.pick(ORDERED)}")`
    case 3: {
      const by = choices.pick(GROUPS)
      const value = choices.pick([
        'count()',
        'sum("price")',
        'max("weight")',
        'min("tip")',
        'avg("price")',
        'sum("weight")'
      ])
      return `${found}.group_by("${by}").${value}`
    }
    case 4:
      return `${found}.group_by("${choices.pick(GROUPS)}").aggregate({ n: { count: true }, total: { sum: "price" }, best: { max: "rank" } }).order_by("n", "desc").limit(${1 + choices.below(3)})`
    case 5:
      return `${found}${ordered(choices)}.limit(${choices.below(5)}).offset(${choices.below(3)})`
    case 6:
      return `${found}.order_by("_id").include("author").include("editor")`
    case 7:
      return `db.Note.get(${choices.below(9)})`
    default:
      return `${found}${ordered(choices)}.select("${choices.pick(ALL.slice(1))}", "title")`
  }
}

/** A function that prints all pages of a query. */
function walk(choices: Choices, index: number): string {
  return `fn walk${index}(cursor: Option[str], left: int) {
    let page = ${rows(choices)}${ordered(choices)}.page(${1 + choices.below(4)}, cursor)
    for note in page.items { print(note.title, note.rank, note.price, note.tip) }
    print("page", page.next.is_some())
    match page.next {
        Some(next) if left > 0 => { walk${index}(Some(next), left - 1) }
        _ => {}
    }
}
`
}
