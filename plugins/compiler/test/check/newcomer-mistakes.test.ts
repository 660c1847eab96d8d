import t from 'tap'
import { checkFile, SourceFile } from '#root'

const TABLE = '@table type Note { text: str price: dec }\n'

interface Mistake {
  readonly what: string
  readonly source: string
  /** The source at the span of the only finding. */
  readonly at: string
  /** A part of what the finding advises. */
  readonly advice: string
}

const MISTAKES: readonly Mistake[] = [
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the mistake is a template string
  { what: 'a template string', source: 'fn f(n: str) to str { `Hi ${n}` }', at: '`Hi ${n}`', advice: 'write "…"' },
  { what: 'const in a function', source: 'fn f() to int { const x = 1;\n x }', at: 'const', advice: 'write let' },
  {
    what: 'var in a function',
    source: 'fn f() to int { var x: int = 1\n x = 2\n x }',
    at: 'var',
    advice: 'write let mut'
  },
  {
    what: 'elif',
    source: 'fn f(n: int) to int { if n > 1 { 1 } elif n > 0 { 2 } else { 3 } }',
    at: 'elif',
    advice: 'write else if'
  },
  {
    what: 'an exception',
    source: 'fn f() to Result[int] { if true { throw "no" }\n Ok(1) }',
    at: 'throw',
    advice: 'return `Error(…)`'
  },
  { what: 'a value for a Result', source: 'fn f() to Result[int] { return 1 }', at: '1', advice: 'write `Ok(…)`' },
  {
    what: 'arithmetic with a Result',
    source: 'fn f() to Result[int] { Ok(1) }\nfn g() to int { f() + 1 }',
    at: 'f() + 1',
    advice: 'take the value of the Result[int] first'
  },
  { what: 'a dec and an int', source: 'fn f(a: dec, n: int) to dec { a * n }', at: 'a * n', advice: 'dec(…)' },
  { what: 'a type of another language', source: 'fn f(a: string) to str { "a" }', at: 'string', advice: 'write str' },
  {
    what: 'a record with the name of its member only',
    source: `${TABLE.replace(' price: dec', '')}@mutation fn f(text: str) to int { db.Note.insert({ text }) }`,
    at: '{ text }',
    advice: 'write { text: text }'
  },
  {
    what: 'a group by an unknown column',
    source: `${TABLE}type Sum { text: str price: dec }\nfn f() to List[Sum] { db.Note.all().group_by("txt").sum("price") }`,
    at: '"txt"',
    advice: 'write text'
  },
  {
    what: 'text without quotes',
    source: 'component C() { view: <h1>Hello there</h1> }',
    at: 'Hello there',
    advice: 'write "Hello there"'
  },
  {
    what: 'text with a comma, without quotes',
    source: 'component C() { view: <p>Hello, world</p> }',
    at: ',',
    advice: 'from `Hello`'
  },
  {
    what: 'a call in the text of a view',
    source: 'fn f() to int { 1 }\ncomponent C() { view: <p>"n: {f()}"</p> }',
    at: '{f()}',
    advice: '"…" {f()}'
  },
  {
    what: 'else after a brace that is missing',
    source: 'fn f(a: bool) to int { if a { 1 else { 2 } }\n}',
    at: 'else',
    advice: 'close the block of the `if`'
  }
]

for (const { what, source, at, advice } of MISTAKES) {
  t.test(`${what} is one finding with a next step`, async t => {
    const file = new SourceFile('app.vox', source)
    const options = { script: false, strict: false, allowComponentFunctions: false, suppressHookLints: false }
    const { diagnostics } = checkFile(file, options)
    const [found] = diagnostics
    t.equal(diagnostics.length, 1, diagnostics.map(({ message }) => message).join('\n'))
    t.equal(source.slice(found?.span.start, found?.span.end), at)
    t.match([...(found?.suggestions ?? []), ...(found?.fixes ?? []).map(({ label }) => label)].join('\n'), advice)
  })
}

t.test('names of a program that stand next to each other in a view are no text', async t => {
  const source = 'component C(first: str, last: str) { view: <p>first last</p> }'
  const file = new SourceFile('app.vox', source)
  const options = { script: false, strict: false, allowComponentFunctions: false, suppressHookLints: false }
  t.same(checkFile(file, options).diagnostics, [])
})
