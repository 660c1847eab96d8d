import type { NamedGrammar, TextGrammar, TextGrammarState } from '@svc/contracts'

/** Name of the grammar in requests. */
export const VOX_GRAMMAR = 'vox'

/** For requests to a model server of this project: `{"type": "grammar", "grammar": {"name": "vox"}}`. */
export const voxNamedGrammar: NamedGrammar = {
  name: VOX_GRAMMAR,
  summary: 'Texts of the language: its tokens, closed strings and brackets, operators with operands, declarations',
  open: voxGrammar
}

/**
 * A language between the set of valid programs and the set of all texts. Its rules: - all tokens are tokens of the
 * language, in UTF-8, and strings end; - brackets close in the order of their opening; - a binary operator is not
 * followed by a closing bracket, a comma or another such operator; - the file, and the text after a declaration that
 * ended with its brace, starts with a declaration keyword and its parts: a name, and for functions and steps their
 * parameters.
 *
 * The compiler checks names, types and the inner grammar of declarations.
 */
export function voxGrammar(): TextGrammar {
  const start = new VoxState('gap', '', { atDeclaration: true })
  return { start: () => start }
}

/**
 * Meaning of the last bytes: - `gap`: a complete token; - `word`: a name or a keyword, kept in `detail` while it must
 * be a declaration keyword; - `digits`, `decimal`: a number, and the prefix of the suffix `dec`; - `string`: `detail`
 * is its quote, followed by a backslash after one; - `comment`; - `sign`: the first half of a possible two-character
 * sign, in `detail`.
 */
type Mode = 'gap' | 'word' | 'digits' | 'decimal' | 'string' | 'comment' | 'sign'

interface Facts {
  /** Open brackets, innermost last. */
  readonly open?: string
  /** Missing bytes of a character, and the range of the next one. */
  readonly pending?: string
  /** True if an operand must follow. */
  readonly wantsOperand?: boolean
  /** True if a declaration must follow, unless the text ends. */
  readonly atDeclaration?: boolean
  /** Open construct: `name` requires its name, `call` its name and parameters, `parameters` those. */
  readonly begun?: 'name' | 'call' | 'parameters'
  /** True if the last token closed the last brace: a line end then ends the declaration. */
  readonly afterBrace?: boolean
}

const byteOf = (sign: string): number => sign.charCodeAt(0)
const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE, BACKSLASH] = [9, 10, 13, 32, 92]
const CLOSING: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }
/** One-character signs that start no two-character sign. */
const ALONE = new Set('?.:,%')
/** Signs that may start a two-character sign, by their second character. */
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
/** Binary operators, even if they have other uses. */
const BETWEEN = new Set(['%', '==', '!=', '<=', '>=', '+=', '-=', '*=', '/=', '|>', '&&', '||', '+'])
const STARTS = [
  ...['fn', 'type', 'let', 'const', 'import', 'http', 'actor', 'workflow', 'activity', 'agent', 'env', 'environment'],
  ...['component', 'routes', 'pub', 'async', 'extern', 'fragment', 'url', 'state_machine', 'partial', 'style']
]
/** Declaration keywords whose name is followed by parameters. */
const CALLED = new Set(['fn', 'workflow', 'activity'])
/** Continues the previous declaration on a separate line. */
const JOINS = ['with', 'else', 'and', 'or', 'is', 'isnt', 'to', 'in', 'on']
const FIRST_WORDS = [...STARTS, ...JOINS]

class VoxState implements TextGrammarState {
  readonly #mode: Mode
  readonly #detail: string
  readonly #facts: Facts
  readonly key: string

  constructor(mode: Mode, detail: string, facts: Facts) {
    this.#mode = mode
    this.#detail = detail
    this.#facts = facts
    const { open = '', pending = '', begun = '' } = facts
    const { wantsOperand = false, atDeclaration = false, afterBrace = false } = facts
    const flags = (wantsOperand ? 1 : 0) + (atDeclaration ? 2 : 0) + (afterBrace ? 4 : 0)
    this.key = `${mode} ${detail} ${open} ${pending} ${begun} ${flags}`
  }

