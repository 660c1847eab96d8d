// toestub-ignore(arch/god_object) - inference and checking are mutually recursive over all expressions and statements
import type { Param } from '../syntax/ast.ts'
import type {
  Element,
  Expression,
  For,
  If,
  Lambda,
  List,
  Match,
  MatchArm,
  Tuple,
  With
} from '../syntax/ast-expressions.ts'
import type { Assign, Block, Break, Continue, Let, Return, Statement } from '../syntax/ast-statements.ts'
import type { Type as TypeSyntax } from '../syntax/ast-types.ts'
import { bare } from '../syntax/entries.ts'
import { isStatement } from '../syntax/is-statement.ts'
import type { Span } from '../syntax/node.ts'
import {
  BOOL,
  CHAR,
  DEC,
  ELEMENT,
  FLOAT,
  INT,
  LIST,
  list,
  MAP,
  OPTION,
  RESULT,
  result,
  SET,
  STR,
  STREAM,
  UNIT
} from './builtin-types.ts'
import { type Expected, inferCall, inferPipe, inferSpawn } from './calls.ts'
import type { Context, Frame, Inference, Why } from './context.ts'
import { asList, coerce, conversionTo, reportMismatch, unwrapped } from './conversions.ts'
import { inferIndex, inferMember, inferTupleIndex } from './members.ts'
import { inferBinary, inferRight, inferUnary, type Joined, join, operands } from './operators.ts'
import { checkOperand, checkOptions, isDetached } from './options.ts'
import { callOfElement } from './pages/element-calls.ts'
import { inferChildren, inferElement } from './pages/views.ts'
import { bindLocal, bindPattern } from './patterns.ts'
import { checkRecord, inferRecord, inferStruct } from './records.ts'
import { checkMutable, inferName } from './resolve.ts'
import { show } from './show.ts'
import { ANY, ERROR, fn, NEVER, newVar, type ParamType, resolved, type Type, tuple, unannotated } from './type.ts'
import { unify } from './unify.ts'

const CONDITION: Why = { code: 'typecheck.condition', message: 'a condition must be a `bool`' }

/** Creates the inference of the expressions and statements of a module. */
export function inferenceOf(context: Context): BodyInference {
  return new BodyInference(context)
}

/**
 * Finds the types of expressions in both directions: `infer` asks an expression for its type, `check` passes it the type
 * that its place asks for. The parser limits the depth of the syntax tree, so that recursion is safe.
 */
export class BodyInference implements Inference {
  readonly context: Context

  constructor(context: Context) {
    this.context = context
  }

