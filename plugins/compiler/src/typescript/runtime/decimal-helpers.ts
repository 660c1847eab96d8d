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
  return decimal(first * second, (places[0] ?? 0) + (places[1] ?? 0))
}
`,
    needs: ['decimal']
  },
  to_dec: {
    source: `/** Converts a value to a decimal; 0 if it is not a number. */
export function to_dec(value: unknown): string {
  const text = typeof value === 'string' ? value.trim() : String(typeof value === 'bigint' ? value : Number(value))
  const parts = /^([+-]?)(\\d+)(?:\\.(\\d+))?(?:e([+-]\\d+))?$/.exec(text)
  if (parts === null || (parts[4] !== undefined && typeof value === 'string')) return '0'
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts
  const digits = BigInt(sign.replace('+', '') + whole + fraction)
  const places = fraction.length - Number(exponent)
  return places >= 0 ? decimal(digits, places) : decimal(digits * 10n ** BigInt(-places), 0)
}
`,
    needs: ['decimal']
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
