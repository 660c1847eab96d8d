import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'
import { deprecation } from '../types/module-names.ts'

/** Reports declarations that are marked as deprecated. */
export function checkDeprecations({ items }: Module): Diagnostic[] {
  return items.flatMap(item => {
    const decorator = 'decorators' in item ? deprecation(item.decorators) : undefined
    if (decorator === undefined) return []
    const name = 'name' in item && item.name !== null ? `\`${item.name.text}\`` : 'this declaration'
    return [diagnostic('W092', `${name} is marked as deprecated`, decorator)]
  })
}
