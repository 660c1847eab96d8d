import type { RoutedAgent, RoutingQuestion, RoutingTerm } from '@svc/contracts'
import type { AgentEntry } from './load-heap.ts'
import type { Term } from './score.ts'

/** Maximum absolute sum of contributed terms, far below the 10,000 points for a missing device or low trust. */
const MAX_POINTS = 1_000
const WARN_EVERY_MS = 60_000

export const NO_TERMS: readonly RoutingTerm[] = Object.freeze([])

/** Scores agents by the terms that plugins contribute. A term that throws or returns no finite number counts as 0. */
export class ContributedTerms {
  readonly #terms: () => readonly RoutingTerm[]
  readonly #now: () => number
  readonly #report: (subject: string, error: unknown) => void
  #warnedAt = Number.NEGATIVE_INFINITY

  constructor(
    terms: () => readonly RoutingTerm[],
    now: () => number,
    report: (subject: string, error: unknown) => void
  ) {
    this.#terms = terms
    this.#now = now
    this.#report = report
  }

  /** True if no plugin contributes a term. */
  get isEmpty(): boolean {
    return this.#terms().length === 0
  }

  /** Returns the terms that apply to a task. */
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

  /** Returns an agent's points, clamped to ±1,000. Adds each term with a value to `explained`. */
  score(terms: readonly RoutingTerm[], task: RoutingQuestion, entry: AgentEntry, explained?: Term[]): number {
    const { id, name, load, capabilities } = entry
    const agent: RoutedAgent = { id, name, load, labels: capabilities.labels ?? [] }
    let sum = 0
    for (const term of terms) {
      const points = this.#pointsOf(term, task, agent)
      if (points === null) continue
      sum += points.value
      explained?.push({ term: term.name, value: points.value, because: points.because })
    }
    return Math.min(Math.max(sum, -MAX_POINTS), MAX_POINTS)
  }

  #pointsOf(term: RoutingTerm, task: RoutingQuestion, agent: RoutedAgent) {
    try {
      const points = term.score(task, agent)
      if (points === null || Number.isFinite(points.value)) return points
      throw new TypeError(`its value is ${points.value}; it must be a finite number`)
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
