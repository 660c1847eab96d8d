import { type Doc, group, hardline, indent, line, softline } from '../doc/doc.ts'
import type { Attribute, Element, ElementFragment, Expression } from '../syntax/ast-expressions.ts'
import { ExpressionPrinter } from './expression-printer.ts'

/** Prints elements of views. */
export abstract class ViewPrinter extends ExpressionPrinter {
  protected element(node: Element | ElementFragment): Doc {
    if (node.kind === 'ElementFragment') {
      return node.children.length === 0 ? '<></>' : this.#markup('<>', node.children, '</>', node.start, node.end)
    }
    return node.syntax === 'jsx' ? this.#jsx(node) : this.#call(node)
  }

  #jsx({ tag, attributes, children, start, end }: Element): Doc {
    const printed = attributes.map((each): Doc => [line, this.#attribute(each)])
    const isClosed = children === null
    const close = isClosed ? ' />' : '>'
    const head =
      attributes.length === 0
        ? `<${tag.text}${close}`
        : group([`<${tag.text}`, indent(printed), isClosed ? [line, '/>'] : [softline, '>']])
    if (isClosed) return head
    const tail = `</${tag.text}>`
    if (children.length === 0 && !this.hasCommentBefore(end)) return [head, tail]
    return this.#markup(head, children, tail, start, end)
  }

  #markup(head: Doc, children: readonly Expression[], tail: string, start: number, end: number): Doc {
    const close = end - tail.length
    const inline = children.length < 2 && !this.hasBreak(start, end) && !this.hasCommentBefore(close)
    const content = this.lines(children, close, child => this.#child(child))
    return inline
      ? group([head, indent([softline, content]), softline, tail])
      : [head, indent([hardline, content]), hardline, tail]
  }

  #child(node: Expression): Doc {
    if (node.kind === 'String') return this.string(node)
    return node.kind === 'Element' || node.kind === 'ElementFragment' ? this.#elementChild(node) : this.#braced(node)
  }

  /** Prints an element that is written as a call, in the form of an expression. */
  #elementChild(node: Element | ElementFragment): Doc {
    return node.kind === 'Element' && node.syntax === 'call' ? this.#braced(node) : this.element(node)
  }

  #attribute({ name, value }: Attribute): Doc {
    if (value === null) return name.text
    return [name.text, '=', value.kind === 'String' ? this.string(value) : this.#braced(value)]
  }

  /** Prints an expression in braces. A block has its own braces; other expressions get them. */
  #braced(node: Expression): Doc {
    if (node.kind !== 'Block') return ['{', this.expression(node), '}']
    const [only] = node.statements
    const isSingle = node.statements.length === 1 && only?.kind === 'ExpressionStatement'
    return isSingle ? ['{', this.block(node), '}'] : this.block(node)
  }

  #call({ tag, attributes, children, start, end }: Element): Doc {
    const close = children === null ? end : (attributes.at(-1)?.end ?? tag.end)
    const args = this.list('(', attributes, ')', close, ({ name, value }) => [
      this.text(name),
      '=',
      value === null ? '' : this.expression(value)
    ])
    if (children === null) return [tag.text, args]
    const head = [tag.text, args, ' ']
    if (children.length === 0 && !this.hasCommentBefore(end)) return [head, '{}']
    const inline = children.length < 2 && !this.hasBreak(start, end) && !this.hasCommentBefore(end)
    const content = this.lines(children, end - 1, child => this.expression(child))
    return inline
      ? group([head, '{', indent([line, content]), line, '}'])
      : [head, '{', indent([hardline, content]), hardline, '}']
  }
}
