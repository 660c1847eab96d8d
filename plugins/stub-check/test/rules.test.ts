import fc from 'fast-check'
import t from 'tap'
import { languageOf, lex, sourceLanguage, TEXT_RULES } from '#root'
import { found, scan } from './scan.ts'

const ruleIds = async (path: string, text: string) => (await scan(path, text)).findings.map(({ ruleId }) => ruleId)

t.test('each text rule reports its examples and ignores its counterexamples', async t => {
  for (const { id, fixtures } of TEXT_RULES) {
    for (const text of fixtures.hits) t.ok((await ruleIds(fixtures.path, text)).includes(id), `${id} reports: ${text}`)
    for (const text of fixtures.misses)
      t.notOk((await ruleIds(fixtures.path, text)).includes(id), `${id} ignores: ${text}`)
  }
})

t.test('reports placeholders in every language as errors', async t => {
  const undone: readonly (readonly [path: string, text: string, rule: string])[] = [
    ['a.kt', 'fun f(): Int = TODO("later")', 'stub/missing-value'],
    ['a.scala', 'def f: Int = ???', 'stub/missing-value'],
    ['a.java', 'throw new UnsupportedOperationException("Not implemented");', 'stub/refusal'],
    ['a.swift', 'func f() -> Int { fatalError("not implemented") }', 'stub/refusal'],
    ['a.rb', 'def f\n  raise NotImplementedError\nend', 'stub/named-refusal'],
    ['a.py', 'def f():\n    raise NotImplementedError', 'stub/not-implemented-error'],
    ['a.py', 'def f(a,\n      b):\n    """Says what it does."""\n    ...', 'stub/ellipsis-body'],
    ['a.py', 'def f(): raise NotImplementedError()', 'stub/not-implemented-error'],
    ['a.py', 'def f():\n    raise ValueError("not implemented")', 'stub/refusal'],
    ['a.vox', 'fn f() {\n    // implementation goes here\n}', 'stub/elided'],
    ['a.vue', '<!-- ... existing code ... -->', 'stub/elided'],
    ['a.sql', '-- to be implemented', 'stub/elided'],
    ['a.gd', 'func f():\n\tassert(false, "not implemented")', 'stub/refusal']
  ]
  for (const [path, text, rule] of undone) {
    const { findings } = await scan(path, text)
    t.ok(
      findings.some(({ ruleId, severity }) => ruleId === rule && severity === 'error'),
      `${path}: ${text}`
    )
  }
})

t.test('reports empty functions at their line, and not those that say why they are empty', async t => {
  t.strictSame(await found('a.go', 'func (s *Server) Close() {}'), ['1 arch/empty_body'])
  t.strictSame(await found('a.ts', 'export function f(a: number): void {\n  // TODO\n}'), [
    '1 arch/empty_body',
    '2 stub/todo-comment'
  ])
  t.strictSame(await found('a.ts', 'export function f(): void {\n  // The other side closes the socket.\n}'), [])
  t.strictSame(await found('a.gd', 'func _ready():\n\tpass\n\nfunc g():\n\treturn 1\n'), ['1 arch/empty_body'])
})

t.test('ignores code that only resembles placeholders', async t => {
  const done: readonly (readonly [path: string, text: string])[] = [
    ['a.ts', 'const close = (): void => {}\nexport { close }'],
    ['a.ts', 'const pattern = /["\'`]/ // quotes\nexport const todo = 1'],
    ['a.rs', "pub fn f<'a>(x: &'a str) -> &'a str { x }"],
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
  for (const [path, text] of done) t.strictSame(await found(path, text), [], `${path}: ${text}`)
})

t.test('an inline suppression names rules, and gives a reason where one is required', async t => {
  const text = (comment: string) => `fn f() { todo!() } // ${comment}\nfn main() { f() }`
  const reason = 'the test needs a body that panics'
  t.strictSame(await found('a.rs', text('toestub-ignore(stub/todo)')), [])
  t.strictSame(await found('a.rs', text('toestub-ignore(stub)')), [])
  t.strictSame(await found('a.rs', text('toestub-ignore(all)')), [])
  t.strictSame(await found('a.rs', text('toestub-ignore(rust)')), ['1 stub/todo'])
  t.strictSame(await found('a.rs', text('toestub-ignore(stub)'), { requiresRationale: true }), ['1 stub/todo'])
  t.strictSame(await found('a.rs', text(`toestub-ignore(stub) - ${reason}`), { requiresRationale: true }), [])
  const { suppressed } = await scan('a.rs', text('toestub-ignore(stub)'))
  t.equal(suppressed.length, 1, 'suppressed findings are counted')
})

t.test('secrets never appear in a finding', async t => {
  const secret = 'Zk29xQpL01mmqq8a'
  const { findings } = await scan('src/a.ts', `export const apiKey = '${secret}'\n`)
  t.equal(findings[0]?.ruleId, 'security/hardcoded-secret/generic')
  t.notOk(JSON.stringify(findings).includes(secret))
})

t.test('separates comments and strings from code in any mixture', async () => {
  const pieces = [
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
  ]
  const path = fc.constantFrom('a.ts', 'a.py', 'a.rs', 'a.gd', 'a.sql', 'a.vue', 'a.sh', 'a.php', 'a.kt')
  fc.assert(
    fc.property(path, fc.array(fc.constantFrom(...pieces), { maxLength: 60 }), (name, parts) => {
      const text = parts.join('')
      const syntax = languageOf(name)
      if (syntax === null) return false
      const { comments, strings } = lex(text, syntax)
      const ranges = [...comments, ...strings].sort((one, other) => one.start - other.start)
      return ranges.every(
        ({ start, end }, at) => start < end && end <= text.length && (ranges[at - 1]?.end ?? 0) <= start
      )
    }),
    { numRuns: 200 }
  )
})

t.test('scans any mixture of code, and places every finding within the text', async () => {
  const pieces = [
    'fn f(',
    'def f(',
    'function f(',
    ')',
    '{',
    '}',
    ':',
    '\n',
    '    ',
    'return',
    ' todo!()',
    'for (;;)',
    '`${',
    '"',
    '//',
    '#',
    'if',
    'else',
    '=>',
    'class A',
    'async ',
    'pass',
    '...'
  ]
  const path = fc.constantFrom('a.ts', 'a.tsx', 'a.js', 'a.py', 'a.rs', 'a.gd', 'a.vox', 'a.go')
  await fc.assert(
    fc.asyncProperty(path, fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), async (name, parts) => {
      const text = parts.join('')
      const { state, findings } = await scan(name, text)
      const lines = text.split('\n')
      return (
        state === 'scanned' &&
        findings.every(
          ({ line, column }) =>
            line >= 1 && line <= lines.length && column >= 1 && column <= (lines[line - 1] as string).length + 1
        )
      )
    }),
    { numRuns: 150 }
  )
})

t.test('takes its language from the extension only', async t => {
  for (const path of ['a.md', 'a.txt', 'Makefile', 'a.json', 'src.ts/a']) {
    t.equal(sourceLanguage(path), null, path)
    t.equal((await scan(path, 'TODO')).state, 'skipped')
  }
  t.equal(sourceLanguage('SRC/A.TS')?.grammar, 'typescript')
})
