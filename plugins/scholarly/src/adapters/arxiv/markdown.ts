import { Marked, type Token, type Tokens } from 'marked'

/** Formula; `display`: on a separate line. */
export interface MathToken extends Tokens.Generic {
  readonly type: 'math'
  readonly text: string
  readonly display: boolean
}

/** Citations in brackets, such as `[@gray1981; @lamport1978, p. 3]`. */
export interface CiteToken extends Tokens.Generic {
  readonly type: 'cite'
  readonly items: readonly { readonly key: string; readonly suffix: string }[]
}

/** Reference to a footnote, such as `[^1]`. */
export interface FootnoteToken extends Tokens.Generic {
  readonly type: 'footnote'
  readonly id: string
}

/** Text of a footnote, such as `[^1]: See there.` */
export interface FootnoteTextToken extends Tokens.Generic {
  readonly type: 'footnoteText'
  readonly id: string
  readonly tokens: Token[]
}

const KEY = String.raw`[A-Za-z0-9_][\w:.#$%&+?<>~/-]{0,200}`
const CITE = new RegExp(
  String.raw`^\[\s{0,3}(@${KEY}[^\[\]@;\n]{0,200}(?:;\s{0,3}@${KEY}[^\[\]@;\n]{0,200}){0,50})\](?![(\[])`
)
const CITE_ITEM = new RegExp(`^@(${KEY})(.*)$`, 's')

/** Markdown of GitHub, with footnotes, and by the rules of Pandoc formulas between dollar signs, and citations. */
const MARKDOWN = new Marked({
  gfm: true,
  extensions: [
    {
      name: 'displayMath',
      level: 'block',
      start: source => index(source, '$$'),
      tokenizer(source) {
        const found = /^\$\$([^$]{1,10000})\$\$[ \t]*(?:\n+|$)/.exec(source)
        return found === null ? undefined : { type: 'math', raw: found[0], text: found[1] ?? '', display: true }
      }
    },
    {
      name: 'math',
      level: 'inline',
      start: source => index(source, '$'),
      tokenizer(source) {
        const display = /^\$\$([^$]{1,10000})\$\$/.exec(source)
        if (display !== null) return { type: 'math', raw: display[0], text: display[1] ?? '', display: true }
        const found = /^\$((?!\s)(?:[^$\\]|\\[^\n]){1,5000}?)(?<!\s)\$(?!\d)/.exec(source)
        return found === null ? undefined : { type: 'math', raw: found[0], text: found[1] ?? '', display: false }
      }
    },
    {
      name: 'footnoteText',
      level: 'block',
      start: source => {
        const at = index(source, '\n[^')
        return at === undefined ? undefined : at + 1
      },
      tokenizer(source) {
        const found = /^\[\^([\w-]{1,60})\]:[ \t]*([^\n]{1,10000}(?:\n {2,4}[^\s][^\n]{0,5000}){0,50})(?:\n+|$)/.exec(
          source
        )
        if (found === null) return undefined
        const tokens: Token[] = []
        this.lexer.inline(found[2] ?? '', tokens)
        return { type: 'footnoteText', raw: found[0], id: found[1], tokens }
      }
    },
    {
      name: 'footnote',
      level: 'inline',
      start: source => index(source, '[^'),
      tokenizer(source) {
        const found = /^\[\^([\w-]{1,60})\](?!:)/.exec(source)
        return found === null ? undefined : { type: 'footnote', raw: found[0], id: found[1] }
      }
    },
    {
      name: 'cite',
      level: 'inline',
      start: source => index(source, '[@'),
      tokenizer(source) {
        const found = CITE.exec(source)
        if (found === null) return undefined
        const items = (found[1] ?? '').split(/;\s*/).map(each => {
          const [, key = '', rest = ''] = CITE_ITEM.exec(each.trim()) ?? []
          // A full stop or colon at the end belongs to the sentence.
          const trimmed = key.replace(/[.:]$/, '')
          return { key: trimmed, suffix: rest.replace(/^\s*,\s*/, '').trim() }
        })
        return { type: 'cite', raw: found[0], items }
      }
    }
  ]
})

function index(source: string, text: string): number | undefined {
  const at = source.indexOf(text)
  return at < 0 ? undefined : at
}

/** Returns the tokens of Markdown. Throws `RangeError` if it is nested too deeply. */
export function markdownTokens(text: string): readonly Token[] {
  return MARKDOWN.lexer(text)
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  times: '×',
  middot: '·',
  deg: '°',
  euro: '€',
  sect: '§',
  para: '¶',
  shy: '\u00ad'
}

/** Decodes references to characters, as in HTML. Unknown names stay as they are. */
export function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/g, (all, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? all) : all
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    const isValid = point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff)
    return isValid ? String.fromCodePoint(point) : '\ufffd'
  })
}
