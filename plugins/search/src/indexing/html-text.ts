import { Parser } from 'htmlparser2'
import { cut } from './chunk.ts'

export interface HtmlText {
  readonly title: string | null
  /** Text with headings as in Markdown. */
  readonly text: string
}

/** Elements whose content is not shown. */
const HIDDEN = new Set([
  'head',
  'title',
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'math',
  'iframe',
  'object',
  'canvas'
])
/** Elements within a line. */
const INLINE = new Set(
  'a abbr b bdi bdo cite code data dfn em font i kbd label mark q s samp small span strong sub sup time tt u var wbr'.split(
    ' '
  )
)
const MAX_TITLE_CHARS = 300
/** Elements inside each other. The parser takes quadratic time for them. */
const MAX_DEPTH = 512

/**
 * Returns the visible text of an HTML page. Broken markup is read as far as it goes, and a page with more than 512 elements
 * inside each other up to there.
 */
export function htmlText(html: string): HtmlText {
  const parts: string[] = []
  let title = ''
  let hidden = 0
  let inTitle = false
  let preformatted = 0
  let depth = 0
  const parser = new Parser({
    onopentagname(name) {
      depth += 1
      if (depth > MAX_DEPTH) parser.pause()
      if (name === 'title') inTitle = true
      if (HIDDEN.has(name)) hidden += 1
      if (name === 'pre') preformatted += 1
      if (hidden > 0 || INLINE.has(name)) return
      if (name === 'br') return void parts.push('\n')
      const level = /^h([1-6])$/.exec(name)?.[1]
      parts.push(level === undefined ? (name === 'li' ? '\n- ' : '\n') : `\n\n${'#'.repeat(Number(level))} `)
    },
    ontext(text) {
      if (inTitle) title += text
      if (hidden > 0) return
      parts.push(preformatted > 0 ? text : text.replace(/\s+/g, ' '))
    },
    onclosetag(name) {
      depth -= 1
      if (name === 'title') inTitle = false
      if (name === 'pre') preformatted = Math.max(0, preformatted - 1)
      if (HIDDEN.has(name)) hidden = Math.max(0, hidden - 1)
      else if (hidden === 0 && name !== 'br' && !INLINE.has(name)) parts.push('\n')
    }
  })
  parser.end(html)
  const text = parts
    .join('')
    .split('\n')
    .map(line => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  const shown = cut(title.replace(/\s+/g, ' ').trim(), MAX_TITLE_CHARS)
  return { title: shown === '' ? null : shown, text }
}
