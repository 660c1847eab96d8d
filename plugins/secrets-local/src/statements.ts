import type { InStatement, Row } from '@libsql/client/http'
import { ROW_COLUMNS, type RowName, type StoredRow, tampered } from './row.ts'

const BYTES = new Set(['ciphertext', 'nonce', 'dek_wrapped'])
const TEXTS = new Set(['dek_wrap_alg', 'kek_ref', 'aad_hash', 'consistency_origin', 'checksum_hash'])

/** Converts a row. Throws `SEV_TAMPERED` for values of other types, and for integers that are not safe. */
export function storedRow(row: Row, name: RowName): StoredRow {
  const entries = ROW_COLUMNS.map(column => {
    const value = row[column]
    if (BYTES.has(column)) {
      if (value instanceof ArrayBuffer) return [column, new Uint8Array(value)]
      if (ArrayBuffer.isView(value)) return [column, new Uint8Array(value.buffer, value.byteOffset, value.byteLength)]
    } else if (TEXTS.has(column)) {
      if (typeof value === 'string') return [column, value]
    } else if (typeof value === 'bigint' || typeof value === 'number') {
      if (Number.isSafeInteger(Number(value))) return [column, Number(value)]
    }
    throw tampered(name, `its column ${column} has a value of another type`)
  })
  return Object.fromEntries(entries) as StoredRow
}

/** Returns the statement that adds a row to the versions of a secret. `about`: its other columns. */
export function insertVersion(about: Readonly<Record<string, string | number>>, row: StoredRow): InStatement {
  const columns = [...Object.keys(about), ...ROW_COLUMNS]
  return {
    sql: `INSERT INTO clavis_secret_versions (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
    args: [...Object.values(about), ...ROW_COLUMNS.map(column => row[column])]
  }
}

/** Returns the statement that stores a row under a key, and replaces an earlier one. */
export function upsert(table: string, id: Readonly<Record<string, string>>, row: StoredRow): InStatement {
  const columns = [...Object.keys(id), ...ROW_COLUMNS]
  const assignments = ROW_COLUMNS.map(column => `${column} = excluded.${column}`).join(', ')
  return {
    sql:
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ` +
      `ON CONFLICT (${Object.keys(id).join(', ')}) DO UPDATE SET ${assignments}`,
    args: [...Object.values(id), ...ROW_COLUMNS.map(column => row[column])]
  }
}
