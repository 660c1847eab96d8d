import { type DatabaseTransaction, rowsByName, type SqlValue } from '@svc/contracts'

export type Reader = Pick<DatabaseTransaction, 'query'>

/** Of `question_events`: asked, and not answered. */
export const WAITING = "actor = 'assistant' AND answer_text IS NULL"

export async function first(
  reader: Reader,
  sql: string,
  parameters: readonly SqlValue[]
): Promise<Readonly<Record<string, SqlValue>> | null> {
  return rowsByName(await reader.query(sql, parameters))[0] ?? null
}
