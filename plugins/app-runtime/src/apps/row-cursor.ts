import { type RowCursor, readCursor } from '../database/row-cursor.ts'
import { appErrors } from '../errors.ts'

/** Reads a cursor. `of`: what the cursor belongs to. Throws `APP_CURSOR_INVALID`. */
export function parseCursor(of: string, text: string): RowCursor {
  const cursor = readCursor(of, text)
  if (cursor !== null) return cursor
  throw appErrors.create('APP_CURSOR_INVALID', 'the cursor does not belong to this table and order', {
    hint: 'start without a cursor'
  })
}
