import { codeText, type ViewAttribute, type ViewNode } from '../web/typescript/view-node.ts'
import type { DomNode, NamedText } from './web-ir.ts'

/** Nodes of a module's views. Children precede their parents. */
export class DomArena {
  readonly nodes: DomNode[] = []

  /** Adds a view. Returns the index of its root. */
  add(node: ViewNode): number {
    switch (node.kind) {
      case 'text':
        return this.#push({ Text: { content: node.content, span: null } })
      case 'expression':
        return this.#push({ Expr: { ts: codeText(node.code), span: null } })
      case 'island':
        return this.#push({
          IslandMount: {
            island_name: node.name,
            props: node.props.map(named),
            ignored_child_count: node.ignored,
            span: null
          }
        })
      case 'fragment': {
        const children = node.children.map(child => this.add(child))
        return this.#push({ Fragment: { children, span: null } })
      }
      case 'element': {
        const children = node.children.map(child => this.add(child))
        const id = this.nodes.length
        return this.#push({ Element: { id, tag: node.tag, attrs: node.attributes.map(named), children, span: null } })
      }
    }
  }

  #push(node: DomNode): number {
    return this.nodes.push(node) - 1
  }
}

function named({ name, code }: ViewAttribute): NamedText {
  return [name, codeText(code)]
}
