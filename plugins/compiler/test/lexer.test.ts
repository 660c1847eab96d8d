import t from 'tap'
import { describeKind, KEYWORDS, Kind, lex, stringValue } from '#syntax'

function texts(source: string): string[] {
  const { tokens } = lex(source)
  return Array.from({ length: tokens.length - 1 }, (_, index) => tokens.text(index))
}

function messages(source: string): string[] {
  return lex(source).diagnostics.map(({ message }) => message)
}

t.test('the lexer reads the longest matching sign', async t => {
  t.same(texts('a|>b||c|d=>e->f==g<=h</>i/>j<>k!=l+=m'), [
    ...['a', '|>', 'b', '||', 'c', '|', 'd', '=>', 'e', '->', 'f', '==', 'g', '<=', 'h', '</', '>', 'i', '/>', 'j'],
    ...['<>', 'k', '!=', 'l', '+=', 'm']
  ])
})

t.test('numbers are ints, floats and decimals, and a tuple index is not a float', async t => {
  const { tokens } = lex('1 2.5 3dec 4.75dec pair.0.1 decade')
  const kinds = Array.from({ length: tokens.length }, (_, index) => tokens.kind(index))
  const { Int, Float, Decimal, Identifier, Dot, EndOfFile } = Kind
  t.same(kinds, [Int, Float, Decimal, Decimal, Identifier, Dot, Int, Dot, Int, Identifier, EndOfFile])
  t.same(messages('12ab'), ['unexpected `ab` after a number'])
})

t.test('line breaks of every kind and semicolons separate statements', async t => {
  const { tokens } = lex('a\nb\r\nc\rd;e f')
  t.same(
    [0, 1, 2, 3, 4, 5].map(index => tokens.newlineBefore(index)),
    [false, true, true, true, true, false]
  )
})

t.test('comments are kept with the token that follows them', async t => {
  const source = 'a // one \n# two\nb'
  const { tokens } = lex(source)
  t.same(
    tokens.comments.map(({ start, end, token }) => [source.slice(start, end), token]),
    [
      ['// one', 1],
      ['# two', 1]
    ]
  )
})

t.test('strings may span lines, and known escapes are replaced', async t => {
  t.same(texts("\"a\nb\" 'c\\'d'"), ['"a\nb"', "'c\\'d'"])
  t.equal(stringValue('"\\n\\t\\r\\0\\\\\\"\\\'\\x"'), '\n\t\r\0\\"\'\\x')
})

t.test('an unterminated string is reported at its start, and lexing continues on the next line', async t => {
  const { tokens, diagnostics } = lex('let a = "open\nlet b = 1')
  t.match(diagnostics, [{ code: 'E0001', message: 'this string is not closed', span: { start: 8, end: 13 } }])
  t.equal(tokens.kind(4), Kind.Let)
})

t.test('adjacent invalid characters are reported once', async t => {
  t.same(messages('@@@\n& a'), ['invalid characters `@@@`', 'invalid character `&`'])
  t.same(messages('größe'), ['invalid characters in the name `öße`'])
  t.same(messages('/* a */ b'), ['block comments are not supported'])
})

t.test('brackets are matched, and a missing one does not break the pairs around it', async t => {
  const { tokens } = lex('{ ( [ ) }')
  t.same(
    [0, 1, 2, 3, 4].map(index => tokens.partner(index)),
    [4, 3, -1, 1, 0]
  )
})

t.test('a byte order mark is skipped', async t => {
  t.same(texts('\ufefffn'), ['fn'])
})

t.test('messages describe each keyword by its own text', async t => {
  for (const word of KEYWORDS.filter(each => each !== 'ret')) {
    t.equal(describeKind(lex(word).tokens.kind(0)), `\`${word}\``)
  }
})

t.test('unclosed quotes and brackets take linear time', async t => {
  for (const source of ['"\n\\', "'\n\\", '(', '{(', '/*', '@']) {
    const { tokens } = lex(source.repeat(100_000))
    t.ok(tokens.length > 0)
  }
})
