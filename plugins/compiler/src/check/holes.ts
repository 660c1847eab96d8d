import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'

/** Reports functions with `@hole` that have no body yet. */
export function checkHoles({ items }: Module): Diagnostic[] {
  return items.flatMap(item => {
    if (item.kind !== 'Function') return []
    const hole = item.decorators.find(({ name }) => name.text === 'hole')
    if (hole === undefined || (item.body !== null && item.body.statements.length > 0)) return []
    const suggestions = ['write its body, and remove `@hole`']
    return diagnostic('vox/fixture/unfilled-hole', `\`${item.name.text}\` has no body yet`, hole, {
      suggestions
    })
  })
}
