import type { NamedGrammar, TextGrammar, TextGrammarState } from '@svc/contracts'

/** Name of the grammar in requests. */
export const VOX_GRAMMAR = 'vox'

/** Grammar for requests to this project's model server: `{"type": "grammar", "grammar": {"name": "vox"}}`. */
export const voxNamedGrammar: NamedGrammar = {
  name: VOX_GRAMMAR,
  summary: 'Programs of the language: tokens, closed strings and brackets, operators with operands, declarations',
  open: voxGrammar
}

/**
 * Returns a grammar that accepts all valid programs, and some invalid ones. Its rules:
 *
 * - All tokens are tokens of the language, in UTF-8, and strings are closed.
 * - Brackets are closed in reverse order of opening.
 * - A binary operator is not followed by a closing bracket, a comma or another such operator.
 * - The file, and the text after the closing brace of a declaration, starts with a declaration keyword and its parts: a
 *   name, and for functions and steps their parameters.
 *
 * The compiler checks names, types and the inner grammar of declarations.
 */
export function voxGrammar(): TextGrammar {
  const start = new VoxState('gap', '', { atDeclaration: true })
  return { start: () => start }
}

/**
 * Kind of the token at the end of the text:
 *
 * - `gap`: the last token is complete.
 * - `word`: a name or a keyword; stored in `detail` while it must be a declaration keyword.
 * - `digits`, `decimal`: a number, and a prefix of the suffix `dec`.
 * - `string`: `detail` is its quote, followed by a backslash if the last byte was one.
 * - `comment`: a comment.
 * - `sign`: the first character of a possible two-character operator, in `detail`.
 */
type Mode = 'gap' | 'word' | 'digits' | 'decimal' | 'string' | 'comment' | 'sign'

interface StateFields {
  /** Open brackets, innermost last. */
  readonly open?: string
  /** Number of missing bytes of a UTF-8 character, and the range of the next byte. */
  readonly pending?: string
  /** True if an operand must follow. */
  readonly wantsOperand?: boolean
  /** True if a declaration must follow, unless the text ends. */
  readonly atDeclaration?: boolean
  /** Missing part of a declaration: `name`, `call` (name and parameters), or `parameters`. */
  readonly begun?: 'name' | 'call' | 'parameters'
  /** True if the last token closed the outermost brace: a line end then ends the declaration. */
  readonly afterBrace?: boolean
}

const byteOf = (sign: string): number => sign.charCodeAt(0)
const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE, BACKSLASH] = [9, 10, 13, 32, 92]
const CLOSING: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }
/** One-character operators that do not begin a two-character operator. */
const ALONE = new Set('?.:,%')
/** Second characters of two-character operators, by their first character. */
const PAIRS: Readonly<Record<string, string>> = {
  '=': '=>',
  '!': '=',
  '<': '=/>',
  '>': '=',
  '+': '=',
  '-': '=>',
  '*': '=',
  '/': '=/>',
  '|': '>|',
  '&': '&'
}
/** Binary operators that have no other use. */
const BETWEEN = new Set(['%', '==', '!=', '<=', '>=', '+=', '-=', '*=', '/=', '|>', '&&', '||', '+'])
const STARTS = [
  ...['fn', 'type', 'let', 'const', 'import', 'http', 'actor', 'workflow', 'activity', 'agent', 'env', 'environment'],
  ...['component', 'routes', 'pub', 'async', 'extern', 'fragment', 'url', 'state_machine', 'partial', 'style']
]
/** Declaration keywords whose name is followed by parameters. */
const CALLED = new Set(['fn', 'workflow', 'activity'])
/** Words that continue the previous declaration on a new line. */
const JOINS = ['with', 'else', 'and', 'or', 'is', 'isnt', 'to', 'in', 'on']
const FIRST_WORDS = [...STARTS, ...JOINS]

class VoxState implements TextGrammarState {
  readonly #mode: Mode
  readonly #detail: string
  readonly #fields: StateFields
  readonly key: string

  constructor(mode: Mode, detail: string, fields: StateFields) {
    this.#mode = mode
    this.#detail = detail
    this.#fields = fields
    const { open = '', pending = '', begun = '' } = fields
    const { wantsOperand = false, atDeclaration = false, afterBrace = false } = fields
    const flags = (wantsOperand ? 1 : 0) + (atDeclaration ? 2 : 0) + (afterBrace ? 4 : 0)
    this.key = `${mode} ${detail} ${open} ${pending} ${begun} ${flags}`
  }

