import type { PlanTask } from '../plan-task.ts'

/**
 * Sorts each task after its dependencies, otherwise in their original order, and renumbers them from 1. Cyclic and
 * unknown dependencies stay invalid, so that scoring reports them.
 */
export function inOrder(tasks: readonly PlanTask[]): PlanTask[] {
  const ids = new Set(tasks.map(({ id }) => id))
  const sorted: PlanTask[] = []
  const placed = new Set<number>()
  let rest = [...tasks]
  while (rest.length > 0) {
    const at = rest.findIndex(task => task.depends_on.every(id => placed.has(id) || !ids.has(id)))
    const next = rest[Math.max(0, at)] as PlanTask
    sorted.push(next)
    placed.add(next.id)
    rest = rest.filter(task => task !== next)
  }
  const position = new Map(sorted.map(({ id }, index) => [id, index + 1]))
  return sorted.map((task, index) => ({
    ...task,
    id: index + 1,
    depends_on: [...new Set(task.depends_on.map(id => position.get(id) ?? 0))]
  }))
}
