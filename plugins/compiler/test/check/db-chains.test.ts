import t from 'tap'
import { check } from '#check'
import { parse } from '#syntax'

const TABLES = `type Money = dec
@table type Author { name: str }
@table type Note {
    title: str
    rank: int
    price: Money
    tags: List[str]
    done: bool
    author: Id[Author]
    editor_id: Option[Id[Author]]
}
`

const errors = (body: string): [string, string, string][] => {
  const text = `${TABLES}fn f(n: int, c: Option[str]) to any { ${body} }`
  const { module, diagnostics } = parse(text)
  return [...diagnostics, ...check(module, { suppressHookLints: false })]
    .filter(({ severity }) => severity === 'error')
    .map(({ code, span, message }) => [code, text.slice(span.start, span.end), message])
}

t.test('pages, offsets, aggregates, groups and included rows are accepted in chains', async t => {
  for (const body of [
    'db.Note.all().page(20, c).items',
    'db.Note.where({ rank: 1 }).order_by("rank", "desc").page(n).next',
    'db.Note.all().order_by("title").limit(n).offset(n)',
    'db.Note.all().sum("price")',
    'db.Note.all().avg(rank)',
    'db.Note.all().max("_id")',
    'db.Note.all().aggregate({ total: { sum: "price" }, rows: { count: true } })',
    'db.Note.all().group_by("done").count()',
    'db.Note.all().group_by("done", "author").sum("rank").order_by("sum", "desc").limit(3)',
    'db.Note.all().group_by(done).aggregate({ n: { count: true } }).order_by("n")',
    'db.Note.all().include("author").include("editor").limit(2)',
    'db.Note.get(n).include("author")'
  ]) {
    t.same(errors(body), [], body)
  }
})

