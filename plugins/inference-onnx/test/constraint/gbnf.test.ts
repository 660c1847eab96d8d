import type { OutputConstraint } from '@svc/contracts'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type GbnfExpression, parseGbnf } from '#constraint'
import {
  bundledVocabulary,
  byteVocabulary,
  closingLogit,
  OutputConstraints,
  vocabularyOf,
  write
} from '../support/writers.ts'

const bytewise = new OutputConstraints(byteVocabulary)
const [END] = byteVocabulary.endTokens as unknown as [number]
const gbnf = (grammar: string): OutputConstraint => ({ type: 'gbnf', grammar })
const has = (mask: Uint32Array, token: number) => ((mask[token >> 5] ?? 0) & (1 << (token & 31))) !== 0

/** Returns the number of bytes that the grammar accepts of a text, and whether the text may end after all of them. */
async function read(grammar: string, text: string): Promise<{ readonly bytes: number; readonly accepted: boolean }> {
  const matcher = await bytewise.matcher(gbnf(grammar), { ignoreEnd: false })
  const bytes = Buffer.from(text)
  for (const [at, byte] of bytes.entries()) {
    if (!has(matcher.allowed(), byte)) return { bytes: at, accepted: false }
    matcher.accept(byte)
  }
  return { bytes: bytes.length, accepted: has(matcher.allowed(), END) }
}

async function check(t: Test, grammar: string, accepted: readonly string[], rejected: readonly string[]) {
  for (const text of accepted) t.ok((await read(grammar, text)).accepted, `accepts ${JSON.stringify(text)}`)
  for (const text of rejected) t.notOk((await read(grammar, text)).accepted, `rejects ${JSON.stringify(text)}`)
}

const ARITHMETIC = `
# expressions with whole numbers and names, one equation a line
root  ::= (expr "=" ws term "\\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \\t\\n]*
`

const JSON_TEXT = `
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\\"" ( [^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws     ::= | " " | "\\n" [ \\t]{0,20}
`

const LIST = `
root ::= item+
# an item is a line
item ::= "- " [^\\r\\n\\x0b\\x0c\\x85\\u2028\\u2029]+ "\\n"
`

const CHESS = `
root ::= ("1. " move " " move "\\n") ([1-9] [0-9]? ". " move " " move "\\n")+
move ::= (pawn | nonpawn | castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
`

t.test('follows the grammars that llama.cpp is known for', async t => {
  await check(
    t,
    ARITHMETIC,
    ['a=1\n', 'x1 +(2*y_) = z\n', '((a))=b\nc=d\n', '1-2-3=4\n'],
    ['', 'a=1', '1a=2\n', '(a=b\n', 'a)=b\n', 'a==b\n', 'A=1\n']
  )
  await check(
    t,
    JSON_TEXT,
    [
      '{}',
      '{"a":1}',
      '{ "a": [1, -2.5e+3, {"b": null}], "\\u00e9": "\\"x" }',
      `{"a":${'['.repeat(50)}${']'.repeat(50)}}`
    ],
    ['[]', '{"a"}', '{"a":1,}', '{"a":01}', '{"a":"\t"}', '{"a":tru}', '{]', '{"a":1}}']
  )
  await check(t, LIST, ['- a\n', '- é漢\n- b\n'], ['', '- \n', 'a\n', '- a', '- a\r\n'])
  await check(
    t,
    CHESS,
    ['1. e4 e5\n2. Nf3 Nc6\n', '1. exd5+ O-O-O\n12. R1xa1 a8=Q#\n'],
    ['1. e4 e5\n', '1. e9 e5\n2. a1 a2\n', '1. e4 e5\n02. a1 a2\n']
  )
})

t.test('generates texts of these grammars with the tokens of a model', async t => {
  const vocabulary = await bundledVocabulary()
  const constraints = new OutputConstraints(vocabulary)
  for (const [name, grammar, logitOf] of [
    ['json', JSON_TEXT, closingLogit],
    ['arithmetic', ARITHMETIC, (text: string) => (/[)=\n]/.test(text) ? 40 : text.includes('(') ? -20 : 0)],
    ['list', LIST, (text: string) => (text.includes('\n') ? 40 : 0)],
    ['chess', CHESS, (text: string) => (text === '' ? 60 : 0)]
  ] as const) {
    for (let seed = 1; seed <= 3; seed++) {
      const { text, complete } = await write(constraints, vocabulary, gbnf(grammar), { seed, maxTokens: 400, logitOf })
      const result = await read(grammar, text)
      t.equal(result.bytes, Buffer.byteLength(text), `${name}: ${JSON.stringify(text.slice(0, 80))}`)
      if (complete) t.ok(result.accepted)
    }
  }
})

