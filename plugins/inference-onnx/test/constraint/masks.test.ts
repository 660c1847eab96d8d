import type { OutputConstraint, TextGrammar, TextGrammarState } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { seededRandom } from '#sampling'
import { patterns } from '../support/patterns.ts'
import { schemas } from '../support/schemas.ts'
import { byteVocabulary, OutputConstraints, vocabularyOf, write } from '../support/writers.ts'

/** Token strings that cross the boundaries of strings, numbers and brackets, with duplicates and long ones. */
const pieces = [
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  ...[
    '", "',
    '":',
    '": ',
    '"}',
    '"]',
    '}}',
    '],[',
    '{"',
    '{"a',
    '{"a": ',
    'null',
    'nul',
    'true}',
    '", "a": "',
    '1, 2',
    '12',
    '.5'
  ],
  ...[
    'aa',
    'abc"',
    'a\\',
    '\\"',
    '\\u00',
    'e9"',
    'é',
    '漢字',
    ' '.repeat(17),
    'a'.repeat(20),
    `${'x'.repeat(18)}"`,
    'name',
    'null'
  ],
  ...[Uint8Array.of(0xe6, 0xbc), Uint8Array.of(0xa2, 0x22), Uint8Array.of(0xc3)]
]
const vocabulary = vocabularyOf(pieces)
const constraints = new OutputConstraints(vocabulary)
const bytewise = new OutputConstraints(byteVocabulary)
const isSet = (mask: Uint32Array, token: number) => ((mask[token >> 5] ?? 0) & (1 << (token & 31))) !== 0

/** True if the bytes of a token may follow one by one. */
async function follows(constraint: OutputConstraint, bytes: Uint8Array): Promise<boolean> {
  const matcher = await bytewise.matcher(constraint, { ignoreEnd: false })
  for (const byte of bytes) {
    if (!isSet(matcher.allowed(), byte)) return false
    matcher.accept(byte)
  }
  return true
}

/** Generates text, and at each step compares the mask with the result for single bytes. */
async function compareMasks(constraint: OutputConstraint, seed: number, length: number): Promise<void> {
  const matcher = await constraints.matcher(constraint, { ignoreEnd: false })
  const random = seededRandom(seed)
  let written: Uint8Array = new Uint8Array()
  for (let step = 0; step < length; step++) {
    const mask = matcher.allowed()
    const allowed = pieces.map((_, token) => token).filter(token => isSet(mask, token))
    for (const [token] of pieces.entries()) {
      // Single-byte tokens are only sampled; all other tokens are compared.
      if (token < 256 && token % 16 !== step % 16) continue
      const expected = await follows(constraint, Buffer.concat([written, vocabulary.bytes(token)]))
      if (expected !== isSet(mask, token)) {
        throw new Error(`${expected}: ${JSON.stringify(Buffer.concat([written, vocabulary.bytes(token)]).toString())}`)
      }
    }
    const long = allowed.filter(token => token >= 256)
    const choice = long.length > 0 && random() < 0.6 ? long : allowed
    const token = choice[Math.floor(random() * choice.length)]
    if (token === undefined) return
    matcher.accept(token)
    written = Buffer.concat([written, vocabulary.bytes(token)])
  }
}

t.test('allows a token exactly if its bytes may follow one by one', async t => {
  await fc.assert(
    fc.asyncProperty(schemas, fc.nat(2 ** 30), async (schema, seed) => {
      try {
        await constraints.matcher({ type: 'json-schema', schema }, { ignoreEnd: false })
      } catch {
        return
      }
      await compareMasks({ type: 'json-schema', schema }, seed, 6)
    }),
    { numRuns: 15 }
  )
  const bounded = { type: 'array', items: { type: 'string', minLength: 19, maxLength: 40 } }
  for (let seed = 0; seed < 5; seed++) await compareMasks({ type: 'json-schema', schema: bounded }, seed, 12)
  for (let seed = 0; seed < 5; seed++) await compareMasks({ type: 'json-object' }, seed, 12)
  await compareMasks({ type: 'regex', pattern: '(?:a{1,30}b?|x+"|é|漢)*' }, 7, 10)
  t.pass('masks agree along random texts')
})

t.test('allows end tokens exactly if the text may end, and never special tokens', async t => {
  const special = { ...vocabularyOf(['a', 'b', '<|tool|>', '<|end|>']), isSpecial: (token: number) => token >= 2 }
  const ends = { ...special, size: 4, endTokens: new Set([3]) }
  const constraint = { type: 'regex', pattern: 'ab?|<.*' } as const
  const matcher = await new OutputConstraints(ends).matcher(constraint, { ignoreEnd: false })
  t.same([...matcher.allowed()], [0b0001])
  matcher.accept(0)
  t.same([...matcher.allowed()], [0b1010])
  t.notOk(matcher.isFinished(), '"b" may follow')
  matcher.accept(1)
  t.ok(matcher.isFinished(), 'nothing may follow')
  const ignoring = await new OutputConstraints(ends).matcher(constraint, { ignoreEnd: true })
  ignoring.accept(0)
  t.same([...ignoring.allowed()], [0b0010])
})

