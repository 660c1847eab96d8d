import { type DatabaseTransaction, rowsByName, type SqlValue } from '@svc/contracts'
import { normalisedPriors, posteriors } from './belief.ts'
import { questioningErrors } from './errors.ts'
import { first, PENDING } from './question-rows.ts'

export interface Answer {
  readonly session_id: string
  readonly answer_text: string
  readonly answer_type: string
  readonly question_id?: string | undefined
  readonly selected_option_id?: string | undefined
  readonly information_contribution_bits: number
}

/** Returns the question that an answer is for; throws if it does not exist or is already answered. */
export async function findUnanswered(tx: DatabaseTransaction, session: number, { question_id, session_id }: Answer) {
  const columns = 'SELECT id, question_id, answer_text FROM question_events WHERE question_session_id = ?'
  const row =
    question_id === undefined
      ? await first(tx, `${columns} AND ${PENDING} ORDER BY id DESC LIMIT 1`, [session])
      : await first(tx, `${columns} AND question_id = ? ORDER BY id DESC LIMIT 1`, [session, question_id])
  const data = { session_id, ...(question_id === undefined ? {} : { question_id }) }
  if (row === null && question_id === undefined)
    throw questioningErrors.create('QST_NOTHING_PENDING', `session ${session_id} has no pending question`, {
      data,
      hint: 'continue: no answer is required'
    })
  if (row === null)
    throw questioningErrors.create('QST_QUESTION_UNKNOWN', `session ${session_id} has no question ${question_id}`, {
      data,
      hint: 'list the pending questions to see their ids'
    })
  if (row.answer_text !== null)
    throw questioningErrors.create(
      'QST_ANSWERED',
      `question ${question_id} of session ${session_id} is already answered`,
      {
        data,
        hint: 'list the pending questions to see their ids'
      }
    )
  return { id: Number(row.id), question_id: String(row.question_id) }
}

/** Stores the option that the answer selects, with the new probabilities; null if the answer selects no option. */
export async function selectOption(
  tx: DatabaseTransaction,
  event: { readonly id: number; readonly question_id: string },
  answer: Answer,
  now: number
): Promise<{ readonly id: string; readonly mass: Readonly<Record<string, number>> } | null> {
  const { columns, rows } = await tx.query(
    `SELECT option_id, label, prior_probability, posterior_probability FROM question_options
     WHERE question_event_id = ? ORDER BY id`,
    [event.id]
  )
  const options = rowsByName({ columns, rows }).map(row => ({
    id: String(row.option_id),
    label: String(row.label),
    prior: numberOrNull(row.prior_probability),
    posterior: numberOrNull(row.posterior_probability)
  }))
  const selectedId = answer.selected_option_id
  const text = answer.answer_text.trim().toLowerCase()
  const at = options.findIndex(({ id, label }) =>
    selectedId === undefined ? [id, label].some(name => name.trim().toLowerCase() === text) : id === selectedId
  )
  const option = options[at]
  if (option === undefined) {
    if (selectedId === undefined) return null
    throw questioningErrors.create(
      'QST_OPTION_UNKNOWN',
      `question ${event.question_id} has no option "${selectedId}"`,
      {
        data: { question_id: event.question_id, options: options.map(({ id }) => id) },
        hint:
          options.length === 0 ? 'omit selected_option_id' : `select one of ${options.map(({ id }) => id).join(', ')}`
      }
    )
  }
  const gain = answer.information_contribution_bits
  const before = normalisedPriors(options)
  const after = posteriors(options, option.id, gain)
  const [prior = 0, posterior = 0] = [before[at], after[at]]
  for (const [index, { id }] of options.entries())
    await tx.execute(
      'UPDATE question_options SET posterior_probability = ? WHERE question_event_id = ? AND option_id = ?',
      [after[index] ?? 0, event.id, id]
    )
  await tx.execute(
    `INSERT INTO question_option_outcomes (question_event_id, option_id, selected, diagnostic_weight,
       information_contribution_bits, created_at_ms) VALUES (?, ?, 1, ?, ?, ?)`,
    // Gain of the selected option in bits; 0 if its probability was 0, because the logarithm is then undefined.
    [event.id, option.id, prior === 0 ? 0 : Math.log2(posterior / prior), gain, now]
  )
  return { id: option.id, mass: Object.fromEntries(options.map(({ id }, index) => [id, after[index] ?? 0])) }
}

function numberOrNull(value: SqlValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}
