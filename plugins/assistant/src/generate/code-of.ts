const FENCE = /^[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n([\s\S]*?)^[ \t]*\1[ \t]*$/gm
const OPEN_FENCE = /^[ \t]*(?:`{3,}|~{3,})[^\n]*\n/m

/**
 * Extracts the program from an answer: its block marked `vox`, else its longest block, else the whole text. Ends with a
 * line end.
 */
export function codeOf(answer: string): string {
  const text = answer.replaceAll('\r\n', '\n').replace(/^\uFEFF/, '')
  const blocks = [...text.matchAll(FENCE)].map(([, , language = '', body = '']) => ({ language, body }))
  const marked = blocks.find(({ language }) => language.toLowerCase() === 'vox')
  const longest = blocks.toSorted((a, b) => b.body.length - a.body.length)[0]
  const code = (marked ?? longest)?.body ?? withoutOpenFence(text)
  return `${code.trim()}\n`
}

/** Removes the fence of an unclosed block, as in a truncated answer. */
function withoutOpenFence(text: string): string {
  const open = OPEN_FENCE.exec(text)
  return open === null ? text : text.slice(open.index + open[0].length)
}

/** Wraps a program for a chat in a Markdown block, whose fence is longer than any inside it. */
export function fenced(code: string): string {
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}vox\n${code}${fence}\n`
}
