import fc from 'fast-check'
import t from 'tap'
import { Callable, Decimal, Float, Json, NONE, ok, some, Tagged, Tuple, type Value } from '#interpreter'
import { losslessText, losslessValue } from '#wire'

const handle = (): never => {
  throw new Error('the value contains no actor')
}
const again = (value: Value): Value => losslessValue(losslessText(value), handle)

t.test('values keep their type, digits and order', async t => {
  const kept: readonly Value[] = [
    9_007_199_254_740_993n,
    -9_223_372_036_854_775_808n,
    new Float(1),
    new Float(1e17),
    new Float(Number.POSITIVE_INFINITY),
    Decimal.parse('1.50') as Decimal,
    new Tuple([1, 'a']),
    NONE,
    some(null),
    ok([1, [2]]),
    new Tagged('Circle', [new Float(2)], ['radius']),
    new Map<string, Value>([
      ['b', 1],
      ['a', 2]
    ]),
    new Map<string, Value>([
      ['10', 1],
      ['9', 2],
      ['$int', 'none'],
      ['__proto__', 3]
    ]),
    new Json({ big: 9_007_199_254_740_993n, list: [1.5, null, 'x'] })
  ]
  for (const value of kept) {
    const came = again(value)
    t.same(came, value)
    if (value instanceof Map) t.same([...(came as Map<string, Value>).keys()], [...value.keys()])
  }
  t.ok(Object.is((again(new Float(-0)) as Float).value, -0))
  t.ok(Number.isNaN((again(new Float(Number.NaN)) as Float).value))
})

t.test('any nested value is read unchanged', async t => {
  const { value } = fc.letrec<{ value: Value }>(tie => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<Value>(null, true, false, NONE),
      fc.maxSafeInteger(),
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
      fc.string(),
      fc.double({ noNaN: true }).map(number => new Float(number)),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(tie('value'), { maxLength: 3 }).map(items => new Tuple(items)),
      fc.array(fc.tuple(fc.string(), tie('value')), { maxLength: 4 }).map(entries => new Map(entries)),
      fc.array(tie('value'), { maxLength: 3 }).map(fields => new Tagged('T', fields))
    )
  }))
  fc.assert(
    fc.property(value, given => t.strictSame(again(given), given) || false),
    { numRuns: 200 }
  )
})

t.test('a function cannot be stored, and is reported with its path', async t => {
  const value = new Map<string, Value>([['list', [1, new Callable('f', [], () => null)]]])
  t.throws(() => losslessText(value), { code: 'RUN_TYPE', message: /list\[1\]/ })
})
