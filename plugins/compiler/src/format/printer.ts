import { type Doc, group, hardline, indent, line, softline, suffix } from '../doc/doc.ts'
import type { Span } from '../syntax/node.ts'
import type { Comment, TokenList } from '../syntax/token-list.ts'

/**
 * Prints comments. A comment is printed before the item that follows it, or at the end of the line of the item before
 * it. A comment inside an item without a list moves before that item.
 */
export class Printer {
  readonly source: string
  readonly #comments: readonly Comment[]
  #next = 0

  constructor(tokens: TokenList) {
    this.source = tokens.source
    this.#comments = tokens.comments
  }

  text({ start, end }: Span): string {
    return this.source.slice(start, end)
  }

  hasBreak(start: number, end: number): boolean {
    for (let at = start; at < end; at++) {
      const code = this.source.charCodeAt(at)
      if (code === 10 || code === 13) return true
    }
    return false
  }

  hasCommentBefore(offset: number): boolean {
    const comment = this.#comments[this.#next]
    return comment !== undefined && comment.start < offset
  }

  /** Prints items on separate lines, with the comments before, after and between them, up to the offset `end`. */
  lines<N extends Span>(
    items: readonly N[],
    end: number,
    print: (item: N) => Doc,
    areApart: (before: N, after: N) => boolean = () => false
  ): Doc[] {
    const printed: Doc[] = []
    let last: number | null = null
    let previous: N | null = null
    for (const [index, item] of items.entries()) {
      const next = items[index + 1]
      const isParted = next !== undefined && this.#isParted(item, next)
      const first = this.#startWithComments(item)
      const isApart = previous !== null && areApart(previous, item)
      if (last !== null) printed.push(hardline, isApart || this.#hasBlankLine(last, first) ? hardline : [])
      const doc = this.#item(item, node => (isParted ? [print(node), ','] : print(node)))
      printed.push(doc.doc)
      last = doc.end
      previous = item
    }
    const dangling = this.#ownLine(end)
    for (const comment of dangling) {
      if (last !== null) printed.push(hardline, this.#hasBlankLine(last, comment.start) ? hardline : [])
      printed.push(this.text(comment))
      last = comment.end
    }
    return printed
  }

  /** True if only a comma keeps the braces from being parsed as the children of the call before them. */
  #isParted(item: Span, next: Span): boolean {
    const { source } = this
    if (source[item.end - 1] !== ')' || source[next.start] !== '{') return false
    return source
      .slice(item.end, next.start)
      .replaceAll(/(\/\/|#).*/g, '')
      .includes(',')
  }

  /** Prints comma-separated items in brackets: all on one line, or one per line. */
  list<N extends Span>(
    opening: string,
    items: readonly N[],
    closing: string,
    end: number,
    print: (item: N) => Doc,
    padding: Doc = softline,
    isExpanded = false
  ): Doc {
    const parts: Doc[] = []
    for (const [index, item] of items.entries()) {
      const isLast = index === items.length - 1
      const { doc } = this.#item(item, node => [print(node), isLast ? '' : ','])
      parts.push(index === 0 ? '' : line, doc)
    }
    const dangling = this.#ownLine(end).map(
      (comment, index): Doc => [index === 0 && parts.length === 0 ? '' : hardline, this.text(comment)]
    )
    if (parts.length === 0 && dangling.length === 0) return `${opening}${closing}`
    const mustExpand = isExpanded || dangling.length > 0
    return group([opening, indent([padding, parts, dangling]), mustExpand ? hardline : padding, closing])
  }

  /** Returns the offset of the item, or of the first comment before it. */
  #startWithComments({ start }: Span): number {
    const comment = this.#comments[this.#next]
    return comment !== undefined && comment.start < start ? comment.start : start
  }

  #item<N extends Span>(item: N, print: (item: N) => Doc): { readonly doc: Doc; readonly end: number } {
    const before = this.#ownLine(item.start)
    const doc = print(item)
    const within = this.#ownLine(item.end)
    const comments = [...before, ...within].map((comment, index, all): Doc => {
      const following = index === before.length - 1 ? item.start : (all[index + 1]?.start ?? 0)
      return [this.text(comment), hardline, this.#hasBlankLine(comment.end, following) ? hardline : []]
    })
    const trailing = this.#trailing(item.end)
    if (trailing === null) return { doc: [comments, doc], end: item.end }
    return { doc: [comments, doc, suffix(` ${this.text(trailing)}`)], end: trailing.end }
  }

  #ownLine(before: number): Comment[] {
    const from = this.#next
    while (this.hasCommentBefore(before)) this.#next++
    return this.#comments.slice(from, this.#next)
  }

  /** Returns the comment on the line on which a node ends, if only a separator is between them. */
  #trailing(end: number): Comment | null {
    const comment = this.#comments[this.#next]
    if (comment === undefined) return null
    for (let at = end; at < comment.start; at++) {
      const code = this.source.charCodeAt(at)
      if (code !== 32 && code !== 9 && code !== 44 && code !== 59) return null
    }
    this.#next++
    return comment
  }

  #hasBlankLine(start: number, end: number): boolean {
    let breaks = 0
    for (let at = start; at < end; at++) {
      const code = this.source.charCodeAt(at)
      if (code === 10 || (code === 13 && this.source.charCodeAt(at + 1) !== 10)) breaks++
    }
    return breaks > 1
  }
}
