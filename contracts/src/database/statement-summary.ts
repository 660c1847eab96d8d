/** A statement without its values, for traces and logs. */
export interface StatementSummary {
  /** Verb and table, such as `INSERT notes`; the verb, if the table is not clear. */
  readonly name: string
  /** The statement with `?` for each literal, without comments, at most {@link MAX_STATEMENT_TEXT} characters. */
  readonly text: string
}

export const MAX_STATEMENT_TEXT = 1_000

/**
 * Tokens of SQL: comments, texts and blobs, quoted names, words, parameters and numbers. Names in double quotes that
 * are no plain words are treated as values, since SQLite takes an unknown name in double quotes for a text.
 */
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[xX]?'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`(?:[^`]|``)*(?:`|$)|\[[^\]]*(?:\]|$)|[?:@$][\p{L}\p{N}_]+|[\p{L}_][\p{L}\p{N}_$]*|\d[\p{L}\p{N}_.]*|\s+|[\s\S]/gu

const PLAIN_NAME = /^["`[][\p{L}_][\p{L}\p{N}_]*["`\]]$/u
/** Words before the name of a table. */
const BEFORE_TABLE: ReadonlySet<string> = new Set(['FROM', 'INTO', 'UPDATE', 'TABLE', 'JOIN'])
/** Words between those and the name. */
const BETWEEN: ReadonlySet<string> = new Set([
  'IF',
  'NOT',
  'EXISTS',
  'OR',
  'REPLACE',
  'IGNORE',
  'ABORT',
  'ROLLBACK',
  'FAIL'
])
const VERBS: ReadonlySet<string> = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'VALUES'])

/** Statements of programs are few and repeated; those with values in their text are many. */
const MAX_CACHED = 500
const MAX_CACHED_LENGTH = 2_000
const cache = new Map<string, StatementSummary>()

/** Returns a statement without its values. */
export function summariseStatement(sql: string): StatementSummary {
  const known = cache.get(sql)
  if (known !== undefined) return known
  const summary = summarise(sql)
  if (sql.length > MAX_CACHED_LENGTH) return summary
  if (cache.size >= MAX_CACHED) cache.clear()
  cache.set(sql, summary)
  return summary
}

/** Characters of a statement that are read. */
const MAX_READ = 4 * MAX_STATEMENT_TEXT

function summarise(sql: string): StatementSummary {
  let text = ''
  let verb = ''
  let table = ''
  let isTableNext = false
  let depth = 0
  for (const [token] of sql.slice(0, MAX_READ).matchAll(TOKEN)) {
    const shown = shownToken(token)
    if (shown === ' ' && (text === '' || text.endsWith(' '))) continue
    text += shown
    if (text.length > MAX_STATEMENT_TEXT) break
    if (shown === ' ') continue
    if (token === '(') depth += 1
    else if (token === ')') depth -= 1
    if (depth > 0) continue
    const word = token.toUpperCase()
    if (verb === '' || (verb === 'WITH' && VERBS.has(word))) verb = word
    if (isTableNext && !BETWEEN.has(word)) {
      if (table === '' && /^[\p{L}_"`[]/u.test(token) && shown !== '?') table = token.replace(/^["`[]|["`\]]$/g, '')
      isTableNext = false
    }
    if (BEFORE_TABLE.has(word)) isTableNext = true
  }
  const isCut = text.length > MAX_STATEMENT_TEXT || sql.length > MAX_READ
  const whole = isCut ? `${text.slice(0, MAX_STATEMENT_TEXT - 1)}…` : text.trimEnd()
  return { name: [verb, table].filter(Boolean).join(' ') || 'SQL', text: whole }
}

function shownToken(token: string): string {
  const first = token.charAt(0)
  if (/^\s/.test(token) || token.startsWith('--') || token.startsWith('/*')) return ' '
  if (first === "'" || /^[xX]'/.test(token) || /^\d/.test(token)) return '?'
  if (first === '"' || first === '`' || first === '[') return PLAIN_NAME.test(token) ? token : '?'
  return token
}