  get accepting(): boolean {
    const ended = this.#ended()
    if (ended === null) return false
    const { open = '', pending = '', wantsOperand = false, begun } = ended.#facts
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

  /** The state after the current token; null if it cannot end here. */
  #ended(): VoxState | null {
    const { open = '', pending } = this.#facts
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
        return pending === undefined ? new VoxState('gap', '', withoutPending(this.#facts)) : null
      default:
        return this
    }
  }

  #wordEnded(open: string): VoxState | null {
    const { atDeclaration = false, begun } = this.#facts
    if (begun === 'call') return new VoxState('gap', '', { open, begun: 'parameters' })
    if (!atDeclaration) return new VoxState('gap', '', { open })
    if (!FIRST_WORDS.includes(this.#detail)) return null
    if (JOINS.includes(this.#detail)) return new VoxState('gap', '', { open })
    return new VoxState('gap', '', { open, begun: CALLED.has(this.#detail) ? 'call' : 'name' })
  }

  /** True if a byte may follow the current token. */
  #mayFollow(byte: number): boolean {
    const sign = String.fromCharCode(byte)
    switch (this.#facts.begun) {
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

  /** The next byte between tokens. */
  #token(byte: number): VoxState | null {
    const { open = '', wantsOperand = false, atDeclaration = false, afterBrace = false } = this.#facts
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === byteOf(';')) {
      const ends = afterBrace && open === ''
      return ends ? new VoxState('gap', '', { atDeclaration: true }) : this.#gap()
    }
    if (byte === SPACE || byte === TAB) return this.#gap()
    if (byte === byteOf('#')) return new VoxState('comment', '', this.#facts)
    const sign = String.fromCharCode(byte)
    if (sign !== '/' && !this.#mayFollow(byte)) return null
    if (isDigit(byte)) return atDeclaration ? null : new VoxState('digits', '', { open })
    if (isWordByte(byte)) return this.#firstOfWord(sign)
    if (sign === '"' || sign === "'") return atDeclaration ? null : new VoxState('string', sign, { open })
    if (sign === '@') return new VoxState('sign', '@', { open })
    // A comment whose second character is still missing.
    if (sign === '/') return wantsOperand ? this.#sign(sign) : new VoxState('sign', '/', this.#facts)
    if (atDeclaration && sign !== '|' && sign !== '.' && sign !== ')' && sign !== ',') return null
    if ('([{'.includes(sign)) return new VoxState('gap', '', { open: open + sign })
    if (CLOSING[sign] !== undefined) return this.#closed(sign)
    if (sign === ',' && wantsOperand) return null
    if (ALONE.has(sign)) return this.#signed(sign)
    return PAIRS[sign] === undefined ? null : this.#sign(sign)
  }

  #gap(): VoxState {
    return this.#mode === 'gap' ? this : new VoxState('gap', '', this.#facts)
  }

  #firstOfWord(letter: string): VoxState | null {
    const { open = '', atDeclaration = false, begun } = this.#facts
    if (begun === 'call') return new VoxState('word', '', { open, begun })
    if (!atDeclaration) return new VoxState('word', '', { open })
    return beginsDeclaration(letter) ? new VoxState('word', letter, { open, atDeclaration }) : null
  }

  #word(byte: number): VoxState | null {
    if (this.#facts.atDeclaration !== true) return this
    const word = this.#detail + String.fromCharCode(byte)
    return beginsDeclaration(word) ? new VoxState('word', word, this.#facts) : null
  }

  #suffix(byte: number): VoxState | null {
    const letters = this.#detail + String.fromCharCode(byte)
    return 'dec'.startsWith(letters) ? new VoxState('decimal', letters, this.#facts) : null
  }

  #closed(sign: string): VoxState | null {
    const { open = '', wantsOperand = false } = this.#facts
    if (wantsOperand || !open.endsWith(CLOSING[sign] as string)) return null
    const outer = open.slice(0, -1)
    return new VoxState('gap', '', { open: outer, ...(outer === '' && sign === '}' ? { afterBrace: true } : {}) })
  }

  /** The first half of a possible two-character sign; the previous facts stay until it is decided. */
  #sign(sign: string): VoxState {
    return new VoxState('sign', sign, this.#facts)
  }

  /** The state after a complete sign. */
  #signed(sign: string): VoxState | null {
    const { open = '', wantsOperand = false, atDeclaration = false, begun } = this.#facts
    if (begun !== undefined && !'(['.includes(sign) && sign !== '<') return null
    const isBetween = BETWEEN.has(sign)
    if (wantsOperand && isBetween) return null
    if (atDeclaration && (sign === '/' || isBetween) && sign !== '|>' && sign !== '||') return null
    return new VoxState('gap', '', { open, ...(isBetween ? { wantsOperand: true } : {}) })
  }

  /** The state after a sign's second byte; undefined if the byte is no part of it, null if it may not follow. */
  #joined(byte: number): VoxState | null | undefined {
    const first = this.#detail
    const second = String.fromCharCode(byte)
    if (first === '@') return isWordByte(byte) && !isDigit(byte) ? new VoxState('word', '', this.#facts) : null
    if (first === '/' && second === '/') return new VoxState('comment', '', this.#facts)
    if (first === '/' && second === '*') return null
    return (PAIRS[first] ?? '').includes(second) ? this.#signed(first + second) : undefined
  }

  /** A byte within a string or a comment. */
  #text(byte: number): VoxState | null {
    const { pending } = this.#facts
    if (pending !== undefined) return this.#continued(byte, pending)
    if (this.#mode === 'comment' && (byte === LINE_FEED || byte === CARRIAGE_RETURN)) return this.#next(byte)
    if (byte >= 0x80) {
      const expected = expectedAfter(byte)
      return expected === null ? null : this.#with(this.#detail.slice(0, 1), { ...this.#facts, pending: expected })
    }
    if (this.#mode === 'comment') return byte === 0 ? null : this
    const [quote = ''] = this.#detail
    if (this.#detail.length > 1) return this.#with(quote, this.#facts)
    if (byte === BACKSLASH) return this.#with(`${quote}\\`, this.#facts)
    if (byte === byteOf(quote)) return new VoxState('gap', '', { open: this.#facts.open ?? '' })
    return byte === 0 ? null : this
  }

  #continued(byte: number, pending: string): VoxState | null {
    const [count = 0, least = 0, most = 0] = pending.split(',').map(Number)
    if (byte < least || byte > most) return null
    const facts = withoutPending(this.#facts)
    return this.#with(this.#detail, count === 1 ? facts : { ...facts, pending: `${count - 1},128,191` })
  }

  #with(detail: string, facts: Facts): VoxState {
    return new VoxState(this.#mode, detail, facts)
  }
}

function withoutPending({ pending: _pending, ...facts }: Facts): Facts {
  return facts
}

/**
 * UTF-8 continuation after a first byte (RFC 3629): number of bytes, and range of the next; null for an invalid first
 * byte.
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
