import type { DiagnosticCode } from '../../diagnostics/codes.ts'
import { type DiagnosticDetails, diagnostic } from '../../diagnostics/diagnostic.ts'
import { readDbChain } from '../../hir/db/chain.ts'
import { bare, entryKey, entryValue } from '../../hir/db/predicate.ts'
import type { Declaration, Param } from '../../syntax/ast.ts'
import type {
  Argument,
  Call,
  Element,
  Expression,
  MatchArm,
  Member,
  ObjectEntry
} from '../../syntax/ast-expressions.ts'
import type { Assign, Pattern, Statement } from '../../syntax/ast-statements.ts'
import { isStatement } from '../../syntax/is-statement.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Name, Span } from '../../syntax/node.ts'
import type { ModuleName } from '../names/module-names.ts'
import { builtinResult, calledType, checkArguments } from './calls.ts'
import { databaseAnswer } from './database-answer.ts'
import { expectRecords } from './expected-records.ts'
import { LocalTypes } from './local-types.ts'
import { methodResult, methodsOf } from './methods.ts'
import { operatorResult } from './operators.ts'
import { patternTypes } from './pattern-types.ts'
import { checkRecord } from './records.ts'
import type { Signatures } from './signatures.ts'
import { ANY, BOOL, FLOAT, fits, generic, INT, join, NEVER, plain, STR, show, UNIT, type ValueType } from './type.ts'

/** Methods of lists that call a function with each element. */
const TAKE_ITEMS: ReadonlySet<string> = new Set(['map', 'filter', 'any', 'all', 'find'])

/** Methods of lists that take another element. */
const GIVEN_ITEMS: ReadonlySet<string> = new Set(['push', 'append', 'contains'])

/** A function whose body is being read. */
interface Frame {
  /** What it says that it returns; null when it says nothing. */
  readonly declared: ValueType | null
  /** Types of what it returns before its end. */
  readonly returns: ValueType[]
}

/** Types of what stands in one body. Nothing is said about what is not known for certain. */
export class BodyTypes {
  readonly #signatures: Signatures
  readonly #locals = new LocalTypes()
  /** Types of the elements that functions without a name are called with. */
  readonly #items = new Map<Expression, ValueType>()
  #frame: Frame = { declared: null, returns: [] }

  constructor(signatures: Signatures) {
    this.#signatures = signatures
  }

  bind(name: string, type: ValueType): void {
    this.#locals.bind(name, type)
  }

  within(body: () => void): void {
    this.#locals.within(body)
  }