  infer(expression: Expression): Type {
    return this.context.record(expression, this.#infer(expression, null))
  }

  check(expression: Expression, expected: Type, why: Why): Type {
    const { context } = this
    const target = resolved(expected)
    switch (expression.kind) {
      case 'Paren':
        return context.record(expression, this.check(expression.inner, target, why))
      case 'Block':
        return context.record(expression, this.#checkBlock(expression, target, why))
      case 'SideEffect':
        return context.record(expression, this.check(expression.body, target, why))
      case 'If':
        if (expression.else === null) break
        return context.record(expression, this.#checkIf(expression, target, why))
      case 'Match':
        return context.record(expression, this.#checkMatch(expression, target, why))
      case 'Object': {
        const type = checkRecord(this, expression, target, why)
        return context.record(expression, type)
      }
      case 'Struct': {
        const found = context.record(expression, inferStruct(this, expression, target))
        return coerce(context, expression, found, target, why)
      }
      case 'List':
        return this.#checkList(expression, target, why)
      case 'Tuple':
        return this.#checkTuple(expression, target, why)
      case 'For':
        return this.#checkFor(expression, target, why)
      case 'Lambda':
        return this.#checkLambda(expression, target, why)
      case 'Int':
      case 'Float':
        if (this.#isDecimal(expression, target, why)) return target
        break
      case 'Unary':
        if (expression.operator === '-' && this.#isDecimal(expression, target, why)) return target
        break
      case 'Call':
      case 'Element':
      case 'Binary': {
        const found = context.record(expression, this.#infer(expression, { type: target, why }))
        return coerce(context, expression, found, target, why)
      }
    }
    return coerce(context, expression, this.infer(expression), target, why)
  }

  /** Notes that a literal becomes the value of an Option. */
  #noteSome(expression: Expression, expected: Type, { wrapsSome }: Why): void {
    const target = resolved(expected)
    if (wrapsSome !== 'member' || target.kind !== 'named' || target.def !== OPTION) return
    this.context.convert(expression, { kind: 'some', inner: this.context.conversions[expression.id] ?? null })
  }

  /** True if a literal stands where a decimal is expected: it becomes one with exactly its digits. */
  #isDecimal(expression: Expression, target: Type, why: Why): boolean {
    const { context } = this
    const wanted = unwrappedOption(target, why)
    const literal = expression.kind === 'Unary' ? bare(expression.operand) : expression
    if (wanted !== DEC || (literal.kind !== 'Int' && literal.kind !== 'Float')) return false
    context.record(expression, DEC)
    if (literal !== expression) context.record(literal, DEC)
    context.convert(literal, { kind: 'decimal' })
    this.#noteSome(expression, target, why)
    return true
  }

  /** Finds the type of an expression whose value is not used: its branches may have different types. */
  inferDiscarded(expression: Expression): Type {
    const { context } = this
    switch (expression.kind) {
      case 'Paren':
        return context.record(expression, this.inferDiscarded(expression.inner))
      case 'Block':
        return context.record(expression, this.#discardBlock(expression))
      case 'If': {
        this.#condition(expression.condition)
        const first = this.inferDiscarded(expression.then)
        if (expression.else === null) return context.record(expression, UNIT)
        return context.record(expression, likely(first, this.inferDiscarded(expression.else)))
      }
      case 'Match': {
        const subject = this.#subject(expression)
        let type: Type = expression.arms.length > 0 ? NEVER : UNIT
        for (const arm of expression.arms) {
          const found = this.#inArm(arm, subject, body =>
            isStatement(body) ? this.statement(body) : this.inferDiscarded(body)
          )
          type = likely(type, found)
        }
        return context.record(expression, type)
      }
      case 'For':
        return context.record(expression, list(this.#for(expression, body => this.inferDiscarded(body))))
      case 'SideEffect':
        return context.record(expression, this.inferDiscarded(expression.body))
      default:
        return resolved(this.infer(expression))
    }
  }

  #infer(expression: Expression, expected: Expected | null): Type {
    const { context } = this
    switch (expression.kind) {
      case 'Int':
        return INT
      case 'Float':
        return FLOAT
      case 'Decimal':
        return DEC
      case 'String':
        return STR
      case 'Bool':
        return BOOL
      case 'Unit':
        return UNIT
      case 'Identifier':
        return inferName(context, expression)
      case 'Paren':
        return this.infer(expression.inner)
      case 'Tuple':
        return tuple(expression.items.map(item => unwrapped(this.infer(item))))
      case 'List':
        return this.#inferList(expression)
      case 'Object':
        return inferRecord(this, expression)
      case 'Struct':
        return inferStruct(this, expression, null)
      case 'Block':
        return this.#inferBlock(expression)
      case 'If': {
        if (expression.else === null) return this.inferDiscarded(expression)
        this.#condition(expression.condition)
        const branches = [expression.then, expression.else].map(at => ({ at, type: this.infer(at) }))
        return this.#join(branches)
      }
      case 'Match': {
        const subject = this.#subject(expression)
        const values = expression.arms.map(arm => {
          const type = this.#inArm(arm, subject, body => (isStatement(body) ? this.statement(body) : this.infer(body)))
          return { type, at: isStatement(arm.body) ? null : arm.body }
        })
        return values.length === 0 ? ERROR : this.#join(values)
      }
      case 'For':
        return list(this.#for(expression, body => this.infer(body)))
      case 'Lambda':
        return this.#lambda(expression, null, null)
      case 'Spawn':
        return inferSpawn(this, expression)
      case 'SideEffect':
        return this.infer(expression.body)
      case 'Unary':
        return inferUnary(this, expression)
      case 'Binary':
        if (expression.operator === '|>') {
          return inferPipe(this, expression.left, expression.right, expression, expected)
        }
        return inferBinary(this, expression)
      case 'With':
        return this.#with(expression)
      case 'Call':
        return inferCall(this, expression, expected)
      case 'Member':
        return inferMember(this, expression)
      case 'TupleIndex':
        return inferTupleIndex(this, expression)
      case 'IndexAccess':
        return inferIndex(this, expression)
      case 'Try':
        return this.#try(expression.operand, expression)
      case 'Element':
        return this.#element(expression, expected)
      case 'ElementFragment':
        inferChildren(this, expression.children)
        return ELEMENT
      case 'Missing':
        return ERROR
    }
  }

  #element(element: Element, expected: Expected | null): Type {
    const call = callOfElement(this.context, element)
    if (call === null) return inferElement(this, element)
    this.context.elementCalls.set(element, call)
    return inferCall(this, call, expected)
  }

  // Blocks and statements

  #inferBlock({ statements }: Block): Type {
    return this.#within(() => {
      let type: Type = UNIT
      let isNever = false
      for (const [index, statement] of statements.entries()) {
        const isLast = index === statements.length - 1
        type = isLast && statement.kind === 'ExpressionStatement' ? this.#last(statement) : this.statement(statement)
        isNever ||= resolved(type).kind === 'never'
      }
      return isNever ? NEVER : type
    })
  }

  #last(statement: Extract<Statement, { kind: 'ExpressionStatement' }>): Type {
    const type = this.infer(statement.expression)
    this.context.settle()
    return type
  }

  #discardBlock({ statements }: Block): Type {
    return this.#within(() => {
      let isNever = false
      let type: Type = UNIT
      for (const [index, statement] of statements.entries()) {
        const isLast = index === statements.length - 1
        type =
          isLast && statement.kind === 'ExpressionStatement'
            ? this.inferDiscarded(statement.expression)
            : this.statement(statement)
        isNever ||= resolved(type).kind === 'never'
      }
      this.context.settle()
      return isNever ? NEVER : type
    })
  }

  #checkBlock(block: Block, expected: Type, why: Why): Type {
    const { statements } = block
    return this.#within(() => {
      let isNever = false
      let type: Type = UNIT
      for (const [index, statement] of statements.entries()) {
        const isLast = index === statements.length - 1
        if (isLast && statement.kind === 'ExpressionStatement' && !isNever) {
          type = this.check(statement.expression, expected, why)
          this.context.settle()
        } else type = this.statement(statement)
        isNever ||= resolved(type).kind === 'never'
      }
      if (isNever) return NEVER
      if (statements.at(-1)?.kind === 'ExpressionStatement') return type
      this.#fallsThrough(block, expected, why)
      return UNIT
    })
  }

  /** Compares the end of a block that has no value with the type that its place asks for. */
  #fallsThrough(block: Block, expected: Type, why: Why): void {
    const last = block.statements.at(-1)
    const at = last ?? block
    if (conversionTo(UNIT, resolved(expected), null, false) !== false) return
    if (why.within === undefined && why.code === 'typecheck.return_mismatch') {
      this.context.report(why.code, 'the function ends without a value of its declared type', at, {
        expectedType: show(expected),
        foundType: 'Unit',
        ...(why.related === undefined ? {} : { related: [why.related] })
      })
    } else reportMismatch(this.context, { ...block, start: at.start, end: at.end }, UNIT, expected, why)
  }

  /** Checks a statement. Returns never if what follows is not reached. */
  statement(statement: Statement): Type {
    const type = this.#statement(statement)
    this.context.settle()
    return type
  }

  #statement(statement: Statement): Type {
    const { frame } = this.context
    switch (statement.kind) {
      case 'ExpressionStatement': {
        const type = this.inferDiscarded(statement.expression)
        return resolved(type).kind === 'never' ? NEVER : UNIT
      }
      case 'Let':
        return this.#let(statement)
      case 'Assign':
        this.#assign(statement)
        return UNIT
      case 'Return':
        this.#return(statement, frame)
        return NEVER
      case 'While': {
        this.#condition(statement.condition)
        frame.loops.push({ hasBreak: false })
        this.inferDiscarded(statement.body)
        frame.loops.pop()
        return UNIT
      }
      case 'Loop': {
        const loop = { hasBreak: false }
        frame.loops.push(loop)
        this.inferDiscarded(statement.body)
        frame.loops.pop()
        return loop.hasBreak ? UNIT : NEVER
      }
      case 'Break':
      case 'Continue': {
        const loop = frame.loops.at(-1)
        if (loop === undefined) this.#jumpOutside(statement)
        else if (statement.kind === 'Break') loop.hasBreak = true
        return NEVER
      }
    }
  }

  /** Reports `break` or `continue` outside a loop. A function body inside a loop is outside it. */
  #jumpOutside(statement: Break | Continue): void {
    const word = statement.kind.toLowerCase()
    this.context.report('typecheck.jump_outside_loop', `\`${word}\` is outside a loop`, statement, {
      suggestions: ['use `return` to leave a function']
    })
  }

  #let({ pattern, type, value, isMutable }: Let): Type {
    const found = this.declared(value, type, 'typecheck.let_mismatch', 'the value')
    bindPattern(this.context, pattern, found, isMutable, pattern.kind === 'BindingPattern')
    return resolved(found).kind === 'never' && type === null ? NEVER : UNIT
  }

  /** Compares a value with its declared type. Returns the declared type if there is one, else that of the value. */
  declared(value: Expression, annotation: TypeSyntax | null, code: Why['code'], label: string): Type {
    if (annotation === null) return this.infer(value)
    const expected = this.context.declarations.read(annotation, this.#scope())
    const message = `${label} does not have its declared type`
    this.check(value, expected, { code, message, annotation })
    return expected
  }

  #scope() {
    return this.context.declarations.scopeOf(this.context.item)
  }

  #assign(statement: Assign): void {
    const { context } = this
    const { target, operator, value } = statement
    checkMutable(context, statement.target)
    const expected = this.infer(target)
    this.#checkPart(target)
    if (operator !== '=') {
      const binary = operator.charAt(0) as '+' | '-' | '*' | '/'
      const found = inferRight(this, binary, expected, value)
      const at = { start: statement.start, end: statement.end, left: target, right: value }
      const type = operands(context, at, binary, expected, found)
      const why: Why = {
        code: 'typecheck.assign_mismatch',
        message: 'the result does not have the type of the variable'
      }
      if (conversionTo(resolved(type), unwrapped(expected), null, false) === false) {
        reportMismatch(context, value, resolved(type), expected, why)
      }
      return
    }
    this.check(value, expected, {
      code: 'typecheck.assign_mismatch',
      message: 'the type of the value does not match the variable'
    })
  }

  /** Reports an assignment to a part of a value whose parts cannot be changed: a character, an item of a tuple. */
  #checkPart(target: Expression): void {
    const { context } = this
    if (target.kind !== 'IndexAccess' && target.kind !== 'TupleIndex') return
    const owner = unwrapped(context.types[target.object.id] ?? ERROR)
    if (owner !== STR && owner.kind !== 'tuple') return
    const message = `a part of a value of type ${show(owner)} cannot be assigned`
    context.report('typecheck.operands', message, target, { suggestions: ['assign a whole new value'] })
  }

  #return({ value, start, end }: Return, { expected, why, returns }: Frame): void {
    if (expected === null || why === null) {
      returns.push({ type: value === null ? UNIT : this.infer(value), at: value })
    } else if (value !== null) {
      if (isUnit(expected)) this.inferDiscarded(value)
      else this.check(value, expected, why)
    } else if (conversionTo(UNIT, resolved(expected), null, false) === false) {
      const at: Expression = { kind: 'Unit', id: -1, start, end }
      reportMismatch(this.context, at, UNIT, expected, why)
    }
  }

  #condition(condition: Expression): void {
    this.check(condition, BOOL, CONDITION)
  }

  #within<A>(body: () => A): A {
    const { scopes } = this.context
    const mark = scopes.enter()
    const found = body()
    scopes.leave(mark)
    return found
  }

  // Branches

  #checkIf({ condition, then, else: other }: If, expected: Type, why: Why): Type {
    this.#condition(condition)
    const first = this.check(then, expected, why)
    const second = other === null ? UNIT : this.check(other, expected, why)
    return resolved(first).kind === 'never' && resolved(second).kind === 'never'
      ? NEVER
      : this.#branchType(first, second, expected)
  }

  #branchType(first: Type, second: Type, expected: Type): Type {
    const target = resolved(expected)
    if (target.kind !== 'any' && target.kind !== 'var') return target
    if (resolved(first).kind === 'never') return second
    // Where any value fits, branches may have different types.
    return target.kind === 'var' || resolved(second).kind === 'never' ? first : commonType([first, second])
  }

  #checkMatch(expression: Match, expected: Type, why: Why): Type {
    const subject = this.#subject(expression)
    let joined: Type = NEVER
    for (const arm of expression.arms) {
      const type = this.#inArm(arm, subject, body => {
        if (!isStatement(body)) return this.check(body, expected, why)
        const found = this.statement(body)
        if (found.kind === 'never') return found
        const at: Expression = { kind: 'Unit', id: -1, start: body.start, end: body.end }
        return coerce(this.context, at, UNIT, expected, why)
      })
      if (resolved(joined).kind === 'never') joined = type
      else if (resolved(expected).kind === 'any') joined = this.#branchType(joined, type, expected)
    }
    if (expression.arms.length === 0) return ERROR
    return resolved(joined).kind === 'never' ? NEVER : this.#branchType(joined, joined, expected)
  }

  #subject(expression: Match): Type {
    const { context } = this
    const subject = this.infer(expression.subject)
    context.matches.push({ match: expression, item: context.item, subject })
    return subject
  }

  #inArm({ patterns, guard, body }: MatchArm, subject: Type, run: (body: MatchArm['body']) => Type): Type {
    return this.#within(() => {
      // All alternatives of a pattern bind the same names.
      for (const pattern of patterns) bindPattern(this.context, pattern, subject)
      if (guard !== null) this.#condition(guard)
      return run(body)
    })
  }

  #join(values: readonly Joined[]): Type {
    const { context } = this
    return join(context, values, (at, type, first) => {
      if (at !== null) {
        context.report('typecheck.branch_mismatch', 'the branches have different types', at, {
          expectedType: show(first),
          foundType: show(type)
        })
      }
      return ERROR
    })
  }

  // Lists and loops

  #inferList(expression: List): Type {
    const { context } = this
    const { items } = expression
    const values = items.map(at => ({ at, type: unwrapped(this.infer(at)) }))
    if (values.length === 0) return list(newVar(expression))
    const item = join(context, values, (at, type, first) => {
      context.report('typecheck.element_mismatch', 'the elements of the list have different types', at ?? expression, {
        expectedType: show(first),
        foundType: show(type)
      })
      return ERROR
    })
    return list(resolved(item).kind === 'never' ? newVar(expression) : item)
  }

  #checkList(expression: List, expected: Type, why: Why): Type {
    const { context } = this
    const target = asList(unwrappedOption(expected, why))
    if (target.kind === 'any') {
      const types = expression.items.map(item => {
        this.check(item, ANY, why)
        return context.types[item.id] ?? ANY
      })
      return context.record(expression, list(types.length === 0 ? newVar(expression) : commonType(types)))
    }
    if (target.kind !== 'named' || (target.def !== LIST && target.def !== SET)) {
      return coerce(context, expression, this.infer(expression), expected, why)
    }
    const [item = ANY] = target.args
    const within = {
      at: expression,
      expected: target,
      of: (part: Type) => (target.def === SET ? part : list(part)),
      why,
      isReported: false
    }
    const each: Why = { code: why.code, message: why.message, within }
    for (const value of expression.items) this.check(value, item, each)
    this.#noteSome(expression, expected, why)
    return context.record(expression, target)
  }

  #checkTuple(expression: Tuple, expected: Type, why: Why): Type {
    const { context } = this
    const target = unwrappedOption(expected, why)
    if (target.kind === 'any') {
      const items = expression.items.map(item => {
        this.check(item, ANY, why)
        return context.types[item.id] ?? ANY
      })
      return context.record(expression, tuple(items))
    }
    if (target.kind !== 'tuple' || target.items.length !== expression.items.length) {
      return coerce(context, expression, this.infer(expression), expected, why)
    }
    for (const [index, value] of expression.items.entries()) {
      const of = (part: Type): Type => tuple(target.items.map((item, i) => (i === index ? part : item)))
      const within = { at: expression, expected: target, of, why, isReported: false }
      this.check(value, target.items[index] ?? ANY, { code: why.code, message: why.message, within })
    }
    this.#noteSome(expression, expected, why)
    return context.record(expression, target)
  }

  #checkFor(expression: For, expected: Type, why: Why): Type {
    const { context } = this
    const target = resolved(expected)
    if (target.kind !== 'named' || target.def !== LIST) {
      return coerce(context, expression, this.infer(expression), expected, why)
    }
    const [item = ANY] = target.args
    const within = { at: expression, expected: target, of: list, why, isReported: false }
    this.#for(expression, body => this.check(body, item, { code: why.code, message: why.message, within }))
    return context.record(expression, target)
  }

  #for({ binding, index, iterable, key, body }: For, run: (body: Expression) => Type): Type {
    const { context } = this
    const item = this.#itemOf(iterable, this.infer(iterable))
    return this.#within(() => {
      bindPattern(context, binding, item)
      if (index !== null) {
        bindLocal(context, { kind: 'variable', name: index, type: INT, isMutable: false, canBeMutable: false })
      }
      if (key !== null) this.infer(key)
      context.frame.loops.push({ hasBreak: false })
      const type = unwrapped(run(body))
      context.frame.loops.pop()
      return type.kind === 'never' ? UNIT : type
    })
  }

  #itemOf(at: Expression, found: Type): Type {
    const { context } = this
    const type = asList(unwrapped(found))
    if (type.kind === 'var') {
      const item = newVar(at)
      context.when(type, at, known => {
        context.found(item, this.#itemOf(at, known), at)
      })
      return item
    }
    if (type.kind === 'any' || type.kind === 'error' || type.kind === 'never') return type
    if (type.kind === 'record') return tuple([STR, ANY])
    if (type.kind === 'named') {
      const { def, args } = type
      if (def === LIST || def === SET || def === STREAM) return args[0] ?? ANY
      if (def === MAP) return tuple([args[0] ?? STR, args[1] ?? ANY])
      if (type === STR || type === CHAR) return STR
      if (def.name === 'Json' || def.name === 'JsonBody') return ANY
      if (def.kind === 'opaque') return context.declarations.isUnknown(def) ? ERROR : ANY
    }
    const isWrapped = type.kind === 'named' && (type.def === OPTION || type.def === RESULT)
    context.report('typecheck.iterable', `\`for\` cannot iterate over ${show(type)}`, at, {
      suggestions: isWrapped ? ['handle both cases with `match`, or unwrap the value with `.unwrap()`'] : []
    })
    return ERROR
  }

  // Functions

  #checkLambda(expression: Lambda, expected: Type, why: Why): Type {
    const { context } = this
    const target = unwrappedOption(expected, why)
    if (target.kind === 'any' || target.kind === 'error') {
      const params = expression.params.map(() => ({ name: null, type: ANY, isOptional: false }))
      return context.record(expression, this.#lambda(expression, params, null))
    }
    if (target.kind !== 'fn') return coerce(context, expression, this.infer(expression), expected, why)
    if (target.params.length !== expression.params.length) {
      const params = expression.params.map(() => ({ name: null, type: ERROR, isOptional: false }))
      return coerce(
        context,
        expression,
        context.record(expression, this.#lambda(expression, params, null)),
        expected,
        why
      )
    }
    const returned = resolved(target.result)
    const isAnnotated = expression.result !== null || expression.params.some(each => each.type !== null)
    const isOpen = returned.kind === 'var' || isAnnotated
    const found = this.#lambda(expression, target.params, isOpen ? null : { type: returned, why })
    context.record(expression, found)
    this.#noteSome(expression, expected, why)
    const type = resolved(found)
    // The body was compared with the result that is expected, unless there is none yet.
    return isOpen || type.kind !== 'fn' ? coerce(context, expression, found, target, why) : target
  }

  #lambda(
    { params, result: annotation, body }: Lambda,
    expected: readonly ParamType[] | null,
    returned: Expected | null
  ): Type {
    const { context } = this
    return this.#within(() => {
      const types = params.map((each, index) => this.#lambdaParam(each, expected?.[index]?.type ?? null))
      const declared = annotation === null ? null : context.declarations.read(annotation, this.#scope())
      const message = 'the function does not return its declared type'
      const why: Why = { code: 'typecheck.return_mismatch', message }
      const asked = declared === null ? returned : { type: declared, why }
      const found = this.body(body, asked)
      return fn(types, found)
    })
  }

  #lambdaParam({ name, type, value }: Param, given: Type | null): ParamType {
    const { context } = this
    const declared = type === null ? (given ?? unannotated(name)) : context.declarations.read(type, this.#scope())
    if (value !== null) this.#default(value, declared, name.text)
    bindLocal(context, { kind: 'parameter', name, type: declared, isMutable: false, canBeMutable: false })
    return { name: name.text, type: declared, isOptional: value !== null }
  }

  #default(value: Expression, type: Type, name: string): void {
    const message = `the default of \`${name}\` does not have the type of the parameter`
    this.check(value, type, { code: 'typecheck.arg_mismatch', message })
  }

  /** Binds parameters, and compares their defaults with their types. */
  params(params: readonly Param[], types: readonly ParamType[]): void {
    for (const [index, { name, value }] of params.entries()) {
      const type = types[index]?.type ?? ANY
      if (value !== null) this.#default(value, type, name.text)
      bindLocal(this.context, { kind: 'parameter', name, type, isMutable: false, canBeMutable: false })
    }
  }

  /** Finds the result type of a function body, or compares it with the expected one. */
  body(body: Expression, expected: Expected | null): Type {
    const { context } = this
    const outer = context.frame
    const frame: Frame = {
      expected: expected?.type ?? null,
      why: expected?.why ?? null,
      returns: [],
      tries: [],
      loops: []
    }
    context.frame = frame
    const found = this.#bodyType(body, expected, frame)
    context.frame = outer
    return found
  }

  #bodyType(body: Expression, expected: Expected | null, frame: Frame): Type {
    if (expected !== null) {
      // If the function returns nothing, the value of the last expression is discarded.
      if (isUnit(expected.type)) this.inferDiscarded(body)
      else this.check(body, expected.type, expected.why)
      return expected.type
    }
    const values: Joined[] = []
    this.#tail(body, values)
    const type = this.#joinResults([...values, ...frame.returns])
    return frame.tries.length === 0 ? type : this.#withFailures(type, frame.tries)
  }

  /**
   * Collects the values of a body without a declared result. They are compared only if all branches have one: others
   * are statements. Returns never if the end of the body is not reached.
   */
  #tail(body: Expression, values: Joined[]): Type {
    const { context } = this
    switch (body.kind) {
      case 'Paren':
        return context.record(body, this.#tail(body.inner, values))
      case 'SideEffect':
        return context.record(body, this.#tail(body.body, values))
      case 'Block':
        return context.record(body, this.#tailBlock(body, values))
      case 'If': {
        if (body.else === null) break
        this.#condition(body.condition)
        const first = this.#tail(body.then, values)
        const second = this.#tail(body.else, values)
        return context.record(body, resolved(first).kind === 'never' ? second : first)
      }
      case 'Match': {
        if (body.arms.length === 0) break
        const subject = this.#subject(body)
        let type: Type = NEVER
        for (const arm of body.arms) {
          const found = this.#inArm(arm, subject, each => {
            if (!isStatement(each)) return this.#tail(each, values)
            const end = this.statement(each)
            values.push({ type: end, at: null })
            return end
          })
          if (resolved(type).kind === 'never') type = found
        }
        return context.record(body, type)
      }
    }
    const type = this.infer(body)
    values.push({ type, at: body })
    return type
  }

  #tailBlock({ statements }: Block, values: Joined[]): Type {
    return this.#within(() => {
      let isNever = false
      let type: Type = UNIT
      for (const [index, statement] of statements.entries()) {
        const isLast = index === statements.length - 1
        if (isLast && statement.kind === 'ExpressionStatement' && !isNever) {
          type = this.#tail(statement.expression, values)
          this.context.settle()
          return type
        }
        type = this.statement(statement)
        isNever ||= resolved(type).kind === 'never'
      }
      if (!isNever) values.push({ type: UNIT, at: null })
      return isNever ? NEVER : UNIT
    })
  }

  #joinResults(values: readonly Joined[]): Type {
    const { context } = this
    const types = values.map(({ type }) => resolved(type)).filter(({ kind }) => kind !== 'never')
    // A function that returns without a value somewhere returns none.
    if (types.some(type => type === UNIT)) return UNIT
    return join(context, values, (at, type, first) => {
      if (at !== null) {
        context.report('typecheck.branch_mismatch', 'the function returns values of different types', at, {
          expectedType: show(first),
          foundType: show(type)
        })
      }
      return ERROR
    })
  }

  /** A body with `?` also returns the failures: its type is known if its values are such Results or Options. */
  #withFailures(type: Type, tries: Frame['tries']): Type {
    const known = resolved(type)
    const isSame =
      known.kind === 'named' &&
      tries.every(each => {
        const failed = resolved(each.type)
        return failed.kind === 'named' && failed.def === known.def
      })
    if (isSame || known.kind === 'error') return type
    if (known === UNIT || known.kind === 'never') return type
    const [first] = tries
    // The value of a loop of statements is a list of nothing.
    const isLoop = known.kind === 'named' && known.def.name === 'List' && isUnit(known.args[0] ?? ANY)
    if (first !== undefined && known.kind !== 'any' && known.kind !== 'var' && !isLoop) {
      const failed = resolved(first.type)
      const name = failed.kind === 'named' ? failed.def.name : show(failed)
      this.context.report(
        'typecheck.annotation_needed',
        `the function returns a value of type ${show(known)}, or the failure of \`?\``,
        first.at,
        {
          suggestions: [
            `declare its result: \`to ${name}[${show(known)}]\`, and return \`${RETURNED[name] ?? 'Ok'}(…)\``
          ]
        }
      )
    }
    return ANY
  }

  #with({ operand, options }: With): Type {
    const { context } = this
    checkOptions(this, options, operand)
    const type = this.infer(operand)
    if (bare(operand).kind !== 'Missing') checkOperand(context, operand, type, isDetached(options))
    // A detached call returns the id of its run.
    return isDetached(options) ? result(STR) : type
  }

  #try(operand: Expression, at: Span): Type {
    const { context } = this
    const found = resolved(this.infer(operand))
    // Any function may use `?` on a database operation: a failure throws if the function cannot return it.
    if (found.kind === 'answer') return found.value
    if (found.kind === 'any' || found.kind === 'never' || found.kind === 'error') return found
    if (found.kind === 'var') {
      const type = newVar(at)
      const { frame } = context
      context.when(found, at, known => {
        context.found(type, this.#tryOf(known, at, frame), at)
      })
      return type
    }
    return this.#tryOf(found, at, context.frame)
  }

  #tryOf(type: Type, at: Span, frame: Frame): Type {
    const { context } = this
    const found = resolved(type)
    if (found.kind === 'answer') return found.value
    if (found.kind === 'any' || found.kind === 'never' || found.kind === 'error') return found
    if (found.kind !== 'named' || (found.def !== RESULT && found.def !== OPTION)) {
      context.report('typecheck.try_misuse', `\`?\` must follow a Result or an Option, found ${show(found)}`, at)
      return ERROR
    }
    this.#checkFailure(found, at, frame)
    return found.args[0] ?? ANY
  }

  /** Compares the failure that `?` returns with the result of the function. */
  #checkFailure(found: Extract<Type, { kind: 'named' }>, at: Span, { expected, tries }: Frame): void {
    const { context } = this
    if (expected === null) {
      tries.push({ type: found, at })
      return
    }
    const returned = unwrappedRoute(expected)
    if (returned.kind === 'any' || returned.kind === 'error' || returned.kind === 'var') return
    const name = found.def.name
    if (returned.kind === 'named' && returned.def === found.def) {
      if (found.def === OPTION || unify(found.args[1] ?? ANY, returned.args[1] ?? ANY)) return
      const message = `\`?\` returns an error of type ${show(found.args[1] ?? ANY)}, but the function has errors of type ${show(returned.args[1] ?? ANY)}`
      context.report('typecheck.try_misuse', message, at, { suggestions: ['convert the error with `match`'] })
      return
    }
    if (returned.kind === 'named' && returned.def === RESULT && expected !== returned && found.def === OPTION) return
    context.report('typecheck.try_misuse', `\`?\` of a ${name} requires a function that returns a ${name}`, at, {
      suggestions: [`write \`to ${name}[${show(expected)}]\`, or handle both cases with \`match\``]
    })
  }
}

