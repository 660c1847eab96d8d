import { resolve } from 'node:path'
import type { Program, RoutingTerm } from '@svc/contracts'

/** Points of an agent that has the label of a scope. */
const POINTS = 250
const LABEL = 'vox:orchestration_scope:'

/**
 * Returns a routing term for tasks on the file of a served program: an agent with the label
 * `vox:orchestration_scope:NAME` of a `.scope("NAME")` in the program gets points. Null if the program names no scope.
 * `path`: absolute path of the program.
 */
export function scopeTerm(program: Program, path: string, projectRoot: string): RoutingTerm | null {
  const labels = [...scopesOf(program.module)].sort().map(scope => `${LABEL}${scope}`)
  if (labels.length === 0) return null
  return {
    name: 'program_scope',
    applies: ({ files }) => files.some(file => resolve(projectRoot, file.path) === path),
    score(_task, agent) {
      const label = labels.find(each => agent.labels.includes(each))
      return label === undefined
        ? null
        : { value: POINTS, because: `${program.path} has a table operation of ${label}` }
    }
  }
}

/** Returns the scopes of all plans of a module. Its nodes are plain data, so they are walked without their types. */
function scopesOf(node: unknown): Set<string> {
  const found = new Set<string>()
  const open: unknown[] = [node]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== 'object' || next === null) continue
    const scope = (next as { readonly orchestration_scope?: unknown }).orchestration_scope
    if (typeof scope === 'string') found.add(scope)
    open.push(...Object.values(next))
  }
  return found
}
