import { readdirSync, readFileSync } from 'node:fs'
import { checkFile, hasErrors, SourceFile } from '@svc/plugin-compiler/testing'
import fc from 'fast-check'
import t from 'tap'
import { LANGUAGE_CARD } from '#generate'
import { isPrefixOf, stateAfter, voxGrammar } from '#grammar'

const EXAMPLES = new URL('../../../examples/language/', import.meta.url)
const REFERENCE = new URL('../../../docs/language.md', import.meta.url)

const blocks = (text: string): string[] => [...text.matchAll(/```vox\n([\s\S]*?)```/g)].map(([, code = '']) => code)
const programs = [
  ...readdirSync(EXAMPLES)
    .filter(name => name.endsWith('.vox'))
    .map(name => readFileSync(new URL(name, EXAMPLES), 'utf8')),
  ...blocks(readFileSync(REFERENCE, 'utf8')),
  ...blocks(LANGUAGE_CARD)
]
const isText = (text: string): boolean => stateAfter(voxGrammar(), text)?.accepting === true
const compiles = (text: string): boolean =>
  !hasErrors(
    checkFile(new SourceFile('a.vox', text), {
      allowComponentFunctions: false,
      suppressHookLints: true,
      script: false,
      strict: false
    }).diagnostics
  )

t.test('the grammar accepts every program', async t => {
  t.ok(programs.length > 40)
  for (const program of programs) t.ok(isText(program), program.slice(0, 60))
  t.ok(isText(''))
})

t.test('the language description for the model compiles', async t => {
  for (const program of blocks(LANGUAGE_CARD)) t.ok(compiles(program), program.slice(0, 60))
})

t.test('the grammar accepts every mutated program that compiles', async () => {
  const change = fc.record({
    program: fc.constantFrom(...programs.filter(text => text.length < 1_500)),
    at: fc.double({ min: 0, max: 0.999, noNaN: true }),
    drop: fc.nat(3),
    put: fc.constantFrom(
      '',
      ' ',
      '\n',
      '(',
      ')',
      '{',
      '}',
      '"',
      "'",
      ',',
      '+',
      '-',
      '=',
      'x',
      '1',
      '//',
      '#',
      '&',
      '|',
      '@',
      '.',
      'ä',
      '!',
      'fn ',
      '/*',
      '~',
      '?'
    )
  })
  fc.assert(
    fc.property(change, ({ program, at, drop, put }) => {
      const place = Math.floor(at * program.length)
      const changed = program.slice(0, place) + put + program.slice(place + drop)
      fc.pre(compiles(changed))
      return isText(changed)
    }),
    { numRuns: 200 }
  )
})

t.test('rejects invalid texts at the first possible byte', async t => {
  for (const [good, bad] of [
    ['fn f() { ', ')'],
    ['fn f() { 1 + ', '}'],
    ['fn f() { 1 + ', ')'],
    ['fn f() { a == ', '== b'],
    ['fn f() { 1', 'x'],
    ['fn f() { 0', 'x1F'],
    ['fn f() { 1.5de', '}'],
    ['fn f() { /', '* a */ }'],
    ['fn f() { a &', ' b }'],
    ['', 'hello there'],
    ['', '1 + 1'],
    ['', '```vox'],
    ['environment', ':'],
    ['fn', '('],
    ['fn f ', 'g'],
    ['workflow order', ','],
    ['type ', '='],
    ['fn /', ' 2'],
    ['fn f() {}\n', 'This program does it.'],
    ['fn f() { ', '~'],
    ['fn f() { "', '\0'],
    ['@', '1']
  ] as const) {
    t.ok(isPrefixOf(voxGrammar(), good), good)
    t.notOk(isPrefixOf(voxGrammar(), good + bad), good + bad)
  }
})

t.test('a text may end only if all brackets, strings and declarations are closed', async t => {
  for (const open of [
    'fn f() {',
    'let a = "b',
    'let a = 1 +',
    'let a = 1de',
    'let a = (1',
    '@',
    'f',
    'fn',
    'fn f',
    'type',
    'let a = "\\"'
  ])
    t.notOk(isText(open), open)
  for (const whole of ['fn f() {}', 'let a = "b"', 'let a = 1 + 2', 'let a = 1.5dec', '// ä', '# x\n', 'type A = B\n'])
    t.ok(isText(whole), whole)
})

t.test('strings and comments accept only valid UTF-8', async () => {
  const accepts = (bytes: Buffer): boolean => {
    let state: ReturnType<ReturnType<typeof voxGrammar>['start']> | null = voxGrammar().start()
    for (const byte of bytes) state = state === null ? null : state.advance(byte)
    return state?.accepting === true
  }
  const isUtf8 = (bytes: Uint8Array): boolean => Buffer.from(Buffer.from(bytes).toString()).equals(Buffer.from(bytes))
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 8 }), bytes => {
      const inner = bytes.map(byte => (byte < 0x20 || byte === 0x22 || byte === 0x5c ? 0x61 : byte))
      const text = (around: [string, string]) => Buffer.concat([Buffer.from(around[0]), inner, Buffer.from(around[1])])
      return accepts(text(['let a = "', '"'])) === isUtf8(inner) && accepts(text(['// ', '\n'])) === isUtf8(inner)
    })
  )
})

t.test('states with the same key have the same successors', async t => {
  const seen = new Map<string, { accepting: boolean; next: string }>()
  for (const program of programs.slice(0, 12)) {
    let state: ReturnType<ReturnType<typeof voxGrammar>['start']> | null = voxGrammar().start()
    for (const byte of Buffer.from(program.slice(0, 600))) {
      if (state === null) break
      const next = Array.from({ length: 256 }, (_, each) => state?.advance(each)?.key ?? '-').join('\n')
      const known = seen.get(state.key)
      if (known !== undefined && (known.accepting !== state.accepting || known.next !== next)) t.fail(state.key)
      seen.set(state.key, { accepting: state.accepting, next })
      state = state.advance(byte)
    }
  }
  t.ok(seen.size > 50)
})
