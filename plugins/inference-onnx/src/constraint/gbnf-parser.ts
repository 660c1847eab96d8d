import { type CodePoints, codePoints, complement, everyCodePoint } from './code-points.ts'
import { spendSteps } from './compile-limits.ts'
import { unsupported } from './unsupported.ts'

/** Expression of a grammar. */
export type GbnfExpression =
  /** One character of a set. */
  | { readonly type: 'characters'; readonly set: CodePoints }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'rule'; readonly name: string }
  | { readonly type: 'sequence' | 'choice'; readonly parts: readonly GbnfExpression[] }
  /** `max` is infinite for no limit. */
  | { readonly type: 'repeat'; readonly part: GbnfExpression; readonly min: number; readonly max: number }

/** Limits of a grammar. The number of repetitions is that of llama.cpp. */
const MAX_LENGTH = 200_000
const MAX_RULES = 5_000
const MAX_DEPTH = 100
const MAX_REPETITIONS = 2_000

/** Number of hexadecimal digits by escape. */
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  '\\': '\\',
  '"': '"',
  '[': '[',
  ']': ']'
}

/**
 * Parses a grammar in llama.cpp's GBNF notation. Returns its rules by name. Throws `INF_CONSTRAINT_UNSUPPORTED`, with the
 * line and column.
 */
export function parseGbnf(text: string): ReadonlyMap<string, GbnfExpression> {
  if (text.length > MAX_LENGTH) throw unsupported('grammar', `it is longer than ${MAX_LENGTH} characters`)
  spendSteps(text.length * 10)
  return new Parser(text).rules()
}

