import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Module } from '../../syntax/ast.ts'
import { readRowRules } from './row-rules.ts'
import { readUsers } from './users.ts'

/** Checks the table of users and all row rules, and reports `@rule` at other positions. */
export function checkUsers(module: Module): Diagnostic[] {
  const rules = module.items.flatMap(item => {
    if (item.kind === 'Table') return readRowRules(item, module).problems
    if (!('decorators' in item)) return []
    return item.decorators
      .filter(({ name }) => name.text === 'rule')
      .map(decorator =>
        diagnostic('auth.rule', '`@rule` belongs to a table', decorator, {
          suggestions: ['write it after `@table`']
        })
      )
  })
  return [...readUsers(module).problems, ...rules]
}
