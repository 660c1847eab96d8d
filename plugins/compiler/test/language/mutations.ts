import { type Expression, type FunctionDeclaration, parse, type Statement } from '#syntax'
import { BOOL, checkTypes, FLOAT, INT, OPTION, RESULT, resolved, STR, type Type, type TypedModule } from '#types'

type Call = Extract<Expression, { kind: 'Call' }>
type Block = Extract<Expression, { kind: 'Block' }>
type TypeSyntax = NonNullable<FunctionDeclaration['result']>

/** A replacement of one expression by a value of a type that its place does not take. */
export interface Mutation {
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** The place: `argument`, `condition`. */
  readonly place: string
}

/** A value of another type. `tag` is the name of the type. */
interface Candidate {
  readonly tag: string
  readonly text: string
}

/** Declarations that mutants use. They precede the program. */
export const MUTANT_TYPES = 'type Mutant = | Mutation\n'

const CANDIDATES: readonly Candidate[] = [
  { tag: 'int', text: '7' },
  { tag: 'float', text: '7.5' },
  { tag: 'str', text: '"mutant"' },
  { tag: 'bool', text: 'true' },
  { tag: 'List', text: '["mutant"]' },
  { tag: 'tuple', text: '(7, "mutant")' },
  { tag: 'Option', text: 'Some(Mutation)' },
  { tag: 'Result', text: 'Ok(Mutation)' },
  { tag: 'fn', text: '(fn(mutant: Mutant) mutant)' },
  { tag: 'Mutant', text: 'Mutation' }
]

/** Types that a place takes, as tags of candidates, for each type of a value at that place. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  int: ['int'],
  Id: ['int'],
  float: ['int', 'float'],
  str: ['str'],
  char: ['str'],
  bool: ['bool'],
  dec: ['int', 'float'],
  List: ['List'],
  Set: ['List'],
  Map: [],
  Option: ['Option'],
  Result: ['Result'],
  Regex: [],
  Json: []
}

const NUMBERS = ['int', 'float']

/** Returns the mutations of a right program. Places that take values of many types are left out. */
export function mutationsOf(source: string): Mutation[] {
  const { module, diagnostics } = parse(source)
  if (diagnostics.length > 0) throw new Error(`not a program: ${source}`)
  const found: Mutation[] = []
  const visitor = new Visitor(checkTypes(module), found)
  for (const item of module.items) {
    switch (item.kind) {
      case 'Function':
        if (item.body !== null) visitor.body(item.body, item.result)
        break
      case 'HttpRoute':
      case 'Workflow':
      case 'Activity':
        visitor.body(item.body, null)
        break
      case 'Actor':
      case 'Agent':
        for (const member of item.members) if (member.kind === 'Handler') visitor.body(member.body, member.result)
    }
  }
  return found
}

export function mutant(source: string, { start, end, replacement }: Mutation): string {
  return source.slice(0, start) + replacement + source.slice(end)
}

class Visitor {
  readonly #module: TypedModule
  readonly #found: Mutation[]
  /** True if the function around the current node declares a result that it must return. */
  #returnsHard = false

  constructor(module: TypedModule, found: Mutation[]) {
    this.#module = module
    this.#found = found
  }

  body(body: Expression, declared: TypeSyntax | null): void {
    const outer = this.#returnsHard
    this.#returnsHard = declared !== null && isConcrete(declared) && nameOf(declared) !== 'Unit'
    this.#visit(body, this.#returnsHard ? 'result' : null)
    this.#returnsHard = outer
  }

