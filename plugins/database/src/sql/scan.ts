/** A significant token of a statement. Strings, comments and numbers are skipped. */
interface Token {
  readonly kind: 'word' | 'name' | 'parameter' | 'open' | 'close' | 'end' | 'other'
  readonly text: string
  /** Index of its first character. */
  readonly at: number
}

/** Properties of a statement that are needed before it reaches an engine. */
export interface ScannedStatement {
  /** First word in capitals; empty if there is none. */
  readonly keyword: string
  /** The verb of a WITH statement; else the first word. */
  readonly verb: string
  /** Words outside parentheses, in capitals. */
  readonly words: readonly string[]
  /** True if it contains `=` or `(`: a pragma with an argument. */
  readonly assigns: boolean
  /** Number of parameter positions, and the position of each name, as SQLite counts them. */
  readonly positions: number
  readonly names: ReadonlyMap<string, number>
  /** True if it has parameters without a name. */
  readonly anonymous: boolean
  /** Start of a second statement; null if there is none. */
  readonly second: number | null
}

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy
const PARAMETER = /\?\d*|[:@$][\p{L}_][\p{L}\p{N}_]*/uy
const NUMBER = /(?:0[xX][0-9a-fA-F]+|\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?)/y
const VERBS = new Set(['SELECT', 'VALUES', 'INSERT', 'REPLACE', 'UPDATE', 'DELETE'])
const QUOTES: Readonly<Record<string, string>> = { "'": "'", '"': '"', '`': '`', '[': ']' }
/** SQLite's limit for `?NNN`. */
const MAX_POSITION = 32_766

export function* tokens(sql: string): Generator<Token, void> {
  let at = 0
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(sql)?.[0]
  }
  while (at < sql.length) {
    const start = at
    const character = sql.charAt(at)
    const closing = QUOTES[character]
    if (/\s/.test(character)) at += 1
    else if (sql.startsWith('--', at)) at = after(sql, '\n', at)
    else if (sql.startsWith('/*', at)) at = after(sql, '*/', at + 2)
    else if (closing !== undefined) {
      at = endOfQuoted(sql, closing, at)
      yield { kind: character === "'" ? 'other' : 'name', text: sql.slice(start, at), at: start }
    } else {
      const parameter = match(PARAMETER)
      const text = parameter ?? match(WORD) ?? match(NUMBER) ?? character
      at += text.length
      yield { kind: parameter === undefined ? kindOf(text) : 'parameter', text, at: start }
    }
  }
}

function kindOf(text: string): Token['kind'] {
  if (text === '(') return 'open'
  if (text === ')') return 'close'
  if (text === ';') return 'end'
  return /^[\p{L}_$]/u.test(text) ? 'word' : 'other'
}

function after(sql: string, mark: string, from: number): number {
  const found = sql.indexOf(mark, from)
  return found < 0 ? sql.length : found + mark.length
}

/** Returns the end of a quoted token. Inside it a closing quote is doubled; brackets cannot be escaped. */
function endOfQuoted(sql: string, closing: string, from: number): number {
  for (let at = from + 1; at < sql.length; at += 1) {
    if (sql.charAt(at) !== closing) continue
    if (closing === ']' || sql.charAt(at + 1) !== closing) return at + 1
    at += 1
  }
  return sql.length
}

/** Scans the first statement of a string. Never throws: the engine reports errors. */
export function scan(sql: string): ScannedStatement {
  const words: string[] = []
  const names = new Map<string, number>()
  let positions = 0
  let anonymous = false
  let assigns = false
  let depth = 0
  let second: number | null = null
  let ended = false
  let trigger = false
  let lastWords = ['', '']
  for (const { kind, text, at } of tokens(sql)) {
    if (ended) {
      // Further semicolons do not begin a statement.
      if (kind === 'end') continue
      second = at
      break
    }
    if (kind === 'open' || text === '=') assigns = true
    if (kind === 'open') depth += 1
    else if (kind === 'close') depth -= 1
    else if (kind === 'word') {
      const word = text.toUpperCase()
      if (depth === 0) words.push(word)
      if (word === 'TRIGGER' && words[0] === 'CREATE' && words.length <= 3) trigger = true
      lastWords = [lastWords[1] ?? '', word]
      continue
    } else if (kind === 'parameter') {
      if (text === '?') {
        anonymous = true
        positions += 1
      } else if (text.startsWith('?')) {
        anonymous = true
        positions = Math.max(positions, Math.min(Number(text.slice(1)), MAX_POSITION))
      } else if (!names.has(text)) {
        positions += 1
        names.set(text, positions)
      }
    } else if (kind === 'end') {
      // Statements in a trigger's body end with semicolons, too; the trigger itself ends with `; END;`.
      if (!trigger || (lastWords[1] === 'END' && lastWords[0] === ';')) ended = true
      else {
        lastWords = [lastWords[1] ?? '', ';']
        continue
      }
    }
    lastWords = [lastWords[1] ?? '', text]
  }
  const keyword = words[0] ?? ''
  const verb = keyword === 'WITH' ? (words.find(word => VERBS.has(word)) ?? keyword) : keyword
  return { keyword, verb, words, assigns, positions, names, anonymous, second }
}

/** Returns line and column, both from 1, of an index in the SQL. */
export function placeIn(sql: string, index: number): { readonly line: number; readonly column: number } {
  const before = sql.slice(0, index).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