t.test('wrong chains are reported at the place of the mistake', async t => {
  for (const [body, code, at, message] of [
    ['db.Note.all().sum("title")', 'typecheck.db.type', '"title"', 'cannot be computed'],
    ['db.Note.all().min("done")', 'typecheck.db.type', '"done"', 'cannot be computed'],
    ['db.Note.all().sum("ranks")', 'typecheck.db.unknown_field', '"ranks"', 'no column `ranks`'],
    ['db.Note.all().sum("rank").limit(2)', 'typecheck.db.modifier', 'limit', 'an aggregate has no `limit`'],
    ['db.Note.all().order_by("rank").sum("rank")', 'typecheck.db.modifier', 'order_by', 'an aggregate has no'],
    ['db.Note.all().sum("rank").avg("rank")', 'typecheck.db.modifier', 'avg', 'in one place'],
    ['db.Note.get(n).sum("rank")', 'typecheck.db.modifier', 'sum', 'may only follow'],
    ['db.Note.all().group_by("done")', 'typecheck.db.modifier', 'group_by', 'needs a value'],
    [
      'db.Note.all().group_by("tags").count()',
      'typecheck.db.type',
      'db.Note.all().group_by("tags")',
      'cannot be grouped'
    ],
    ['db.Note.all().group_by("done").count().order_by("rank")', 'typecheck.db.modifier', '"rank"', 'have no `rank`'],
    ['db.Note.all().group_by("done", "done").count()', 'typecheck.db.duplicate_select', '"done"', 'named twice'],
    [
      'db.Note.all().group_by("done").aggregate({ done: { count: true } })',
      'typecheck.db.modifier',
      'aggregate',
      'both named'
    ],
    ['db.Note.all().aggregate({})', 'typecheck.db.modifier', '{}', 'at least one'],
    ['db.Note.all().aggregate({ a: { median: "rank" } })', 'typecheck.db.modifier', 'median', 'no function `median`'],
    ['db.Note.all().aggregate({ a: "rank" })', 'typecheck.db.modifier', '"rank"', 'needs one function'],
    ['db.Note.all().page(2).limit(3)', 'typecheck.db.modifier', 'limit', 'a page has no `limit`'],
    ['db.Note.all().page(2).count()', 'typecheck.db.modifier', 'count', 'a count has no `page`'],
    ['db.Note.all().page()', 'typecheck.arity', 'page', 'takes 1 or 2 arguments'],
    ['db.Note.all().include("title")', 'typecheck.db.type', '"title"', 'refers to no row'],
    ['db.Note.all().include("editor_id")', 'typecheck.db.modifier', '"editor_id"', 'not its id'],
    ['db.Note.all().include("writer")', 'typecheck.db.unknown_field', '"writer"', 'no column `writer`'],
    ['db.Note.all().include("author").include("author")', 'typecheck.db.modifier', 'include', 'included twice']
  ] as const) {
    const found = errors(body)
    t.equal(found.length, 1, `${body}: ${JSON.stringify(found)}`)
    t.match(found[0], [code, at, new RegExp(message.replace(/[.`]/g, '\\$&'))], body)
  }
})

t.test('the results of aggregates and of included rows are typed', async t => {
  for (const [body, code] of [
    ['let x: str = db.Note.all().sum("rank")\nx', 'typecheck.let_mismatch'],
    ['let x: int = db.Note.all().max("rank")\nx', 'typecheck.let_mismatch'],
    ['for g in db.Note.all().group_by("done").count() { g.total }', 'typecheck.unknown_field'],
    ['for note in db.Note.all().include("author") { note.author.name }', 'typecheck.unknown_field'],
    ['for note in db.Note.all().include("editor") { note.edtor }', 'typecheck.unknown_field']
  ] as const) {
    t.match(errors(body), [[code]], body)
  }
  for (const body of [
    'let x: Option[int] = db.Note.all().max("rank")\nx',
    'let x: dec = db.Note.all().sum("price")\nx',
    'for g in db.Note.all().group_by("done").sum("price") { if g.done { g.sum } else { 0dec } }',
    'for note in db.Note.all().include("author") { match note.author { Some(author) => author.name, None => "" } }'
  ]) {
    t.same(errors(body), [], body)
  }
})

t.test('files are stored in separate columns', async t => {
  const found = (source: string): [string, string][] => {
    const { module } = parse(source)
    return check(module, { suppressHookLints: false })
      .filter(({ severity }) => severity === 'error')
      .map(({ code, span }) => [code, source.slice(span.start, span.end)])
  }
  for (const [source, at] of [
    ['@table type T { a: List[File] }', 'List[File]'],
    ['@table type T { a: Map[str, File] }', 'Map[str, File]'],
    ['type P { f: File }\n@table type T { a: Option[P] }', 'Option[P]'],
    ['type P = | A(f: Q) | B\ntype Q { f: File, p: Option[P] }\n@table type T { a: P }', 'P']
  ] as const) {
    t.same(found(source), [['typecheck.db.type', at]], source)
  }
  for (const source of [
    '@table type T { a: File, b: Option[File], c: File? }',
    'type P { f: File }\nfn f(p: P) to List[File] { [p.f] }',
    'type File { name: str }\n@table type T { a: List[File] }'
  ]) {
    t.same(found(source), [], source)
  }
})

t.test('deferred calls need a call of a function of the program', async t => {
  const found = (body: string): [string, string][] => {
    const source = `workflow w() to Result[int] { Ok(1) }\nfn later(n: int) { }\nfn f() { ${body} }`
    const { module } = parse(source)
    return check(module, { suppressHookLints: false })
      .filter(({ severity }) => severity === 'error')
      .map(({ code, span }) => [code, source.slice(span.start, span.end)])
  }
  for (const [body, at] of [
    ['run_later("1h", len("a"))', 'len("a")'],
    ['run_later("1h", later)', 'later'],
    ['run_at(1, 2)', '2'],
    ['run_later("1h", w())', 'w()'],
    ['run_later("1h", later("a"))', '"a"'],
    ['run_at("x", later(1))', '"x"']
  ] as const) {
    t.match(found(body), [['typecheck.arg_mismatch', at]], body)
  }
  t.same(found('run_later("1h", later(1))\nrun_later(500, later(n = 1))\nrun_at(5, later(1))'), [])
})

t.test('an unknown modifier gets the nearest one as a fix, and a method of a plain list does not', async t => {
  const fixes = (body: string): string[] => {
    const { module } = parse(`${TABLES}fn f(xs: List[int]) to any { ${body} }`)
    const found = check(module, { suppressHookLints: false })
    return found.flatMap(({ fixes = [] }) => fixes.map(({ replacement }) => replacement))
  }
  t.same(fixes('db.Note.all().orderBy("rank")'), ['order_by'])
  t.same(fixes('db.Note.where({ rank: 1 }).limit(3).grup_by("rank")'), ['group_by'])
  t.same(fixes('xs.orderBy("rank")'), [])
})
