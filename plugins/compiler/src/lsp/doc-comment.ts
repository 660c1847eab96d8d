import type { Span } from '../syntax/node.ts'
import type { TokenList } from '../syntax/token-list.ts'

/** Returns the comment lines directly before a declaration, without comment markers; '' if there are none. */
export function docComment({ start }: Span, { comments, source }: TokenList): string {
  const lines: string[] = []
  let at = start
  for (let index = comments.findLastIndex(({ end }) => end <= start); index >= 0; index--) {
    const comment = comments[index]
    if (comment === undefined) break
    const between = source.slice(comment.end, at)
    // A comment after code on the same line does not document the declaration.
    const before = source.slice(source.lastIndexOf('\n', comment.start - 1) + 1, comment.start)
    if (between.trim() !== '' || between.split('\n').length !== 2 || before.trim() !== '') break
    lines.unshift(source.slice(comment.start, comment.end).replace(/^(\/{2,}|#)\s?/, ''))
    at = comment.start
  }
  return lines.join('\n').trim()
}
