import { MATH_CHARACTERS } from './characters.ts'

/** Commands without arguments: letters, operators, relations, arrows, spaces. */
const SYMBOLS = new Set(
  [
    'alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho varrho',
    'sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega',
    'times div pm mp cdot bullet circ ast star leq le geq ge neq ne approx equiv sim simeq cong propto ll gg infty',
    'partial nabla sum prod coprod int iint iiint oint in notin ni subset supset subseteq supseteq cup cap bigcup bigcap',
    'emptyset varnothing setminus forall exists nexists neg lnot wedge land vee lor oplus otimes odot bot top perp vdash',
    'models mid nmid parallel to rightarrow leftarrow leftrightarrow Rightarrow Leftarrow Leftrightarrow implies iff',
    'mapsto uparrow downarrow longrightarrow longleftarrow hookrightarrow prime hbar ell Re Im aleph angle therefore',
    'because square blacksquare blacktriangle bigstar checkmark surd cdots ldots dots vdots ddots quad qquad',
    'sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh exp log ln lg lim limsup liminf sup inf max min arg det',
    'dim ker hom deg gcd Pr preceq succeq prec succ doteq asymp triangleq trianglelefteq langle rangle lceil rceil lfloor',
    'rfloor lbrace rbrace Vert vert backslash displaystyle textstyle bigoplus bigotimes bigwedge bigvee',
    'sqcup sqcap uplus amalg dagger ddagger wp flat sharp natural complement'
  ].flatMap(line => line.split(' '))
)

/** Columns of matrices that the document sets. */
export const MAX_MATRIX_COLUMNS = 50

/** Commands with one-character names. */
const SHORT = new Set([',', ';', ':', '!', ' ', '{', '}', '|', '%', '#', '&', '_', '$'])

/** Commands with arguments, and how many. */
const ARGUMENTS: Readonly<Record<string, number>> = {
  frac: 2,
  dfrac: 2,
  tfrac: 2,
  binom: 2,
  sqrt: 1,
  overline: 1,
  underline: 1,
  hat: 1,
  widehat: 1,
  tilde: 1,
  widetilde: 1,
  bar: 1,
  vec: 1,
  dot: 1,
  ddot: 1,
  mathbb: 1,
  mathcal: 1,
  mathfrak: 1,
  mathbf: 1,
  mathrm: 1,
  mathit: 1,
  mathsf: 1,
  mathtt: 1,
  boldsymbol: 1,
  overbrace: 1,
  underbrace: 1,
  overset: 2,
  underset: 2,
  stackrel: 2,
  pmod: 1
}

/** Commands whose argument is text. */
const TEXT = new Set(['text', 'textrm', 'textit', 'textbf', 'operatorname'])

/** Environments, and how many columns they have. */
const ENVIRONMENTS: ReadonlyMap<string, number> = new Map([
  ['matrix', MAX_MATRIX_COLUMNS],
  ['pmatrix', MAX_MATRIX_COLUMNS],
  ['bmatrix', MAX_MATRIX_COLUMNS],
  ['Bmatrix', MAX_MATRIX_COLUMNS],
  ['vmatrix', MAX_MATRIX_COLUMNS],
  ['Vmatrix', MAX_MATRIX_COLUMNS],
  ['cases', 2],
  ['aligned', MAX_MATRIX_COLUMNS],
  ['split', 2],
  ['gathered', 1]
])

/** Delimiters after `\left`, `\right` and `\big`. */
const DELIMITERS =
  /^(?:[()[\]|/.<>]|\\(?:[{}|]|langle|rangle|lceil|rceil|lfloor|rfloor|lbrace|rbrace|vert|Vert|uparrow|downarrow|backslash)(?![A-Za-z]))/
const SIZES = new Set(['big', 'Big', 'bigg', 'Bigg', 'bigl', 'bigr', 'Bigl', 'Bigr'])

const MAX_DEPTH = 60

/**
 * Parses the mathematics between dollar signs, and returns it as LaTeX; null if it contains a command that is not known,
 * or an error. Nothing else reaches the document, so that a formula cannot define commands, read files or end the
 * document. The result contains printable ASCII characters only.
 */
export function texMath(source: string): string | null {
  const parser = new MathParser(source)
  return parser.parse()
}

class MathError extends Error {}

class MathParser {
  readonly #source: string
  #at = 0
  #depth = 0

  constructor(source: string) {
    // Raised and lowered digits are scripts.
    this.#source = source
      .replace(/[⁰¹²³⁴-⁹ⁿ]+/gu, found => `^{${found.normalize('NFKD')}}`)
      .replace(/[₀-₉]+/gu, found => `_{${found.normalize('NFKD')}}`)
      .replace(/\s+/gu, ' ')
      .trim()
  }

  parse(): string | null {
    try {
      const tex = this.#list(() => this.#at >= this.#source.length)
      return tex.trim() === '' ? null : tex
    } catch (error) {
      if (error instanceof MathError) return null
      throw error
    }
  }

