import type { FunctionDeclaration } from '../syntax/ast.ts'
import type { Name } from '../syntax/node.ts'

/** Returns the effects that a function declares with `uses` or `@uses(…)`; null if it has no declaration. */
export function declaredEffects({ effects, decorators }: FunctionDeclaration): Name[] | null {
  const marks = decorators.filter(({ name }) => name.text === 'uses')
  if (effects.length === 0 && marks.length === 0) return null
  const marked = marks.flatMap(({ args }) =>
    (args ?? []).flatMap(({ value }) =>
      value.kind === 'Identifier' ? [{ text: value.name, start: value.start, end: value.end }] : []
    )
  )
  return [...effects, ...marked]
}
