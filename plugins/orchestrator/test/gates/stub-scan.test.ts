import fc from 'fast-check'
import t from 'tap'
import { languageOf, lex, scanForStubs } from '#gates'

/** Returns findings as `line rule severity`. */
const scan = (path: string, text: string): readonly string[] | undefined =>
  scanForStubs(path, text)?.map(({ line, rule, severity }) => `${line} ${rule} ${severity}`)

t.test('reports placeholders in every language as errors', async t => {
  const undone: readonly (readonly [path: string, text: string, rule: string])[] = [
    ['a.rs', 'fn main() {\n    todo!()\n}', 'macro'],
    ['a.rs', 'fn f() -> u8 { unimplemented!("later") }', 'macro'],
    ['a.rs', 'fn f() { panic!("not implemented yet") }', 'not_implemented'],
    ['a.kt', 'fun f(): Int = TODO("later")', 'macro'],
    ['a.scala', 'def f: Int = ???', 'macro'],
    ['a.ts', "function f() { throw new Error('not implemented') }", 'not_implemented'],
    ['a.js', 'throw new Error(`f is not yet implemented`)', 'not_implemented'],
    ['a.cs', 'int F() { throw new NotImplementedException(); }', 'not_implemented'],
    ['a.java', 'throw new UnsupportedOperationException("Not implemented");', 'not_implemented'],
    ['a.go', 'func f() { panic("TODO") }', 'not_implemented'],
    ['a.swift', 'func f() -> Int { fatalError("not implemented") }', 'not_implemented'],
    ['a.rb', 'def f\n  raise NotImplementedError\nend', 'not_implemented'],
    ['a.py', 'def f():\n    raise NotImplementedError', 'not_implemented'],
    ['a.py', 'def f(a,\n      b):\n    """Says what it does."""\n    ...', 'empty_body'],
    ['a.py', 'def f(): raise NotImplementedError()', 'not_implemented'],
    ['a.py', 'def f():\n    raise ValueError("not implemented")', 'not_implemented'],
    ['a.ts', '// ... rest of the code ...', 'elided'],
    ['a.ts', '/* your code here */', 'elided'],
    ['a.vox', 'fn f() {\n    // implementation goes here\n}', 'elided'],
    ['a.py', '# omitted for brevity', 'elided'],
    ['a.vue', '<!-- ... existing code ... -->', 'elided'],
    ['a.sql', '-- to be implemented', 'elided']
  ]
  for (const [path, text, rule] of undone) {
    const findings = scanForStubs(path, text) ?? []
    t.ok(
      findings.some(finding => finding.severity === 'error' && finding.rule === rule),
      `${path}: ${text}`
    )
  }
})

t.test('reports reminders and empty bodies as warnings', async t => {
  t.strictSame(scan('a.ts', 'const a = 1 // TODO: more'), ['1 marker warning'])
  t.strictSame(scan('a.py', 'def f():\n    pass # FIXME'), ['2 empty_body warning', '2 marker warning'])
  t.strictSame(scan('a.ts', 'function f(a: number): void {\n  // TODO\n}'), [
    '1 empty_body warning',
    '2 marker warning'
  ])
  t.strictSame(scan('a.go', 'func (s *Server) Close() {}'), ['1 empty_body warning'])
  t.strictSame(scan('a.ts', '/**\n * It is not implemented on Windows.\n */'), ['2 marker warning'])
})

t.test('ignores code that only resembles placeholders', async t => {
  const done: readonly (readonly [path: string, text: string])[] = [
    ['a.ts', "const text = '// TODO: say so'"],
    ['a.ts', 'const text = `throw new Error("not implemented")`'],
    ['a.ts', 'const close = (): void => {}'],
    ['a.ts', "throw new Error('not found')"],
    ['a.ts', '// Follows the existing code of the parser.'],
    ['a.ts', '// Says "your code here", and `TODO`, of comments that do.'],
    ['a.ts', "const todos = ['a'] // the list of todos"],
    ['a.rs', 'let s = r#"todo!()"#; // fine'],
    ['a.rs', "fn f<'a>(x: &'a str) -> &'a str { x }"],
    ['a.py', 'class Store(Protocol):\n    def get(self): ...\n'],
    ['a.py', 'class Store(ABC):\n    @abstractmethod\n    def get(self):\n        raise NotImplementedError'],
    ['a.py', '@overload\ndef f(a: int) -> int: ...\n'],
    ['a.py', 'class BaseStore:\n    def get(self):\n        raise NotImplementedError'],
    ['a.py', 'def f(kind):\n    if kind == "a":\n        raise NotImplementedError\n    return 1'],
    ['a.pyi', 'def f() -> int: ...'],
    ['a.sh', 'echo x#TODO'],
    ['a.ts', '// stubcheck: allow\nthrow new Error("not implemented")'],
    ['a.ts', 'throw new Error("not implemented") // stubcheck: allow']
  ]
  for (const [path, text] of done) t.strictSame(scan(path, text), [], `${path}: ${text}`)
})

t.test('scans only source code', async t => {
  for (const path of ['a.md', 'a.txt', 'Makefile', 'a.json', 'src.ts/a'])
    t.equal(scanForStubs(path, 'TODO'), null, path)
  t.ok(languageOf('SRC/A.TS'))
})

t.test('findings contain the line number and the matched text', async t => {
  const text = 'const a = 1\n\n  throw new Error("not implemented")  \n'
  t.strictSame(scanForStubs('a.ts', text), [
    { line: 3, rule: 'not_implemented', severity: 'error', text: 'throw new Error("not implemented")' }
  ])
  t.equal(scanForStubs('a.rs', 'todo!()\n'.repeat(500))?.length, 50, 'at most 50 findings per file')
})

t.test('separates comments and strings from code in any mixture, and keeps the length', async () => {
  const piece = fc.constantFrom(
    '"',
    "'",
    '`',
    '\\',
    '/*',
    '*/',
    '//',
    '#',
    '"""',
    '\n',
    'todo!()',
    ' ',
    'r#"',
    '"#',
    '--',
    '<!--',
    '-->',
    'x'
  )
  const path = fc.constantFrom('a.ts', 'a.py', 'a.rs', 'a.sql', 'a.vue', 'a.sh', 'a.php', 'a.kt')
  fc.assert(
    fc.property(path, fc.array(piece, { maxLength: 60 }), (name, pieces) => {
      const text = pieces.join('')
      const language = languageOf(name)
      if (language === null) return false
      const { code, comments } = lex(text, language)
      const isAligned = [...code].every((letter, at) => letter === text[at] || (letter === ' ' && text[at] !== '\n'))
      const hasComments = comments.every(comment => text.startsWith(comment.text, comment.start))
      scanForStubs(name, text)
      return code.length === text.length && isAligned && hasComments
    }),
    { numRuns: 250 }
  )
})

t.test('scans large hostile files in linear time', async t => {
  const pieces = [
    '/*',
    '"',
    'function a(',
    'throw new ',
    '// ...',
    'def f():\n',
    '{ ',
    'function f() {',
    "'",
    'raise ',
    '\\"',
    '`'
  ]
  const start = process.cpuUsage()
  for (const piece of pieces)
    for (const path of ['a.ts', 'a.py', 'a.rs']) scanForStubs(path, piece.repeat(262_144 / piece.length))
  const { user, system } = process.cpuUsage(start)
  // Linear time is well under a second; quadratic time would be minutes.
  t.ok((user + system) / 1e6 < 30)
})