  /** Reads atoms with their scripts until the end. `columns`: how many a row may have; 0 outside of rows. */
  #list(isEnd: () => boolean, columns = 0): string {
    if (++this.#depth > MAX_DEPTH) throw new MathError()
    let tex = ''
    let column = 1
    while (!isEnd()) {
      if (this.#at >= this.#source.length) throw new MathError()
      if (columns > 0 && this.#take('&')) {
        if (++column > columns) throw new MathError()
        tex += ' & '
      } else if (columns > 0 && this.#take('\\\\')) {
        column = 1
        tex += ' \\\\{} '
      } else tex += this.#scripted()
    }
    this.#depth--
    return tex
  }

  #scripted(): string {
    let tex = this.#source[this.#at] === '^' || this.#source[this.#at] === '_' ? '{}' : this.#atom()
    const seen = new Set<string>()
    for (;;) {
      while (this.#source[this.#at] === ' ' && /[\^_']/.test(this.#source[this.#at + 1] ?? '')) this.#at++
      const sign = this.#source[this.#at]
      if (sign === "'" && !seen.has('^')) {
        let primes = ''
        while (this.#take("'")) primes += "'"
        seen.add('^')
        tex += primes
      } else if ((sign === '^' || sign === '_') && !seen.has(sign)) {
        this.#at++
        seen.add(sign)
        tex += `${sign}{${this.#argument()}}`
      } else if (sign === '^' || sign === '_' || sign === "'") throw new MathError()
      else return tex
    }
  }

  /** Reads a group, or one atom. Returns its content without braces. */
  #argument(): string {
    while (this.#take(' '));
    if (!this.#take('{')) return this.#atom()
    const tex = this.#list(() => this.#source[this.#at] === '}')
    this.#at++
    return tex
  }

  #atom(): string {
    const character = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0)
    if (this.#at >= this.#source.length) throw new MathError()
    if (character === '\\') return this.#command()
    if (character === '{') return `{${this.#argument()}}`
    this.#at += character.length
    if (character === ' ') return ' '
    if (/[A-Za-z0-9+\-*/=<>()[\]|,.:;!?@]/.test(character)) return character
    const symbol = MATH_CHARACTERS.get(character)
    if (symbol === undefined) throw new MathError()
    return `{${symbol}}`
  }

  #command(): string {
    const name = /^\\([A-Za-z]+|.)/u.exec(this.#source.slice(this.#at, this.#at + 60))?.[1]
    if (name === undefined) throw new MathError()
    this.#at += name.length + 1
    if (SHORT.has(name)) return `\\${name}`
    if (SYMBOLS.has(name)) return `\\${name} `
    if (TEXT.has(name)) return this.#text(name)
    if (name === 'left') return this.#fence()
    if (SIZES.has(name)) return `\\${name}${this.#delimiter()}`
    if (name === 'begin') return this.#environment()
    const count = Object.hasOwn(ARGUMENTS, name) ? (ARGUMENTS[name] ?? 0) : null
    if (count === null) throw new MathError()
    const root = name === 'sqrt' && this.#take('[') ? this.#optional() : ''
    const given = Array.from({ length: count }, () => `{${this.#argument()}}`)
    return `\\${name}${root}${given.join('')}`
  }

  #optional(): string {
    const tex = this.#list(() => this.#source[this.#at] === ']')
    this.#at++
    return `[{${tex}}]`
  }

  #text(name: string): string {
    const content = /^\{([A-Za-z0-9 .,:;()+=/-]{0,200})\}/.exec(this.#source.slice(this.#at, this.#at + 210))?.[1]
    if (content === undefined) throw new MathError()
    this.#at += content.length + 2
    return `\\${name}{${content}}`
  }

  #fence(): string {
    const open = this.#delimiter()
    const inner = this.#list(() => /^\\right(?![A-Za-z])/.test(this.#source.slice(this.#at, this.#at + 7)))
    this.#at += '\\right'.length
    return `\\left${open}${inner}\\right${this.#delimiter()}`
  }

  #delimiter(): string {
    while (this.#take(' '));
    const found = DELIMITERS.exec(this.#source.slice(this.#at, this.#at + 20))?.[0]
    if (found === undefined) throw new MathError()
    this.#at += found.length
    return `${found} `
  }

  #environment(): string {
    const name = /^\{([A-Za-z]+)\}/.exec(this.#source.slice(this.#at, this.#at + 30))?.[1]
    const columns = name === undefined ? undefined : ENVIRONMENTS.get(name)
    if (name === undefined || columns === undefined) throw new MathError()
    this.#at += name.length + 2
    const end = `\\end{${name}}`
    const inner = this.#list(() => this.#source.startsWith(end, this.#at), columns)
    this.#at += end.length
    // `split` is allowed in displays only.
    const written = name === 'split' ? 'aligned' : name
    return `\\begin{${written}}${inner}\\end{${written}}`
  }

  #take(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }
}
