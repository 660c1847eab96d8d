import { closest, defined, errorMessage } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'

t.test('defined drops undefined keys and keeps every other value', async t => {
  const given = { a: 1, b: undefined, c: null, d: false, e: '' }
  t.strictSame(defined(given), { a: 1, c: null, d: false, e: '' })
  t.equal('b' in given, true, 'the argument is unchanged')
  const options = (size: number | undefined): { readonly name: string; readonly size?: number } =>
    defined({ name: 'x', size })
  t.strictSame([options(undefined), options(0)], [{ name: 'x' }, { name: 'x', size: 0 }])
})

t.test('errorMessage returns a string for any thrown value', async t => {
  t.equal(errorMessage(new Error('no')), 'no')
  t.equal(errorMessage('text'), 'text')
  t.equal(errorMessage(null), 'null')
  t.equal(errorMessage(Symbol('s')), 'Symbol(s)')
  const hostile = [
    Object.create(null),
    { toString: () => Promise.reject },
    {
      toString() {
        throw new Error('never printed')
      }
    },
    new Proxy(new Error('x'), {
      get() {
        throw new Error('trap')
      }
    }),
    Object.assign(new Error('x'), { message: undefined })
  ]
  for (const each of hostile) t.type(errorMessage(each), 'string')
  fc.assert(fc.property(fc.anything(), value => typeof errorMessage(value) === 'string'))
})

t.test('closest returns the nearest candidate within maxEdits', async t => {
  t.equal(closest('prot', ['port', 'host', 'path']), 'port')
  t.equal(closest('zzzzzz', ['port', 'host']), undefined)
  t.equal(closest('abc', ['abcd', 'xyz'], 0), undefined)
  t.equal(closest('anything', []), undefined)
})