/** Constructors of the values of types that `?` unwraps. */
const RETURNED: Readonly<Record<string, string>> = { Option: 'Some', Result: 'Ok' }

/** The type of branches that are not compared: that of all, or any. */
function likely(first: Type, second: Type): Type {
  const [a, b] = [resolved(first), resolved(second)]
  if (a.kind === 'never' || a === b) return b
  return b.kind === 'never' ? a : ANY
}

function isUnit(type: Type): boolean {
  return resolved(type) === UNIT
}

/** A member of a literal may also be the value of an Option. */
function unwrappedOption(expected: Type, { wrapsSome }: Why): Type {
  const target = resolved(expected)
  if (target.kind === 'answer') return resolved(target.value)
  if (!wrapsSome || target.kind !== 'named' || target.def !== OPTION) return target
  return resolved(target.args[0] ?? ANY)
}

/** A route may return a Result instead of the type that it declares. */
function unwrappedRoute(expected: Type): Type {
  const type = resolved(expected)
  if (type.kind !== 'answer') return type
  const inner = resolved(type.value)
  return inner.kind === 'named' && (inner.def === RESULT || inner.def === OPTION) ? inner : result(inner)
}

/** Returns the type of values where any value fits: any, if they have different types. */
function commonType([first = ANY, ...others]: readonly Type[]): Type {
  return others.every(other => unify(first, other) && show(first) === show(other)) ? first : ANY
}
