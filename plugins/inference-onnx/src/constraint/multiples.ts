/** Numbers of the form `k * step / 10 ** scale`, for whole `k`. */
export interface Multiples {
  readonly step: number
  readonly scale: number
}

/** Maximum step, which limits the states of an automaton. */
const MAX_STEP = 10_000

/**
 * Returns the numbers that are multiples of all values, in exact decimal arithmetic: 0.3 is a multiple of 0.1. Null if
 * there are no values. Throws `RangeError` if a value is not positive, or if an automaton would be too large.
 */
export function multiplesOf(values: readonly number[]): Multiples | null {
  if (values.length === 0) return null
  const decimals = values.map(value => {
    if (!Number.isFinite(value) || value <= 0) throw new RangeError(`${JSON.stringify(value)} is not a number above 0`)
    return decimalOf(value)
  })
  const scale = Math.max(...decimals.map(each => each.scale))
  let step = 1n
  for (const { digits, scale: own } of decimals) {
    step = leastCommonMultiple(step, digits * 10n ** BigInt(scale - own))
    // At once, because the product of many values would take long.
    if (step > MAX_STEP) throw new RangeError(`its multiples need more than ${MAX_STEP} states`)
  }
  return { step: Number(step), scale }
}

export function isMultiple(value: number, { step, scale }: Multiples): boolean {
  const decimal = decimalOf(Math.abs(value))
  const common = Math.max(scale, decimal.scale)
  const scaled = decimal.digits * 10n ** BigInt(common - decimal.scale)
  return scaled % (BigInt(step) * 10n ** BigInt(common - scale)) === 0n
}

/** Returns a number of at least 0 as `digits / 10 ** scale`, with the digits of its shortest notation. */
function decimalOf(value: number): { readonly digits: bigint; readonly scale: number } {
  const [digits = '', exponent = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = digits.split('.')
  const scale = fraction.length - Number(exponent)
  const number = BigInt(whole + fraction)
  return scale >= 0 ? { digits: number, scale } : { digits: number * 10n ** BigInt(-scale), scale: 0 }
}

function leastCommonMultiple(a: bigint, b: bigint): bigint {
  let [high, low] = [a, b]
  while (low !== 0n) [high, low] = [low, high % low]
  return (a / high) * b
}
