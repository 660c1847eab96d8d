import fc from 'fast-check'
import t from 'tap'
import {
  codePoints,
  combine,
  compileRegex,
  complement,
  everyCodePoint,
  formats,
  intersect,
  jsonString,
  jsonStringBytes,
  literals,
  numbers,
  otherNames,
  utf8Ranges
} from '#constraint'
import { patterns } from '../support/patterns.ts'

const whole = (pattern: string) => compileRegex(pattern, { path: 'pattern', match: 'whole' })

/** Compiles a pattern; null if nothing matches it or the automaton is too large. */
function compile(pattern: string, options: Omit<Parameters<typeof compileRegex>[1], 'path'>) {
  try {
    return { dfa: compileRegex(pattern, { path: 'pattern', ...options }) }
  } catch (error) {
    if (/too large/.test((error as Error).message)) return null
    throw error
  }
}
const codePoint = fc.oneof(fc.nat(0x10ffff), fc.constantFrom(0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff))
const scalar = codePoint.filter(point => point < 0xd800 || point > 0xdfff)

t.test('ranges of code points are encoded to exactly their UTF-8 bytes', async t => {
  const set = fc.array(fc.tuple(codePoint, fc.nat(3000)), { minLength: 1, maxLength: 4 })
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(set, fc.array(scalar, { minLength: 1 }), (ranges, points) => {
        const wanted = codePoints(ranges.map(([first, size]) => [first, Math.min(first + size, 0x10ffff)]))
        const sequences = utf8Ranges(wanted)
        const edges = wanted.flatMap(([first, last]) => [first, last, first - 1, last + 1])
        for (const point of [...points, ...edges]) {
          if (point < 0 || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) continue
          const bytes = [...Buffer.from(String.fromCodePoint(point))]
          const found = sequences.filter(
            ranges =>
              ranges.length === bytes.length && ranges.every(([low, high], i) => low <= bytes[i]! && bytes[i]! <= high)
          )
          const inside = wanted.some(([first, last]) => first <= point && point <= last)
          if (found.length !== Number(inside)) return false
        }
        return true
      })
    )
  )
})

t.test('a set of code points and its complement partition all characters', async t => {
  const set = codePoints([
    [0x41, 0x5a],
    [0xd000, 0xe100],
    [0x50, 0x60]
  ])
  t.same(set, [
    [0x41, 0x60],
    [0xd000, 0xd7ff],
    [0xe000, 0xe100]
  ])
  t.same(intersect(set, complement(set)), [])
  t.same(
    codePoints([...set, ...complement(set)]),
    everyCodePoint.flatMap(range => [range])
  )
})

const subject = fc.array(
  fc.constantFrom('a', 'b', 'c', 'd', 'ß', 'é', 'Ä', '漢', '😀', '\n', ' ', '.', '7', '_', '-', '"'),
  {
    maxLength: 6
  }
)

t.test('a pattern matches the same strings as RegExp, as a whole and anywhere', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(patterns, fc.array(subject, { minLength: 1, maxLength: 12 }), (source, subjects) => {
        const exact = compile(source, { match: 'whole' })
        const anywhere = compile(source, { match: 'search' })
        if (exact === null || anywhere === null) return true
        return subjects
          .map(parts => parts.join(''))
          .every(
            text =>
              (exact.dfa?.matches(text) ?? false) === new RegExp(`^(?:${source})$`, 'u').test(text) &&
              (anywhere.dfa?.matches(text) ?? false) === new RegExp(source, 'u').test(text)
          )
      }),
      { numRuns: 30 }
    )
  )
})

t.test('anchors match at the end of a pattern', async t => {
  for (const source of ['^ab', 'ab$', '^ab$', '^a|b$', 'a|^b']) {
    const anywhere = compileRegex(source, { path: 'pattern', match: 'search' })
    for (const text of ['ab', 'xab', 'abx', 'xabx', 'a', 'b', 'ax', 'xb', 'bx', '']) {
      t.equal(anywhere?.matches(text), new RegExp(source, 'u').test(text), `${source} on ${text}`)
    }
  }
})

t.test('a pattern for JSON strings applies to the decoded string', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(patterns, fc.array(subject, { minLength: 1, maxLength: 12 }), (source, subjects) => {
        const quoted = compile(source, { match: 'search', encoding: jsonStringBytes, around: '"' })
        if (quoted === null) return true
        return subjects
          .map(parts => parts.join(''))
          .every(text => (quoted.dfa?.matches(JSON.stringify(text)) ?? false) === new RegExp(source, 'u').test(text))
      })
    )
  )
})

t.test('an unsupported feature is rejected by name', async t => {
  const cases: Record<string, RegExp> = {
    'a(?=b)': /look-around/,
    '(?<!a)b': /look-around/,
    '(a)\\1': /back-reference/,
    'a\\bc': /word boundary/,
    '(?:^a)': /anchor inside/,
    'a(': /not a regular expression/,
    '\\-': /not a regular expression/,
    '(?:a|b)*a(?:a|b){20}': /too large/,
    '(?:a{1000}){1000}': /too large/
  }
  for (const [source, message] of Object.entries(cases)) {
    t.throws(() => whole(source), { code: 'INF_CONSTRAINT_UNSUPPORTED', message, at: { path: 'pattern' } }, source)
  }
})

t.test('JSON strings match JSON.parse, without surrogate escapes', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        const wellFormed = Buffer.from(text).toString() === text
        return !wellFormed || jsonString().matches(JSON.stringify(text))
      })
    )
  )
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.stringMatching(/^"(?:[^"\\]|\\(?:["\\/bfnrtx]|u[\da-fA-F]{2,4})){0,6}"$/u), text => {
        let parsed: string | undefined
        try {
          parsed = JSON.parse(text)
        } catch {}
        const surrogates = /\\u[dD][89a-fA-F]/.test(text) || /\p{Surrogate}/u.test(text)
        return surrogates || jsonString().matches(text) === (parsed !== undefined)
      })
    )
  )
})