  /** `first` is the type of the first one where it does not say its own. */
  params(params: readonly Param[], first: ValueType = ANY): ValueType[] {
    return params.map(({ name, type, value }, index) => {
      const read = type === null && index === 0 ? first : this.#signatures.reader.read(type)
      if (value !== null) {
        this.infer(value)
        expectRecords(value, read, this.#signatures)
      }
      this.bind(name.text, read)
      return read
    })
  }

  /** Reads the body of a function and gives what it returns. */
  body(body: Expression, declared: ValueType | null): ValueType {
    const outer = this.#frame
    this.#frame = { declared, returns: [] }
    // What the last expression gives is dropped where nothing is returned.
    const tail = declared === null || isUnit(declared) ? null : declared
    const last = this.infer(body, tail)
    if (tail !== null) expectRecords(body, tail, this.#signatures)
    const result = this.#frame.returns.reduce(join, last)
    this.#frame = outer
    return declared ?? result
  }

  /** Compares a value with the type that its declaration gives it, and gives the one that counts. */
  declared(value: Expression, type: Param['type'], code: DiagnosticCode, what: string): ValueType {
    const found = this.infer(value)
    if (type === null) return found
    const wanted = this.#signatures.reader.read(type)
    expectRecords(value, wanted, this.#signatures)
    if (!fits(found, wanted))
      this.#mismatch(code, `${what} is another type than its declaration says`, value, wanted, found)
    return wanted
  }

  /** The type of an expression; with `tail`, the type that the function returns whose last expression this is. */
  infer(expression: Expression, tail: ValueType | null = null): ValueType {
    this.#signatures.depth++
    const found = this.#infer(expression, tail)
    this.#signatures.depth--
    this.#signatures.observe?.(expression, found)
    return found
  }

  #infer(expression: Expression, tail: ValueType | null): ValueType {
    switch (expression.kind) {
      case 'Paren':
        return this.infer(expression.inner, tail)
      case 'Block':
        return this.#locals.within(() => this.#block(expression.statements, tail))
      case 'If': {
        this.#condition(expression.condition)
        const first = this.infer(expression.then, expression.else === null ? null : tail)
        return expression.else === null ? UNIT : join(first, this.infer(expression.else, tail))
      }
      case 'Match': {
        const subject = this.infer(expression.subject)
        const types = expression.arms.map(arm => this.#locals.within(() => this.#arm(arm, subject, tail)))
        return types.length === 0 ? ANY : types.reduce(join)
      }
      default: {
        const found = this.#plain(expression)
        if (tail !== null && !fits(found, tail)) this.#returned(expression, found, tail)
        return found
      }
    }
  }

  #returned(expression: Expression, found: ValueType, wanted: ValueType): void {
    this.#mismatch('typecheck.return_mismatch', 'the function returns another type', expression, wanted, found)
  }

  #block(statements: readonly Statement[], tail: ValueType | null): ValueType {
    let last: ValueType = UNIT
    for (const [index, statement] of statements.entries()) {
      last = this.statement(statement, index === statements.length - 1 ? tail : null)
    }
    return last
  }

  statement(statement: Statement, tail: ValueType | null = null): ValueType {
    switch (statement.kind) {
      case 'ExpressionStatement':
        return this.infer(statement.expression, tail)
      case 'Let': {
        const found = this.declared(statement.value, statement.type, 'typecheck.let_mismatch', 'the value')
        this.#pattern(statement.pattern, statement.isMutable && statement.type === null ? settled(found) : found)
        return UNIT
      }
      case 'Assign':
        this.#assign(statement)
        return UNIT
      case 'Return': {
        const { declared, returns } = this.#frame
        const found = statement.value === null ? UNIT : this.infer(statement.value)
        returns.push(found)
        if (statement.value !== null && declared !== null) expectRecords(statement.value, declared, this.#signatures)
        if (declared !== null && !isUnit(declared) && !fits(found, declared)) {
          const { start, end } = statement.value ?? statement
          this.#mismatch(
            'typecheck.return_mismatch',
            'the function returns another type',
            { start, end },
            declared,
            found
          )
        }
        return NEVER
      }
      case 'While':
        this.#condition(statement.condition)
        this.infer(statement.body)
        return UNIT
      case 'Loop':
        this.infer(statement.body)
        // It ends by `return` or not at all, unless a `break` leaves it.
        return ANY
      default:
        return NEVER
    }
  }

  #assign({ target, operator, value }: Assign): void {
    const found = this.infer(value)
    const wanted = this.infer(target)
    if (operator === '=') expectRecords(value, wanted, this.#signatures)
    // Another operator takes what it takes, and numbers of either sort become each other.
    if (operator !== '=' || fits(found, wanted) || (isNumber(found) && isNumber(wanted))) return
    this.#mismatch('typecheck.assign_mismatch', 'the value is another type than its variable', value, wanted, found)
  }

  /** What is known to be neither true nor false decides nothing. */
  #condition(condition: Expression): void {
    const found = this.infer(condition)
    if (found.kind !== 'plain' || fits(found, BOOL)) return
    this.#mismatch('typecheck.condition', 'a condition is true or false', condition, BOOL, found)
  }

