import type { SqlValue } from '@svc/contracts'
import { appErrors } from '../errors.ts'
import { intOf } from './cell.ts'

/** Place after a row in a sorted table. */
export interface RowCursor {
  /** Value of the sort expression of that row; null also if the rows are sorted by id only. */
  readonly value: SqlValue
  readonly id: number | bigint
}

/** Writes a cursor. `of`: what the cursor belongs to, such as table and order. */
export function cursorText(of: string, { value, id }: RowCursor): string {
  return Buffer.from(JSON.stringify([of, encoded(value), String(id)])).toString('base64url')
}

/** Reads a cursor. Throws `APP_CURSOR_INVALID`. */
export function parseCursor(of: string, text: string): RowCursor {
  try {
    const [owner, value, id] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [string, unknown, string]
    if (owner === of) return { value: decoded(value), id: intOf(id) }
  } catch {
    // Reported below.
  }
  throw appErrors.create('APP_CURSOR_INVALID', 'the cursor does not belong to this table and order', {
    hint: 'start without a cursor'
  })
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
