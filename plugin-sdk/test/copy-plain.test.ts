import { copyPlain } from '@svc/plugin-sdk/check'
import fc from 'fast-check'
import t from 'tap'

t.test('copyPlain copies plain data deeply', t => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), json => {
      const value = JSON.parse(json)
      const copy = copyPlain(value)
      const distinct = typeof value !== 'object' || value === null || copy !== value
      return distinct && JSON.stringify(copy) === JSON.stringify(value)
    })
  )
  t.end()
})

t.test('copyPlain shares values that are not plain', t => {
  class Thing {}
  const odd = [new Uint8Array(2), new Date(), new Map(), new Thing(), () => {}, Symbol('x'), 1n, undefined]
  for (const value of odd) t.equal((copyPlain({ value }) as { value: unknown }).value, value)
  t.end()
})

t.test('copyPlain copies keys such as __proto__ as ordinary keys', t => {
  const value = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 2}')
  const copy = copyPlain(value) as Record<string, unknown>
  t.equal(JSON.stringify(copy), JSON.stringify(value))
  t.equal((copy as { polluted?: unknown }).polluted, undefined)
  t.equal(Object.getPrototypeOf(copy), Object.prototype)
  t.end()
})

t.test('copyPlain rejects cyclic values', t => {
  let deep: unknown = 1
  for (let level = 0; level < 300; level++) deep = [deep]
  t.throws(() => copyPlain(deep), { message: /nested deeper than 256 levels/ })
  t.end()
})