  #arm({ patterns, guard, body }: MatchArm, subject: ValueType, tail: ValueType | null): ValueType {
    for (const pattern of patterns) this.#pattern(pattern, subject)
    if (guard !== null) this.#condition(guard)
    return isStatement(body) ? this.statement(body) : this.infer(body, tail)
  }

  #pattern(pattern: Pattern, type: ValueType): void {
    for (const [name, found] of patternTypes(pattern, type, this.#signatures)) this.bind(name, found)
  }

  #plain(expression: Expression): ValueType {
    switch (expression.kind) {
      case 'Int':
        return INT
      case 'Float':
        return FLOAT
      case 'Decimal':
        return plain('dec')
      case 'String':
        return STR
      case 'Bool':
        return BOOL
      case 'Unit':
        return UNIT
      case 'Identifier':
        return this.#name(expression.name)
      case 'Tuple':
        return { kind: 'tuple', items: expression.items.map(item => this.infer(item)) }
      case 'List': {
        const items = expression.items.map(item => this.infer(item))
        return generic('List', items.length === 0 ? ANY : items.reduce(join))
      }
      case 'Object':
        return { kind: 'record', fields: this.#fields(expression.entries) }
      case 'Struct': {
        const entry = this.#signatures.names.get(expression.name.text)
        const given = this.#fields(expression.entries)
        if (entry?.kind === 'constructor') {
          this.#members(expression.entries, entry)
          return calledType(entry, this.#signatures)
        }
        const type = this.#signatures.reader.declared(expression.name.text) ?? ANY
        checkRecord(given, expression, type, this.#signatures)
        return type
      }
      case 'For': {
        const over = this.infer(expression.iterable)
        return this.#locals.within(() => {
          // Maps give pairs, and strings characters.
          this.#pattern(expression.binding, isList(over) ? itemOf(over) : ANY)
          if (expression.index !== null) this.bind(expression.index.text, INT)
          if (expression.key !== null) this.infer(expression.key)
          return generic('List', this.infer(expression.body))
        })
      }
      case 'Lambda':
        return this.#locals.within(() => {
          const params = this.params(expression.params, this.#items.get(expression))
          const declared = expression.result === null ? null : this.#signatures.reader.read(expression.result)
          return { kind: 'function', params, result: this.body(expression.body, declared) }
        })
      case 'Spawn':
        return this.#spawned(expression.target)
      case 'SideEffect':
        return this.infer(expression.body)
      case 'Unary':
        return this.#unary(expression.operator, expression.operand, expression)
      case 'Binary': {
        const left = this.infer(expression.left)
        const { operator, right } = expression
        if (operator === '|>') {
          this.#pipedInto(right.kind === 'Call' ? right.callee : right, expression.left)
          return right.kind === 'Call' ? this.#call(right, left) : this.#piped(right)
        }
        const other = this.infer(right)
        const result = operatorResult(operator, left, other)
        if (result !== undefined) return result
        const message = `\`${operator}\` takes no ${show(left)} and ${show(other)}`
        this.#say('typecheck.operands', message, expression)
        return ANY
      }
      case 'With': {
        this.infer(expression.options)
        const result = this.infer(expression.operand)
        // What is begun and not waited for is known by the id of its run.
        return isDetached(expression.options) ? generic('Result', STR, ANY) : result
      }
      case 'Call':
        return this.#call(expression, null)
      case 'Member':
        return this.#member(expression)
      case 'TupleIndex': {
        const object = this.infer(expression.object)
        return object.kind === 'tuple' ? (object.items[expression.index] ?? ANY) : ANY
      }
      case 'IndexAccess':
        this.infer(expression.index)
        return itemOf(this.infer(expression.object))
      case 'Try':
        return this.#try(expression.operand, expression)
      case 'Element':
        this.#attributes(expression)
        for (const child of expression.children ?? []) this.infer(child)
        return plain('Element')
      case 'ElementFragment':
        for (const child of expression.children) this.infer(child)
        return plain('Element')
      default:
        return ANY
    }
  }

  /** Of a constructor that is written like a struct. */
  #members(entries: readonly ObjectEntry[], { signature }: ModuleName): void {
    for (const entry of entries) {
      const type = signature?.params.find(({ name }) => name.text === entryKey(entry))?.type ?? null
      expectRecords(entryValue(entry), this.#signatures.reader.read(type), this.#signatures)
    }
  }

  #attributes({ tag, attributes }: Element): void {
    const component = this.#signatures.names.get(tag.text)?.declaration
    const params = component === undefined ? [] : propertiesOf(component)
    for (const { name, value } of attributes) {
      if (value === null) continue
      this.infer(value)
      const type = params.find(each => each.name.text === name.text)?.type ?? null
      expectRecords(value, this.#signatures.reader.read(type), this.#signatures)
    }
  }

  #fields(entries: readonly ObjectEntry[]): Map<string, ValueType> {
    return new Map(entries.map(entry => [entryKey(entry), this.infer(entryValue(entry))]))
  }

  #name(name: string): ValueType {
    const local = this.#locals.lookup(name)
    if (local !== undefined) return local
    const entry = this.#signatures.names.get(name)
    if (entry === undefined) return name === 'None' ? generic('Option', ANY) : name === 'Unit' ? UNIT : ANY
    if (entry.kind === 'constant') return this.#signatures.resultOf(entry.declaration)
    if (entry.kind !== 'constructor' && entry.kind !== 'function') return ANY
    const result = calledType(entry, this.#signatures)
    const isValue = entry.kind === 'constructor' && entry.signature?.params.length === 0
    return isValue ? result : { kind: 'function', params: null, result }
  }

  #spawned(target: Expression): ValueType {
    const named = target.kind === 'Call' ? target.callee : target
    if (target.kind === 'Call') for (const { value } of target.args) this.infer(value)
    const found = named.kind === 'Identifier' ? (this.#signatures.reader.declared(named.name) ?? ANY) : ANY
    if (target.kind === 'Call' && found.kind === 'actor' && found.declaration.kind === 'Actor') {
      this.#given(target.args, found.declaration.params ?? [])
    }
    return found
  }

  /** Arguments that nobody compares with what they go to. */
  #given(args: readonly Argument[], params: readonly Param[]): void {
    let place = 0
    for (const { name, value } of args) {
      const param = name === null ? params[place++] : params.find(each => each.name.text === name.text)
      expectRecords(value, this.#signatures.reader.read(param?.type ?? null), this.#signatures)
    }
  }

  #unary(operator: 'not' | '-', operand: Expression, at: Span): ValueType {
    const found = this.infer(operand)
    if (operator === 'not') return BOOL
    const value = found.kind === 'answer' ? found.value : found
    const isWrong = value.kind === 'plain' && !['int', 'float', 'dec'].includes(value.name)
    if (isWrong) this.#say('typecheck.operands', `\`-\` takes no ${show(found)}`, at)
    return isWrong ? ANY : value
  }

  #piped(right: Expression): ValueType {
    const found = right.kind === 'Identifier' ? this.#callee(right.name, [ANY]) : this.infer(right)
    return found.kind === 'function' ? found.result : found
  }

  #pipedInto(callee: Expression, value: Expression): void {
    if (callee.kind !== 'Identifier' || this.#locals.lookup(callee.name) !== undefined) return
    const first = this.#signatures.names.get(callee.name)?.signature?.params[0]
    expectRecords(value, this.#signatures.reader.read(first?.type ?? null), this.#signatures)
  }

  #callee(name: string, given: readonly ValueType[]): ValueType {
    const isBuiltin = this.#locals.lookup(name) === undefined && !this.#signatures.names.has(name)
    return isBuiltin ? builtinResult(name, given) : this.#name(name)
  }

  #call(call: Call, piped: ValueType | null): ValueType {
    const chain = readDbChain(call, this.#signatures.tables)
    if (chain !== null) return databaseAnswer(chain, value => this.infer(value), this.#signatures)
    const { callee } = call
    const isMethod = callee.kind === 'Member'
    const object = isMethod ? this.infer(callee.object) : ANY
    if (isMethod && isList(object) && TAKE_ITEMS.has(callee.property.text)) {
      for (const { value } of call.args) this.#items.set(value, itemOf(object))
    }
    const given = call.args.map(({ value }) => this.infer(value))
    if (isMethod) return this.#method(callee, object, call.args)
    if (callee.kind !== 'Identifier') {
      const found = this.infer(callee)
      return found.kind === 'function' ? found.result : ANY
    }
    const { name } = callee
    const local = this.#locals.lookup(name)
    const entry = this.#signatures.names.get(name)
    if (local === undefined && entry === undefined)
      return builtinResult(name, piped === null ? given : [piped, ...given])
    if (local === undefined && entry !== undefined && entry.kind !== 'constant') {
      checkArguments(call, given, piped, entry, this.#signatures)
      return calledType(entry, this.#signatures)
    }
    const found = local ?? this.#name(name)
    if (found.kind === 'function') return found.result
    if (found.kind === 'plain' || found.kind === 'record' || found.kind === 'row' || found.kind === 'tuple') {
      this.#say('typecheck.not_a_function', `\`${name}\` is a ${show(found)} and no function`, callee)
    }
    return ANY
  }

  #method({ property }: Member, object: ValueType, args: readonly Argument[]): ValueType {
    if (object.kind === 'actor') return this.#handler(property, object, args)
    const taken = takenBy(object, property.text)
    for (const { value } of args) expectRecords(value, taken, this.#signatures)
    const result = methodResult(object, property.text)
    if (result !== undefined) return result
    const near = nearName(property.text, methodsOf(object))
    this.#say('typecheck.unknown_method', `${show(object)} has no method \`${property.text}\``, property, {
      ...(near === undefined ? {} : { fixes: [{ label: `write ${near}`, span: property, replacement: near }] })
    })
    return ANY
  }

  #handler(
    event: Member['property'],
    { declaration }: Extract<ValueType, { kind: 'actor' }>,
    args: readonly Argument[]
  ): ValueType {
    const handlers = declaration.members.flatMap(member => (member.kind === 'Handler' ? [member] : []))
    const handler = handlers.find(each => each.event.text === event.text)
    if (handler !== undefined) {
      this.#given(args, handler.params)
      return this.#signatures.reader.read(handler.result)
    }
    if (event.text === 'send') return ANY
    const near = nearName(
      event.text,
      handlers.map(each => each.event.text)
    )
    const message = `the actor \`${declaration.name.text}\` has no handler \`${event.text}\``
    this.#say('typecheck.actor.unknown_handler', message, event, {
      ...(near === undefined ? {} : { fixes: [{ label: `write ${near}`, span: event, replacement: near }] })
    })
    return ANY
  }

  #member({ object, property }: Member): ValueType {
    const of = this.infer(object)
    const wrapped = wrapping(of)
    if (wrapped !== null) return this.#wrappedMember(object, property, of, wrapped)
    const fields = this.#signatures.reader.fieldsOf(of)
    if (fields === null) return ANY
    const found = fields.get(property.text)
    if (found !== undefined) return found
    const near = nearName(property.text, [...fields.keys()])
    this.#say('typecheck.unknown_field', `${show(of)} has no field \`${property.text}\``, property, {
      ...(near === undefined ? {} : { fixes: [{ label: `write ${near}`, span: property, replacement: near }] })
    })
    return ANY
  }

  /** A field of what may be missing, or may have failed. */
  #wrappedMember(object: Expression, property: Name, of: ValueType, { unwraps, inner }: Wrapping): ValueType {
    const found = this.#signatures.reader.fieldsOf(inner)?.get(property.text)
    const name = of.kind === 'answer' ? show(of.value) : show(of)
    const at = { start: object.end, end: object.end }
    this.#say('typecheck.unknown_field', `a ${name} has no field \`${property.text}\``, property, {
      suggestions: [`take both cases with \`match\`, or the value with \`.unwrap()\``],
      ...(found === undefined ? {} : { fixes: [{ label: 'unwrap it first', span: at, replacement: unwraps }] })
    })
    return found ?? ANY
  }

  #try(operand: Expression, at: Span): ValueType {
    const found = this.infer(operand)
    // A failure of the database is raised where nobody takes it.
    if (found.kind === 'answer') return found.value
    if (found.kind === 'any' || found.kind === 'never') return ANY
    if (found.kind !== 'generic' || (found.name !== 'Result' && found.name !== 'Option')) {
      this.#say('typecheck.try_misuse', `\`?\` stands behind a Result or an Option, not behind a ${show(found)}`, at)
      return ANY
    }
    const { declared } = this.#frame
    const returned = declared?.kind === 'generic' ? declared.name : declared?.kind
    if (declared !== null && returned !== 'any' && returned !== found.name) {
      this.#say('typecheck.try_misuse', `\`?\` of a ${found.name} needs a function that returns a ${found.name}`, at, {
        suggestions: [`write \`to ${found.name}[${show(declared)}]\`, or take both cases with \`match\``]
      })
    }
    return found.args[0] ?? ANY
  }

  #mismatch(code: DiagnosticCode, message: string, at: Span, wanted: ValueType, found: ValueType): void {
    this.#say(code, message, at, { expectedType: show(wanted), foundType: show(found) })
  }

  #say(code: DiagnosticCode, message: string, at: Span, details: DiagnosticDetails = {}): void {
    this.#signatures.report(diagnostic(code, message, at, details))
  }
}

