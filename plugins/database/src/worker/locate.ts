import { tokens } from '../sql/scan.ts'

const NEAR = /^near "([\s\S]*)": syntax error$/
const UNKNOWN = /^no such (?:table|column|function|index|module): (?:.*\.)?([^.]+)$/

/**
 * Returns the index at which the parser stopped. SQLite names only the token, which may occur several times. The right
 * one is the first whose prefix of the SQL fails with the same message. `complain` compiles SQL and returns the error
 * message, or null.
 */
export function locate(sql: string, message: string, complain: (prefix: string) => string | null): number | null {
  if (message === 'incomplete input') return sql.trimEnd().length
  const near = NEAR.exec(message)?.[1]
  const name = near ?? UNKNOWN.exec(message)?.[1]
  if (name === undefined || name === '') return null
  const found = [...tokens(sql)].filter(({ text }) => text === name || text.slice(1, -1) === name)
  if (found.length < 2) return found[0]?.at ?? null
  if (near === undefined) return null
  return found.find(({ at, text }) => complain(sql.slice(0, at + text.length)) === message)?.at ?? null
}
