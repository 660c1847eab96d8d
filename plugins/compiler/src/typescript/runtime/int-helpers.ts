import type { Helper } from './helpers.ts'

/**
 * Arithmetic with ints of 64 bits. In TypeScript, an int is a number, and beyond 2^53 a bigint whose declared type is
 * `number`, too.
 */
export const INT_HELPERS = {
  fail: {
    source: `/** Stops the program with an error that has the code of the same failure on a server. */
function fail(code: string, message: string): never {
  throw Object.assign(new Error(message), { code })
}
`
  },
  int_of: {
    source: `/** Returns an int in the form that pages have. Throws beyond 64 bits. */
function int_of(value: bigint): number {
  if (BigInt.asIntN(64, value) !== value) fail('RUN_OVERFLOW', \`\${value} does not fit a 64-bit int\`)
  const near = Number(value)
  return Number.isSafeInteger(near) ? near : (value as unknown as number)
}
`,
    needs: ['fail']
  },
  int_sum: {
    source: `export function int_sum(a: number, b: number): number {
  if (typeof a === 'number' && typeof b === 'number' && Number.isSafeInteger(a + b)) return a + b
  return int_of(BigInt(a) + BigInt(b))
}
`,
    needs: ['int_of']
  },
  int_difference: {
    source: `export function int_difference(a: number, b: number): number {
  if (typeof a === 'number' && typeof b === 'number' && Number.isSafeInteger(a - b)) return a - b
  return int_of(BigInt(a) - BigInt(b))
}
`,
    needs: ['int_of']
  },
  int_product: {
    source: `export function int_product(a: number, b: number): number {
  // Adding 0 turns -0 into 0.
  if (typeof a === 'number' && typeof b === 'number' && Number.isSafeInteger(a * b)) return a * b + 0
  return int_of(BigInt(a) * BigInt(b))
}
`,
    needs: ['int_of']
  },
  quotient: {
    source: `/** Returns the quotient of ints, rounded towards zero. Throws if \`b\` is 0. */
export function quotient(a: number, b: number): number {
  if (b === 0) fail('RUN_DIVISION_BY_ZERO', \`\${a} divided by zero\`)
  // \`Math.trunc(a / b)\` would be wrong near 2^53, where \`a / b\` is rounded.
  if (typeof a === 'number' && typeof b === 'number') return (a - (a % b)) / b + 0
  return int_of(BigInt(a) / BigInt(b))
}
`,
    needs: ['fail', 'int_of']
  },
  remainder: {
    source: `/** Returns the remainder of ints, with the sign of \`a\`. Throws if \`b\` is 0. */
export function remainder(a: number, b: number): number {
  if (b === 0) fail('RUN_DIVISION_BY_ZERO', \`\${a} divided by zero\`)
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0
  return int_of(BigInt(a) % BigInt(b))
}
`,
    needs: ['fail', 'int_of']
  },
  int_abs: {
    source: `export function int_abs(value: number): number {
  return value < 0 ? int_difference(0, value) : value
}
`,
    needs: ['int_difference']
  },
  smaller: {
    source: `export function smaller(a: number, b: number): number {
  return b < a ? b : a
}
`
  },
  greater: {
    source: `export function greater(a: number, b: number): number {
  return b > a ? b : a
}
`
  },
  float_to_int: {
    source: `/** Returns a float without its fraction, as an int. Throws if it does not fit one. */
export function float_to_int(value: number): number {
  const whole = Math.trunc(value)
  if (Number.isSafeInteger(whole)) return whole + 0
  return Number.isFinite(whole) ? int_of(BigInt(whole)) : fail('RUN_OVERFLOW', \`\${value} is not an int\`)
}
`,
    needs: ['int_of', 'fail']
  },
  to_int: {
    source: `/** Converts a value to an int; 0 if it is not a number. */
export function to_int(value: unknown): number {
  if (typeof value === 'bigint') return int_of(value)
  if (typeof value === 'number') return float_to_int(value)
  if (typeof value === 'boolean') return value ? 1 : 0
  const text = typeof value === 'string' ? value.trim() : ''
  return /^[+-]?\\d+$/.test(text) ? int_of(BigInt(text.replace('+', ''))) : 0
}
`,
    needs: ['int_of', 'float_to_int']
  },
  typed_int: {
    source: `/** Reads an int that a person typed. Other texts become what \`Number\` makes of them. */
export function typed_int(text: string): number {
  return /^\\s*-?\\d+\\s*$/.test(text) ? int_of(BigInt(text)) : Number(text)
}
`,
    needs: ['int_of']
  },
  to_float: {
    source: `/** Converts a value to a float; 0 if it is not a number. */
export function to_float(value: unknown): number {
  if (typeof value !== 'string') return Number(typeof value === 'object' ? 0 : value)
  const text = value.trim()
  return /^[+-]?(\\d+\\.?\\d*|\\.\\d+)(e[+-]?\\d+)?$/i.test(text) ? Number(text) : 0
}
`
  },
  parsed_int: {
    source: `/** Returns the int that a text is; null for another text. */
export function parsed_int(value: string): number | null {
  const text = value.trim()
  const whole = /^[+-]?\\d+$/.test(text) ? BigInt(text.replace('+', '')) : null
  return whole === null || BigInt.asIntN(64, whole) !== whole ? null : int_of(whole)
}
`,
    needs: ['int_of']
  },
  parsed_float: {
    source: `/** Returns the finite number that a text is; null for another text. */
export function parsed_float(value: string): number | null {
  const text = value.trim()
  const number = /^[+-]?(\\d+\\.?\\d*|\\.\\d+)(e[+-]?\\d+)?$/i.test(text) ? Number(text) : NaN
  return Number.isFinite(number) ? number : null
}
`
  },
  range: {
    source: `/** Returns the ints from \`start\` up to, but not including, \`end\`. */
export function range(start: number, end: number): number[] {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) {
    fail('RUN_ARGUMENTS', \`range needs ints below 2^53, got \${start} and \${end}\`)
  }
  return Array.from({ length: Math.max(end - start, 0) }, (_, index) => start + index)
}
`,
    needs: ['fail']
  },
  json_text: {
    source: `/** Returns a value as JSON. An int beyond 2^53 is printed with all its digits. */
export function json_text(value: unknown): string {
  try {
    return JSON.stringify(value ?? null)
  } catch {
    const mark = \`\${Math.random()}:\`
    const text = JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? mark + each : each))
    return text.replaceAll(new RegExp(\`"\${mark}(-?\\\\d+)"\`, 'g'), '$1')
  }
}
`
  }
} satisfies Readonly<Record<string, Helper>>
