import type { Choices } from './choices.ts'

/**
 * A type of a generated program. Both back ends write values of these types as the same text, except options, results
 * and units, which are not printed as such.
 */
export type GeneratedType =
  | { readonly kind: 'int' | 'float' | 'str' | 'bool' | 'dec' }
  | ListType
  | { readonly kind: 'option' | 'map' | 'result'; readonly of: GeneratedType }
  | { readonly kind: 'tuple'; readonly items: readonly GeneratedType[] }
  | { readonly kind: 'struct'; readonly name: string; readonly fields: readonly Field[] }
  | { readonly kind: 'variant'; readonly name: string; readonly cases: readonly Case[] }
  | { readonly kind: 'fn'; readonly params: readonly GeneratedType[]; readonly result: GeneratedType }

interface ListType {
  readonly kind: 'list'
  readonly of: GeneratedType
}

interface Field {
  readonly name: string
  readonly type: GeneratedType
  readonly value: string | null
}

interface Case {
  readonly name: string
  /** Types of the payload; `self` is the variant itself. */
  readonly fields: readonly { readonly name: string; readonly type: GeneratedType | 'self' }[]
}

interface Variable {
  readonly name: string
  readonly type: GeneratedType
  readonly isMutable: boolean
}

interface Fn {
  readonly name: string
  readonly params: readonly GeneratedType[]
  readonly result: GeneratedType
}

const INT = { kind: 'int' } as const
const FLOAT = { kind: 'float' } as const
const STR = { kind: 'str' } as const
const BOOL = { kind: 'bool' } as const
const DEC = { kind: 'dec' } as const

/** Functions of every program. `traced` prints, so that a second evaluation of an index is seen. */
const PRELUDE = `fn traced(label: str, n: int) to int {
    print(label, n)
    n
}

fn choose[T](flag: bool, a: T, b: T) to T {
    if flag { a } else { b }
}

fn twice[T](f: fn(T) to T, x: T) to T {
    f(f(x))
}

fn as_map[T](entries: Map[str, T]) to Map[str, T] {
    entries
}

fn equal[T](a: T, b: T) to bool {
    a is b
}

fn among[T](items: List[T], item: T) to bool {
    items.contains(item)
}

fn shown[T](x: T) to str {
    "<" + x + ">"
}

fn wrap[T](x: T) to Option[T] {
    Some(x)
}

fn or_else[T](option: Option[T], other: T) to T {
    option.unwrap_or(other)
}

fn start[T](items: List[T]) to Option[T] {
    items.first()
}

fn greater(a, b) {
    if a > b { a } else { b }
}

fn checked(n: int) to Result[int] {
    if n < 0 { Error("negative " + str(n)) } else { Ok(n) }
}

fn half(n: int) to Option[int] {
    if n % 2 is 0 { Some(n / 2) } else { None }
}
`

const MAX_DEPTH = 6

/** Returns a well-typed program whose `main` prints, and ends normally or with a failure after a bounded time. */
export function generateProgram(choices: Choices): string {
  return new ProgramGenerator(choices).program()
}

class ProgramGenerator {
  readonly #choices: Choices
  readonly #structs: Extract<GeneratedType, { kind: 'struct' }>[] = []
  readonly #variants: Extract<GeneratedType, { kind: 'variant' }>[] = []
  readonly #functions: Fn[] = []
  #scope: Variable[] = []
  #names = 0
  /** Result of the function whose body is generated; null in `main` and in lambdas. */
  #result: GeneratedType | null = null
  #isInLoop = false
  /** Statements that may still be generated. */
  #budget = 60

  constructor(choices: Choices) {
    this.#choices = choices
  }

