import type { SqlValue } from '@svc/contracts'

/** Value as engines bind it: a bigint becomes an integer, a number a real. */
export type BoundValue = null | bigint | number | string | Uint8Array

/** Converts an engine's value to that for callers: integers within 2^53 become numbers. */
export function readValue(value: bigint | number | string | ArrayBuffer | Uint8Array | null): SqlValue {
  if (typeof value === 'bigint') {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : value
  }
  return value instanceof ArrayBuffer ? new Uint8Array(value) : value
}
