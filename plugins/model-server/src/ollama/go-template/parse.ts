import { unsupported } from '../../unsupported-fields.ts'
import { isFunction } from './functions.ts'
import { MAX_NESTING, type Node, type Operand, type Pipe } from './nodes.ts'

const TRIM_LEFT = /-\s/y
const COMMENT = /\/\*[\s\S]*?\*\//y
const SPACE = /\s+/y
const END = /(\s+-)?\}\}/y
const STRING = /"(?:[^"\\\n]|\\.)*"/y
const RAW_STRING = /`[^`]*`/y
const NUMBER = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y
const VARIABLE = /\$\w*/y
const FIELD = /\.[A-Za-z_]\w{0,99}(?!\w)/y
const WORD = /[A-Za-z_]\w*/y
const KEYWORD = /(?:if|else|end|range|with|break|continue|define|template|block)\b/y
const DECLARATION = /(\$\w+)(?:\s*,\s*(\$\w+))?\s*(:=|=)/y
const ELSE_IF = /\s+(if|with)\b/y

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  '\\': '\\',
  '"': '"',
  "'": "'"
}

interface Open {
  readonly into: { readonly yes: Node[]; readonly no: Node[] }
  inElse: boolean
  /** Conditions that the same `{{ end }}` closes: those of `{{ else if }}`. */
  readonly chained: boolean
  readonly isRange: boolean
}

/**
 * Parses a template of Go's `text/template`. Takes linear time, because the template may come from a client. Throws
 * `MSV_UNSUPPORTED`, quoting the first action that is wrong or not supported.
 */
export function parseTemplate(source: string): Node[] {
  return new Parser(source).template()
}

class Parser {
  readonly #source: string
  readonly #root: Node[] = []
  readonly #open: Open[] = []
  #at = 0
  /** Start of the current action. */
  #action = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
  }

  template(): Node[] {
    let trims = false
    for (;;) {
      const start = this.#source.indexOf('{{', this.#at)
      const text = this.#source.slice(this.#at, start === -1 ? undefined : start)
      const left = trims ? text.trimStart() : text
      if (start === -1) {
        this.#add({ kind: 'text', text: left })
        if (this.#open.length > 0) throw unsupported('template', `an '{{ if }}' has no '{{ end }}'`)
        return this.#root
      }
      this.#action = start
      this.#at = start + 2
      this.#add({ kind: 'text', text: this.#take(TRIM_LEFT) === null ? left : left.trimEnd() })
      trims = this.#readAction()
    }
  }

  /** Reads an action. Returns whether it trims the white space that follows. */
  #readAction(): boolean {
    this.#take(SPACE)
    if (this.#take(COMMENT) === null) this.#readStatement()
    this.#take(/(?=\s+-\}\})|\s*/y)
    const end = this.#take(END)
    if (end === null) throw this.#wrong()
    return end.length > 2
  }

  #readStatement(): void {
    const keyword = this.#take(KEYWORD)
    if (keyword === null) this.#add({ kind: 'print', pipe: this.#pipe() })
    else if (keyword === 'if' || keyword === 'with' || keyword === 'range') this.#begin(keyword, false)
    else if (keyword === 'else') this.#else()
    else if (keyword === 'end') this.#end()
    else if (keyword === 'break' || keyword === 'continue') {
      if (!this.#open.some(({ isRange }) => isRange)) throw this.#wrong()
      this.#add({ kind: keyword })
    } else throw this.#wrong()
  }

  #begin(kind: 'if' | 'with' | 'range', chained: boolean): void {
    if (this.#open.length === MAX_NESTING)
      throw unsupported('template', `it nests more than ${MAX_NESTING} conditions, the limit`)
    const into = { yes: [], no: [] }
    this.#add({ kind, pipe: this.#pipe(kind === 'range'), ...into })
    this.#open.push({ into, inElse: false, chained, isRange: kind === 'range' })
  }

  #else(): void {
    const open = this.#open.at(-1)
    if (open === undefined || open.inElse) throw this.#wrong()
    open.inElse = true
    const chained = this.#take(ELSE_IF)
    if (chained !== null) this.#begin(chained.trim() as 'if' | 'with', true)
  }

  #end(): void {
    if (this.#open.length === 0) throw this.#wrong()
    while (this.#open.pop()?.chained === true);
  }

  #pipe(mayDeclareTwo = false): Pipe {
    this.#take(SPACE)
    const start = this.#at
    const declaration = this.#match(DECLARATION)
    const names = declaration === null ? [] : declaration.slice(1, 3).filter(name => name !== undefined)
    if (names.length === 2 && !mayDeclareTwo) throw this.#wrong(start)
    const commands = [this.#command()]
    while (this.#take(/\s*\|/y) !== null) commands.push(this.#command())
    return { names, declares: declaration?.[3] === ':=', commands }
  }

  #command(): readonly Operand[] {
    const operands: Operand[] = []
    for (;;) {
      this.#take(/(?=\s+-\}\})|\s*/y)
      const next = this.#source.slice(this.#at, this.#at + 2)
      if (next === '}}' || next[0] === '|' || next[0] === ')' || /\s/.test(next[0] ?? '')) break
      const operand = this.#operand()
      // Only functions have arguments.
      if (operands.length > 0 && operands[0]?.kind !== 'function') throw this.#wrong()
      operands.push(operand)
    }
    if (operands.length === 0) throw this.#wrong()
    return operands
  }

  #operand(): Operand {
    const field = this.#take(FIELD)
    if (field !== null) return { kind: 'dot', path: [field.slice(1), ...this.#path()] }
    const number = this.#take(NUMBER)
    if (number !== null) return { kind: 'value', value: Number(number) }
    if (this.#take(/\./y) !== null) return { kind: 'dot', path: [] }
    const variable = this.#take(VARIABLE)
    if (variable !== null) return { kind: 'variable', name: variable, path: this.#path() }
    const string = this.#take(STRING)
    if (string !== null) return { kind: 'value', value: this.#unquoted(string.slice(1, -1)) }
    const raw = this.#take(RAW_STRING)
    if (raw !== null) return { kind: 'value', value: raw.slice(1, -1) }
    if (this.#take(/\(/y) !== null) return this.#group()
    const word = this.#take(WORD)
    if (word === 'true' || word === 'false') return { kind: 'value', value: word === 'true' }
    if (word === 'nil') return { kind: 'value', value: null }
    if (word === null || !isFunction(word)) throw this.#wrong()
    return { kind: 'function', name: word }
  }

  #group(): Operand {
    this.#depth += 1
    if (this.#depth > MAX_NESTING) throw this.#wrong()
    const pipe = this.#pipe()
    this.#depth -= 1
    if (pipe.names.length > 0 || this.#take(/\s*\)/y) === null) throw this.#wrong()
    return { kind: 'group', pipe, path: this.#path() }
  }

  #path(): string[] {
    const path: string[] = []
    for (let field = this.#take(FIELD); field !== null; field = this.#take(FIELD)) path.push(field.slice(1))
    return path
  }

  #unquoted(text: string): string {
    return text.replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/g, (_, x, u, long, letter) => {
      const hex: string | undefined = x ?? u ?? long
      const character = hex === undefined ? ESCAPES[letter] : codePoint(Number.parseInt(hex, 16))
      if (character === undefined) throw this.#wrong()
      return character
    })
  }

  #add(node: Node): void {
    if (node.kind === 'text' && node.text === '') return
    const open = this.#open.at(-1)
    const into = open === undefined ? this.#root : open.inElse ? open.into.no : open.into.yes
    into.push(node)
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#source)
    if (found !== null) this.#at = pattern.lastIndex
    return found
  }

  #take(pattern: RegExp): string | null {
    return this.#match(pattern)?.[0] ?? null
  }

  #wrong(at = this.#at): Error {
    const close = this.#source.indexOf('}}', at)
    const whole = this.#source.slice(this.#action, close === -1 ? this.#action + MAX_QUOTED : close + 2)
    return unsupported(
      'template',
      `'${whole.slice(0, MAX_QUOTED)}' is not supported: Go templates may use fields, variables, if, with, range and the functions of Ollama; for more, send a Jinja template over 'messages'`
    )
  }
}

const MAX_QUOTED = 200

function codePoint(value: number): string | undefined {
  return value > 0x10ffff ? undefined : String.fromCodePoint(value)
}