  program(): string {
    const parts: string[] = []
    for (let count = this.#choices.below(3); count > 0; count--) parts.push(this.#struct())
    for (let count = this.#choices.below(3); count > 0; count--) parts.push(this.#variant())
    parts.push(PRELUDE)
    for (let count = this.#choices.below(4); count > 0; count--) parts.push(this.#function())
    this.#scope = []
    this.#result = null
    parts.push(`fn main() {\n${this.#statements(2 + this.#choices.below(8), MAX_DEPTH)}\n}\n`)
    return parts.join('\n')
  }

  // Declarations

  #struct(): string {
    const name = `S${this.#structs.length}`
    const fields = Array.from({ length: 1 + this.#choices.below(3) }, (_, index): Field => {
      const type = this.#type(2, true)
      const hasDefault = this.#choices.often(20) && type.kind !== 'fn'
      return { name: `f${index}`, type, value: hasDefault ? this.#literal(type, 1) : null }
    })
    this.#structs.push({ kind: 'struct', name, fields })
    const lines = fields.map(
      field => `    ${field.name}: ${typeText(field.type)}${field.value === null ? '' : ` = ${field.value}`}`
    )
    return `type ${name} {\n${lines.join('\n')}\n}\n`
  }

  #variant(): string {
    const name = `V${this.#variants.length}`
    const cases = Array.from({ length: 2 + this.#choices.below(2) }, (_, index): Case => {
      // The first case has no `self`, so that values are finite.
      const fields = Array.from({ length: this.#choices.below(3) }, (_unused, at) => {
        const type = index > 0 && this.#choices.often(20) ? ('self' as const) : this.#type(1, true)
        return { name: `p${at}`, type }
      })
      return { name: `${name}C${index}`, fields }
    })
    this.#variants.push({ kind: 'variant', name, cases })
    const lines = cases.map(each => {
      const fields = each.fields.map(field => `${field.name}: ${field.type === 'self' ? name : typeText(field.type)}`)
      return `    | ${each.name}${fields.length === 0 ? '' : `(${fields.join(', ')})`}`
    })
    return `type ${name} =\n${lines.join('\n')}\n`
  }

  #function(): string {
    const name = `g${this.#functions.length}`
    const params = Array.from({ length: this.#choices.below(4) }, () => this.#type(2))
    const result = this.#choices.often(25)
      ? this.#choices.pick([{ kind: 'option', of: INT } as const, { kind: 'result', of: INT } as const])
      : this.#type(2)
    const variables = params.map((type, index): Variable => ({ name: `a${index}`, type, isMutable: false }))
    this.#scope = variables
    this.#result = result
    const body = this.#statements(this.#choices.below(4), 4)
    const value = this.#expression(result, 4)
    this.#functions.push({ name, params, result })
    const list = variables.map(each => `${each.name}: ${typeText(each.type)}`)
    return `${this.#conditions(variables, result)}fn ${name}(${list.join(', ')}) to ${typeText(result)} {\n${body}\n${value}\n}\n`
  }

  /** Conditions of a function, which may fail. */
  #conditions(params: readonly Variable[], result: GeneratedType): string {
    const condition = (name: string, scope: readonly Variable[]): string => {
      if (!this.#choices.often(15)) return ''
      this.#scope = [...scope]
      this.#result = null
      return `@${name}(${this.#choices.often(60) ? 'not ' : ''}${this.#expression(BOOL, 2)})\n`
    }
    const own = { name: 'result', type: result, isMutable: false }
    return condition('require', params) + condition('ensure', [...params, own]) + condition('invariant', params)
  }

  // Types

  /** `isStored`: a type of a field, which is no function. */
  #type(depth: number, isStored = false): GeneratedType {
    const kind = this.#choices.below(depth === 0 ? 5 : 13)
    switch (kind) {
      case 0:
        return INT
      case 1:
        return STR
      case 2:
        return BOOL
      case 3:
        return FLOAT
      case 4:
        return DEC
      case 5:
      case 6:
        return { kind: 'list', of: this.#type(depth - 1, true) }
      case 7:
        return { kind: 'tuple', items: [this.#type(depth - 1, true), this.#type(depth - 1, true)] }
      case 8:
        return { kind: 'map', of: this.#type(depth - 1, true) }
      case 9:
        return this.#structs.length > 0 ? this.#choices.pick(this.#structs) : INT
      case 10:
        return this.#variants.length > 0 ? this.#choices.pick(this.#variants) : STR
      case 11:
        return { kind: 'option', of: this.#type(depth - 1, true) }
      default:
        return isStored ? INT : { kind: 'fn', params: [this.#type(0)], result: this.#type(0) }
    }
  }

  // Statements

  #statements(count: number, depth: number): string {
    const outer = this.#scope
    this.#scope = [...outer]
    const lines: string[] = []
    for (let left = count; left > 0 && this.#budget-- > 0; left--) lines.push(this.#statement(depth))
    this.#scope = outer
    return lines.join('\n')
  }

  #statement(depth: number): string {
    switch (depth === 0 ? this.#choices.below(2) : this.#choices.below(12)) {
      case 0:
        return this.#print(depth)
      case 1:
      case 2:
        return this.#let(depth)
      case 3:
      case 4:
      case 5:
        return this.#assignment(depth)
      case 6:
        return `if ${this.#expression(BOOL, depth - 1)} {\n${this.#statements(2, depth - 1)}\n} else {\n${this.#statements(1, depth - 1)}\n}`
      case 7:
        return this.#for(depth)
      case 8:
        return this.#while(depth)
      case 9:
        return this.#match(depth)
      case 10:
        return this.#leave(depth)
      default:
        return this.#print(depth)
    }
  }

  #print(depth: number): string {
    if (this.#choices.often(5)) {
      const ordered = this.#choices.pick([DEC, INT, STR])
      return `print(greater(${this.#expression(ordered, depth)}, ${this.#expression(ordered, depth)}))`
    }
    const type = this.#printable()
    return `print(${this.#expression(type, depth)})`
  }

  /** A type of which both back ends print the same text. */
  #printable(): GeneratedType {
    const type = this.#type(2)
    return type.kind === 'fn' ? INT : type
  }

  #let(depth: number): string {
    const isMutable = this.#choices.often(60)
    const type = this.#type(2)
    const name = this.#fresh('v')
    const annotation = this.#choices.often(40) || !isEvident(type) ? `: ${typeText(type)}` : ''
    const value = this.#expression(type, depth - 1)
    this.#scope.push({ name, type, isMutable })
    return `let ${isMutable ? 'mut ' : ''}${name}${annotation} = ${value}`
  }

  /** An assignment to a variable, or to a part of one. Its indexes print. */
  #assignment(depth: number): string {
    const variables = this.#scope.filter(each => each.isMutable)
    if (variables.length === 0) return this.#let(depth)
    const variable = this.#choices.pick(variables)
    let place = variable.name
    let { type } = variable
    for (let steps = this.#choices.below(4); steps > 0; steps--) {
      if (type.kind === 'list') {
        place += `[traced("i", ${this.#choices.below(2)})]`
        type = type.of
      } else if (type.kind === 'map') {
        place += `["${this.#choices.pick(KEYS)}"]`
        type = type.of
      } else if (type.kind === 'struct') {
        const field = this.#choices.pick(type.fields)
        place += `.${field.name}`
        type = field.type
      }
    }
    const operators = operatorsOf(type)
    const operator = operators.length > 0 && this.#choices.often(60) ? `${this.#choices.pick(operators)}=` : '='
    if (type.kind === 'int' && operator !== '=') return `${place} ${operator} ${this.#small(depth - 1)}`
    if (type.kind === 'list' && operator === '=') return `${place} = ${this.#listChange(type, place, depth - 1)}`
    return `${place} ${operator} ${this.#expression(type, depth - 1)}`
  }

  #listChange(type: ListType, place: string, depth: number): string {
    const isPlain = !place.includes('traced')
    if (!isPlain || this.#choices.often(50)) return this.#expression(type, depth)
    return `${place}.push(${this.#expression(type.of, depth)})`
  }

  #for(depth: number): string {
    const { before, list, item } = this.#iterated(depth - 1)
    const name = this.#fresh('x')
    const index = this.#choices.often(30) ? this.#fresh('n') : null
    const body = this.#inLoop(() => {
      const outer = this.#scope
      this.#scope = [...outer, { name, type: item, isMutable: false }]
      if (index !== null) this.#scope.push({ name: index, type: INT, isMutable: false })
      const statements = this.#statements(1 + this.#choices.below(2), depth - 1)
      this.#scope = outer
      return statements
    })
    return `${before}for ${name}${index === null ? '' : `, ${index}`} in ${list} {\n${body}\n}`
  }

  #iterated(depth: number): { before: string; list: string; item: GeneratedType } {
    if (this.#choices.often(60)) return { before: '', list: `range(${this.#choices.below(4)})`, item: INT }
    const type: ListType = { kind: 'list', of: this.#type(1, true) }
    const value = this.#expression(type, depth)
    // The declared type is that of an empty list, too.
    const list = this.#fresh('l')
    return { before: `let ${list}: ${typeText(type)} = ${value}\n`, list, item: type.of }
  }

  #while(depth: number): string {
    const name = this.#fresh('w')
    const body = this.#inLoop(() => this.#statements(1 + this.#choices.below(2), depth - 1))
    const isLoop = this.#choices.often(30)
    const head = isLoop ? `loop {\nif ${name} <= 0 { break }` : `while ${name} > 0 {`
    return `let mut ${name} = ${this.#choices.below(4)}\n${head}\n${name} -= 1\n${body}\n}`
  }

  #inLoop(make: () => string): string {
    const outer = this.#isInLoop
    this.#isInLoop = true
    const made = make()
    this.#isInLoop = outer
    return made
  }

