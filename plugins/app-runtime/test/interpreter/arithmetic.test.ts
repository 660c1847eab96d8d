import fc from 'fast-check'
import t from 'tap'
import { Decimal, display, Interpreter, type Value } from '#interpreter'
import { hostOf, LIMITS, programFrom } from '../run-program.ts'

const interpreter = new Interpreter(
  programFrom(`
fn plus(a: int, b: int) to int { a + b }
fn minus(a: int, b: int) to int { a - b }
fn times(a: int, b: int) to int { a * b }
fn over(a: int, b: int) to int { a / b }
fn rest(a: int, b: int) to int { a % b }
fn less(a: int, b: int) to bool { a < b }
fn same(a: int, b: int) to bool { a is b }
fn negative(a: int) to int { -a }
fn gross(a: dec, b: dec) to dec { a * b + a - b }
`),
  hostOf([])
)

const LEAST = -(1n << 63n)
const MOST = (1n << 63n) - 1n

/** The canonical form of an int. */
const form = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value)

function calculated(name: string, ...args: Value[]): string {
  try {
    return display(interpreter.call(name, args, LIMITS))
  } catch (error) {
    return (error as { readonly code: string }).code
  }
}

const int = fc.oneof(
  fc.bigInt({ min: LEAST, max: MOST }),
  fc.bigInt({ min: -100n, max: 100n }),
  fc.bigInt({ min: -(1n << 54n), max: 1n << 54n }),
  fc.constantFrom(LEAST, MOST, 0n, -1n, 1n << 53n, -(1n << 53n))
)

const OPERATIONS: Readonly<Record<string, (a: bigint, b: bigint) => bigint | null>> = {
  plus: (a, b) => a + b,
  minus: (a, b) => a - b,
  times: (a, b) => a * b,
  over: (a, b) => (b === 0n ? null : a / b),
  rest: (a, b) => (b === 0n ? null : a % b)
}

for (const [name, exact] of Object.entries(OPERATIONS)) {
  t.test(`${name} is exact in 64 bits, and an error beyond them`, async t => {
    fc.assert(
      fc.property(int, int, (a, b) => {
        const value = exact(a, b)
        const isInside = value !== null && value >= LEAST && value <= MOST
        const expected = value === null ? 'RUN_DIVISION_BY_ZERO' : isInside ? String(value) : 'RUN_OVERFLOW'
        return calculated(name, form(a), form(b)) === expected
      }),
      { numRuns: 500 }
    )
    t.pass('for all')
  })
}

t.test('order, equality and signs of ints are exact', async t => {
  fc.assert(
    fc.property(int, int, (a, b) => {
      return (
        calculated('less', form(a), form(b)) === String(a < b) &&
        calculated('same', form(a), form(b)) === String(a === b) &&
        calculated('negative', form(a)) === (a === LEAST ? 'RUN_OVERFLOW' : String(-a))
      )
    }),
    { numRuns: 500 }
  )
  t.pass('for all')
})

t.test('an int has one canonical form, so equal results compare as equal', async t => {
  fc.assert(
    fc.property(int, fc.bigInt({ min: -1000n, max: 1000n }), (a, b) => {
      if (a + b > MOST || a + b < LEAST) return true
      const sum = interpreter.call('plus', [form(a), form(b)], LIMITS)
      return interpreter.call('minus', [sum, form(b)], LIMITS) === form(a)
    }),
    { numRuns: 500 }
  )
  t.pass('for all')
})

t.test('decimals are exact', async t => {
  const part = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n })
  fc.assert(
    fc.property(part, fc.nat(12), part, fc.nat(12), (a, scaleA, b, scaleB) => {
      const scale = 10n ** BigInt(scaleA + scaleB)
      const exact = a * b + a * 10n ** BigInt(scaleB) - b * 10n ** BigInt(scaleA)
      const value = interpreter.call('gross', [new Decimal(a, scaleA), new Decimal(b, scaleB)], LIMITS) as Decimal
      return value.digits * scale === exact * 10n ** BigInt(value.scale)
    }),
    { numRuns: 500 }
  )
  t.pass('for all')
})