t.test('additional property names exclude the known ones', async t => {
  const others = otherNames(['a', 'ab', 'é"', ''])
  for (const name of ['a', 'ab', '', 'é"']) t.notOk(others?.matches(JSON.stringify(name)), name)
  for (const name of ['b', 'abc', 'é', 'aa']) t.ok(others?.matches(JSON.stringify(name)), name)
  t.notOk(others?.matches('"\\u0061"'), 'a known name in escaped form is excluded too')
})

t.test('combines automata by intersection and difference', async t => {
  const [a, b] = [whole('[ab]{1,3}'), whole('a+')]
  if (a === null || b === null) throw new Error('both accept something')
  const [both, without] = [combine(a, b, 'both'), combine(a, b, 'without')]
  for (const text of ['a', 'aa', 'aaaa', 'ab', 'b', '']) {
    t.equal(both?.matches(text), a.matches(text) && b.matches(text), text)
    t.equal(without?.matches(text), a.matches(text) && !b.matches(text), text)
  }
  t.equal(combine(b, whole('b') ?? b, 'both'), null)
  t.equal(literals([]), null)
})

t.test('accepts exactly the numbers within the bounds, for numbers of few digits', async t => {
  const bound = fc.option(
    fc.oneof(
      fc.integer({ min: -2000, max: 2000 }),
      fc.integer({ min: -20000, max: 20000 }).map(n => n / 100)
    ),
    { nil: undefined }
  )
  const bounds = fc.record({ minimum: bound, maximum: bound, exclusiveMinimum: bound, exclusiveMaximum: bound })
  const text = fc.oneof(
    fc.integer({ min: -2100, max: 2100 }).map(String),
    fc
      .tuple(fc.integer({ min: -2100, max: 2100 }), fc.nat(9999), fc.nat(5))
      .map(([n, d, zeros]) => `${n}.${d}${'0'.repeat(zeros)}`)
  )
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.boolean(), bounds, fc.array(text, { minLength: 5 }), (integer, bounds, texts) => {
        const near = Object.values(bounds).flatMap(value =>
          value === undefined ? [] : [String(value), `${value + 1}`]
        )
        const dfa = numbers(integer, bounds)
        const {
          minimum = -Infinity,
          maximum = Infinity,
          exclusiveMinimum = -Infinity,
          exclusiveMaximum = Infinity
        } = bounds
        const unbounded = Object.values(bounds).every(value => value === undefined)
        return [...texts, ...near].every(text => {
          const value = Number(text)
          const within = minimum <= value && value <= maximum && exclusiveMinimum < value && value < exclusiveMaximum
          const whole = !integer || (/^-?\d+$/.test(text) && text !== '-0')
          return unbounded || text.length > 15 || (dfa?.matches(text) ?? false) === (within && whole)
        })
      }),
      { numRuns: 75 }
    )
  )
})

t.test('unsatisfiable bounds are reported before generation', async t => {
  t.equal(numbers(true, { exclusiveMinimum: 3, exclusiveMaximum: 4 }), null)
  t.equal(numbers(false, { minimum: 2, maximum: 1 }), null)
  t.equal(numbers(true, { minimum: 1e15 }), null)
  t.ok(numbers(false, { exclusiveMinimum: 0, maximum: 1e-9 })?.matches('0.000000001'))
  t.notOk(numbers(false, { exclusiveMinimum: 0, maximum: 1e-9 })?.matches('0.000000002'))
  t.ok(numbers(true, { maximum: 1e300 })?.matches('999999999999999'))
})

t.test('formats accept valid strings and reject invalid ones', async t => {
  const cases: Record<string, readonly [right: string[], wrong: string[]]> = {
    date: [
      ['2024-02-29', '2000-02-29', '1999-12-31', '2023-04-30'],
      ['2023-02-29', '1900-02-29', '2023-04-31', '2023-13-01', '2023-1-1', '2023-00-10']
    ],
    time: [
      ['23:59:59Z', '00:00:00.123+05:30'],
      ['24:00:00Z', '10:60:00Z', '10:00:00', '10:00Z']
    ],
    'date-time': [['2024-02-29T12:00:00Z'], ['2023-02-29T12:00:00Z', '2024-02-29 12:00:00Z', '2024-02-29']],
    email: [
      ['a.b+c@example.org', 'x@a-b.c1'],
      ['@example.org', 'a@', 'a..b@c.d', 'a@-b.c', 'a b@c.d']
    ],
    hostname: [
      ['localhost', 'a-1.example.org'],
      ['-a', 'a-', 'a..b', '']
    ],
    ipv4: [
      ['0.0.0.0', '255.249.199.1'],
      ['256.0.0.0', '1.2.3', '01.2.3.4']
    ],
    uuid: [
      ['123e4567-e89b-12d3-a456-426614174000'],
      ['123e4567e89b12d3a456426614174000', 'g23e4567-e89b-12d3-a456-426614174000']
    ]
  }
  t.same(Object.keys(cases).sort(), [...formats.keys()].sort())
  for (const [name, [right, wrong]] of Object.entries(cases)) {
    const dfa = whole(formats.get(name) ?? '')
    for (const text of right) t.ok(dfa?.matches(text), `${name}: ${text}`)
    for (const text of wrong) t.notOk(dfa?.matches(text), `not ${name}: ${text}`)
  }
})
