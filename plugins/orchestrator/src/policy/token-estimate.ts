import type { TaskCategory } from '@svc/contracts'

/** Expected tokens of a task with complexity 5. */
const BASE_TOKENS: Partial<Readonly<Record<TaskCategory, number>>> = { CodeGen: 2000, Research: 4000, Visus: 8000 }

/** Estimates the tokens that a task uses: base * complexity^2 / 25. `complexity`: 1 to 10. */
export function workTokens(category: TaskCategory, complexity: number): number {
  return ((BASE_TOKENS[category] ?? 1000) * complexity * complexity) / 25
}
