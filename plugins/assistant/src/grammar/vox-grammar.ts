import type { NamedGrammar, TextGrammar, TextGrammarState } from '@svc/contracts'

/** How requests name the grammar. */
export const VOX_GRAMMAR = 'vox'

/** For requests to a model server of this project: `{"type": "grammar", "grammar": {"name": "vox"}}`. */
export const voxNamedGrammar: NamedGrammar = {
  name: VOX_GRAMMAR,
  summary: 'Texts of the language: its tokens, closed strings and brackets, operators with operands, declarations',
  open: voxGrammar
}

/**
 * A language that holds every program and less than every text. What it asks for:
 * - all tokens are ones of the language, in UTF-8, and strings end;
 * - brackets close in the order in which they were opened;
 * - an operator that stands between two operands is followed by no closing bracket, comma or other such operator;
 * - the file, and what follows a declaration that ended with its brace, begins with a word that begins a declaration, and with what that
 *   word declares: a name, and for functions and steps what stands behind it.
 *
 * Names, types and the inner grammar of declarations are the compiler's to check.
 */
export function voxGrammar(): TextGrammar {
  const start = new VoxState('gap', '', { atDeclaration: true })
  return { start: () => start }
}

/**
 * Meaning of the last bytes:
 * - `gap`: nothing that goes on;
 * - `word`: a name or a keyword, kept in `detail` while it must be one that begins a declaration;
 * - `digits`, `decimal`: a number, and the letters `dec` at its end as far as they came;
 * - `string`: `detail` is its quote, with a backslash behind it after one;
 * - `comment`;
 * - `sign`: a sign that another one may belong to, in `detail`.
 */
type Mode = 'gap' | 'word' | 'digits' | 'decimal' | 'string' | 'comment' | 'sign'

interface Facts {
  /** Open brackets, innermost last. */
  readonly open?: string
  /** Bytes of a character that are still to come, and the least and greatest that the next one may be. */
  readonly pending?: string
  /** Whether an operand must come. */
  readonly wantsOperand?: boolean
  /** Whether a declaration must come, unless the text ends. */
  readonly atDeclaration?: boolean
  /** Open construct: `name` where its name must follow, `call` where name and parameters must, `parameters` where those must. */
  readonly begun?: 'name' | 'call' | 'parameters'
  /** Whether the last token closed the last brace: a line end makes that the end of a declaration. */
  readonly afterBrace?: boolean
}

const byteOf = (sign: string): number => sign.charCodeAt(0)
const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE, BACKSLASH] = [9, 10, 13, 32, 92]
const CLOSING: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }
/** Signs of one character that begin none of two. */
const ALONE = new Set('?.:,%')
/** Signs that may be the first of two, by those that may follow. */
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
/** Signs that stand between two operands, whatever else they can be. */
const BETWEEN = new Set(['%', '==', '!=', '<=', '>=', '+=', '-=', '*=', '/=', '|>', '&&', '||', '+'])
const STARTS = [
  ...['fn', 'type', 'let', 'const', 'import', 'http', 'actor', 'workflow', 'activity', 'agent', 'env', 'environment'],
  ...['component', 'routes', 'pub', 'async', 'extern', 'fragment', 'url', 'state_machine', 'partial', 'style']
]
/** Those of them whose name has parameters behind it. */
const CALLED = new Set(['fn', 'workflow', 'activity'])
/** Continues the declaration before it, on a separate line. */
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

  /** The state behind the token that goes on here; null where it cannot end here. */
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

  /** Whether a byte may follow what was begun. */
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
    // A comment has yet to show that it is one.
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

  /** A sign that another may belong to; the facts before it stand until it is known which it is. */
  #sign(sign: string): VoxState {
    return new VoxState('sign', sign, this.#facts)
  }

  /** The state behind a whole sign. */
  #signed(sign: string): VoxState | null {
    const { open = '', wantsOperand = false, atDeclaration = false, begun } = this.#facts
    if (begun !== undefined && !'(['.includes(sign) && sign !== '<') return null
    const isBetween = BETWEEN.has(sign)
    if (wantsOperand && isBetween) return null
    if (atDeclaration && (sign === '/' || isBetween) && sign !== '|>' && sign !== '||') return null
    return new VoxState('gap', '', { open, ...(isBetween ? { wantsOperand: true } : {}) })
  }

  /** The state after a sign's second byte; undefined where the byte is no part of it, null where it may not follow. */
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

/** Bytes that follow the first one of a character in UTF-8 (RFC 3629): how many, and the range of the next; null for no first byte. */
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
