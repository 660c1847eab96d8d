import tlds from 'tlds/index.json' with { type: 'json' }

/** Part of a text that platforms treat as one unit. Positions are UTF-16 code units; `end` is exclusive. */
export interface TextSpan {
  readonly kind: 'url' | 'mention' | 'hashtag'
  readonly start: number
  readonly end: number
  /** Whether a URL begins with `http://` or `https://`. False for other kinds. */
  readonly hasScheme: boolean
}

// The grammar of URLs follows twitter-text 3.1.0 (X), which Mastodon uses, too: what a URL contains, and what ends it.
const LATIN =
  '\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u024f\\u0253\\u0254\\u0256\\u0257\\u0259\\u025b\\u0263\\u0268\\u026f\\u0272\\u0289\\u028b\\u02bb\\u0300-\\u036f\\u1e00-\\u1eff'
const CYRILLIC = '\\u0400-\\u04ff'
const DIRECTION = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069'
const INVALID = '\\ufffe\\ufeff\\uffff'
/** Characters of host names, with `.`, `-` and `_`. */
const HOST = new RegExp(`[^!'#%&()*+,\\\\/:;<=>?@\\[\\]^{|}~$\\s\\u0085\\u180e${INVALID}${DIRECTION}]+`, 'gu')
const ASCII_HOST = new RegExp(`[-.a-z0-9${LATIN}]+`, 'giu')
const ASCII_LABEL = new RegExp(`^[-a-z0-9${LATIN}]+$`, 'iu')
const PATH_CHARS = `a-z0-9!*';:=+,.$/%#\\[\\]\\-\\u2013_~@|&${LATIN}${CYRILLIC}`
const PARENS = `\\((?:[${PATH_CHARS}]+|[${PATH_CHARS}]*\\([${PATH_CHARS}]+\\)[${PATH_CHARS}]*)\\)`
const PATH_END = `+\\-a-z0-9=_#/${LATIN}${CYRILLIC}`
const PATH = `/(?:(?:[${PATH_CHARS}]|${PARENS})*(?:[${PATH_END}]|${PARENS}))?`
const QUERY = `(?:\\?[a-z0-9!?*'@();:&=+$/%#\\[\\]\\-_.,~|]*[a-z0-9\\-_&=#/])?`
const REST = new RegExp(`(?::[0-9]+)?(?:${PATH})?${QUERY}`, 'iuy')
/** Without a scheme, a port or query belongs to the URL only if it has a path. */
const REST_WITH_PATH = new RegExp(`(?::[0-9]+)?${PATH}${QUERY}`, 'iuy')
const SCHEME = /https?:\/\/$/i
const TLDS: ReadonlySet<string> = new Set(tlds)
const MAX_IDN_TLD_CHARS = Math.max(...tlds.filter(tld => !isAscii(tld)).map(tld => tld.length))
const MAX_URL = 4_096
const MAX_LABEL = 63
const MENTION = /(?<![\p{L}\p{N}_!#$%&*@＠/.])[@＠][a-z0-9_]+(?:[-.][a-z0-9_]+)*(?:@[a-z0-9_]+(?:[-.][a-z0-9_]+)*)?/giu
const HASHTAG = /(?<![\p{L}\p{M}\p{N}_&/])[#＃](?=[\p{N}_]*[\p{L}\p{M}])[\p{L}\p{M}\p{N}_]+/gu

/** Returns the URLs, mentions and hashtags of a text in order, without overlaps. Takes linear time. */
export function spansOf(text: string): readonly TextSpan[] {
  const urls = urlsOf(text)
  const others = [...matches(text, MENTION, 'mention'), ...matches(text, HASHTAG, 'hashtag')]
  // URLs win, since platforms find them first.
  const spans: TextSpan[] = []
  let next = 0
  for (const span of others.sort((a, b) => a.start - b.start)) {
    for (let url = urls[next]; url !== undefined && url.start < span.end; url = urls[++next]) spans.push(url)
    if (span.start >= (spans.at(-1)?.end ?? 0)) spans.push(span)
  }
  return [...spans, ...urls.slice(next)]
}

function matches(text: string, pattern: RegExp, kind: TextSpan['kind']): TextSpan[] {
  return [...text.matchAll(pattern)].map(({ index, 0: { length } }) => ({
    kind,
    start: index,
    end: index + length,
    hasScheme: false
  }))
}

function urlsOf(text: string): TextSpan[] {
  if (!text.includes('.')) return []
  const spans: TextSpan[] = []
  let from = 0
  for (const { index, 0: run } of text.matchAll(HOST)) {
    if (index < from || !run.includes('.')) continue
    for (const span of urlsOfRun(text, index, run)) {
      // A longer text is no URL, and nothing in it is one: else each host in it would be followed to its end.
      if (span.end - span.start + (span.hasScheme ? 0 : 8) <= MAX_URL) spans.push(span)
      from = span.end
    }
  }
  return spans
}

/** Returns the URLs of any length whose host lies in a run of host characters. */
function urlsOfRun(text: string, at: number, run: string): TextSpan[] {
  const scheme = SCHEME.exec(text.slice(Math.max(0, at - 8), at))?.[0].length ?? 0
  if (scheme > 0) {
    if (!mayPrecede(text, at - scheme)) return []
    const host = hostEnd(run, text.charAt(at + run.length))
    return host === null ? [] : [urlAt(text, at - scheme, at + host, true)]
  }
  const spans: TextSpan[] = []
  // Without a scheme, only hosts of Latin letters are URLs.
  for (const { index, 0: part } of run.matchAll(ASCII_HOST)) {
    const start = at + index
    if (start < (spans.at(-1)?.end ?? 0)) continue
    const host = hostEnd(part, text.charAt(start + part.length), true)
    if (host === null || !mayPrecede(text, start)) continue
    const before = text.charAt(start - 1)
    // `foo_bar.example.com`: the URL begins after the `_`.
    const isSubdomain = before === '_' && part.slice(0, host).split('.').length > 2
    if (/[-_./]/.test(before) && !isSubdomain) continue
    spans.push(urlAt(text, start, start + host, false))
  }
  return spans
}

function urlAt(text: string, start: number, hostEndsAt: number, hasScheme: boolean): TextSpan {
  const pattern = hasScheme ? REST : REST_WITH_PATH
  pattern.lastIndex = hostEndsAt
  const rest = pattern.exec(text)?.[0] ?? ''
  return { kind: 'url', start, end: hostEndsAt + rest.length, hasScheme }
}

/** Returns whether a URL may begin at a position. */
function mayPrecede(text: string, at: number): boolean {
  return at === 0 || !/[A-Za-z0-9@＠$#＃\ufffe\ufeff\uffff]/.test(text.charAt(at - 1))
}

/** Returns where the longest host at the beginning of a run ends, or null. `next` is the character after the run. */
function hostEnd(run: string, next: string, isAsciiOnly = false): number | null {
  let found: number | null = null
  let label = 0
  let isNameValid = false
  for (let dot = run.indexOf('.'); dot !== -1; label = dot + 1, dot = run.indexOf('.', label)) {
    const text = run.slice(label, dot)
    // Only labels of subdomains may contain `_`.
    if (!isLabel(text) || (isAsciiOnly && !ASCII_LABEL.test(text))) break
    isNameValid = !text.includes('_')
    const tld = isNameValid ? tldLength(run, dot + 1, next) : 0
    if (tld > 0) found = dot + 1 + tld
  }
  return found
}

function isLabel(text: string): boolean {
  return text !== '' && text.length <= MAX_LABEL && !/^[-_]|[-_]$/.test(text)
}

/** Returns the length of the top-level domain at a position, or 0. */
function tldLength(run: string, at: number, next: string): number {
  const ends = (end: number) => !/[0-9a-z@+-]/i.test(end < run.length ? run.charAt(end) : next)
  const ascii = /^(?:xn--[-0-9a-z]+|[a-z0-9]+)/i.exec(run.slice(at, at + MAX_LABEL + 1))?.[0].toLowerCase()
  if (ascii !== undefined) {
    if (ascii.startsWith('xn--')) return ascii.length
    return TLDS.has(ascii) && ends(at + ascii.length) ? ascii.length : 0
  }
  for (let length = MAX_IDN_TLD_CHARS; length > 0; length--)
    if (TLDS.has(run.slice(at, at + length)) && ends(at + length)) return Math.min(length, run.length - at)
  return 0
}

function isAscii(text: string): boolean {
  return /^[a-z0-9-]*$/.test(text)
}
