import type { SqlValue } from '@svc/contracts'

/** In the form that engines bind: a bigint becomes an integer, a number a real. */
export type BoundValue = null | bigint | number | string | Uint8Array

/** In the form that callers see: integers within 2^53 are numbers. */
export function readValue(value: bigint | number | string | ArrayBuffer | Uint8Array | null): SqlValue {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value
}
