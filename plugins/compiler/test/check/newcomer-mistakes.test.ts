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
    what: 'text without quotes in a fragment',
    source: 'component C() { view: <>Hello there</> }',
    at: 'Hello there',
    advice: 'write "Hello there"'
  },
  {
    what: 'a call in the text of a fragment',
    source: 'fn f() to int { 1 }\ncomponent C() { view: <><b>"a"</b> "n: {f()}"</> }',
    at: '{f()}',
    advice: '"…" {f()}'
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
  },
  {
    what: 'else after a brace that is missing in the whole file',
    source:
      'fn f(a: bool) to int {\n if a {\n  1\n else {\n  2\n }\n}\nfn g() to int { 1 }\n@query fn q() to int { 2 }',
    at: 'else',
    advice: 'close the block of the `if`'
  },
  {
    what: 'else if in a loop after a brace that is missing',
    source: 'fn f(a: bool) {\n for x in [1] {\n  if a {\n   print(x)\n  else if x > 1 {\n   print(2)\n  }\n }\n}',
    at: 'else',
    advice: 'close the block of the `if`'
  },
  {
    what: 'branches without braces',
    source: 'fn f(a: bool) to int { if (a) 1 else 2 }\nfn g() to int { 1 }',
    at: '1',
    advice: 'if condition { … } else { … }'
  },
  {
    what: 'a branch on the next line without braces',
    source: 'fn f(a: bool) to int {\n if a\n  1\n else {\n  2\n }\n}',
    at: '1',
    advice: 'if condition { … } else { … }'
  },
  {
    what: 'a loop that counts as in C',
    source: 'fn f() { for (let i = 0; i < 3; i++) { print(i) } }\nfn g() to int { 1 }',
    at: '(let i = 0; i < 3; i++)',
    advice: 'for i in range(0, n)'
  },
  {
    what: 'a loop that counts, without braces',
    source: 'fn f(n: int) { for (i = 0; i < n; i = i + 1) print(i) }',
    at: '(i = 0; i < n; i = i + 1)',
    advice: 'for i in range(0, n)'
  },
  {
    what: 'a loop with parentheses',
    source: 'fn f(xs: List[int]) { for (x in xs) { print(x) } }',
    at: '(x in xs)',
    advice: 'for x in xs'
  },
  {
    what: 'a struct literal before the arms of match',
    source: 'type P { x: int }\nfn f() to int { match P { x: 1 } { p => p.x } }',
    at: 'P { x: 1 }',
    advice: 'in parentheses'
  },
  {
    what: 'the length as a member',
    source: 'fn f(xs: List[int]) to int { xs.length }',
    at: 'length',
    advice: 'len(…)'
  },
  { what: 'a method without a call', source: 'fn f(s: str) to str { s.trim }', at: 'trim', advice: '`.trim(…)`' },
  { what: 'a call without parentheses', source: 'fn f() { print "a" }', at: 'print', advice: 'write `print(…)`' },
  { what: 'an enum', source: 'enum Colour { Red, Green }', at: 'enum', advice: 'type Name = | A' },
  { what: 'a class', source: 'class P { x: int }', at: 'class', advice: 'type Name { field: T }' }
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
