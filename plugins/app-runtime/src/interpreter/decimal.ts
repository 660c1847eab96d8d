import { fail } from './failure.ts'

/** Maximum decimal places of a quotient. */
const QUOTIENT_SCALE = 28

/** Maximum decimal places of a product, so that it cannot grow without bound in a loop. */
const MAX_SCALE = 10_000

/** A decimal number: `digits` / 10^`scale`. `1.50` and `1.5` are equal, but are printed with their own scale. */
export class Decimal {
  readonly digits: bigint
  readonly scale: number

  constructor(digits: bigint, scale: number) {
    this.digits = digits
    this.scale = scale
  }

  /** Parses `-12.50`; undefined if the text is not a decimal. */
  static parse(text: string): Decimal | undefined {
    const match = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text)
    if (match === null) return undefined
    const [, sign, whole = '', fraction = ''] = match
    const digits = BigInt(whole + fraction)
    return new Decimal(sign === '-' ? -digits : digits, fraction.length)
  }

  plus(other: Decimal): Decimal {
    const scale = Math.max(this.scale, other.scale)
    return new Decimal(this.#at(scale) + other.#at(scale), scale)
  }

  minus(other: Decimal): Decimal {
    return this.plus(other.negated())
  }

  times(other: Decimal): Decimal {
    const scale = this.scale + other.scale
    if (scale > MAX_SCALE)
      fail('RUN_OVERFLOW', `a product would have ${scale} decimal places; the limit is ${MAX_SCALE}`)
    return new Decimal(this.digits * other.digits, scale)
  }

  /** Divides, rounded half to even after 28 decimal places. Drops trailing zeros beyond the scale difference. */
  dividedBy(other: Decimal, at: number): Decimal {
    if (other.digits === 0n) fail('RUN_DIVISION_BY_ZERO', `${this} divided by zero`, at)
    const minScale = Math.max(0, this.scale - other.scale)
    const scale = Math.max(QUOTIENT_SCALE, minScale)
    const dividend = this.digits * 10n ** BigInt(scale + other.scale - this.scale)
    let digits = roundedQuotient(dividend, other.digits)
    let resultScale = scale
    while (resultScale > minScale && digits % 10n === 0n) {
      digits /= 10n
      resultScale--
    }
    return new Decimal(digits, resultScale)
  }

  remainder(other: Decimal, at: number): Decimal {
    if (other.digits === 0n) fail('RUN_DIVISION_BY_ZERO', `${this} divided by zero`, at)
    const scale = Math.max(this.scale, other.scale)
    return new Decimal(this.#at(scale) % other.#at(scale), scale)
  }

  /** Rounds half to even. */
  rounded(scale: number): Decimal {
    if (scale >= this.scale) return new Decimal(this.#at(scale), scale)
    return new Decimal(roundedQuotient(this.digits, 10n ** BigInt(this.scale - scale)), scale)
  }

  /** Multiplies with a power of ten. */
  shifted(exponent: number): Decimal {
    const scale = this.scale - exponent
    return scale >= 0 ? new Decimal(this.digits, scale) : new Decimal(this.digits * 10n ** BigInt(-scale), 0)
  }

  negated(): Decimal {
    return new Decimal(-this.digits, this.scale)
  }

  /** Returns a negative number, zero or a positive number if `this` is less, equal or greater. */
  compare(other: Decimal): number {
    const scale = Math.max(this.scale, other.scale)
    const difference = this.#at(scale) - other.#at(scale)
    return difference < 0n ? -1 : difference > 0n ? 1 : 0
  }

  toNumber(): number {
    return Number(this.toString())
  }

  /** Returns the value truncated to an integer. */
  truncated(): bigint {
    return this.digits / 10n ** BigInt(this.scale)
  }

  toString(): string {
    const sign = this.digits < 0n ? '-' : ''
    const text = (this.digits < 0n ? -this.digits : this.digits).toString().padStart(this.scale + 1, '0')
    const point = text.length - this.scale
    return this.scale === 0 ? sign + text : `${sign}${text.slice(0, point)}.${text.slice(point)}`
  }

  #at(scale: number): bigint {
    return this.digits * 10n ** BigInt(scale - this.scale)
  }
}

function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  const isNegative = dividend < 0n !== divisor < 0n
  const [above, below] = [magnitude(dividend), magnitude(divisor)]
  let quotient = above / below
  const twice = (above % below) * 2n
  if (twice > below || (twice === below && quotient % 2n === 1n)) quotient++
  return isNegative ? -quotient : quotient
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}
