import type { Hir } from '@svc/contracts'
import { code, type TypeScriptCode } from '../typescript/code.ts'
import { type Emitter, typeOf, type Views } from '../typescript/emitter.ts'
import { expression } from '../typescript/expressions.ts'
import { onlyExpression } from '../typescript/uses.ts'
import { isNamed, itemOf } from '../typescript/value-types.ts'
import { placeholders, textParts, textValue } from '../web-ir/text.ts'
import type { WebNode } from '../web-ir/tree.ts'
import { elementOf, viewNode } from '../web-ir/view.ts'
import { jsx, jsxExpression } from './jsx.ts'

/** Prints the views inside of code as JSX. */
export const REACT_VIEWS: Views = {
  markup: (e, node) => jsxExpression(viewNode(e, node)),
  text: (e, node) => code(textValue(textParts(node.value, placeholders(e, node)))),
  item
}

/** Adds a key to an element in a loop: the key from the program, the row id, or the position. */
function item(e: Emitter, node: Hir.For, position: () => string): TypeScriptCode | null {
  const element = elementOf(e, onlyExpression(node.body) ?? node.body)
  if (!isNamed(typeOf(e, node.body), 'Element') && element === null) return null
  if (element?.attributes.some(each => each.name === 'key') === true) return jsxExpression(viewNode(e, element))
  const key = node.key === null ? (rowKey(e, node) ?? position()) : expression(e, node.key).doc
  const made = element === null ? null : viewNode(e, element)
  if (made?.kind === 'element') {
    const keyed: WebNode = {
      ...made,
      attributes: [{ name: 'key', nodes: node.key === null ? [] : [node.key], code: key }, ...made.attributes]
    }
    return jsxExpression(keyed)
  }
  const fragment = e.file.react('Fragment')
  return code([`<${fragment} key={`, key, '}>', jsx(made ?? viewNode(e, node.body)), `</${fragment}>`])
}

/** Returns the id of the row that a loop visits; null for other items. */
function rowKey(e: Emitter, { binding, iterable }: Hir.For): string | null {
  const type = itemOf(typeOf(e, iterable))
  const isRow = type.kind === 'named' && e.file.program.typed.defOf(type.name)?.kind === 'row'
  const name = binding.kind === 'Bind' ? e.bound.get(binding.local)?.name : undefined
  return isRow && name !== undefined ? `${name}._id` : null
}