/** What holds the value whose field is asked for. */
interface Wrapping {
  /** What takes the value out of it. */
  readonly unwraps: string
  readonly inner: ValueType
}

/** null for what is no Option and no Result. */
function wrapping(type: ValueType): Wrapping | null {
  if (type.kind === 'answer') {
    const within = wrapping(type.value)
    return within === null ? null : { ...within, unwraps: `.unwrap()${within.unwraps}` }
  }
  if (type.kind !== 'generic' || (type.name !== 'Option' && type.name !== 'Result')) return null
  const [first = ANY] = type.args
  const within = wrapping(first)
  return within === null
    ? { unwraps: '.unwrap()', inner: first }
    : { unwraps: `.unwrap()${within.unwraps}`, inner: within.inner }
}

function isNumber(type: ValueType): boolean {
  return type.kind === 'plain' && ['int', 'float'].includes(type.name)
}

function isUnit(type: ValueType): boolean {
  return type.kind === 'plain' && type.name === 'Unit'
}

function isList(type: ValueType): boolean {
  return type.kind === 'answer' ? isList(type.value) : type.kind === 'generic' && type.name === 'List'
}

/** What a method takes that fits the value that it is called on. */
function takenBy(object: ValueType, method: string): ValueType {
  if (isList(object) && GIVEN_ITEMS.has(method)) return itemOf(object)
  if (method !== 'unwrap_or') return ANY
  if (object.kind === 'answer') return object.value
  return object.kind === 'generic' ? (object.args[0] ?? ANY) : ANY
}

/** What a component takes. */
function propertiesOf(declaration: Declaration): readonly { readonly name: Name; readonly type: Param['type'] }[] {
  switch (declaration.kind) {
    case 'Component':
    case 'Fragment':
    case 'Function':
      return declaration.params
    case 'Island':
    case 'V0':
      return declaration.props
    default:
      return []
  }
}

function itemOf(type: ValueType): ValueType {
  if (type.kind === 'answer') return itemOf(type.value)
  if (type.kind !== 'generic') return ANY
  return (type.name === 'Map' ? type.args[1] : type.name === 'List' ? type.args[0] : undefined) ?? ANY
}

/** The type of a variable that may get other values: what its first one is made of says little. */
function settled(type: ValueType): ValueType {
  return type.kind === 'record' || type.kind === 'tuple' || type.kind === 'answer' ? ANY : type
}

/** `{ detach: true }`, which only workflows take. */
function isDetached(options: Expression): boolean {
  const record = bare(options)
  if (record.kind !== 'Object') return false
  return record.entries.some(entry => {
    const value = bare(entryValue(entry))
    return entryKey(entry) === 'detach' && value.kind === 'Bool' && value.value
  })
}
