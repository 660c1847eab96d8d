/** Maximum characters between two quotes on a line that count as quoted. */
const MAX_QUOTE_LENGTH = 200

const FENCE = /^ {0,3}(`{3,}|~{3,})[^\n`]*$/gm
const CLOSING: Readonly<Record<string, string>> = { '`': '`', '"': '"', "'": "'", '“': '”', '«': '»', '‘': '’' }

/** Blanks out fenced code and code between backticks; the length stays the same. Runs in linear time. */
export function maskCode(text: string): string {
  return /[`~]/.test(text) ? maskQuotes(maskFences(text), { '`': '`' }) : text
}

/**
 * Blanks out mentions: fenced code, code between backticks, and quotes within one line; the length stays the same. An
 * unclosed fence or quote hides nothing. Runs in linear time.
 */
export function maskMentions(text: string): string {
  if (!/[`~"'“«‘]/.test(text)) return text
  return maskQuotes(maskFences(text), CLOSING)
}

function maskFences(text: string): string {
  let out = ''
  let done = 0
  let open: { readonly mark: string; readonly at: number } | null = null
  for (const match of text.matchAll(FENCE)) {
    const mark = match[1] ?? ''
    if (open === null) open = { mark, at: match.index }
    else if (mark[0] === open.mark[0] && mark.length >= open.mark.length) {
      const end = match.index + match[0].length
      out += text.slice(done, open.at) + blank(text.slice(open.at, end))
      done = end
      open = null
    }
  }
  return out + text.slice(done)
}

function maskQuotes(text: string, quotes: Readonly<Record<string, string>>): string {
  let out = ''
  let done = 0
  /** Offset by quote character before which no closing quote exists, so that nothing is searched twice. */
  const barren = new Map<string, number>()
  for (let at = 0; at < text.length; at++) {
    const closing = quotes[text[at] ?? '']
    if (closing === undefined || (text[at] !== '`' && isInsideWord(text, at))) continue
    const end = quoteEnd(text, at, closing, barren)
    if (end === null) continue
    out += text.slice(done, at) + blank(text.slice(at, end + 1))
    done = end + 1
    at = end
  }
  return out + text.slice(done)
}

/** Returns the offset of the closing quote on the same line, within the maximum length; null if there is none. */
function quoteEnd(text: string, open: number, closing: string, barren: Map<string, number>): number | null {
  const last = Math.min(text.length - 1, open + MAX_QUOTE_LENGTH)
  let at = Math.max(open + 1, barren.get(closing) ?? 0)
  for (; at <= last && text[at] !== '\n'; at++)
    if (text[at] === closing && (closing !== "'" || !isLetter(text[at + 1]))) return at
  barren.set(closing, at)
  return null
}

/** Returns true if a quote is an apostrophe within a word. */
function isInsideWord(text: string, at: number): boolean {
  return isLetter(text[at - 1])
}

function isLetter(letter: string | undefined): boolean {
  return letter !== undefined && /[\p{L}\p{N}]/u.test(letter)
}

/** Replaces all characters except line breaks by spaces. */
function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}
