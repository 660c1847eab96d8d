import {
  type AskedQuestion,
  type DatabaseStore,
  type DatabaseTransaction,
  type QuestionCandidate,
  rowsByName
} from '@svc/contracts'
import { type Answer, findUnanswered, selectOption } from './answering.ts'
import { readBelief, withAnswer } from './belief.ts'
import { sessionNone } from './errors.ts'
import { POLICY, type PolicyStop, utility } from './policy.ts'
import { first, PENDING, type QueryRunner } from './question-rows.ts'

export interface PendingQuestion {
  readonly question_event_id: number
  readonly session_id: string
  readonly question_id: string
  readonly question_kind: string
  readonly prompt: string
  readonly expected_information_gain_bits: number
  readonly created_at_ms: number
  readonly options: readonly PendingOption[]
}

export interface PendingOption {
  readonly option_id: string
  readonly label: string
  readonly prior_probability: number | null
  readonly posterior_probability: number | null
  readonly is_other: boolean
}

export interface OpenSession {
  readonly question_session_id: number
  readonly belief_state_json: string | null
  /** Number of questions asked. */
  readonly turns: number
  /** Number of pending questions. */
  readonly pending: number
  /** Oldest pending question; null if there is none. */
  readonly first: { readonly question_id: string; readonly prompt: string } | null
}

export interface AnswerReceipt {
  readonly question_id: string
  readonly question_session_id: number
  readonly answered_at_ms: number
  readonly still_pending_clarification: boolean
}

/**
 * Stores questions of the repository's sessions in the tables `question_*`. A session has at most one open
 * clarification session, whose turns are numbered from 0 without gaps. An immediate transaction ensures both with
 * concurrent callers.
 */
export class QuestionStore {
  readonly #store: DatabaseStore
  readonly #repository: string
  readonly #now: () => number

  constructor(store: DatabaseStore, repository: string, now: () => number = Date.now) {
    this.#store = store
    this.#repository = repository
    this.#now = now
  }

  /** Returns the open clarification session of a session; null if there is none. */
  open(session: string): Promise<OpenSession | null> {
    return this.#open(this.#store, session)
  }

  /** Returns the pending questions of a session, or of all sessions, oldest first. */
  async pending(session?: string, limit = 1_000): Promise<readonly PendingQuestion[]> {
    const { columns, rows } = await this.#store.query(
      `SELECT e.id, s.session_id, e.question_id, e.question_kind, e.prompt, e.expected_information_gain_bits AS gain,
         e.created_at_ms,
         (SELECT json_group_array(json_array(o.option_id, o.label, o.prior_probability, o.posterior_probability, o.is_other))
          FROM (SELECT * FROM question_options WHERE question_event_id = e.id ORDER BY id) AS o) AS options
       FROM question_sessions AS s JOIN question_events AS e ON e.question_session_id = s.id
       WHERE s.repository_id = ?1 AND s.ended_at_ms IS NULL AND (?2 IS NULL OR s.session_id = ?2) AND ${PENDING}
       ORDER BY e.id LIMIT ?3`,
      [this.#repository, session ?? null, limit]
    )
    return rowsByName({ columns, rows }).map(row => ({
      question_event_id: Number(row.id),
      session_id: String(row.session_id),
      question_id: String(row.question_id),
      question_kind: String(row.question_kind),
      prompt: String(row.prompt),
      expected_information_gain_bits: Number(row.gain ?? 0),
      created_at_ms: Number(row.created_at_ms),
      options: (JSON.parse(String(row.options)) as [string, string, number | null, number | null, number][]).map(
        ([option_id, label, prior_probability, posterior_probability, other]) => ({
          option_id,
          label,
          prior_probability,
          posterior_probability,
          is_other: other === 1
        })
      )
    }))
  }