  get accepting(): boolean {
    const ended = this.#ended()
    if (ended === null) return false
    const { open = '', pending = '', wantsOperand = false, begun } = ended.#fields
    return open === '' && pending === '' && !wantsOperand && begun === undefined && ended.#mode !== 'string'
  }

  advance(byte: number): VoxState | null {
    const mode = this.#mode
    if (mode === 'string' || mode === 'comment') return this.#text(byte)
    if (mode === 'word' && isWordByte(byte)) return this.#word(byte)
    if (mode === 'digits' && isDigit(byte)) return this
    if ((mode === 'digits' || mode === 'decimal') && isWordByte(byte)) return this.#suffix(byte)
    if (mode === 'sign') {
      const joined = this.#joined(byte)
      if (joined !== undefined) return joined
    }
    return this.#next(byte)
  }

  #next(byte: number): VoxState | null {
    const ended = this.#ended()
    return ended === null ? null : ended.#token(byte)
  }

  /** Returns the state after the current token; null if it cannot end here. */
  #ended(): VoxState | null {
    const { open = '', pending } = this.#fields
    switch (this.#mode) {
      case 'word':
        return this.#wordEnded(open)
      case 'digits':
        return new VoxState('gap', '', { open })
      case 'decimal':
        return this.#detail === 'dec' ? new VoxState('gap', '', { open }) : null
      case 'sign':
        return this.#detail === '&' || this.#detail === '@' ? null : this.#signed(this.#detail)
      case 'comment':
        return pending === undefined ? new VoxState('gap', '', withoutPending(this.#fields)) : null
      default:
        return this
    }
  }

  #wordEnded(open: string): VoxState | null {
    const { atDeclaration = false, begun } = this.#fields
    if (begun === 'call') return new VoxState('gap', '', { open, begun: 'parameters' })
    if (!atDeclaration) return new VoxState('gap', '', { open })
    if (!FIRST_WORDS.includes(this.#detail)) return null
    if (JOINS.includes(this.#detail)) return new VoxState('gap', '', { open })
    return new VoxState('gap', '', { open, begun: CALLED.has(this.#detail) ? 'call' : 'name' })
  }

  /** Returns whether a byte may follow the current token. */
  #mayFollow(byte: number): boolean {
    const sign = String.fromCharCode(byte)
    switch (this.#fields.begun) {
      case 'name':
        return (isWordByte(byte) && !isDigit(byte)) || '{("\'@'.includes(sign)
      case 'call':
        return isWordByte(byte) && !isDigit(byte)
      case 'parameters':
        return '([<'.includes(sign)
      default:
        return true
    }
  }

  /** Returns the state after a byte between tokens. */
  #token(byte: number): VoxState | null {
    const { open = '', wantsOperand = false, atDeclaration = false, afterBrace = false } = this.#fields
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === byteOf(';')) {
      const ends = afterBrace && open === ''
      return ends ? new VoxState('gap', '', { atDeclaration: true }) : this.#gap()
    }
    if (byte === SPACE || byte === TAB) return this.#gap()
    if (byte === byteOf('#')) return new VoxState('comment', '', this.#fields)
    const sign = String.fromCharCode(byte)
    if (sign !== '/' && !this.#mayFollow(byte)) return null
    if (isDigit(byte)) return atDeclaration ? null : new VoxState('digits', '', { open })
    if (isWordByte(byte)) return this.#firstOfWord(sign)
    if (sign === '"' || sign === "'") return atDeclaration ? null : new VoxState('string', sign, { open })
    if (sign === '@') return new VoxState('sign', '@', { open })
    // `/` may begin a comment; the next byte decides.
    if (sign === '/') return wantsOperand ? this.#sign(sign) : new VoxState('sign', '/', this.#fields)
    if (atDeclaration && sign !== '|' && sign !== '.' && sign !== ')' && sign !== ',') return null
    if ('([{'.includes(sign)) return new VoxState('gap', '', { open: open + sign })
    if (CLOSING[sign] !== undefined) return this.#closed(sign)
    if (sign === ',' && wantsOperand) return null
    if (ALONE.has(sign)) return this.#signed(sign)
    return PAIRS[sign] === undefined ? null : this.#sign(sign)
  }

  #gap(): VoxState {
    return this.#mode === 'gap' ? this : new VoxState('gap', '', this.#fields)
  }

  #firstOfWord(letter: string): VoxState | null {
    const { open = '', atDeclaration = false, begun } = this.#fields
    if (begun === 'call') return new VoxState('word', '', { open, begun })
    if (!atDeclaration) return new VoxState('word', '', { open })
    return beginsDeclaration(letter) ? new VoxState('word', letter, { open, atDeclaration }) : null
  }

  #word(byte: number): VoxState | null {
    if (this.#fields.atDeclaration !== true) return this
    const word = this.#detail + String.fromCharCode(byte)
    return beginsDeclaration(word) ? new VoxState('word', word, this.#fields) : null
  }

  #suffix(byte: number): VoxState | null {
    const letters = this.#detail + String.fromCharCode(byte)
    return 'dec'.startsWith(letters) ? new VoxState('decimal', letters, this.#fields) : null
  }

  #closed(sign: string): VoxState | null {
    const { open = '', wantsOperand = false } = this.#fields
    if (wantsOperand || !open.endsWith(CLOSING[sign] as string)) return null
    const outer = open.slice(0, -1)
    return new VoxState('gap', '', { open: outer, ...(outer === '' && sign === '}' ? { afterBrace: true } : {}) })
  }

  /** Returns the state after the first character of a possible two-character operator; the fields stay unchanged. */
  #sign(sign: string): VoxState {
    return new VoxState('sign', sign, this.#fields)
  }

  /** Returns the state after a complete operator. */
  #signed(sign: string): VoxState | null {
    const { open = '', wantsOperand = false, atDeclaration = false, begun } = this.#fields
    if (begun !== undefined && !'(['.includes(sign) && sign !== '<') return null
    const isBetween = BETWEEN.has(sign)
    if (wantsOperand && isBetween) return null
    if (atDeclaration && (sign === '/' || isBetween) && sign !== '|>' && sign !== '||') return null
    return new VoxState('gap', '', { open, ...(isBetween ? { wantsOperand: true } : {}) })
  }

  /** Returns the state after a byte that follows `detail`; undefined if the byte begins another token, null if invalid. */
  #joined(byte: number): VoxState | null | undefined {
    const first = this.#detail
    const second = String.fromCharCode(byte)
    if (first === '@') return isWordByte(byte) && !isDigit(byte) ? new VoxState('word', '', this.#fields) : null
    if (first === '/' && second === '/') return new VoxState('comment', '', this.#fields)
    if (first === '/' && second === '*') return null
    return (PAIRS[first] ?? '').includes(second) ? this.#signed(first + second) : undefined
  }

  /** Returns the state after a byte within a string or a comment. */
  #text(byte: number): VoxState | null {
    const { pending } = this.#fields
    if (pending !== undefined) return this.#continued(byte, pending)
    if (this.#mode === 'comment' && (byte === LINE_FEED || byte === CARRIAGE_RETURN)) return this.#next(byte)
    if (byte >= 0x80) {
      const expected = expectedAfter(byte)
      return expected === null ? null : this.#with(this.#detail.slice(0, 1), { ...this.#fields, pending: expected })
    }
    if (this.#mode === 'comment') return byte === 0 ? null : this
    const [quote = ''] = this.#detail
    if (this.#detail.length > 1) return this.#with(quote, this.#fields)
    if (byte === BACKSLASH) return this.#with(`${quote}\\`, this.#fields)
    if (byte === byteOf(quote)) return new VoxState('gap', '', { open: this.#fields.open ?? '' })
    return byte === 0 ? null : this
  }

  #continued(byte: number, pending: string): VoxState | null {
    const [count = 0, min = 0, max = 0] = pending.split(',').map(Number)
    if (byte < min || byte > max) return null
    const fields = withoutPending(this.#fields)
    return this.#with(this.#detail, count === 1 ? fields : { ...fields, pending: `${count - 1},128,191` })
  }

  #with(detail: string, fields: StateFields): VoxState {
    return new VoxState(this.#mode, detail, fields)
  }
}

function withoutPending({ pending: _pending, ...fields }: StateFields): StateFields {
  return fields
}

/**
 * Returns the UTF-8 continuation after a first byte (RFC 3629): the number of further bytes, and the range of the next
 * byte; null for an invalid first byte.
 */
function expectedAfter(byte: number): string | null {
  if (byte >= 0xc2 && byte <= 0xdf) return '1,128,191'
  if (byte === 0xe0) return '2,160,191'
  if (byte === 0xed) return '2,128,159'
  if (byte >= 0xe1 && byte <= 0xef) return '2,128,191'
  if (byte === 0xf0) return '3,144,191'
  if (byte >= 0xf1 && byte <= 0xf3) return '3,128,191'
  return byte === 0xf4 ? '3,128,143' : null
}

function beginsDeclaration(letters: string): boolean {
  return FIRST_WORDS.some(word => word.startsWith(letters))
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57
}

function isWordByte(byte: number): boolean {
  return isDigit(byte) || (byte >= 97 && byte <= 122) || (byte >= 65 && byte <= 90) || byte === 95
}
