import type { Declaration, Param } from '../../syntax/ast.ts'
import type { Call, For, Identifier } from '../../syntax/ast-expressions.ts'
import type { Let, Pattern } from '../../syntax/ast-statements.ts'
import { type AnyNode, walk } from '../../syntax/walk.ts'
import { boundNames } from '../../types/module-names.ts'
import type { TranslatedProgram } from './program.ts'

/**
 * Returns the module names that a declaration uses; its variables must not have these names in TypeScript. A variable
 * with the name of a module function is renamed only if that function is called, too.
 */
export function usedNames(declaration: Declaration, program: TranslatedProgram): string[] {
  const mentioned = new Set<string>()
  const called = new Set<string>()
  const bound = new Set<string>()
  walk(declaration, node => {
    if (node.kind === 'Identifier') mentioned.add((node as Identifier).name)
    if (node.kind === 'Call') {
      const { callee } = node as Call
      if (callee.kind === 'Identifier') called.add(callee.name)
    }
    for (const name of namesBoundBy(node)) bound.add(name)
    return true
  })
  return [...mentioned].filter(name => program.names.has(name) && (!bound.has(name) || called.has(name)))
}

function namesBoundBy(node: AnyNode): string[] {
  switch (node.kind) {
    case 'Param':
    case 'State':
    case 'Derived':
      return [(node as Param).name.text]
    case 'Let':
      return boundNames((node as Let).pattern).map(({ text }) => text)
    case 'For': {
      const { binding, index } = node as For
      return [...boundNames(binding), ...(index === null ? [] : [index])].map(({ text }) => text)
    }
    case 'ConstructorPattern':
    case 'BindingPattern':
    case 'TuplePattern':
      return boundNames(node as Pattern).map(({ text }) => text)
    default:
      return []
  }
}
