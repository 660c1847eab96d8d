import { type DatabaseTransaction, rowsByName, type SqlValue } from '@svc/contracts'

export type QueryRunner = Pick<DatabaseTransaction, 'query'>

/** Of `question_events`: asked, and not answered. */
export const WAITING = "actor = 'assistant' AND answer_text IS NULL"

export async function first(
  reader: QueryRunner,
  sql: string,
  parameters: readonly SqlValue[]
): Promise<Readonly<Record<string, SqlValue>> | null> {
  return rowsByName(await reader.query(sql, parameters))[0] ?? null
}
