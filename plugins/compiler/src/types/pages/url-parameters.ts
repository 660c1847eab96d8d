import type { UrlDeclaration } from '../../syntax/ast.ts'
import type { Context } from '../context.ts'
import { show } from '../show.ts'
import { resolved, type Type } from '../type.ts'

/** Types whose values have one text in an address. */
const WITH_TEXT: ReadonlySet<string> = new Set(['str', 'char', 'int', 'float', 'dec', 'bool', 'Id'])

/** Reports parameters of addresses whose values are no text, number or bool. */
export function checkUrl(context: Context, { entries }: UrlDeclaration): void {
  for (const { params } of entries) {
    for (const { name, type: declared } of params) {
      const type = resolved(context.declarations.read(declared))
      if (hasText(type)) continue
      context.report('typecheck.url.parameter', `\`${name.text}\` cannot be a part of an address`, declared, {
        expectedType: 'a text, a number or a bool',
        foundType: show(type)
      })
    }
  }
}

/** True for types whose values have one text, and for those that were reported or are only known at run time. */
function hasText(type: Type): boolean {
  if (type.kind !== 'named') return type.kind === 'any' || type.kind === 'error'
  return type.def.kind === 'opaque' || WITH_TEXT.has(type.def.name)
}