t.test('reads escapes, classes, repetitions, comments and rules over several lines', async t => {
  await check(t, 'root ::= "\\x41\\u00e9\\U0001F600\\t\\\\\\"\\[\\]"', ['Aé😀\t\\"[]'], ['A'])
  await check(t, 'root ::= [\\x41-Cé\\]\\\\^-]', ['A', 'B', 'C', 'é', ']', '\\', '^', '-'], ['D', ''])
  await check(t, 'root ::= [^a-c\\n]{2} . "x"{3} "y"{1,} "z"{0,2}', ['dé\nxxxyyzz', '😀-axxxy'], ['aéaxxxy', 'ddaxxy'])
  await check(
    t,
    'root ::= "a" # first\r\n  | b-1 # second\n\n\nb-1 ::=\n  ( "b"\n    | c_2 )\nc_2::=""',
    ['a', 'b', ''],
    ['c']
  )
  await check(t, 'root ::= "ab"* "c"?', ['', 'abab', 'abc'], ['abb', 'cc'])
  await check(t, 'root ::= [] | "a"', ['a'], ['', 'b'])
})

t.test('a rule that may be empty is skipped where it is called', async t => {
  const grammar = 'root ::= list "." list\nlist ::= | "a" list | "(" list ")" list'
  await check(t, grammar, ['.', 'a.', 'aa.a', '(a)(()).', '().'], ['', '(.', ')', 'a.b', '(.)'])
  await check(t, 'root ::= a b a "x"\na ::= | "a" a\nb ::= ("b" b)?', ['x', 'aax', 'bbx', 'abax', 'aabbaax'], ['abab'])
  await check(t, 'root ::= a*\na ::= ("a" a)? "b"?', ['', 'ab', 'bbaa'], ['c'])
})

t.test('a long right-recursive list needs no growing stack', async t => {
  const matcher = await bytewise.matcher(
    gbnf('root ::= item list\nlist ::= "," item list | ""\nitem ::= "[" list "]" | "x"'),
    {
      ignoreEnd: false
    }
  )
  for (let count = 0; count < 20_000; count++) {
    if (!has(matcher.allowed(), 0x78)) t.fail(`item ${count} is not allowed`)
    matcher.accept(0x78)
    matcher.accept(0x2c)
  }
  t.ok(has(matcher.allowed(), 0x5b))
})

t.test('errors name the line and the cause', async t => {
  const cases: [string, RegExp][] = [
    ['', /has no rule "root"/],
    ['main ::= "a"', /has no rule "root"/],
    ['root ::= a', /the rule "a" is not defined; "root" uses it/],
    ['root ::= "a"\nroot ::= "b"', /line 2, column 1 of the grammar: the rule "root" is defined twice/],
    ['root = "a"', /line 1, column 6 .*must be followed by "::="/],
    ['root ::= "a', /line 1, column 10 .*the text in quotes has no end/],
    ['root ::= "\\q"', /"\\q" is not an escape/],
    ['root ::= "\\x4"', /is not an escape/],
    ['root ::= "\\uD800"', /is not a character/],
    ['root ::= "\ud800"', /line 1, column 11 .*half of a surrogate pair/],
    ['root ::= [a', /no "\]"/],
    ['root ::= [b-a]', /wrong order/],
    ['root ::= ("a"', /expected "\)"/],
    ['root ::= "a" )', /line 1, column 14 .*expected an end of line/],
    ['root ::= "a"{2', /a number of repetitions is/],
    ['root ::= "a"{3,2}', /maximum of the repetitions is below/],
    ['root ::= "a"{2001}', /more than 2000 repetitions/],
    ['root ::= <think> "a"', /tokens in angle brackets/],
    ['root ::= root "a" | "b"', /left recursion/],
    ['root ::= a "x"\na ::= b a | "z"\nb ::= "y"?', /left recursion/],
    ['root ::= "a" root', /no text matches the rule "root"/],
    ['root ::= []', /no text matches/]
  ]
  for (const [grammar, message] of cases) {
    const error = await bytewise.matcher(gbnf(grammar), { ignoreEnd: false }).catch(each => each)
    t.match(error, { code: 'INF_CONSTRAINT_UNSUPPORTED', message }, grammar)
  }
})