  /** Visits an expression. `place` is null if its place takes values of many types. */
  #visit(node: Expression, place: string | null, extra: readonly string[] = []): void {
    if (place !== null) this.#mutate(node, place, extra)
    switch (node.kind) {
      case 'Paren':
        this.#visit(node.inner, null)
        return
      case 'Block':
        this.#block(node, place)
        return
      case 'If':
        this.#visit(node.condition, 'condition')
        this.#visit(node.then, node.else === null ? null : place)
        if (node.else !== null) this.#visit(node.else, place)
        return
      case 'Match': {
        const isHard = node.arms.some(({ patterns }) => patterns.some(({ kind }) => kind === 'ConstructorPattern'))
        this.#visit(node.subject, isHard ? 'subject' : null)
        for (const { guard, body } of node.arms) {
          if (guard !== null) this.#visit(guard, 'condition')
          if (isExpression(body)) this.#visit(body, place)
          else this.#statement(body, null)
        }
        return
      }
      case 'For':
        this.#only(node.iterable, 'iterable', ['int', 'bool', 'Option', 'Result', 'fn', 'Mutant'])
        this.#visit(node.iterable, null)
        this.#visit(node.body, null)
        return
      case 'Lambda':
        this.body(node.body, node.result)
        return
      case 'Unary':
        this.#visit(node.operand, 'operand', node.operator === 'not' ? [] : NUMBERS)
        return
      case 'Binary':
        this.#binary(node)
        return
      case 'Call':
        this.#call(node)
        return
      case 'Member':
        this.#only(node.object, 'receiver', ['int', 'fn', 'Mutant'])
        this.#visit(node.object, null)
        return
      case 'IndexAccess':
        this.#only(node.object, 'receiver', ['int', 'bool', 'fn', 'Mutant'])
        this.#visit(node.object, null)
        this.#visit(node.index, 'index')
        return
      case 'Try':
        this.#only(node.operand, 'operand', ['int', 'str', 'List', 'Mutant'])
        this.#visit(node.operand, null)
        return
      case 'List':
        for (const item of node.items) this.#visit(item, place === null ? null : 'element', NUMBERS)
        return
      case 'Tuple':
        for (const item of node.items) this.#visit(item, place === null ? null : 'element', NUMBERS)
        return
      case 'Struct':
        for (const { value } of node.entries)
          if (value !== null) this.#visit(value, this.#isGeneric(node) ? null : 'member', ['Option'])
        return
      case 'Object':
        for (const { value } of node.entries) if (value !== null) this.#visit(value, null)
        return
      case 'SideEffect':
        this.#visit(node.body, place)
    }
  }

  #block({ statements }: Block, place: string | null): void {
    for (const [index, statement] of statements.entries()) {
      this.#statement(statement, index === statements.length - 1 ? place : null)
    }
  }

  #statement(statement: Statement, place: string | null): void {
    switch (statement.kind) {
      case 'ExpressionStatement':
        this.#visit(statement.expression, place)
        return
      case 'Let': {
        const { value, type } = statement
        // The elements of a list have one type, whatever it is.
        if (type === null && value.kind === 'List' && value.items.length > 1) {
          for (const item of value.items) this.#visit(item, 'element', NUMBERS)
          return
        }
        this.#visit(value, type !== null && isConcrete(type) ? 'variable' : null)
        return
      }
      case 'Assign':
        this.#visit(statement.value, null)
        return
      case 'Return':
        if (statement.value !== null) this.#visit(statement.value, this.#returnsHard ? 'result' : null)
        return
      case 'While':
        this.#visit(statement.condition, 'condition')
        this.#visit(statement.body, null)
        return
      case 'Loop':
        this.#visit(statement.body, null)
    }
  }

  #binary({ operator, left, right }: Extract<Expression, { kind: 'Binary' }>): void {
    const [a, b] = [this.#tag(left), this.#tag(right)]
    const areNumbers = NUMBERS.includes(a) && NUMBERS.includes(b)
    switch (operator) {
      case 'or':
      case 'and':
        this.#visit(left, 'operand')
        this.#visit(right, 'operand')
        return
      case '-':
      case '*':
      case '/':
      case '%':
      case '<':
      case '>':
      case '<=':
      case '>=': {
        const place = a === '' || b === '' ? null : 'operand'
        this.#visit(left, place, areNumbers ? NUMBERS : [])
        this.#visit(right, place, areNumbers ? NUMBERS : [])
        return
      }
      case '+':
        // A text takes any value after `+`.
        this.#visit(left, areNumbers ? 'operand' : null, ['str', ...NUMBERS])
        this.#visit(right, areNumbers ? 'operand' : null, ['str', ...NUMBERS])
        return
      case 'is':
      case 'isnt':
        this.#visit(left, a === b && a !== '' ? 'operand' : null, areNumbers ? NUMBERS : [])
        this.#visit(right, a === b && a !== '' ? 'operand' : null, areNumbers ? NUMBERS : [])
        return
      default:
        this.#visit(left, null)
        this.#visit(right, null)
    }
  }

  #call(call: Call): void {
    const { callee, args } = call
    if (callee.kind === 'Member' && !isNamespace(callee.object)) {
      const isEverywhere = /^to_str(ing)?$/.test(callee.property.text)
      if (!isEverywhere) this.#only(callee.object, 'receiver', ['tuple', 'fn', 'Mutant'])
      this.#visit(callee.object, null)
    }
    const resolvedCall = this.#module.callOf(call)
    for (const [index, { value }] of args.entries()) {
      const parameter = resolvedCall?.order[index] ?? -1
      this.#visit(
        value,
        resolvedCall !== null && this.#takesOneType(resolvedCall.target, parameter) ? 'argument' : null
      )
    }
  }

  #takesOneType(target: NonNullable<ReturnType<TypedModule['callOf']>>['target'], index: number): boolean {
    switch (target.kind) {
      case 'declaration': {
        const { declaration } = target
        if (declaration.kind !== 'Function' || declaration.generics.length > 0) return false
        const type = declaration.params[index]?.type ?? null
        return type !== null && isConcrete(type)
      }
      case 'constructor': {
        const { def, name } = target
        const field = def.variants?.find(variant => variant.name === name)?.fields[index]
        return def.generics.length === 0 && field !== undefined
      }
      case 'handler': {
        const type = target.handler.params[index]?.type ?? null
        return type !== null && isConcrete(type)
      }
      case 'native': {
        const parameter = target.native.params[index]
        return (
          parameter !== undefined && target.native.generics.length === 0 && resolved(parameter.type).kind === 'named'
        )
      }
    }
  }

  #mutate(node: Expression, place: string, extra: readonly string[]): void {
    // Blocks and branches are mutated where their values are.
    if (node.kind === 'Block' || node.kind === 'If' || node.kind === 'Match') return
    const conversion = this.#module.conversionOf(node)
    if (conversion?.kind === 'any') return
    const taken = takenBy(this.#module.typeOf(node))
    if (taken === null) return
    const more = conversion?.kind === 'float' || conversion?.kind === 'decimal' ? NUMBERS : []
    const wider = conversion?.kind === 'some' ? ['Option'] : []
    this.#add(
      node,
      place,
      CANDIDATES.filter(({ tag }) => ![...taken, ...extra, ...more, ...wider].includes(tag))
    )
  }

  /** Mutates a node to values of these types only. */
  #only(node: Expression, place: string, tags: readonly string[]): void {
    if (takenBy(this.#module.typeOf(node)) === null) return
    this.#add(
      node,
      place,
      CANDIDATES.filter(({ tag }) => tags.includes(tag) && tag !== this.#tag(node))
    )
  }

  #add({ start, end }: Expression, place: string, candidates: readonly Candidate[]): void {
    for (const { text } of candidates) this.#found.push({ start, end, replacement: text, place })
  }

  #tag(node: Expression): string {
    const type = this.#module.typeOf(node)
    return type.kind === 'named' ? type.def.name : ''
  }

  #isGeneric(node: Extract<Expression, { kind: 'Struct' }>): boolean {
    const type = this.#module.typeOf(node)
    return type.kind !== 'named' || type.args.length > 0
  }
}

