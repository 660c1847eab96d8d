import type { Priority } from '@svc/contracts'

/** Priorities, most urgent first. */
export const PRIORITIES: readonly Priority[] = ['Urgent', 'Normal', 'Background']

/** Returns the rank of a priority; 0 is the most urgent. */
export function rank(priority: Priority): 0 | 1 | 2 {
  return priority === 'Urgent' ? 0 : priority === 'Normal' ? 1 : 2
}

/** Factors 3.0, 1.0 and 0.4 in tenths, so that loads are sums of integers without rounding errors. */
const TENTHS: Readonly<Record<Priority, number>> = { Urgent: 30, Normal: 10, Background: 4 }

/** Returns the load of a task in fiftieths: the factor of its priority times complexity / 5. */
export function weightOf(priority: Priority, complexity: number): number {
  return TENTHS[priority] * complexity
}

/** Converts a sum of {@link weightOf} to a load. */
export function toLoad(fiftieths: number): number {
  return fiftieths / 50
}