t.test('hostile grammars are refused with a reason', async t => {
  const chain = (length: number, rule: (at: number) => string) =>
    ['root ::= r0', ...Array.from({ length }, (_, at) => `r${at} ::= ${rule(at)}`), `r${length} ::= "a"`].join('\n')
  const cases: [string, RegExp | null][] = [
    [`root ::= ${'('.repeat(5_000)}"a"${')'.repeat(5_000)}`, /nested deeper than 100 levels/],
    [`root ::= "a"${'*'.repeat(100_000)}`, /more than 100 repetitions follow each other/],
    [`root ::= "${'a'.repeat(200_000)}"`, /longer than 200000 characters/],
    [chain(4_000, at => `r${at + 1} r${at + 1}`), null],
    [chain(4_990, at => `r${at + 1}`), null],
    [chain(6_000, at => `r${at + 1}`), /more than 5000 rules/],
    ['root ::= ((("a"{2000}){2000}){2000}){2000}', null],
    ['root ::= ("a" root?){2000}', null],
    ['root ::= [ab]* "a" [ab]{300}', null]
  ]
  for (const [grammar, message] of cases) {
    const result = await bytewise.matcher(gbnf(grammar), { ignoreEnd: false }).catch(each => each as Error)
    if (message === null) t.notOk(result instanceof Error, `${grammar.slice(0, 60)} ${result}`)
    else t.match(result, { code: 'INF_CONSTRAINT_UNSUPPORTED', message }, grammar.slice(0, 60))
  }
  const matcher = await bytewise.matcher(gbnf('root ::= a\na ::= "x" a a "y" | "x" a "z" | "x"'), { ignoreEnd: false })
  for (let count = 0; count < 200; count++) {
    matcher.allowed()
    matcher.accept(0x78)
  }
  t.ok(has(matcher.allowed(), 0x79), 'an ambiguous grammar has few threads')
})

t.test('a grammar with too many ways to continue is refused while it is used, in limited time', async t => {
  const pieces = Array.from({ length: 4_000 }, (_, at) => `${at.toString(36)}${'0123456789'.slice(at % 10)}`)
  const vocabulary = vocabularyOf([...Array.from({ length: 128 }, (_, byte) => Uint8Array.of(byte)), ...pieces])
  const constraints = new OutputConstraints(vocabulary)
  t.teardown(() => constraints.close())
  const ways = Array.from(
    { length: 300 },
    (_, at) => `[^\\x${(at % 32).toString(16).padStart(2, '0')}]{${at % 12},} [0-9] root`
  )
  const matcher = await constraints.matcher(gbnf(`root ::= "x" | ${ways.join(' | ')}`), { ignoreEnd: false })
  const run = () => {
    for (let step = 0; step < 100; step++) {
      matcher.allowed()
      matcher.accept(0x61)
    }
  }
  t.throws(run, { code: 'INF_CONSTRAINT_UNSUPPORTED', message: /too ambiguous/ })
})

t.test('rules that begin with each other count towards the limit, though they read the same text', async t => {
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  const words = [...letters].flatMap(a => [a, ...[...letters].map(b => a + b)])
  const constraints = new OutputConstraints(vocabularyOf(words))
  t.teardown(() => constraints.close())
  const rules = Array.from({ length: 300 }, (_, at) => `r${at} ::= r${at + 1} ([a-z] r0)?`)
  const matcher = await constraints.matcher(gbnf(`root ::= r0\n${rules.join('\n')}\nr300 ::= [a-z] | "(" root ")"`), {
    ignoreEnd: false
  })
  const run = () => {
    for (let step = 0; step < 3; step++) {
      matcher.allowed()
      matcher.accept(0)
    }
  }
  t.throws(run, { code: 'INF_CONSTRAINT_UNSUPPORTED', message: /too ambiguous/ })
})

t.test('allows a token exactly if its bytes may follow one by one', async t => {
  const texts = [...'xyz', 'xy', 'yx', 'xx', 'yz', 'zz', 'xyx', 'yzz', 'xyxy', 'zzy']
  const constraints = new OutputConstraints(vocabularyOf(texts))
  let allowed = 0
  await fc.assert(
    fc.asyncProperty(grammars, fc.array(fc.nat(texts.length - 1), { maxLength: 4 }), async (grammar, choices) => {
      const matcher = await constraints.matcher(gbnf(grammar), { ignoreEnd: false }).catch((error: Error) => error)
      if (matcher instanceof Error) {
        if (!/left recursion|no text/.test(matcher.message)) throw matcher
        return
      }
      let written = ''
      for (const choice of choices) {
        if (matcher.isFinished()) return
        const mask = matcher.allowed()
        for (const [token, text] of texts.entries()) {
          const { bytes } = await read(grammar, written + text)
          if (has(mask, token) !== (bytes === written.length + text.length)) throw new Error(`${written}|${text}`)
          if (has(mask, token)) allowed++
        }
        const next = texts.findIndex((_, at) => has(mask, (at + choice) % texts.length))
        if (next < 0) return
        const token = (next + choice) % texts.length
        matcher.accept(token)
        written += texts[token]
      }
    }),
    { numRuns: 60 }
  )
  t.ok(allowed > 50, `${allowed} allowed tokens`)
})

