import { createHash } from 'node:crypto'
import type { SqlValue } from '@svc/contracts'

/** Place after a row in a sorted table. */
export interface RowCursor {
  /** Value of the sort expression of that row; null also if the rows are sorted by id only. */
  readonly value: SqlValue
  readonly id: number | bigint
}

/** Writes a cursor. `of`: what the cursor belongs to, such as table and order. */
export function cursorText(of: string, { value, id }: RowCursor): string {
  const place = JSON.stringify([encoded(value), String(id)])
  return Buffer.from(checksum(of, place) + place).toString('base64url')
}

/**
 * Reads a cursor; null if the text is no cursor of this kind or was changed. The checksum finds mistakes; a forged
 * cursor is only another place among rows that its caller may read anyway.
 */
export function readCursor(of: string, text: string): RowCursor | null {
  try {
    const whole = Buffer.from(text, 'base64url').toString()
    const place = whole.slice(CHECKSUM_CHARS)
    if (whole.slice(0, CHECKSUM_CHARS) !== checksum(of, place)) return null
    const [value, id] = JSON.parse(place) as [unknown, string]
    return { value: decoded(value), id: intOf(id) }
  } catch {
    return null
  }
}

const CHECKSUM_CHARS = 8

function checksum(of: string, place: string): string {
  return createHash('sha256')
    .update(JSON.stringify([of, place]))
    .digest('base64url')
    .slice(0, CHECKSUM_CHARS)
}

function intOf(digits: string): number | bigint {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : BigInt(digits)
}

function encoded(value: SqlValue): unknown {
  if (typeof value === 'bigint') return { int: String(value) }
  if (typeof value === 'number' && !Number.isFinite(value)) return { real: String(value) }
  return value instanceof Uint8Array ? { bytes: Buffer.from(value).toString('base64') } : value
}

function decoded(json: unknown): SqlValue {
  if (json === null || typeof json === 'string' || typeof json === 'number') return json
  const { int, real, bytes } = json as Readonly<Record<string, string | undefined>>
  if (int !== undefined) return BigInt(int)
  if (real !== undefined) return Number(real)
  if (bytes !== undefined) return new Uint8Array(Buffer.from(bytes, 'base64'))
  throw new TypeError('not a value of a cursor')
}
