import type { AgentEvent, TaskSubmission } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { questioningErrors } from './errors.ts'
import type { QuestionStore } from './store.ts'

/** Maximum sessions whose answered questions are remembered until the next task. */
const REMEMBERED = 10_000

/**
 * Holds tasks of a session back while one of its questions waits, and ends a session of questions when the task that it was
 * about is submitted.
 */
export class SubmitGate {
  readonly #store: QuestionStore
  readonly #log: Pick<Logger, 'warn'>
  readonly #answered = new Map<string, number>()

  constructor(store: QuestionStore, log: Pick<Logger, 'warn'>) {
    this.#store = store
    this.#log = log
  }

  /** Throws `QST_ANSWER_FIRST`. An unavailable database does not block a task: the orchestrator waits for it itself. */
  async check({ request: { session_id } }: TaskSubmission): Promise<void> {
    if (session_id === undefined) return
    const open = await this.#store.open(session_id).catch((error: unknown) => {
      this.#log.warn('cannot check for waiting questions; the task is accepted', { error, session_id })
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
      `session ${session_id} has a question to answer first: "${prompt}" (${question_id})`,
      {
        data: { session_id, question_id, prompt, pending: open.waiting },
        hint: `answer the question of the session first: svc questions answer ${session_id} "…"`
      }
    )
  }

  /** Called for the orchestrator's events. */
  observe({ kind }: AgentEvent): void {
    if (kind.type !== 'task_submitted' || kind.session_id === undefined) return
    const id = this.#answered.get(kind.session_id)
    if (id === undefined) return
    this.#answered.delete(kind.session_id)
    this.#store
      .resolve(id)
      .catch((error: unknown) => this.#log.warn('cannot end a session of questions', { error, id }))
  }
}