t.test('throws INF_CONSTRAINT_IMPASSE if the vocabulary cannot express the constraint', async t => {
  const few = vocabularyOf(['a', 'b'])
  const matcher = await new OutputConstraints(few).matcher({ type: 'regex', pattern: 'ac|xy' }, { ignoreEnd: false })
  matcher.accept(0)
  t.throws(() => matcher.allowed(), { code: 'INF_CONSTRAINT_IMPASSE', status: 400 })
  const other = await new OutputConstraints(few).matcher({ type: 'regex', pattern: 'a' }, { ignoreEnd: false })
  t.throws(() => other.accept(1), { code: 'INF_CONSTRAINT_IMPASSE', data: { token: 1 } })
})

t.test('with any logits, the text matches its regular expression', async t => {
  let complete = 0
  await fc.assert(
    fc.asyncProperty(patterns, fc.nat(2 ** 30), async (pattern, seed) => {
      const written = await write(constraints, vocabulary, { type: 'regex', pattern }, { seed, maxTokens: 40 }).catch(
        error => {
          if (!/too large/.test(error.message)) throw error
        }
      )
      if (written?.complete !== true) return
      complete++
      if (!new RegExp(`^(?:${pattern})$`, 'u').test(written.text)) throw new Error(JSON.stringify(written.text))
    }),
    { numRuns: 30 }
  )
  t.ok(complete > 5, `${complete} answers were complete`)
})

t.test("enforces a caller's grammar over bytes", async t => {
  // Balanced brackets: neither regular nor JSON.
  const state = (depth: number): TextGrammarState => ({
    key: String(depth),
    accepting: depth === 0,
    advance: byte => (byte === 0x28 ? state(depth + 1) : byte === 0x29 && depth > 0 ? state(depth - 1) : null)
  })
  const grammar: TextGrammar = { start: () => state(0) }
  const brackets = vocabularyOf(['(', ')', '((', '))', '()', ')(', 'x', '(x'])
  const own = new OutputConstraints(brackets)
  let complete = 0
  for (let seed = 0; seed < 40; seed++) {
    const written = await write(own, brackets, { type: 'grammar', grammar }, { seed, maxTokens: 40 })
    let depth = 0
    for (const bracket of written.text) {
      depth += bracket === '(' ? 1 : -1
      if (depth < 0 || !'()'.includes(bracket)) t.fail(written.text)
    }
    if (written.complete) t.equal(depth, 0, written.text)
    complete += Number(written.complete)
  }
  t.ok(complete > 5)
})

t.test('calls a grammar once per state, not once per sequence', async t => {
  let asked = 0
  const loop: TextGrammarState = {
    key: 'loop',
    accepting: true,
    advance: byte => {
      asked++
      return byte < 0x80 ? loop : null
    }
  }
  const grammar: TextGrammar = { start: () => loop }
  const own = new OutputConstraints(vocabulary)
  await write(own, vocabulary, { type: 'grammar', grammar }, { seed: 1, maxTokens: 30 })
  const first = asked
  await write(own, vocabulary, { type: 'grammar', grammar }, { seed: 2, maxTokens: 30 })
  t.ok(first <= 256)
  t.equal(asked, first)
})

t.test('recomputes evicted states and masks with the same result', async t => {
  // More states than the cache can hold: one for each length of the list, within each of its strings.
  const schema = { type: 'array', items: { enum: ['ab', 'cd'] }, minItems: 900, maxItems: 900 }
  const once = await write(constraints, vocabulary, { type: 'json-schema', schema }, { seed: 3, maxTokens: 20_000 })
  t.equal(JSON.parse(once.text).length, 900)
  const again = await write(constraints, vocabulary, { type: 'json-schema', schema }, { seed: 3, maxTokens: 20_000 })
  t.equal(again.text, once.text)
})

t.test('only constraints above the memory limit are rejected', async t => {
  const names = Array.from({ length: 1000 }, (_, i) => `value number ${i}`)
  const written = await write(
    bytewise,
    byteVocabulary,
    { type: 'json-schema', schema: { enum: names } },
    { seed: 1, maxTokens: 99 }
  )
  t.ok(names.includes(JSON.parse(written.text)))
  const long = Array.from({ length: 30 }, (_, i) => [`p${i}`, { type: 'string', pattern: `^(?:[ab${i}]{3000})$` }])
  const schema = { type: 'object', properties: Object.fromEntries(long) }
  await t.rejects(bytewise.matcher({ type: 'json-schema', schema }, { ignoreEnd: false }), {
    code: 'INF_CONSTRAINT_UNSUPPORTED',
    message: /too large/
  })
  const deep = `${'{"items":'.repeat(300)}{}${'}'.repeat(300)}`
  t.ok(await bytewise.matcher({ type: 'json-schema', schema: JSON.parse(deep) }, { ignoreEnd: false }))
})
