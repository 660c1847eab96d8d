import type { Helper } from './helpers.ts'

/** Arithmetic with decimals, which are strings in TypeScript. */
export const DECIMAL_HELPERS = {
  scaled: {
    source: `/** Returns the digits of two decimals at the same scale, and the number of decimal places. */
function scaled(a: string, b: string): readonly [bigint, bigint, number] {
  const places = Math.max(...[a, b].map(each => (each.split('.')[1] ?? '').length))
  const digits = (value: string): bigint => {
    const [whole = '', fraction = ''] = value.split('.')
    return BigInt(whole + fraction.padEnd(places, '0'))
  }
  return [digits(a), digits(b), places]
}
`
  },
  plain_decimals: {
    source: `/** Places of decimals in a value. \`up\` refers to the fields or cases so many levels up. */
type Places =
  | 'dec'
  | { readonly tuple: readonly (Places | null)[] }
  | { readonly each: Places }
  | { readonly fields: Readonly<Record<string, Places>> }
  | { readonly cases: Readonly<Record<string, Readonly<Record<string, Places>>>> }
  | { readonly up: number }

/** Returns a value whose decimals have no zeros at the end, so that equal values have equal content. */
export function plain_decimals(value: unknown, places: Places | null, outer: readonly Places[] = []): unknown {
  if (places === null || value === null || value === undefined) return value
  if (places === 'dec') {
    return typeof value === 'string' && value.includes('.') ? value.replace(/\\.?0+$/, '').replace(/^-0$/, '0') : value
  }
  if ('up' in places) {
    const at = outer.length - places.up
    return plain_decimals(value, outer[at] ?? null, outer.slice(0, at))
  }
  if (Array.isArray(value)) {
    if ('tuple' in places) return value.map((item, index) => plain_decimals(item, places.tuple[index] ?? null, outer))
    return 'each' in places ? value.map(item => plain_decimals(item, places.each, outer)) : value
  }
  if (typeof value !== 'object' || 'tuple' in places) return value
  const within = 'each' in places ? outer : [...outer, places]
  const fields = 'fields' in places ? places.fields : 'cases' in places ? places.cases[String((value as { readonly _tag?: unknown })._tag)] : {}
  return Object.fromEntries(
    Object.entries(value).map(
      ([key, part]) => [key, plain_decimals(part, 'each' in places ? places.each : (fields?.[key] ?? null), within)] as const
    )
  )
}
`
  },
  decimal: {
    source: `function decimal(digits: bigint, places: number): string {
  const sign = digits < 0n ? '-' : ''
  const all = String(digits < 0n ? -digits : digits).padStart(places + 1, '0')
  return places === 0 ? sign + all : \`\${sign}\${all.slice(0, -places)}.\${all.slice(-places)}\`
}
`
  },
  decimal_sum: {
    source: `export function decimal_sum(a: string, b: string): string {
  const [first, second, places] = scaled(a, b)
  return decimal(first + second, places)
}
`,
    needs: ['scaled', 'decimal']
  },
  decimal_difference: {
    source: `export function decimal_difference(a: string, b: string): string {
  const [first, second, places] = scaled(a, b)
  return decimal(first - second, places)
}
`,
    needs: ['scaled', 'decimal']
  },
  decimal_product: {
    source: `export function decimal_product(a: string, b: string): string {
  const places = [a, b].map(each => (each.split('.')[1] ?? '').length)
  const [first = 0n, second = 0n] = [a, b].map(each => BigInt(each.replace('.', '')))
  const all = (places[0] ?? 0) + (places[1] ?? 0)
  if (all > 10_000) fail('RUN_OVERFLOW', \`a product would have \${all} decimal places; the limit is 10000\`)
  return decimal(first * second, all)
}
`,
    needs: ['decimal', 'fail']
  },
  rounded_quotient: {
    source: `/** Divides, rounded half to even. */
function rounded_quotient(a: bigint, b: bigint): bigint {
  const magnitude = (value: bigint): bigint => (value < 0n ? -value : value)
  const [above, below] = [magnitude(a), magnitude(b)]
  const [whole, twice] = [above / below, (above % below) * 2n]
  const rounded = twice > below || (twice === below && whole % 2n === 1n) ? whole + 1n : whole
  return a < 0n === b < 0n ? rounded : -rounded
}
`
  },
  decimal_quotient: {
    source: `/** Divides decimals, rounded after 28 places. Drops zeros at the end that the operands do not have. Throws if \`b\` is 0. */
export function decimal_quotient(a: string, b: string): string {
  const places = (value: string): number => (value.split('.')[1] ?? '').length
  const least = Math.max(0, places(a) - places(b))
  let scale = Math.max(28, least)
  const [first, second] = scaled(a, b)
  if (second === 0n) fail('RUN_DIVISION_BY_ZERO', \`\${a} divided by zero\`)
  let digits = rounded_quotient(first * 10n ** BigInt(scale), second)
  for (; scale > least && digits % 10n === 0n; scale--) digits /= 10n
  return decimal(digits, scale)
}
`,
    needs: ['scaled', 'decimal', 'rounded_quotient', 'fail']
  },
  decimal_remainder: {
    source: `/** Returns the remainder of decimals, with the sign of \`a\`. Throws if \`b\` is 0. */
export function decimal_remainder(a: string, b: string): string {
  const [first, second, places] = scaled(a, b)
  if (second === 0n) fail('RUN_DIVISION_BY_ZERO', \`\${a} divided by zero\`)
  return decimal(first % second, places)
}
`,
    needs: ['scaled', 'decimal', 'fail']
  },
  decimal_rounded: {
    source: `/** Rounds a decimal half to even. */
export function decimal_rounded(value: string, places: number): string {
  if (!(places >= 0 && places <= 28)) fail('RUN_ARGUMENTS', \`a decimal has 0 to 28 decimal places, not \${places}\`)
  const unit = places === 0 ? '1' : \`0.\${'0'.repeat(places - 1)}1\`
  const [digits, one] = scaled(value, unit)
  return decimal(rounded_quotient(digits, one), places)
}
`,
    needs: ['scaled', 'decimal', 'rounded_quotient', 'fail']
  },
  decimal_to_int: {
    source: `/** Returns a decimal without its fraction, as an int. Throws if it does not fit one. */
export function decimal_to_int(value: string): number {
  return int_of(BigInt(value.split('.')[0] ?? '0'))
}
`,
    needs: ['int_of']
  },
  parsed_dec: {
    source: `/** Returns the decimal that a text is; null for another text. */
export function parsed_dec(value: string): string | null {
  return /^[+-]?\\d+(\\.\\d+)?$/.test(value.trim()) ? to_dec(value) : null
}
`,
    needs: ['to_dec']
  },
  decimal_smaller: {
    source: `/** Returns the first of two equal decimals. */
export function decimal_smaller(a: string, b: string): string {
  return compare_decimals(b, a) < 0 ? b : a
}
`,
    needs: ['compare_decimals']
  },
  decimal_greater: {
    source: `/** Returns the first of two equal decimals. */
export function decimal_greater(a: string, b: string): string {
  return compare_decimals(b, a) > 0 ? b : a
}
`,
    needs: ['compare_decimals']
  },
  to_dec: {
    source: `/** Converts a value to a decimal; 0 if it is not a number. */
export function to_dec(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) fail('RUN_OVERFLOW', \`\${value} is not a dec\`)
  const text = typeof value === 'string' ? value.trim() : String(typeof value === 'bigint' ? value : Number(value))
  const parts = /^([+-]?)(\\d+)(?:\\.(\\d+))?(?:e([+-]\\d+))?$/.exec(text)
  if (parts === null || (parts[4] !== undefined && typeof value === 'string')) return '0'
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts
  const digits = BigInt(sign.replace('+', '') + whole + fraction)
  const places = fraction.length - Number(exponent)
  return places >= 0 ? decimal(digits, places) : decimal(digits * 10n ** BigInt(-places), 0)
}
`,
    needs: ['decimal', 'fail']
  },
  compare_decimals: {
    source: `/** Returns a negative number if \`a\` is smaller than \`b\`, and a positive one if it is greater. */
export function compare_decimals(a: string, b: string): number {
  const [first, second] = scaled(a, b)
  return first < second ? -1 : first > second ? 1 : 0
}
`,
    needs: ['scaled']
  }
} satisfies Readonly<Record<string, Helper>>
