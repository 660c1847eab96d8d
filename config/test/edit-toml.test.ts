import { isDeepStrictEqual } from 'node:util'
import { editToml, parseToml } from '@svc/config'
import { isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'

t.test('a value is replaced in place', async t => {
  t.equal(editToml('a.b = 1 # why\n', { 'a.b': 2 }), 'a.b = 2 # why\n')
  t.equal(editToml('[a]\n  b   =  "x"  # why\n', { 'a.b': ['y', 1] }), '[a]\n  b   =  ["y", 1]  # why\n')
  t.equal(editToml('a = """\none\ntwo""" # why\nb = 1\n', { a: 'c' }), 'a = "c" # why\nb = 1\n')
  t.equal(editToml('a = { b = 1, c = 2 } # why\n', { 'a.c': false }), 'a = { b = 1, c = false } # why\n')
  t.equal(editToml('[[a]]\nb = 1\n# keep\n', { a: [] }), 'a = []\n# keep\n')
})

t.test('a value that is already there leaves the text alone', async t => {
  const text = 'a = 0x10 # hex\n[b]\nc = [1,\n  2]\n'
  t.equal(editToml(text, { a: 16, 'b.c': [1, 2], 'b.d': null, 'x.y': null }), text)
  t.equal(editToml(text, { b: { c: [1, 2] } }), text)
})

t.test('a new key goes to the end of its table', async t => {
  t.equal(
    editToml('[a]\n# head\nb = 1 # c\n\n# of d\n[d]\n', { 'a.x': 2 }),
    '[a]\n# head\nb = 1 # c\nx = 2\n\n# of d\n[d]\n'
  )
  t.equal(editToml('[a]\n  b = 1', { 'a.x': 2 }), '[a]\n  b = 1\n  x = 2\n')
  t.equal(editToml('[a]\r\nb = 1\r\n', { 'a.x': 2, 'c.d': 3 }), '[a]\r\nb = 1\r\nx = 2\r\n\r\n[c]\r\nd = 3\r\n')
  t.equal(editToml('a.b = 1\n[c]\n', { 'a.x': 2 }), 'a.b = 1\na.x = 2\n[c]\n')
  t.equal(editToml('# top\n\n[c]\n', { a: 1 }), '# top\n\na = 1\n[c]\n')
  t.equal(editToml('a = {}\n', { 'a."b c"': 1 }), 'a = { "b c" = 1 }\n')
  t.equal(editToml('[a]\n[a.b.c]\nd = 1\n', { 'a.b.x': 2 }), '[a]\nb.x = 2\n[a.b.c]\nd = 1\n')
  t.equal(editToml('[a]\n[a.b.c.d]\ne = 1\n', { 'a.b.c.x': 2 }), '[a]\n[a.b.c.d]\ne = 1\n\n[a.b.c]\nx = 2\n')
})

t.test('a removed key leaves comments, and its table', async t => {
  t.equal(editToml('[a]\n# of b\nb = 1\nc = 2\n', { 'a.b': null }), '[a]\n# of b\nc = 2\n')
  t.equal(editToml('[a]\n  b = 1 # why\nc = 2', { 'a.b': null, 'a.c': null }), '[a]\n  # why')
  t.equal(editToml('a = { b = 1, c = 2, d = 3 }\n', { 'a.c': null }), 'a = { b = 1, d = 3 }\n')
  t.equal(editToml('a = { b = 1, c = 2 }\n', { 'a.b': null }), 'a = { c = 2 }\n')
  t.equal(editToml('a = { b = 1, # of b\n  c = 2, # of c\n}\n', { 'a.b': null }), 'a = {  # of b\n  c = 2, # of c\n}\n')
  t.equal(editToml('a = { b.c = 1, b.d = 2, e = 3 }\n', { 'a.b': null }), 'a = { e = 3 }\n')
  t.equal(editToml('x = 1\na.b = 1\na.c = 2\n', { a: null }), 'x = 1\n')
  t.equal(editToml('[a] # of a\nb = 1\n[a.c]\nd = 1\n[x]\n', { a: null }), '# of a\n[x]\n')
  t.equal(editToml('[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 1\n[x]\n', { a: null }), '[x]\n')
})

t.test('a table is changed key by key', async t => {
  t.equal(editToml('[a]\nb = 1 # one\nc = 2 # two\n', { a: { b: 1, d: 4 } }), '[a]\nb = 1 # one\nd = 4\n# two\n')
  t.equal(editToml('', { a: { b: { c: 1 }, d: 2 } }), '[a.b]\nc = 1\n\n[a]\nd = 2\n')
  t.equal(editToml('x = 1\n', { 'a.b': {} }), 'x = 1\n\n[a]\nb = {}\n')
  t.equal(editToml('a = { b = 1 }\n', { a: {} }), 'a = {}\n')
  t.equal(editToml('a.b = 1\n', { a: {} }), 'a = {}\n')
})

t.test('values of every type are written as TOML reads them', async t => {
  const value = ['é\n"\\\t\x7f\u0001', 1.5, -0, 1e21, 1e300, 2 ** 60, true, [], [{ 'a b': { c: [1] } }], { '': 1 }]
  t.same(parseToml(editToml('', { 'a.b': value })), { a: { b: value } })
  t.ok(Object.is((parseToml(editToml('', { 'a.b': -0 })).a as { b: number }).b, -0))
  t.match(editToml('', { 'a.b': Number.POSITIVE_INFINITY }), 'b = inf')
  t.match(editToml('', { 'a.b': Number.NaN }), 'b = nan')
})

t.test('an edit that is not possible throws', async t => {
  for (const [text, changes, message] of [
    ['a = 1\n', { 'a.b': 2 }, /a is not a table/],
    ['[[a]]\nb = 1\n', { 'a.b': 2 }, /a is not a table/],
    ['', { 'a b': 1 }, /"a b" is not a key/],
    ['', { 'a = 1 #': 1 }, /is not a key/],
    ['', { 'a\nb': 1 }, /is not a key/],
    ['', { '': 1 }, /is not a key/],
    ['', { a: [null] }, /contains null/],
    ['', { a: { b: undefined } }, /contains null/],
    ['', { a: '\ud800' }, /layout/],
    ['', { a: 1, 'a.b': 2 }, /a\.b is part of a, which is changed too/]
  ] as const) {
    t.throws(() => editToml(text, changes), { code: 'CFG_EDIT_FAILED', message }, JSON.stringify([text, changes]))
  }
  t.throws(() => editToml('[a\ntoken = "hunter2"', { a: 1 }), { code: 'CFG_TOML_SYNTAX', at: { line: 1 } })
})

const NAMES = ['a', 'b', 'c', 'x y', 'é', '0'] as const
const name = fc.constantFrom(...NAMES)
const written = (key: string, quoted: boolean): string => (/^\w$/.test(key) && !quoted ? key : JSON.stringify(key))

/** Values as text, among them those that span lines. */
const valueText = fc.oneof(
  fc.constantFrom('1', '-0.5', 'true', '"x # no comment"', "'its'", '1979-05-27T07:32:00Z', '0xff'),
  fc.constantFrom('"""\nline one # text\n  [not.a.table]\n"""', "'''\nraw = 1\n'''", '[\n  1, # in a list\n  2,\n]'),
  fc.constantFrom('{}', '{ k = 1 }', '{ k.l = 1, m = { n = "}" } }', '[{ k = 1 }, { k = 2 }]', '["a", "b"]')
)

/** A line that may end with a comment. `#` numbers make each comment unique. */
const assignment = fc.record({
  keys: fc.array(fc.tuple(name, fc.boolean()), { minLength: 1, maxLength: 3 }),
  value: valueText,
  indent: fc.constantFrom('', '  ', '\t'),
  comment: fc.boolean(),
  before: fc.constantFrom('', '\n', '# note\n')
})
const block = fc.record({
  header: fc.array(fc.tuple(name, fc.boolean()), { minLength: 1, maxLength: 3 }),
  list: fc.boolean(),
  comment: fc.boolean(),
  body: fc.array(assignment, { maxLength: 4 })
})

type Assignment = typeof assignment extends fc.Arbitrary<infer A> ? A : never

/** Documents in any mix of layouts. Parts that TOML forbids in their place are left out. */
const documents = fc
  .record({
    head: fc.array(assignment, { maxLength: 3 }),
    blocks: fc.array(block, { maxLength: 5 }),
    crlf: fc.boolean(),
    end: fc.boolean()
  })
  .map(({ head, blocks, crlf, end }) => {
    let text = ''
    let comments = 0
    const add = (more: string): void => {
      try {
        parseToml(text + more)
        text += more
      } catch {
        // Not valid after what precedes it.
      }
    }
    const comment = (wanted: boolean): string => (wanted ? ` # comment ${comments++}` : '')
    const key = (keys: Assignment['keys']): string => keys.map(([each, quoted]) => written(each, quoted)).join('.')
    const line = (each: Assignment): string =>
      `${each.before}${each.indent}${key(each.keys)} = ${each.value}${comment(each.comment)}\n`
    for (const each of head) add(line(each))
    for (const each of blocks) {
      add(`${each.list ? '[[' : '['}${key(each.header)}${each.list ? ']]' : ']'}${comment(each.comment)}\n`)
      for (const own of each.body) add(line(own))
    }
    if (!end) text = text.replace(/\n$/, '')
    return crlf ? text.replaceAll('\n', '\r\n') : text
  })

const paths = fc.array(name, { minLength: 1, maxLength: 4 })
const values: fc.Arbitrary<unknown> = fc.oneof(
  fc.constant(null),
  fc.constantFrom<unknown>('new', 'q"\\\n', 7, 1.5, true, [], [1, 'x'], {}, { k: 1 }, { k: { l: [{ m: 1 }] } })
)

/** Content after a change, or undefined if a part of the path is not a table. Written separately from the editor. */
function changed(table: Record<string, unknown>, path: readonly string[], value: unknown): object | undefined {
  const copy = structuredClone(table)
  let at: Record<string, unknown> = copy
  for (const key of path.slice(0, -1)) {
    const next = at[key]
    if (next === undefined && value === null) return copy
    if (next !== undefined && (typeof next !== 'object' || Array.isArray(next)))
      return value === null ? copy : undefined
    at = (at[key] ??= {}) as Record<string, unknown>
  }
  const last = path.at(-1) ?? ''
  if (value === null) delete at[last]
  else at[last] = value
  return copy
}

/** Drops empty tables, which a removal may leave or remove. */
function dense(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const entries = Object.entries(value).map(([key, each]) => [key, dense(each)] as const)
  return Object.fromEntries(entries.filter(([, each]) => !isDeepStrictEqual(each, {})))
}

t.test('for any document: exactly the key changes, and all comments stay', async () => {
  fc.assert(
    fc.property(documents, paths, values, (text, path, value) => {
      const before = parseToml(text) as Record<string, unknown>
      const wanted = changed(before, path, value)
      const key = path.map(each => written(each, true)).join('.')
      let edited: string
      try {
        edited = editToml(text, { [key]: value })
      } catch (error) {
        return isSvcError(error, 'CFG_EDIT_FAILED') && wanted === undefined
      }
      const after = parseToml(edited)
      const isSame = value === null ? isDeepStrictEqual(dense(after), dense(wanted)) : isDeepStrictEqual(after, wanted)
      const ownComments = text.match(/# comment \d+/g) ?? []
      const kept = edited.match(/# comment \d+|# note/g) ?? []
      const notes = (text.match(/# note/g) ?? []).length
      const isKept =
        isDeepStrictEqual(
          kept.filter(each => each !== '# note'),
          ownComments
        ) && kept.length === ownComments.length + notes
      const oneEnding = !text.includes('\r\n') || !/[^\r]\n/.test(edited)
      const ended = !text.endsWith('\n') || edited.endsWith('\n') || edited === ''
      const again = editToml(edited, { [key]: value }) === edited
      return isSame && isKept && oneEnding && ended && again
    }),
    { numRuns: 1_000 }
  )
})

/** Part of `before` between the beginning and the end that both texts have in common. */
function replacedPart(before: string, after: string): string {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++
  return before.slice(start, before.length - end)
}

t.test('for any document: a new key is one insertion, and a new value replaces only the old one', async () => {
  fc.assert(
    fc.property(documents, paths, fc.constantFrom<unknown>(5, 'new', false), (text, path, value) => {
      const before = parseToml(text) as Record<string, unknown>
      if (changed(before, path, value) === undefined) return true
      const present = path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], before)
      if (typeof present === 'object') return true
      const replaced = replacedPart(text, editToml(text, { [path.map(each => written(each, true)).join('.')]: value }))
      return present === undefined ? replaced === '' : replaced.length <= 60 && !replaced.includes('# comment')
    }),
    { numRuns: 1_000 }
  )
})

t.test('for any document: a key that is set and removed again leaves the content as before', async () => {
  fc.assert(
    fc.property(documents, text => {
      const { a = {} } = parseToml(text)
      if (typeof a !== 'object' || Array.isArray(a)) return true
      const set = editToml(text, { 'a.new': 1 })
      return isDeepStrictEqual(dense(parseToml(editToml(set, { 'a.new': null }))), dense(parseToml(text)))
    }),
    { numRuns: 300 }
  )
})
