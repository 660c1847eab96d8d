import type { Orchestrator, TaskView } from '@svc/contracts'

type Script = (task: TaskView, orchestrator: Orchestrator) => Promise<unknown>

/**
 * Works on the tasks of an orchestrator as their description says: `say X` completes with the message X, `sum X` with the
 * summary X, `fail X` fails, `doubt X`
 * doubts once and then completes, `wait` stays in progress until the test ends it.
 */
export class Worker {
  readonly #orchestrator: Orchestrator | undefined
  readonly #scripts: Readonly<Record<string, Script>> = {
    say: async ({ id, description }, orchestrator) => {
      orchestrator.turn(id, description.slice('say '.length))
      await orchestrator.complete(id, { checks_passed: ['tests'] })
    },
    sum: ({ id, description }, orchestrator) =>
      orchestrator.complete(id, { checks_passed: ['tests'], completion_summary: description.slice('sum '.length) }),
    fail: ({ id, description }, orchestrator) => orchestrator.fail(id, description.slice('fail '.length)),
    doubt: async ({ id, description, audit_report }, orchestrator) => {
      if (audit_report === undefined) return orchestrator.doubt(id, description.slice('doubt '.length))
      orchestrator.turn(id, `with ${audit_report}`)
      await orchestrator.complete(id, { checks_passed: ['tests'] })
    },
    wait: async () => undefined
  }
  readonly #end: () => void
  readonly errors: unknown[] = []
  #isPaused = false

  constructor(orchestrator: Orchestrator | undefined) {
    this.#orchestrator = orchestrator
    const timer = setInterval(() => void this.#work(), 10)
    this.#end = () => clearInterval(timer)
  }

  /** Leaves tasks in their queue until {@link resume}. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
  }

  stop(): void {
    this.#end()
  }

  async #work(): Promise<void> {
    const orchestrator = this.#orchestrator
    if (orchestrator === undefined || this.#isPaused) return
    try {
      for (const { id } of orchestrator.agents()) {
        const task: TaskView | null = await orchestrator.next(id)
        if (task === null) continue
        const [word = '']: readonly string[] = /^\w+/.exec(task.description) ?? []
        await this.#scripts[word]?.(task, orchestrator)
      }
    } catch (error) {
      this.errors.push(error)
    }
  }
}