  #match(depth: number): string {
    const type = this.#matchable()
    const arms = this.#patterns(type).map(({ pattern, bound }) => {
      const outer = this.#scope
      this.#scope = [...outer, ...bound]
      const body = this.#statements(1, depth - 1)
      this.#scope = outer
      return `${pattern} => {\n${body}\n}`
    })
    return `match ${this.#subject(type, depth - 1)} {\n${arms.join('\n')}\n}`
  }

  #leave(depth: number): string {
    if (this.#isInLoop)
      return `if ${this.#expression(BOOL, depth - 1)} { ${this.#choices.pick(['break', 'continue'])} }`
    if (this.#result === null) return this.#print(depth)
    return `if ${this.#expression(BOOL, depth - 1)} { return ${this.#expression(this.#result, depth - 1)} }`
  }

  // Matches

  #matchable(): GeneratedType {
    const choice = this.#choices.below(this.#variants.length > 0 ? 6 : 4)
    switch (choice) {
      case 0:
        return { kind: 'option', of: this.#choices.often(30) ? this.#type(1, true) : INT }
      case 1:
        return { kind: 'result', of: INT }
      case 2:
        return { kind: 'tuple', items: [INT, this.#choices.pick([BOOL, STR])] }
      case 3:
        return this.#choices.pick([INT, STR, BOOL])
      default:
        return this.#choices.pick(this.#variants)
    }
  }

  /** The subject of a match, which must not end in a name before the brace of its arms. */
  #subject(type: GeneratedType, depth: number): string {
    return `(${this.#expression(type, depth)})`
  }

  /** Patterns that cover a type. */
  #patterns(type: GeneratedType): { pattern: string; bound: Variable[] }[] {
    const bind = (of: GeneratedType): Variable => ({ name: this.#fresh('b'), type: of, isMutable: false })
    switch (type.kind) {
      case 'option': {
        const inner = bind(type.of)
        return [
          ...this.#literalArm('Some', type.of),
          { pattern: `Some(${inner.name})`, bound: [inner] },
          { pattern: 'None', bound: [] }
        ]
      }
      case 'result': {
        const [inner, message] = [bind(type.of), bind(STR)]
        return [
          ...this.#literalArm('Ok', type.of),
          { pattern: `Ok(${inner.name})`, bound: [inner] },
          { pattern: `Error(${message.name})`, bound: [message] }
        ]
      }
      case 'tuple': {
        const inner = type.items.map(bind)
        const [first] = inner as [Variable, ...Variable[]]
        const guarded =
          first.type.kind === 'int' && this.#choices.often(50)
            ? [
                {
                  pattern: `(${inner.map(each => each.name).join(', ')}) if ${first.name} > ${this.#choices.below(4)}`,
                  bound: inner
                }
              ]
            : []
        return [...guarded, { pattern: `(${inner.map(each => each.name).join(', ')})`, bound: inner }]
      }
      case 'variant': {
        const shown = type.cases.map(({ name, fields }) => {
          const inner = fields.map(field => bind(field.type === 'self' ? type : field.type))
          const args = inner.length === 0 ? '' : `(${inner.map(each => each.name).join(', ')})`
          return { pattern: name + args, bound: inner }
        })
        if (!this.#choices.often(30)) return shown
        return [...shown.slice(0, 1), { pattern: '_', bound: [] }]
      }
      case 'bool':
        return [
          { pattern: 'true', bound: [] },
          { pattern: 'false', bound: [] }
        ]
      default: {
        const other = bind(type)
        const literals = type.kind === 'int' ? ['0', '1 | 2', '-1'] : ['"a"', '"b" | ""']
        return [
          ...literals.slice(0, 1 + this.#choices.below(2)).map(pattern => ({ pattern, bound: [] })),
          { pattern: other.name, bound: [other] }
        ]
      }
    }
  }

  #literalArm(name: string, of: GeneratedType): { pattern: string; bound: Variable[] }[] {
    return of.kind === 'int' && this.#choices.often(30)
      ? [{ pattern: `${name}(${this.#choices.below(4)})`, bound: [] }]
      : []
  }

  // Expressions

  #expression(type: GeneratedType, depth: number): string {
    const known = this.#scope.filter(each => sameType(each.type, type))
    if (depth <= 0) {
      return known.length > 0 && this.#choices.often(70) ? this.#choices.pick(known).name : this.#literal(type, 0)
    }
    switch (this.#choices.below(13)) {
      case 0:
        return this.#literal(type, depth)
      case 1:
      case 2:
        return known.length > 0 ? this.#choices.pick(known).name : this.#literal(type, depth)
      case 3:
        return this.#call(type, depth)
      case 4:
        return `(if ${this.#expression(BOOL, depth - 1)} { ${this.#expression(type, depth - 1)} } else { ${this.#expression(type, depth - 1)} })`
      case 5:
        return this.#matchExpression(type, depth)
      case 6:
        return this.#choices.often(50)
          ? `choose(${this.#expression(BOOL, depth - 1)}, ${this.#expression(type, depth - 1)}, ${this.#expression(type, depth - 1)})`
          : this.#part(type, depth)
      case 7:
        return this.#part(type, depth)
      case 8:
        return this.#held(type, depth)
      default:
        return this.#operation(type, depth)
    }
  }

  /** The value of an option. */
  #held(type: GeneratedType, depth: number): string {
    if (type.kind === 'fn') return this.#operation(type, depth)
    return `or_else(${this.#expression({ kind: 'option', of: type }, depth - 1)}, ${this.#expression(type, depth - 1)})`
  }

  #call(type: GeneratedType, depth: number): string {
    const functions = this.#functions.filter(each => sameType(each.result, type))
    const lambdas = this.#scope.filter(({ type: each }) => each.kind === 'fn' && sameType(each.result, type))
    if (lambdas.length > 0 && this.#choices.often(50)) {
      const { name, type: fn } = this.#choices.pick(lambdas)
      const params = fn.kind === 'fn' ? fn.params : []
      return `${name}(${params.map(each => this.#expression(each, depth - 1)).join(', ')})`
    }
    if (functions.length === 0) return this.#operation(type, depth)
    const { name, params } = this.#choices.pick(functions)
    return `${name}(${params.map(each => this.#expression(each, depth - 1)).join(', ')})`
  }

  #matchExpression(type: GeneratedType, depth: number): string {
    const subject = this.#matchable()
    const arms = this.#patterns(subject).map(({ pattern, bound }) => {
      const outer = this.#scope
      this.#scope = [...outer, ...bound]
      const value = this.#expression(type, depth - 1)
      this.#scope = outer
      return `${pattern} => ${value}`
    })
    return `(match ${this.#subject(subject, depth - 1)} {\n${arms.join('\n')}\n})`
  }

  /** A part of a variable: a field, an element, an item. */
  #part(type: GeneratedType, depth: number): string {
    const parts = this.#scope.flatMap(({ name, type: whole }): string[] => {
      if (whole.kind === 'struct') {
        return whole.fields.filter(field => sameType(field.type, type)).map(field => `${name}.${field.name}`)
      }
      if (whole.kind === 'tuple') {
        return whole.items.flatMap((item, index) => (sameType(item, type) ? [`${name}.${index}`] : []))
      }
      if (whole.kind === 'list' && sameType(whole.of, type)) {
        return [`${name}[0]`, `${name}.get(1).unwrap_or(${this.#literal(type, 0)})`]
      }
      if (whole.kind === 'map' && sameType(whole.of, type)) {
        return [`${name}.get("a").unwrap_or(${this.#literal(type, 0)})`, `${name}["b"]`]
      }
      return []
    })
    return parts.length > 0 ? this.#choices.pick(parts) : this.#operation(type, depth)
  }

  #operation(type: GeneratedType, depth: number): string {
    const of = (each: GeneratedType): string => this.#expression(each, depth - 1)
    const { pick } = { pick: <A>(items: readonly A[]): A => this.#choices.pick(items) }
    switch (type.kind) {
      case 'int':
        return pick([
          () => `(${of(INT)} + ${of(INT)})`,
          () => `(${of(INT)} - ${of(INT)})`,
          () => `((${of(INT)} * ${of(INT)}) % 1000)`,
          () => `(${of(INT)} ${pick(['/', '%'])} ${1 + this.#choices.below(5)})`,
          () => `(${of(INT)} ${pick(['/', '%'])} ${of(INT)})`,
          () => `len(${of(this.#choices.often(50) ? STR : { kind: 'list', of: INT })})`,
          () => `(-${of(INT)})`,
          () => `(${of(INT)}).${pick(['abs()', `max(${of(INT)})`, `min(${of(INT)})`])}`,
          () => `(${of({ kind: 'list', of: INT })}).fold(${of(INT)}, fn(t, x) (t + x) % 1000)`,
          () => `int(${of(pick([DEC, STR, BOOL]))})`,
          () => `twice(fn(x) (x ${pick(['+', '-'])} ${this.#choices.below(5)}), ${of(INT)})`,
          () => `(${of(FLOAT)}).to_int()`,
          () => `traced("e", ${of(INT)})`,
          () => this.#unwrapped(depth)
        ])()
      case 'float':
        return pick([
          () => `(${of(FLOAT)} ${pick(['+', '-', '*'])} ${of(FLOAT)})`,
          () => `(${of(INT)}).to_float()`,
          () => `(${of(FLOAT)}).${pick(['abs()', 'floor()', 'ceil()', 'round()'])}`,
          () => `(${of(FLOAT)} / ${1 + this.#choices.below(3)}.5)`,
          () => `(-${of(FLOAT)})`,
          () => `(${of(INT)} * ${this.#literal(FLOAT, 0)})`
        ])()
      case 'dec':
        return pick([
          () => `(${of(DEC)} ${pick(['+', '-'])} ${of(DEC)})`,
          () => `(${of(DEC)} * ${this.#literal(DEC, 0)})`,
          () => `(${of(DEC)} / ${pick(['3dec', '0.7dec', '-8dec', of(DEC)])})`,
          () => `(${of(DEC)} % ${pick(['3dec', '0.7dec', of(DEC)])})`,
          () => `(${of(DEC)}).round(${this.#choices.below(4)})`,
          () => `std.math.${pick(['min', 'max'])}(${of(DEC)}, ${of(DEC)})`,
          () => `dec(${of(INT)})`,
          () => `choose(${of(BOOL)}, ${of(DEC)}, ${of(DEC)})`
        ])()
      case 'str':
        return pick([
          () => `(${of(STR)} + ${of(STR)})`,
          () => `(${of(STR)} + ${of(pick([INT, BOOL, DEC]))})`,
          () => `str(${of(this.#printable())})`,
          () => `shown(${of(this.#printable())})`,
          () => `(${of(STR)}).${pick(['to_upper()', 'trim()', 'to_lower()', 'slice(0, 2)', 'replace("a", "b")'])}`,
          () => `(${of({ kind: 'list', of: pick([INT, STR]) })}).join("${pick([', ', '', '-'])}")`,
          () => `(${of(STR)}).char_at(${this.#choices.below(3)}).unwrap_or("?")`
        ])()
      case 'bool':
        return pick([
          () => this.#comparison(depth),
          () => `(${of(BOOL)} ${pick(['and', 'or'])} ${of(BOOL)})`,
          () => `(not ${of(BOOL)})`,
          () => this.#equality(depth),
          () => {
            const type = this.#printable()
            return `equal(${of(type)}, ${of(type)})`
          },
          () => {
            const type = this.#printable()
            return `among(${of({ kind: 'list', of: type })}, ${of(type)})`
          },
          () => `(${of({ kind: 'option', of: this.#printable() })}).${pick(['is_some()', 'is_none()'])}`,
          () => `(${of(STR)}).${pick(['contains("a")', 'starts_with("b")', 'is_empty()'])}`,
          () =>
            `(${of({ kind: 'list', of: INT })}).${pick(['contains(1)', 'is_empty()', 'any(fn(x) x > 1)', 'all(fn(x) x > 1)'])}`,
          () => `(${of({ kind: 'option', of: INT })}).${pick(['is_some()', 'is_none()'])}`,
          () => `(${of({ kind: 'result', of: INT })}).${pick(['is_ok()', 'is_err()'])}`,
          () => `(${of({ kind: 'map', of: INT })}).has("${pick(KEYS)}")`
        ])()
      case 'list':
        return this.#listOperation(type, depth)
      case 'option':
        return pick([
          () => `Some(${of(type.of)})`,
          () => `wrap(${of(type.of)})`,
          () => `start(${of({ kind: 'list', of: type.of })})`,
          () => `(${of({ kind: 'list', of: type.of })}).${pick(['first()', 'last()', 'get(1)'])}`,
          () => `(${of({ kind: 'map', of: type.of })}).get("${pick(KEYS)}")`,
          () => (type.of.kind === 'int' ? `half(${of(INT)})` : `Some(${of(type.of)})`),
          () => `(${of(type)}).map(fn(x) x)`
        ])()
      case 'result':
        return pick([
          () => `Ok(${of(type.of)})`,
          () => (type.of.kind === 'int' ? `checked(${of(INT)})` : `Ok(${of(type.of)})`),
          () => `Error(${of(STR)})`
        ])()
      case 'map':
        return pick([
          () => `(${of(type)}).set("${pick(KEYS)}", ${of(type.of)})`,
          () => `(${of(type)}).remove("${pick(KEYS)}")`
        ])()
      default:
        return this.#literal(type, depth)
    }
  }

  #listOperation(type: ListType, depth: number): string {
    const of = (each: GeneratedType): string => this.#expression(each, depth - 1)
    const item = this.#fresh('m')
    const within = (bound: GeneratedType, result: GeneratedType): string => {
      const [outer, outerResult, outerLoop] = [this.#scope, this.#result, this.#isInLoop]
      this.#scope = [...outer, { name: item, type: bound, isMutable: false }]
      this.#result = null
      this.#isInLoop = false
      const made = this.#expression(result, depth - 2)
      this.#scope = outer
      this.#result = outerResult
      this.#isInLoop = outerLoop
      return made
    }
    const source = this.#choices.pick([INT, STR])
    return this.#choices.pick([
      () => `(${of(type)} + ${of(type)})`,
      () => `(${of(type)}).${this.#choices.pick(['reverse()', 'slice(0, 2)', 'pop()'])}`,
      () => `(${of(type)}).push(${of(type.of)})`,
      () => `(${of({ kind: 'list', of: source })}).map(fn(${item}: ${typeText(source)}) ${within(source, type.of)})`,
      () => `(${of(type)}).filter(fn(${item}: ${typeText(type.of)}) ${within(type.of, BOOL)})`,
      () => `(for ${item} in range(${this.#choices.below(4)}) { ${within(INT, type.of)} })`,
      () => (type.of.kind === 'int' || type.of.kind === 'str' ? `(${of(type)}).sort()` : `(${of(type)}).reverse()`),
      () => (type.of.kind === 'int' ? `(${of(type)}).sort_by(fn(x) -x)` : `(${of(type)}).reverse()`),
      () => (type.of.kind === 'str' ? `(${of(STR)}).split("a")` : `(${of(type)}).reverse()`)
    ])()
  }

  #unwrapped(depth: number): string {
    const wrapped = this.#choices.pick([
      { kind: 'option', of: INT },
      { kind: 'result', of: INT }
    ] as const)
    const value = this.#expression(wrapped, depth - 1)
    if (this.#result?.kind === wrapped.kind && this.#choices.often(60)) return `(${value})?`
    return this.#choices.often(70) ? `(${value}).unwrap_or(${this.#expression(INT, depth - 1)})` : `(${value}).unwrap()`
  }

  #comparison(depth: number): string {
    const type = this.#choices.pick([INT, FLOAT, STR, DEC])
    const operator = this.#choices.pick(['<', '>', '<=', '>='])
    return `(${this.#expression(type, depth - 1)} ${operator} ${this.#expression(type, depth - 1)})`
  }

  #equality(depth: number): string {
    const type = this.#printable()
    const operator = this.#choices.pick(['is', 'isnt'])
    return `(${this.#expression(type, depth - 1)} ${operator} ${this.#expression(type, depth - 1)})`
  }

  #small(depth: number): string {
    return this.#choices.often(60) ? String(1 + this.#choices.below(4)) : `(${this.#expression(INT, depth)} % 10)`
  }

  #literal(type: GeneratedType, depth: number): string {
    const of = (each: GeneratedType): string => (depth > 0 ? this.#expression(each, depth - 1) : this.#literal(each, 0))
    const some = (count: number, make: () => string): string[] => Array.from({ length: count }, make)
    switch (type.kind) {
      case 'int':
        if (this.#choices.often(4)) return this.#choices.pick(LARGE)
        return this.#choices.pick(['0', '1', '2', '3', '7', '10', '-1', '-5', '100'])
      case 'float':
        return this.#choices.pick(['0.5', '1.5', '2.25', '-0.5', '3.75', '10.5'])
      case 'str':
        return this.#choices.pick(['""', '"a"', '"b"', '"ab"', '" c "', '"añ😀"', '"x\\ny"'])
      case 'bool':
        return this.#choices.pick(['false', 'true'])
      case 'dec':
        return this.#choices.pick(['0dec', '1dec', '1.5dec', '0.25dec', '-2.50dec', '19.99dec'])
      case 'list':
        return `[${some(this.#choices.below(4), () => of(type.of)).join(', ')}]`
      case 'option':
        return this.#choices.often(60) ? `Some(${of(type.of)})` : 'None'
      case 'result':
        return this.#choices.often(70) ? `Ok(${of(type.of)})` : 'Error("e")'
      case 'map': {
        const entries = KEYS.slice(0, this.#choices.below(3)).map(key => `"${key}": ${of(type.of)}`)
        return `as_map(${entries.length === 0 ? `{ "z": ${of(type.of)} }` : `{ ${entries.join(', ')} }`})`
      }
      case 'tuple':
        return `(${type.items.map(of).join(', ')})`
      case 'struct': {
        const isRequired = (field: Field): boolean => field.value === null && field.type.kind !== 'option'
        const given = type.fields.filter(field => isRequired(field) || this.#choices.often(50))
        if (given.length === 0) return `${type.name} { ${type.fields[0]?.name}: ${of(type.fields[0]?.type ?? INT)} }`
        return `${type.name} { ${given.map(field => `${field.name}: ${of(field.type)}`).join(', ')} }`
      }
      case 'variant': {
        const finite =
          depth > 0 ? type.cases : type.cases.filter(each => each.fields.every(field => field.type !== 'self'))
        const { name, fields } = this.#choices.pick(finite)
        const args = fields.map(field => of(field.type === 'self' ? type : field.type))
        if (args.length > 0 && this.#choices.often(20)) {
          return `${name}(${args.map((arg, index) => `${fields[index]?.name}=${arg}`).join(', ')})`
        }
        return args.length === 0 ? name : `${name}(${args.join(', ')})`
      }
      case 'fn':
        return this.#lambda(type, depth)
    }
  }

  #lambda(type: Extract<GeneratedType, { kind: 'fn' }>, depth: number): string {
    const [outer, result, isInLoop] = [this.#scope, this.#result, this.#isInLoop]
    const params = type.params.map((each): Variable => ({ name: this.#fresh('p'), type: each, isMutable: false }))
    // A lambda that changed a variable would make the order of evaluation visible, which is intended.
    this.#scope = [...outer, ...params]
    this.#result = null
    this.#isInLoop = false
    const body = this.#expression(type.result, Math.min(depth, 2) - 1)
    this.#scope = outer
    this.#result = result
    this.#isInLoop = isInLoop
    return `(fn(${params.map(each => `${each.name}: ${typeText(each.type)}`).join(', ')}) ${body})`
  }

  #fresh(prefix: string): string {
    return `${prefix}${this.#names++}`
  }
}

/** Ints that are no exact numbers of JavaScript, or lead to some. */
const LARGE = ['9007199254740991', '9007199254740993', '-9007199254740992', '4611686018427387904'] as const

const KEYS = ['a', 'b', 'c'] as const

function operatorsOf({ kind }: GeneratedType): readonly string[] {
  switch (kind) {
    case 'int':
      return ['+', '-', '*', '/']
    case 'float':
      return ['+', '-', '*']
    case 'dec':
      return ['+', '-']
    case 'str':
    case 'list':
      return ['+']
    default:
      return []
  }
}

/** True if a `let` without a type gets this type from any of its values. */
function isEvident(type: GeneratedType): boolean {
  if (type.kind === 'tuple') return type.items.every(isEvident)
  return type.kind !== 'list' && type.kind !== 'option' && type.kind !== 'result' && type.kind !== 'map'
}

export function typeText(type: GeneratedType): string {
  switch (type.kind) {
    case 'list':
      return `List[${typeText(type.of)}]`
    case 'option':
      return `Option[${typeText(type.of)}]`
    case 'result':
      return `Result[${typeText(type.of)}]`
    case 'map':
      return `Map[str, ${typeText(type.of)}]`
    case 'tuple':
      return `(${type.items.map(typeText).join(', ')})`
    case 'struct':
    case 'variant':
      return type.name
    case 'fn':
      return `fn(${type.params.map(typeText).join(', ')}) to ${typeText(type.result)}`
    default:
      return type.kind
  }
}

function sameType(a: GeneratedType, b: GeneratedType): boolean {
  return typeText(a) === typeText(b)
}
