import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'
import type { Call } from '../syntax/ast-expressions.ts'
import { walk } from '../syntax/walk.ts'
import { memberPath } from './member-path.ts'

/** Non-deterministic functions and functions with effects: names, or prefixes of paths. */
const NON_DETERMINISTIC =
  /^(std\.(time|random|fs|io|http|process|env|now_ms|uuid|crypto\.uuid)|fs|process|env|http|HTTP|Browser|OpenClaw|Speech|secrets|sleep)(\.|$)/

/** Reports calls in workflows whose result differs when the workflow is replayed. */
export function checkWorkflows({ items }: Module): Diagnostic[] {
  const found: Diagnostic[] = []
  for (const item of items) {
    if (item.kind !== 'Workflow') continue
    const own = new Set(item.params.map(({ name }) => name.text))
    walk(item.body, node => {
      // An activity or a side effect runs once; a replay uses its recorded result.
      if (node.kind === 'SideEffect') return false
      if (node.kind !== 'Call') return true
      const path = memberPath((node as Call).callee)
      if (path === null || own.has(path[0] ?? '') || !NON_DETERMINISTIC.test(path.join('.'))) return true
      const message = `\`${path.join('.')}\` may return another value when the workflow is replayed`
      const suggestions = ['call it in an activity, or in `side_effect { … }`']
      found.push(diagnostic('vox/workflow/non-deterministic-call', message, node, { suggestions }))
      return true
    })
  }
  return found
}
