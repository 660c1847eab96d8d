import type { AgentEvent, TaskSubmission } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { questioningErrors } from './errors.ts'
import type { QuestionStore } from './store.ts'

/** Maximum answered clarification sessions remembered until the next task of their session. */
const REMEMBERED = 10_000

/**
 * Rejects tasks of a session while one of its questions is pending. Ends an answered clarification session when the
 * next task of the session is submitted.
 */
export class SubmitGate {
  readonly #store: QuestionStore
  readonly #log: Pick<Logger, 'warn'>
  readonly #answered = new Map<string, number>()

  constructor(store: QuestionStore, log: Pick<Logger, 'warn'>) {
    this.#store = store
    this.#log = log
  }

  /** Throws `QST_ANSWER_FIRST` if a question is pending. If the database fails, logs a warning and accepts the task. */
  async check({ request: { session_id } }: TaskSubmission): Promise<void> {
    if (session_id === undefined) return
    const open = await this.#store.open(session_id).catch((error: unknown) => {
      this.#log.warn('cannot check for pending questions; the task is accepted', { error, session_id })
      return null
    })
    if (open === null) return
    if (open.first === null) {
      if (this.#answered.size >= REMEMBERED) this.#answered.clear()
      this.#answered.set(session_id, open.question_session_id)
      return
    }
    const { question_id, prompt } = open.first
    throw questioningErrors.create(
      'QST_ANSWER_FIRST',
      `session ${session_id}: answer its question first: "${prompt}" (${question_id})`,
      {
        data: { session_id, question_id, prompt, pending: open.pending },
        hint: `answer it with: svc questions answer ${session_id} "…"`
      }
    )
  }

  /** Ends the answered clarification session of a submitted task; ignores other events. */
  observe({ kind }: AgentEvent): void {
    if (kind.type !== 'task_submitted' || kind.session_id === undefined) return
    const id = this.#answered.get(kind.session_id)
    if (id === undefined) return
    this.#answered.delete(kind.session_id)
    this.#store
      .resolve(id)
      .catch((error: unknown) => this.#log.warn('cannot end a clarification session', { error, id }))
  }
}
