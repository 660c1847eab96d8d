import {
  type AgentEvent,
  type AskedQuestion,
  type Clarifications,
  DOUBT_SESSIONS,
  type Orchestrator,
  type Questioning,
  type QuestionOutcome,
  type TaskView
} from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { auditReport } from './audit-report.ts'
import { doubtQuestion, type Outcome, sessionOf, taskOf } from './doubt-question.ts'

/** How long a question that the policies did not allow is not asked again, in milliseconds. */
const DECLINED_MS = 60_000

export interface DoubtResolverParts {
  readonly orchestrator: Pick<Orchestrator, 'task' | 'tasks' | 'resolveDoubt'>
  readonly questioning: Pick<Questioning, 'consider'>
  readonly clarifications: Clarifications
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/**
 * Asks a person about each doubted task of this process, and resolves the doubt with the answer. The question is stored by
 * the questioning plugin, so it survives a restart, and any process can answer it. When the doubt is resolved elsewhere, the
 * question is withdrawn. Doubts are looked at one after the other.
 */
export class DoubtResolver {
  readonly #parts: DoubtResolverParts
  /** Doubted tasks, with the time before which they are not asked about again. */
  readonly #doubted = new Map<number, number>()
  readonly #declined = new Set<number>()
  #work: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: DoubtResolverParts) {
    this.#parts = parts
  }

  /** Asks about the tasks that are doubted already, and withdraws questions about those that no longer are. */
  begin(): void {
    const { orchestrator, clarifications } = this.#parts
    for (const { id } of orchestrator.tasks({ status: 'Doubted' })) this.#doubted.set(id, 0)
    this.#then('questions of doubts are not read', async () => {
      for (const session of await clarifications.openSessions(DOUBT_SESSIONS)) {
        const task = taskOf(session)
        // Another process may hold the task of a number that is unknown here.
        if (task !== null && !this.#doubted.has(task) && orchestrator.task(task) !== null)
          await clarifications.end(session)
      }
    })
    this.look()
  }

  observe({ kind }: AgentEvent): void {
    if (kind.type === 'task_doubted') {
      const { task_id: task } = kind
      this.#doubted.set(task, 0)
      this.#then(`task ${task} is doubted, and no question was asked`, async () => {
        // An answer to an earlier doubt is none to this one.
        await this.#parts.clarifications.end(sessionOf(task))
        await this.#check(task)
      })
    } else if ('task_id' in kind && typeof kind.task_id === 'number' && this.#doubted.has(kind.task_id))
      this.#later(kind.task_id)
  }

  /** Called when a question of a session was answered in this process. */
  answered(session: string): void {
    const task = taskOf(session)
    if (task !== null && this.#doubted.has(task)) this.#later(task)
  }

  /** Looks at all doubts: another process may have answered. */
  look(): void {
    for (const task of this.#doubted.keys()) this.#later(task)
  }

  /** Starts nothing more, and waits for what has begun. Questions stay. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#work
  }

  #later(task: number): void {
    this.#then(`the doubt about task ${task} is not resolved`, () => this.#check(task))
  }

  #then(failure: string, work: () => Promise<void>): void {
    this.#work = this.#work
      .then(() => (this.#isClosed ? undefined : work()))
      .catch((error: unknown) => this.#parts.log.warn(`${failure}; it is tried again`, { error }))
  }

  async #check(id: number): Promise<void> {
    const { orchestrator, clarifications } = this.#parts
    const task = orchestrator.task(id)
    if (task?.status.kind !== 'Doubted') {
      await clarifications.end(sessionOf(id))
      this.#doubted.delete(id)
      this.#declined.delete(id)
      return
    }
    const question = await clarifications.latest(sessionOf(id))
    if (question === null) await this.#ask(task)
    else if (question.answer !== null) await this.#resolve(task, question, question.answer.option_id)
  }

  async #ask(task: TaskView): Promise<void> {
    if (Date.now() < (this.#doubted.get(task.id) ?? 0)) return
    const { asked, stop_reason } = await this.#parts.questioning.consider(doubtQuestion(task))
    this.#doubted.set(task.id, Date.now() + (asked ? 0 : DECLINED_MS))
    if (!asked && !this.#declined.has(task.id)) this.#noteDeclined(task.id, stop_reason)
  }

  #noteDeclined(task: number, reason: QuestionOutcome['stop_reason']): void {
    this.#declined.add(task)
    this.#parts.log.info(`no question is asked about the doubted task ${task} now: ${reason}`, {
      hint: `resolve it with: svc orch queue resolve ${task} validated|overruled REPORT`
    })
  }

  async #resolve(task: TaskView, question: AskedQuestion, option: string | null): Promise<void> {
    const outcome: Outcome = option === 'overruled' ? 'overruled' : 'validated'
    const { orchestrator, clarifications } = this.#parts
    await orchestrator.resolveDoubt(task.id, outcome, auditReport(task, question, outcome))
    await clarifications.end(sessionOf(task.id))
    this.#doubted.delete(task.id)
    this.#declined.delete(task.id)
  }
}
