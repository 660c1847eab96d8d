import { hardline, join } from '../doc/doc.ts'
import type { ViewAttribute, ViewNode } from '../web/typescript/view-node.ts'
import type { DomNode, NamedText } from './web-ir.ts'

/** Returns the view of a node and its descendants. Throws a `RangeError` if a node does not exist. */
export function viewOfDom(nodes: readonly DomNode[], root: number): ViewNode {
  const node = nodes[root]
  if (node === undefined) throw new RangeError(`there is no node ${root}: the web IR has ${nodes.length} nodes`)
  if ('Text' in node) return { kind: 'text', content: node.Text.content }
  if ('Expr' in node) return { kind: 'expression', code: lines(node.Expr.ts) }
  if ('Fragment' in node) {
    return { kind: 'fragment', children: node.Fragment.children.map(child => viewOfDom(nodes, child)) }
  }
  if ('IslandMount' in node) {
    const { island_name, props, ignored_child_count } = node.IslandMount
    return { kind: 'island', name: island_name, props: props.map(attribute), ignored: ignored_child_count }
  }
  const { tag, attrs, children } = node.Element
  return {
    kind: 'element',
    tag,
    attributes: attrs.map(attribute),
    children: children.map(child => viewOfDom(nodes, child))
  }
}

function attribute([name, text]: NamedText): ViewAttribute {
  return { name, code: text.includes('\n') ? lines(text) : text }
}

function lines(text: string) {
  return text.includes('\n') ? join(hardline, text.split('\n')) : text
}
