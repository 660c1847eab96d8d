import { type DatabaseTransaction, rowsByName, type SqlValue } from '@svc/contracts'

export type QueryRunner = Pick<DatabaseTransaction, 'query'>

/** SQL condition on `question_events`: the question is asked but not answered. */
export const PENDING = "actor = 'assistant' AND answer_text IS NULL"

/** Returns the first row of a query; null if there is none. */
export async function first(
  reader: QueryRunner,
  sql: string,
  parameters: readonly SqlValue[]
): Promise<Readonly<Record<string, SqlValue>> | null> {
  return rowsByName(await reader.query(sql, parameters))[0] ?? null
}