  /**
   * Stores a question and returns its id. If the same prompt is already pending, returns the id of that question. Null
   * if another caller has used the last turn.
   */
  ask(question: QuestionCandidate): Promise<string | null> {
    return this.#store.transaction(async tx => {
      const { session_id, surface, prompt } = question
      const open = await this.#open(tx, session_id)
      const id = open?.question_session_id ?? (await this.#begin(tx, session_id))
      const same = await first(
        tx,
        `SELECT question_id FROM question_events WHERE question_session_id = ? AND prompt = ? AND ${PENDING}`,
        [id, prompt]
      )
      if (same !== null) return String(same.question_id)
      const turn = open?.turns ?? 0
      if (turn >= POLICY.maxTurns) return null
      const now = this.#now()
      const questionId = await this.#freeId(tx, id, `${surface}:${session_id}:`, now)
      const { lastInsertId } = await tx.execute(
        `INSERT INTO question_events (question_session_id, question_id, turn_index, actor, question_kind, prompt,
           expected_information_gain_bits, expected_user_cost, utility_bits_per_cost, created_at_ms)
         VALUES (?, ?, ?, 'assistant', ?, ?, ?, ?, ?, ?)`,
        [
          id,
          questionId,
          turn,
          question.kind,
          prompt,
          question.expected_information_gain_bits,
          question.expected_user_cost,
          utility(question),
          now
        ]
      )
      for (const { id: option, label, prior, other } of question.options ?? [])
        await tx.execute(
          `INSERT INTO question_options (question_event_id, option_id, label, prior_probability, is_other)
           VALUES (?, ?, ?, ?, ?)`,
          [lastInsertId, option, label, prior ?? null, other === true]
        )
      return questionId
    })
  }

  /** Stores why a question was not asked. `confidence_sufficient` also ends a session without pending questions. */
  async stopped(question: QuestionCandidate, reason: PolicyStop | 'policy_deferred'): Promise<void> {
    await this.#store.transaction(async tx => {
      const open = await this.#open(tx, question.session_id)
      if (open === null) return
      const { question_session_id: id, turns, pending } = open
      const now = this.#now()
      await tx.execute(
        `INSERT INTO question_stop_events (question_session_id, stop_reason, confidence_at_stop, marginal_gain_bits,
           expected_user_cost, turn_index, created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)`,
        [
          id,
          reason,
          question.confidence,
          question.expected_information_gain_bits,
          question.expected_user_cost,
          turns,
          now
        ]
      )
      if (reason === 'confidence_sufficient' && pending === 0) await this.#end(tx, id, now)
    })
  }

  /**
   * Answers a question, by default the newest pending one. An answer equal to an option's id or label selects it.
   * Throws `QST_SESSION_NONE`, `QST_NOTHING_PENDING`, `QST_QUESTION_UNKNOWN`, `QST_ANSWERED` and `QST_OPTION_UNKNOWN`.
   */
  answer(answer: Answer): Promise<AnswerReceipt> {
    return this.#store.transaction(async tx => {
      const open = await this.#open(tx, answer.session_id)
      if (open === null) throw sessionNone(answer.session_id)
      const { question_session_id: id } = open
      const event = await findUnanswered(tx, id, answer)
      const now = this.#now()
      await tx.execute('UPDATE question_events SET answer_text = ?, answer_type = ?, answered_at_ms = ? WHERE id = ?', [
        answer.answer_text,
        answer.answer_type,
        now,
        event.id
      ])
      const selected = await selectOption(tx, event, answer, now)
      const state = withAnswer(
        readBelief(open.belief_state_json),
        {
          question_id: event.question_id,
          answer_text: answer.answer_text,
          answered_at_ms: now,
          ...(selected === null ? {} : { selected_option_id: selected.id })
        },
        selected?.mass ?? null
      )
      await tx.execute('UPDATE question_sessions SET belief_state_json = ? WHERE id = ?', [JSON.stringify(state), id])
      return {
        question_id: event.question_id,
        question_session_id: id,
        answered_at_ms: now,
        still_pending_clarification: open.pending > 1
      }
    })
  }

  /** Returns the newest question of the open clarification session of a session; null if none is open. */
  async latest(session: string): Promise<AskedQuestion | null> {
    const row = await first(
      this.#store,
      `SELECT e.question_id, e.prompt, e.created_at_ms, e.answer_text, e.answered_at_ms,
         (SELECT o.option_id FROM question_option_outcomes AS o
          WHERE o.question_event_id = e.id AND o.selected = 1 ORDER BY o.id DESC LIMIT 1) AS option_id
       FROM question_sessions AS s JOIN question_events AS e ON e.question_session_id = s.id
       WHERE s.session_id = ? AND s.repository_id = ? AND s.ended_at_ms IS NULL AND e.actor = 'assistant'
       ORDER BY e.id DESC LIMIT 1`,
      [session, this.#repository]
    )
    if (row === null) return null
    const { answer_text, option_id } = row
    return {
      question_id: String(row.question_id),
      prompt: String(row.prompt),
      asked_at_ms: Number(row.created_at_ms),
      answer:
        answer_text === null || answer_text === undefined
          ? null
          : {
              text: String(answer_text),
              option_id: option_id === null || option_id === undefined ? null : String(option_id),
              at_ms: Number(row.answered_at_ms)
            }
    }
  }

  /** Returns the sessions with an open clarification session whose ids begin with a prefix, at most 1,000. */
  async openSessions(prefix: string): Promise<readonly string[]> {
    const { rows } = await this.#store.query(
      `SELECT DISTINCT session_id FROM question_sessions
       WHERE repository_id = ? AND ended_at_ms IS NULL AND substr(session_id, 1, ?) = ? LIMIT 1000`,
      [this.#repository, prefix.length, prefix]
    )
    return rows.map(([session]) => String(session))
  }

  /** Withdraws the pending questions of a session, and ends its clarification session. False if none was open. */
  end(session: string): Promise<boolean> {
    return this.#store.transaction(async tx => {
      const open = await this.#open(tx, session)
      if (open === null) return false
      const now = this.#now()
      await tx.execute(
        `UPDATE question_events SET answer_text = '', answer_type = 'withdrawn', answered_at_ms = ?
         WHERE question_session_id = ? AND ${PENDING}`,
        [now, open.question_session_id]
      )
      await this.#end(tx, open.question_session_id, now)
      return true
    })
  }

  /** Ends a clarification session without pending questions, so that the next question opens another one. */
  async resolve(id: number): Promise<void> {
    await this.#store.execute(
      `UPDATE question_sessions SET ended_at_ms = ?, resolution_status = 'resolved' WHERE id = ? AND ended_at_ms IS NULL
       AND NOT EXISTS (SELECT 1 FROM question_events WHERE question_session_id = ? AND ${PENDING})`,
      [this.#now(), id, id]
    )
  }

  async #open(reader: QueryRunner, session: string): Promise<OpenSession | null> {
    const row = await first(
      reader,
      `SELECT s.id, s.belief_state_json,
         (SELECT count(*) FROM question_events WHERE question_session_id = s.id) AS turns,
         (SELECT count(*) FROM question_events WHERE question_session_id = s.id AND ${PENDING}) AS pending,
         (SELECT json_array(question_id, prompt) FROM question_events WHERE question_session_id = s.id AND ${PENDING}
          ORDER BY id LIMIT 1) AS first
       FROM question_sessions AS s
       WHERE s.session_id = ? AND s.repository_id = ? AND s.ended_at_ms IS NULL ORDER BY s.id DESC LIMIT 1`,
      [session, this.#repository]
    )
    if (row === null) return null
    const oldest = row.first === null ? null : (JSON.parse(String(row.first)) as [string, string])
    return {
      question_session_id: Number(row.id),
      belief_state_json: row.belief_state_json === null ? null : String(row.belief_state_json),
      turns: Number(row.turns),
      pending: Number(row.pending),
      first: oldest === null ? null : { question_id: oldest[0], prompt: oldest[1] }
    }
  }

  async #begin(tx: DatabaseTransaction, session: string): Promise<number> {
    const { lastInsertId } = await tx.execute(
      'INSERT INTO question_sessions (session_id, repository_id, policy_version, started_at_ms) VALUES (?, ?, ?, ?)',
      [session, this.#repository, POLICY.version, this.#now()]
    )
    return Number(lastInsertId)
  }

  async #end(tx: DatabaseTransaction, id: number, now: number): Promise<void> {
    await tx.execute("UPDATE question_sessions SET ended_at_ms = ?, resolution_status = 'resolved' WHERE id = ?", [
      now,
      id
    ])
  }

  /** Returns an unused question id: the prefix and the time, increased while the id is in use. */
  async #freeId(tx: DatabaseTransaction, session: number, prefix: string, now: number): Promise<string> {
    for (let at = now; ; at += 1) {
      const id = `${prefix}${at}`
      const sql = 'SELECT 1 FROM question_events WHERE question_session_id = ? AND question_id = ?'
      if ((await first(tx, sql, [session, id])) === null) return id
    }
  }
}
