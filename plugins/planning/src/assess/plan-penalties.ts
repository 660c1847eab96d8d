import type { PlanTask } from '../plan-task.ts'
import { realFiles } from './task-confidence.ts'
import { pathsIn, wordsOf } from './words.ts'

/** A reason why a plan is thin, with the factor by which it reduces the score. */
export interface Penalty {
  readonly code: string
  readonly factor: number
}

const MEGA_COMPLEXITY = 9
const SHORT_DESCRIPTION = 28
const REPEATED_WORDS = 4
const REPEATED_CHARACTERS = 10

/** Returns the penalties of a plan, without comparing it with an earlier round. */
export function planPenalties({
  goal,
  tasks,
  estimate,
  target
}: {
  readonly goal: string
  readonly tasks: readonly PlanTask[]
  readonly estimate: number
  readonly target: number
}): Penalty[] {
  const found: Penalty[] = []
  const count = tasks.length
  const linked = tasks.filter(task => realFiles(task).length > 0).length
  if (estimate >= 5 && count < target)
    found.push({
      code: 'too_few_tasks',
      factor: Math.min(1, Math.max(0.35, 1 - (0.45 * (target - count)) / target))
    })
  if (tasks.filter(task => task.estimated_complexity >= MEGA_COMPLEXITY).length >= 2 && count < target + 2)
    found.push({ code: 'mega_task_cluster', factor: 0.78 })
  if (count >= 4 && tasks.every(task => task.depends_on.length === 0))
    found.push({ code: 'flat_dependency_graph', factor: 0.85 })
  if (linked === 0 && pathsIn(goal).length > 0) found.push({ code: 'goal_paths_unlinked', factor: 0.8 })
  if (
    estimate >= 6 &&
    count >= Math.max(target, 3) &&
    textLength(tasks) / count < SHORT_DESCRIPTION &&
    3 * linked < count
  )
    found.push({ code: 'verbose_but_low_surface', factor: 0.86 })
  if (count >= 4 && mostRepeated(tasks) >= Math.max(3, Math.ceil(0.4 * count)))
    found.push({ code: 'repeated_task_phrasing', factor: 0.88 })
  return found
}

/** Returns penalties for detail that a refinement round lost. */
export function comparisonPenalties(
  tasks: readonly PlanTask[],
  previous: readonly PlanTask[],
  target: number
): Penalty[] {
  const found: Penalty[] = []
  const linked = (all: readonly PlanTask[]) => all.filter(task => realFiles(task).length > 0).length
  if (tasks.length < previous.length && previous.length >= Math.max(target - 1, 2))
    found.push({ code: 'possible_rewrite_compression', factor: 0.87 })
  if (linked(tasks) < linked(previous)) found.push({ code: 'file_linkage_reduced', factor: 0.85 })
  if (tasks.length <= previous.length && textLength(tasks) + 50 < 0.9 * textLength(previous))
    found.push({ code: 'description_mass_reduced', factor: 0.9 })
  return found
}

function textLength(tasks: readonly PlanTask[]): number {
  return tasks.reduce((sum, { description }) => sum + description.trim().length, 0)
}

/** Returns how many tasks share the most common first four words. */
function mostRepeated(tasks: readonly PlanTask[]): number {
  const counts = new Map<string, number>()
  for (const { description } of tasks) {
    const start = wordsOf(description.toLowerCase()).slice(0, REPEATED_WORDS).join(' ')
    if (start.length >= REPEATED_CHARACTERS) counts.set(start, (counts.get(start) ?? 0) + 1)
  }
  return Math.max(0, ...counts.values())
}
