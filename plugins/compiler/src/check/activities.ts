import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'

/**
 * Reports activities that do not return a `Result`: an activity is retried on failure, so it must be able to return
 * one.
 */
export function checkActivities(module: Module): Diagnostic[] {
  return module.items.flatMap(item => {
    if (item.kind !== 'Activity') return []
    const { name, result } = item
    const suggestions = ['write `to Result[…]`']
    if (result === null) {
      const message = `the activity \`${name.text}\` does not declare its result type`
      return diagnostic('typecheck.activity.no_return_type', message, name, { suggestions })
    }
    if (result.kind === 'NamedType' && result.path.at(-1)?.text === 'Result') return []
    const message = `the activity \`${name.text}\` must return a \`Result\``
    return diagnostic('typecheck.activity.result_type', message, result, { suggestions })
  })
}
