import type { Hir } from '@svc/contracts'
import { type Emitter, typeOf, unavailable } from '../typescript/emitter.ts'
import { closed, elementOfCall } from '../typescript/expressions.ts'
import { attributesOf } from './attributes.ts'
import { type Primitive, primitiveOf, tagName } from './primitives.ts'
import { placeholders, shownCode, textParts } from './text.ts'
import type { WebNode } from './tree.ts'

/** Translates a part of a view. */
export function viewNode(e: Emitter, node: Hir.Expr): WebNode {
  switch (node.kind) {
    case 'Str':
      return { kind: 'text', node, parts: textParts(node.value, placeholders(e, node)) }
    case 'Fragment':
      return { kind: 'fragment', node, children: viewNodes(e, node.children) }
    case 'Element':
    case 'Call': {
      const element = elementOf(e, node)
      if (element !== null) return elementNode(e, element)
    }
  }
  markShown(e, node)
  const made = closed(e, node)
  // A loop shows the results of its body in order.
  return { kind: 'expression', node, code: node.kind === 'For' ? made.doc : shownCode(e, made, typeOf(e, node)) }
}

/** Returns an element, or the call of a function that is used as one; null for other expressions. */
export function elementOf(e: Emitter, node: Hir.Expr): Hir.Element | null {
  if (node.kind === 'Element') return node
  return node.kind === 'Call' ? elementOfCall(e, node) : null
}

function viewNodes(e: Emitter, nodes: readonly Hir.Expr[] | null): WebNode[] {
  return (nodes ?? []).map(node => viewNode(e, node))
}

/** Marks the expressions whose values are the value of `node`. */
function markShown(e: Emitter, node: Hir.Expr): void {
  e.shown.add(node)
  switch (node.kind) {
    case 'If':
      markLast(e, node.then)
      markLast(e, node.otherwise)
      return
    case 'Block':
    case 'SideEffect':
      markLast(e, node.block)
      return
    case 'Match':
      for (const arm of node.arms) markShown(e, arm.body)
      return
    case 'For':
      markShown(e, node.body)
  }
}

function markLast(e: Emitter, block: Hir.Block | null): void {
  const last = block?.at(-1)
  if (last?.kind === 'Expr') markShown(e, last.value)
}

function elementNode(e: Emitter, element: Hir.Element): WebNode {
  const { tag: name, children } = element
  const view = e.file.program.view(name)
  if (view?.kind === 'Island' || (view?.kind === 'Function' && view.isIsland)) {
    const props = attributesOf(e, element, { kind: 'island' })
    return { kind: 'island', node: element, name, props, ignored: children?.length ?? 0 }
  }
  if (/^[A-Z]/.test(name) || name.includes('.')) {
    const attributes = attributesOf(e, element, { kind: 'component', view })
    return {
      kind: 'element',
      node: element,
      tag: componentName(e, element),
      attributes,
      children: viewNodes(e, children)
    }
  }
  if (name === 'route_outlet') {
    const tag = e.file.imports.value('@tanstack/react-router', 'Outlet')
    return { kind: 'element', node: element, tag, attributes: [], children: [] }
  }
  const isSvg = name === 'svg'
  if (isSvg) e.svgDepth++
  const primitive = primitiveOf(name, element.isCall, e.svgDepth > 0)
  const attributes = attributesOf(e, element, { kind: 'intrinsic', primitive })
  const tag = primitive === null ? tagName(name) : primitiveTag(primitive, element)
  const node: WebNode = {
    kind: 'element',
    node: element,
    tag,
    attributes,
    children: shownChildren(e, element, primitive)
  }
  if (isSvg) e.svgDepth--
  return node
}

function componentName(e: Emitter, element: Hir.Element): string {
  const { tag } = element
  const { program } = e.file
  if (program.view(tag) !== undefined) return e.file.component(tag)
  const [root = ''] = tag.split('.')
  const imported = program.pages.imports.find(each => each.kind === 'component' && each.name.name === root)
  if (imported !== undefined) {
    e.file.imports.value(imported.source.name, root)
    return tag
  }
  unavailable(e, `the undeclared component ${tag}`, element)
  return 'div'
}

/** Returns the children of a primitive. Without children, it shows the value of one of its attributes. */
function shownChildren(e: Emitter, { attributes, children }: Hir.Element, primitive: Primitive | null): WebNode[] {
  const nodes = viewNodes(e, children)
  if (nodes.length > 0 || primitive?.contentAttribute === undefined) return nodes
  const content = attributes.find(each => each.name === primitive.contentAttribute)?.value
  return content == null ? [] : [viewNode(e, content)]
}

function primitiveTag({ tag }: Primitive, { tag: name, attributes }: Hir.Element): string {
  if (name !== 'heading') return tag
  const level = attributes.find(each => each.name === 'level')?.value
  return level?.kind === 'Int' && level.value >= 1 && level.value <= 6 ? `h${level.value}` : tag
}
