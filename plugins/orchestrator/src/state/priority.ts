import type { Priority } from '@svc/contracts'

/** Served first to last. */
export const PRIORITIES: readonly Priority[] = ['Urgent', 'Normal', 'Background']

/** 0 is served first. */
export function rank(priority: Priority): 0 | 1 | 2 {
  return priority === 'Urgent' ? 0 : priority === 'Normal' ? 1 : 2
}

/** Tenths of the factors 3.0, 1.0 and 0.4, so that loads are sums of integers and never drift. */
const TENTHS: Readonly<Record<Priority, number>> = { Urgent: 30, Normal: 10, Background: 4 }

/** Load of a task, in fiftieths: factor of the priority times complexity / 5. */
export function weightOf(priority: Priority, complexity: number): number {
  return TENTHS[priority] * complexity
}

/** A sum of {@link weightOf} as the load that is shown and routed by. */
export function toLoad(fiftieths: number): number {
  return fiftieths / 50
}