/** Grammars of three rules, without left recursion: each alternative begins with text, or calls a later rule. */
const grammars = fc
  .tuple(...[0, 1, 2].map(rule => alternatives(rule)))
  .map(([root, a, b]) => `root ::= ${root}\na ::= ${a}\nb ::= ${b}`)

function alternatives(rule: number): fc.Arbitrary<string> {
  const text = fc.constantFrom('"x"', '"y"', '"xy"', '[xy]', '[^x]', '"z"{1,2}', '("x" | "yz")')
  const later = fc.constantFrom(...['a', 'b', '"y"'].slice(rule))
  const any = fc.constantFrom('root', 'a', 'b', 'a?', 'b*', '(root | "z")', '"x"*', '(a "y" | b){0,2}')
  const sequence = fc.tuple(fc.oneof(text, later), fc.array(fc.oneof(text, any), { maxLength: 2 }))
  const written = sequence.map(([first, rest]) => [first, ...rest].join(' '))
  return fc
    .array(fc.oneof({ weight: 5, arbitrary: written }, { weight: 1, arbitrary: fc.constant('""') }), {
      minLength: 1,
      maxLength: 3
    })
    .map(parts => parts.join(' | '))
}

/** Returns the positions at which a part of the text that begins at `start` may end: a plain reference. */
function endsOf(rules: ReadonlyMap<string, GbnfExpression>, text: string) {
  const known = new Map<string, ReadonlySet<number>>()
  const ends = (expression: GbnfExpression, start: number, depth: number): ReadonlySet<number> => {
    if (depth > 200) throw new RangeError('too deep')
    switch (expression.type) {
      case 'text':
        return new Set(text.startsWith(expression.text, start) ? [start + expression.text.length] : [])
      case 'characters': {
        const point = text.codePointAt(start)
        const matches = point !== undefined && expression.set.some(([low, high]) => low <= point && point <= high)
        return new Set(matches ? [start + 1] : [])
      }
      case 'rule': {
        const key = `${expression.name} ${start}`
        const found = known.get(key) ?? ends(rules.get(expression.name)!, start, depth + 1)
        known.set(key, found)
        return found
      }
      case 'choice':
        return new Set(expression.parts.flatMap(part => [...ends(part, start, depth + 1)]))
      case 'sequence': {
        let starts: ReadonlySet<number> = new Set([start])
        for (const part of expression.parts) starts = new Set([...starts].flatMap(at => [...ends(part, at, depth + 1)]))
        return starts
      }
      case 'repeat': {
        const found = new Set<number>(expression.min === 0 ? [start] : [])
        let from: ReadonlySet<number> = new Set([start])
        for (
          let count = 1;
          count <= Math.min(expression.max, text.length + expression.min + 1) && from.size > 0;
          count++
        ) {
          from = new Set([...from].flatMap(at => [...ends(expression.part, at, depth + 1)]))
          if (count >= expression.min) for (const at of from) found.add(at)
        }
        return found
      }
    }
  }
  return ends({ type: 'rule', name: 'root' }, 0, 0)
}

t.test('accepts exactly the texts of a grammar', async t => {
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(
      grammars,
      fc.array(fc.stringMatching(/^[xyz]{0,7}$/), { minLength: 8, maxLength: 8 }),
      async (grammar, texts) => {
        const rules = parseGbnf(grammar)
        const problem = await bytewise.matcher(gbnf(grammar), { ignoreEnd: false }).then(
          () => null,
          (error: Error) => error
        )
        if (problem !== null) {
          if (!/left recursion|no text/.test(problem.message)) throw problem
          return
        }
        for (const text of texts) {
          const expected = endsOf(rules, text).has(text.length)
          const actual = (await read(grammar, text)).accepted
          if (expected) accepted++
          if (expected !== actual) throw new Error(`${JSON.stringify(text)}: expected ${expected}, got ${actual}`)
        }
      }
    ),
    { numRuns: 300 }
  )
  t.ok(accepted > 50, `${accepted} accepted texts`)
})
