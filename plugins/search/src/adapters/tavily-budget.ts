import type { Settings } from '../settings.ts'

const CREDITS = { basic: 1, advanced: 2 } as const

/** Credits that this process may still spend on Tavily. */
export class TavilyBudget {
  readonly #settings: () => Pick<Settings, 'tavily_budget' | 'tavily_depth'>
  #spent = 0

  constructor(settings: () => Pick<Settings, 'tavily_budget' | 'tavily_depth'>) {
    this.#settings = settings
  }

  /** Returns why the next search cannot be paid; null if it can. */
  refusal(): string | null {
    const { tavily_budget, tavily_depth } = this.#settings()
    const cost = CREDITS[tavily_depth]
    if (this.#spent + cost <= tavily_budget) return null
    return `${this.#spent} of ${tavily_budget} credits are spent, and a search costs ${cost}`
  }

  /** Counts a search, also if it fails: it may have been charged. */
  spend(): void {
    this.#spent += CREDITS[this.#settings().tavily_depth]
  }
}
