import type { RoutedAgent, RoutingQuestion, RoutingTerm } from '@svc/contracts'
import type { AgentEntry } from './load-heap.ts'
import type { Term } from './score.ts'

/** The sum of contributed terms stays far below the 10,000 points of distrust. */
const MAX_POINTS = 1_000
const WARN_EVERY_MS = 60_000

export const NO_TERMS: readonly RoutingTerm[] = Object.freeze([])

/** Scores agents by the terms that plugins contribute. A term that throws, or returns no number, counts as 0. */
export class ContributedTerms {
  readonly #terms: () => readonly RoutingTerm[]
  readonly #now: () => number
  readonly #report: (what: string, error: unknown) => void
  #warnedAt = Number.NEGATIVE_INFINITY

  constructor(terms: () => readonly RoutingTerm[], now: () => number, report: (what: string, error: unknown) => void) {
    this.#terms = terms
    this.#now = now
    this.#report = report
  }

  /** Whether no plugin contributes a term. */
  get isEmpty(): boolean {
    return this.#terms().length === 0
  }

  /** Terms that concern the task. */
  for(task: RoutingQuestion): readonly RoutingTerm[] {
    return this.#terms().filter(term => {
      try {
        return term.applies?.(task) ?? true
      } catch (error) {
        this.#warn(term, error)
        return false
      }
    })
  }

  /** Points for an agent, clipped. Each term that gives some is added to `explained`. */
  score(terms: readonly RoutingTerm[], task: RoutingQuestion, entry: AgentEntry, explained?: Term[]): number {
    const { id, name, load, capabilities } = entry
    const agent: RoutedAgent = { id, name, load, labels: capabilities.labels ?? [] }
    let sum = 0
    for (const term of terms) {
      const given = this.#ask(term, task, agent)
      if (given === null) continue
      sum += given.value
      explained?.push({ term: term.name, value: given.value, because: given.because })
    }
    return Math.min(Math.max(sum, -MAX_POINTS), MAX_POINTS)
  }

  #ask(term: RoutingTerm, task: RoutingQuestion, agent: RoutedAgent) {
    try {
      const given = term.score(task, agent)
      if (given === null || Number.isFinite(given.value)) return given
      throw new TypeError(`its value is ${given.value}`)
    } catch (error) {
      this.#warn(term, error)
      return null
    }
  }

  #warn({ name }: RoutingTerm, error: unknown): void {
    const now = this.#now()
    if (now - this.#warnedAt < WARN_EVERY_MS) return
    this.#warnedAt = now
    this.#report(`routing term ${name}`, error)
  }
}
