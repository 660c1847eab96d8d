import type { TaskExplanation } from '@svc/contracts'

type Stage = TaskExplanation['trace'][number]

export interface Page {
  readonly stages: Stage[]
}

const MAX_TRACED_TASKS = 200
const MAX_STAGES = 32

/** History of the last tasks, for `explain`; not persisted. */
export class TraceBook {
  readonly #pages = new Map<number, Page>()

  note(task: number, stage: string, detail: string, now: number): void {
    const { stages } = this.#page(task)
    stages.push({ stage, timestamp_ms: now, detail })
    // Drops the second stage: the first names the origin, and the last ones matter most.
    if (stages.length > MAX_STAGES) stages.splice(1, 1)
  }

  get pages(): ReadonlyMap<number, Page> {
    return this.#pages
  }

  importPages(pages: ReadonlyMap<number, Page>): void {
    for (const [task, page] of pages) this.#pages.set(task, page)
  }

  read(task: number): Readonly<Page> | null {
    return this.#pages.get(task) ?? null
  }

  #page(task: number): Page {
    let page = this.#pages.get(task)
    if (page === undefined) {
      this.#pages.set(task, (page = { stages: [] }))
      if (this.#pages.size > MAX_TRACED_TASKS) this.#pages.delete(this.#pages.keys().next().value as number)
    }
    return page
  }
}
