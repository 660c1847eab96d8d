import { copyData } from '@svc/plugin-sdk/check'
import fc from 'fast-check'
import t from 'tap'

t.test('copyData copies JSON deeply', t => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), json => {
      const value = JSON.parse(json)
      const copy = copyData(value)
      const distinct = typeof value !== 'object' || value === null || copy !== value
      return distinct && JSON.stringify(copy) === JSON.stringify(value)
    })
  )
  t.end()
})

t.test('copyData names the path of a value that is not data', t => {
  class Thing {}
  const cases: [unknown, RegExp][] = [
    [{ view: { items: [1, { draw: () => {} }] } }, /^view\.items\[1\]\.draw is a function$/],
    [{ at: new Date(0) }, /^at is an instance of Date$/],
    [{ all: new Map() }, /^all is an instance of Map$/],
    [[new Thing()], /^\[0\] is an instance of Thing$/],
    [{ size: Number.NaN }, /^size is NaN$/],
    [{ size: 1n }, /^size is a bigint$/],
    [{ of: Symbol('x') }, /^of is a symbol$/],
    [[undefined], /^\[0\] is undefined$/],
    [new Array(1), /^\[0\] is undefined$/],
    [() => {}, /^it is a function$/],
    [{ odd: Object.create({}) }, /^odd is /]
  ]
  for (const [value, message] of cases) t.throws(() => copyData(value), { name: 'TypeError', message })
  t.end()
})

t.test('copyData leaves out undefined fields and copies __proto__ as an ordinary key', t => {
  t.strictSame(copyData({ a: undefined, b: null }), { b: null })
  const copy = copyData(JSON.parse('{"__proto__": {"polluted": 1}}')) as { polluted?: unknown }
  t.equal(JSON.stringify(copy), '{"__proto__":{"polluted":1}}')
  t.equal(copy.polluted, undefined)
  t.equal(Object.getPrototypeOf(copy), Object.prototype)
  t.end()
})

t.test('copyData limits depth and size, also of cyclic values', t => {
  const cyclic: Record<string, unknown> = {}
  cyclic.own = cyclic
  t.throws(() => copyData(cyclic), { name: 'RangeError', message: /nested deeper than 64 levels/ })
  t.throws(() => copyData(new Array(20_000).fill(0)), { name: 'RangeError', message: /more than 20000 values/ })
  t.end()
})