/** Returns the tags of the types that a place with a value of this type takes; null if it may take others. */
function takenBy(within: Type): readonly string[] | null {
  const type = resolved(within)
  switch (type.kind) {
    case 'tuple':
      return ['tuple']
    case 'fn':
      return ['fn']
    case 'answer': {
      const value = takenBy(type.value)
      return value === null ? null : [...value, 'Result']
    }
    case 'named': {
      if (type === INT || type === FLOAT || type === STR || type === BOOL) return TAKES[type.def.name] ?? null
      if (type.def === OPTION || type.def === RESULT) {
        // A value of the inner type may be taken, too.
        const inner = takenBy(type.args[0] as Type)
        return inner === null ? null : [...inner, type.def.name]
      }
      if (Object.hasOwn(TAKES, type.def.name)) return TAKES[type.def.name] ?? null
      return ['struct', 'row', 'variants', 'actor'].includes(type.def.kind) ? [] : null
    }
    default:
      return null
  }
}

/** True for a type without parts that fit everywhere. */
function isConcrete(type: TypeSyntax): boolean {
  switch (type.kind) {
    case 'NamedType':
      return (
        !['any', 'Json', 'JsonBody', 'Element', 'Unit', 'unit'].includes(type.path[0]?.text ?? '') &&
        (type.path[0]?.text ?? '').length > 1 &&
        type.args.every(isConcrete)
      )
    case 'TupleType':
      return type.items.every(isConcrete)
    case 'OptionalType':
      return isConcrete(type.inner)
    case 'DecimalType':
      return true
    default:
      return false
  }
}

function nameOf(type: TypeSyntax): string {
  return type.kind === 'NamedType' ? (type.path[0]?.text ?? '') : ''
}

function isNamespace(object: Expression): boolean {
  let at = object
  while (at.kind === 'Member') at = at.object
  return (
    at.kind === 'Identifier' &&
    /^(std|db|mobile|fs|http|json|process|env|path|regex|csv|toml|yaml|io|secrets|workflow|Browser|HTTP|OpenClaw|Speech)$/.test(
      at.name
    )
  )
}

function isExpression(body: Expression | Statement): body is Expression {
  return !['Let', 'Assign', 'ExpressionStatement', 'Return', 'While', 'Loop', 'Break', 'Continue'].includes(body.kind)
}