class Parser {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  rules(): ReadonlyMap<string, GbnfExpression> {
    const rules = new Map<string, GbnfExpression>()
    this.#space(true)
    while (this.#at < this.#text.length) {
      const start = this.#at
      const name = this.#name()
      if (name === null) throw this.#error('a rule must begin with its name: letters, digits, "-" or "_"')
      this.#space(false)
      if (!this.#take('::=')) throw this.#error(`the name ${shown(name)} must be followed by "::="`)
      if (rules.has(name)) throw this.#error(`the rule ${shown(name)} is defined twice`, start)
      if (rules.size >= MAX_RULES) throw this.#error(`it has more than ${MAX_RULES} rules`)
      this.#space(true)
      rules.set(name, this.#alternatives(false))
      const end = this.#at
      this.#space(true)
      if (this.#at < this.#text.length && !this.#text.slice(end, this.#at).includes('\n')) {
        throw this.#error('expected an end of line after the rule')
      }
    }
    return rules
  }

  #alternatives(isNested: boolean): GbnfExpression {
    if (++this.#depth > MAX_DEPTH) throw this.#error(`parentheses are nested deeper than ${MAX_DEPTH} levels`)
    const parts = [this.#sequence(isNested)]
    while (this.#continues(isNested)) {
      this.#space(true)
      parts.push(this.#sequence(isNested))
    }
    this.#depth--
    return parts.length === 1 ? (parts[0] as GbnfExpression) : { type: 'choice', parts }
  }

  /** Reads a `|`, which may also begin the next line. */
  #continues(isNested: boolean): boolean {
    if (this.#take('|')) return true
    if (isNested) return false
    const before = this.#at
    this.#space(true)
    if (this.#take('|')) return true
    this.#at = before
    return false
  }

  #sequence(isNested: boolean): GbnfExpression {
    const parts: GbnfExpression[] = []
    for (;;) {
      const part = this.#primary()
      if (part === null) break
      parts.push(this.#repeated(part))
      this.#space(isNested)
    }
    return parts.length === 1 ? (parts[0] as GbnfExpression) : { type: 'sequence', parts }
  }

  #primary(): GbnfExpression | null {
    const character = this.#text[this.#at]
    if (character === '"') return this.#literal()
    if (character === '[') return this.#class()
    if (this.#take('.')) return { type: 'characters', set: everyCodePoint }
    if (this.#take('(')) {
      this.#space(true)
      const inner = this.#alternatives(true)
      this.#space(true)
      if (!this.#take(')')) throw this.#error('expected ")"')
      return inner
    }
    if (character === '<' || (character === '!' && this.#text[this.#at + 1] === '<')) {
      throw this.#error('tokens in angle brackets are not supported; write their text in quotes')
    }
    const name = this.#name()
    return name === null ? null : { type: 'rule', name }
  }

  #literal(): GbnfExpression {
    const start = this.#at++
    let text = ''
    while (!this.#take('"')) {
      const point = this.#character()
      if (point === null) throw this.#error('the text in quotes has no end', start)
      text += String.fromCodePoint(point)
    }
    return { type: 'text', text }
  }

  #class(): GbnfExpression {
    const start = this.#at++
    const isNegated = this.#take('^')
    const ranges: [number, number][] = []
    while (!this.#take(']')) {
      const first = this.#character()
      let last = first
      if (this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']') {
        this.#at++
        last = this.#character()
      }
      if (first === null || last === null) throw this.#error('the class of characters has no "]"', start)
      if (last < first) throw this.#error('the range of characters is in the wrong order')
      ranges.push([first, last])
    }
    const set = codePoints(ranges)
    return { type: 'characters', set: isNegated ? complement(set) : set }
  }

  /** Reads a character or an escape; returns null at the end of the text. */
  #character(): number | null {
    const point = this.#text.codePointAt(this.#at)
    if (point === undefined) return null
    const start = this.#at
    this.#at += String.fromCodePoint(point).length
    if (point >= 0xd800 && point <= 0xdfff) throw this.#error('a half of a surrogate pair is not a character', start)
    if (point !== 0x5c) return point
    const mark = this.#text[this.#at] ?? ''
    this.#at++
    const plain = Object.hasOwn(ESCAPES, mark) ? ESCAPES[mark] : undefined
    if (plain !== undefined) return plain.codePointAt(0) as number
    const digits = Object.hasOwn(HEX_DIGITS, mark) ? (HEX_DIGITS[mark] as number) : 0
    const hex = this.#text.slice(this.#at, this.#at + digits)
    this.#at += digits
    const value = digits > 0 && new RegExp(`^[\\da-fA-F]{${digits}}$`).test(hex) ? Number.parseInt(hex, 16) : -1
    if (value < 0) throw this.#error(`"\\${mark}" is not an escape`, start)
    if (value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
      throw this.#error(`"\\${mark}${hex}" is not a character`, start)
    }
    return value
  }

  /** Reads the numbers of repetitions after a part. */
  #repeated(part: GbnfExpression): GbnfExpression {
    let repeated = part
    for (let count = 0; ; count++) {
      const start = this.#at
      this.#space(false)
      const range = this.#range()
      if (range === null) {
        this.#at = start
        return repeated
      }
      if (count === MAX_DEPTH) throw this.#error(`more than ${MAX_DEPTH} repetitions follow each other`, start)
      repeated = { type: 'repeat', part: repeated, min: range[0], max: range[1] }
    }
  }

  #range(): readonly [min: number, max: number] | null {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.#take('?')) return [0, 1]
    if (this.#text[this.#at] !== '{') return null
    const [text, first = '', comma = '', last = ''] =
      /^\{\s*(\d{1,9})\s*(,?)\s*(\d{0,9})\s*\}/.exec(this.#rest(40)) ?? []
    if (text === undefined || (comma === '' && last !== '')) {
      throw this.#error('a number of repetitions is {3}, {3,} or {3,5}')
    }
    const min = Number(first)
    const max = comma === '' ? min : last === '' ? Number.POSITIVE_INFINITY : Number(last)
    if (max < min) throw this.#error('the maximum of the repetitions is below the minimum')
    if (Math.max(min, Number.isFinite(max) ? max : 0) > MAX_REPETITIONS) {
      throw this.#error(`more than ${MAX_REPETITIONS} repetitions are not supported`)
    }
    this.#at += text.length
    return [min, max]
  }

  #name(): string | null {
    const [name] = /^[A-Za-z0-9_-]{1,200}/.exec(this.#rest(201)) ?? []
    if (name === undefined) return null
    this.#at += name.length
    return name
  }

  /** Skips spaces and comments; `newLines`: also the ends of lines. */
  #space(newLines: boolean): void {
    for (;;) {
      const character = this.#text[this.#at]
      if (character === '#') {
        const end = this.#text.indexOf('\n', this.#at)
        this.#at = end < 0 ? this.#text.length : end
      } else if (character === ' ' || character === '\t' || (newLines && (character === '\n' || character === '\r'))) {
        this.#at++
      } else return
    }
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #rest(length: number): string {
    return this.#text.slice(this.#at, this.#at + length)
  }

  #error(why: string, at = this.#at): Error {
    const before = this.#text.slice(0, at)
    const line = before.split('\n').length
    const column = at - before.lastIndexOf('\n')
    return unsupported(`line ${line}, column ${column} of the grammar`, why)
  }
}

function shown(name: string): string {
  return JSON.stringify(name)
}
