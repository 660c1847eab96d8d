import { isDeepStrictEqual } from 'node:util'
import { isTable, type Layer, lookup, mentions, merge, nest, type Table, UNSET, withoutUnset } from '@svc/config'
import fc from 'fast-check'
import t from 'tap'

const leaf = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 }))
const key = fc.oneof(
  fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'toString'),
  fc.string({ maxLength: 3 })
)
const { table } = fc.letrec<{ table: Table; value: unknown }>(tie => ({
  table: fc.dictionary(key, tie('value'), { maxKeys: 4 }).map(entries => ({ ...entries })),
  value: fc.oneof({ depthSize: 'small' }, leaf, tie('table'))
}))
const plain = table.map(value => merge({}, value))

/** Tables of one shape: a path that is a table in one of them is a table in all. */
const shaped = fc
  .dictionary(fc.constantFrom('a', 'b'), leaf)
  .chain(top => fc.dictionary(fc.constantFrom('x', 'y'), leaf).map(inner => merge(top, { t: inner }) as Table))

t.test('merging with an empty layer changes nothing', async () => {
  fc.assert(fc.property(plain, a => isDeepStrictEqual(merge(a, {}), a) && isDeepStrictEqual(merge({}, a), a)))
})

t.test('merging a layer with itself changes nothing', async () => {
  fc.assert(fc.property(plain, a => isDeepStrictEqual(merge(a, a), a)))
})

t.test('merge is associative for layers of the same shape', async () => {
  fc.assert(
    fc.property(shaped, shaped, shaped, (a, b, c) => isDeepStrictEqual(merge(merge(a, b), c), merge(a, merge(b, c))))
  )
})

t.test('the higher layer takes precedence, and arrays are replaced', async t => {
  const holds = (low: unknown, high: unknown): boolean =>
    isTable(high)
      ? isTable(low) && Object.keys(high).every(name => holds(lookup(low, [name]), lookup(high, [name])))
      : low === high
  fc.assert(fc.property(plain, plain, (a, b) => holds(merge(a, b), b)))
  t.strictSame(merge({ a: [1, 2], b: 1 }, { a: [3] }), { a: [3], b: 1 })
})

t.test('no key changes a prototype', async t => {
  fc.assert(fc.property(plain, plain, (a, b) => void merge(a, b)))
  const merged = merge(nest(['__proto__', 'polluted'], true), nest(['__proto__', 'other'], 1))
  t.equal(({} as Record<string, unknown>).polluted, undefined)
  t.strictSame(Object.keys(merged), ['__proto__'])
  t.equal(lookup(merged, ['__proto__', 'other']), 1)
  t.equal(lookup({}, ['constructor']), undefined)
})

t.test('"!unset" removes the value of lower layers only', async t => {
  const all = [{ a: { x: 1, y: 2 } }, { a: { x: UNSET } }, { a: { z: 3 } }]
  t.strictSame(withoutUnset(all.reduce(merge, {})), { a: { y: 2, z: 3 } })
  t.strictSame(withoutUnset(merge({ a: { x: 1 } }, { a: UNSET })), {})
  fc.assert(
    fc.property(plain, fc.constantFrom('a', 'b', 'c'), (a, name) => {
      const result = withoutUnset(merge(a, { [name]: UNSET }))
      return !Object.hasOwn(result, name)
    })
  )
})

t.test('mentions lists each layer that sets a path or replaces its parent table', async t => {
  const view = (layer: Layer, table: Table) => ({ layer, table, place: () => ({ text: layer }) })
  const views = [
    view('user', { a: { x: 1 } }),
    view('project', { a: 5 }),
    view('profile', { b: 1 }),
    view('local', { a: { x: 2 } })
  ]
  t.strictSame(
    mentions(views, ['a', 'x']).map(({ view, value }) => [view.layer, value]),
    [
      ['user', 1],
      ['project', UNSET],
      ['local', 2]
    ]
  )
})
