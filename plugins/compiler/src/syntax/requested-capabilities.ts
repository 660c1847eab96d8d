import type { TokenList } from './token-list.ts'

const COMMENT = /^(?:\/\/|#)[ \t]*vox:caps\b(.*)$/

/**
 * Returns the names in the `// vox:caps` lines of a source; null if it has no such line. Only comments count: the same
 * text in a string requests nothing.
 */
export function requestedCapabilities({ comments, source }: TokenList): string[] | null {
  const lines = comments.flatMap(({ start, end }) => {
    const names = isFirstOnLine(source, start) ? COMMENT.exec(source.slice(start, end))?.[1] : undefined
    return names === undefined ? [] : [names]
  })
  if (lines.length === 0) return null
  return lines.flatMap(names => names.split(/[\s,]+/).filter(name => name !== ''))
}

function isFirstOnLine(source: string, start: number): boolean {
  let at = start
  while (at > 0 && (source[at - 1] === ' ' || source[at - 1] === '\t')) at--
  return at === 0 || source[at - 1] === '\n' || source[at - 1] === '\r' || source.charCodeAt(at - 1) === 0xfeff
}
