import type { TaskCategory } from '@svc/contracts'

/** Tokens of a task of complexity 5. */
const BASE_TOKENS: Partial<Readonly<Record<TaskCategory, number>>> = { CodeGen: 2000, Research: 4000, Visus: 8000 }

/** Tokens that working on a task is expected to take: base * complexity^2 / 25. `complexity` is 1 to 10. */
export function workTokens(category: TaskCategory, complexity: number): number {
  return ((BASE_TOKENS[category] ?? 1000) * complexity * complexity) / 25
}
