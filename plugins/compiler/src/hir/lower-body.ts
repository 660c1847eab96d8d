// toestub-ignore(arch/god_object) - expressions and statements are mutually recursive
import type { Hir } from '@svc/contracts'
import type {
  Block,
  Element,
  Expression,
  For,
  Identifier,
  If,
  IndexAccess,
  Lambda,
  Match,
  MatchArm,
  Member,
  ObjectEntry,
  ObjectLiteral,
  Param,
  Pattern,
  SideEffect,
  Statement,
  StructLiteral,
  Unary,
  With
} from '../syntax/ast.ts'
import type { Binary } from '../syntax/ast-expressions.ts'
import type { Assign, BindingPattern, Let } from '../syntax/ast-statements.ts'
import { bare, entryKey, entryValue } from '../syntax/entries.ts'
import { isStatement } from '../syntax/is-statement.ts'
import { BOOL, DEC, FLOAT, INT, LIST, RESULT, STR } from '../types/builtin-types.ts'
import { NATIVES } from '../types/natives/natives.ts'
import { ANY, resolved, type Type } from '../types/type.ts'
import type { Conversion } from '../types/typed-module.ts'
import type { BodyScope } from './body-scope.ts'
import { callOf, pipeOf, spawnOf } from './calls.ts'
import { databaseOf, isDatabaseCall } from './database.ts'
import { intOf, literalOf } from './literals.ts'
import type { Lowering } from './lowering.ts'
import { type ModuleScope, spanOf } from './module-scope.ts'

const BINARY = {
  is: 'is',
  isnt: 'isnt',
  '<': 'lt',
  '>': 'gt',
  '<=': 'lte',
  '>=': 'gte',
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'mod'
} as const

const ASSIGNED = { '=': null, '+=': 'add', '-=': 'sub', '*=': 'mul', '/=': 'div' } as const

/** What `return` and `?` mean in the function that is being lowered. */
export interface Frame {
  /** True if the function returns a Result: the answer of a database operation is returned as one. */
  readonly returnsResult: boolean
  /** True if `?` after a database operation returns its failure. Otherwise the failure throws. */
  readonly returnsFailures: boolean
}

interface Parameters {
  readonly params: Hir.LocalId[]
  readonly defaults: (Hir.Expr | null)[]
}

/**
 * Lowers expressions and statements of one body. Parameters and other names are bound in its scope. The parser limits
 * the depth of the syntax tree, so that recursion is safe.
 */
export class BodyLowering implements Lowering {
  readonly module: ModuleScope
  readonly scope: BodyScope
  #frame: Frame
  /** Patterns of immutable variables that hold the answer of a database operation as a Result. */
  readonly #kept: ReadonlySet<Pattern>
  /** Patterns of variables whose answer is needed as a Result, although they do not hold one yet. */
  readonly missing = new Set<Pattern>()
  /** Patterns of the variables that hold the answer of an operation, as a Result if they are kept. */
  readonly #answers = new Map<Hir.LocalId, Pattern>()
  /** Variables that hold a Result, although their type is that of an answer. */
  readonly #results = new Set<Hir.LocalId>()

  constructor(module: ModuleScope, scope: BodyScope, frame: Frame, kept: ReadonlySet<Pattern>) {
    this.module = module
    this.scope = scope
    this.#frame = frame
    this.#kept = kept
  }

  value(expression: Expression): Hir.Expr {
    return this.#expression(expression, false)
  }

  result(expression: Expression): Hir.Expr {
    return this.#expression(expression, true)
  }

  /** Lowers the body of a function: its last value is returned. */
  body(body: Block): Hir.Block {
    return this.block(body, this.#frame.returnsResult)
  }

  /** Declares parameters, then further variables, and lowers the defaults. */
  params(params: readonly Param[], types: readonly Hir.Type[], further: readonly string[] = []): Parameters {
    const { any } = this.module.types
    const declared = params.map(({ name }, index) => this.scope.declare(name.text, types[index] ?? any))
    const others = further.map(name => this.scope.declare(name, any))
    const defaults = params.map(({ value }) => (value === null ? null : this.value(value)))
    return { params: [...declared, ...others], defaults: [...defaults, ...others.map(() => null)] }
  }

  // Values and their conversions

  #expression(expression: Expression, asResult: boolean): Hir.Expr {
    if (expression.kind === 'Paren') return this.#expression(expression.inner, asResult)
    const conversion = this.module.typed.conversionOf(expression)
    if (conversion === null) return this.#plain(expression, asResult)
    return this.#converted(expression, conversion)
  }

  #converted(expression: Expression, conversion: Conversion | null): Hir.Expr {
    const { types } = this.module
    const span = this.module.span(expression)
    switch (conversion?.kind) {
      case undefined:
      case 'unwrap':
        return conversion?.kind === 'unwrap' && conversion.inner !== null
          ? this.#converted(expression, conversion.inner)
          : this.#plain(expression, false)
      case 'keep': {
        const kept = this.#plain(expression, true)
        if (conversion.inner?.kind !== 'records') return kept
        return { kind: 'Convert', type: types.of(conversion.inner.type), conversion: 'struct', operand: kept, ...span }
      }
      case 'success': {
        const type = types.of(conversion.type)
        const receiver = this.#plain(expression, false)
        return { kind: 'CallNative', type, native: 'Result.unwrap', receiver, args: [], options: null, ...span }
      }
      case 'float':
        if (expression.kind === 'Int') {
          return { kind: 'Float', type: types.of(FLOAT), value: Number(expression.digits), ...span }
        }
        return this.#convert('float', types.of(FLOAT), expression, span)
      case 'decimal':
        if (!('digits' in expression)) return this.#plain(expression, false)
        return { kind: 'Decimal', type: types.of(DEC), digits: expression.digits, ...span }
      case 'record': {
        const { type } = conversion
        if (expression.kind !== 'Object') return this.#convert('struct', types.of(type), expression, span)
        return this.#structOf(type.def.name, types.of(type), expression.entries, span)
      }
      case 'records':
        return this.#convert('struct', types.of(conversion.type), expression, span)
      case 'map':
        if (expression.kind !== 'Object') return this.#plain(expression, false)
        return this.#map(expression, types.of(this.module.typeOf(expression)), span)
      case 'some': {
        const value = this.#converted(expression, conversion.inner)
        return {
          kind: 'Variant',
          type: types.named('Option', [value.type]),
          name: 'Some',
          args: [value],
          fields: [0],
          ...span
        }
      }
      case 'any': {
        const type = types.of(conversion.type)
        if (type.kind === 'any' || type.kind === 'param') return this.#plain(expression, false)
        return this.#convert('checked', type, expression, span)
      }
    }
  }

  #convert(conversion: Hir.Convert['conversion'], type: Hir.Type, expression: Expression, span: Hir.Span): Hir.Convert {
    return { kind: 'Convert', type, conversion, operand: this.#plain(expression, false), ...span }
  }

  /** Lowers an expression without its conversion. `asResult` keeps an answer as a Result. */
  #plain(expression: Expression, asResult: boolean): Hir.Expr {
    const { types } = this.module
    const known = this.module.typeOf(expression)
    const span = this.module.span(expression)
    const isKept = asResult && known.kind === 'answer'
    const type = isKept && hasBranches(expression) ? this.#resultType(types.of(known)) : types.of(known)
    switch (expression.kind) {
      case 'Paren':
        return this.#expression(expression.inner, asResult)
      case 'Block':
        return { kind: 'Block', type, block: this.block(expression, isKept || isResult(known)), ...span }
      case 'If':
        return this.#if(expression, type, span, isKept || isResult(known))
      case 'Match':
        return this.#match(expression, type, span, isKept || isResult(known))
      case 'SideEffect':
        return this.#sideEffect(expression, type, span, isKept || isResult(known))
      case 'Identifier': {
        const read = this.#name(expression, type, span)
        if (read.kind !== 'Local') return isKept ? this.#ok(read) : read
        return this.#answer(read, known, isKept)
      }
      case 'Call':
        if (isKept && isDatabaseCall(this, expression)) return databaseOf(this, expression, true)
        return isKept ? this.#ok(callOf(this, expression)) : callOf(this, expression)
      default: {
        const plain = this.#simple(expression, type, span)
        return isKept ? this.#ok(plain) : plain
      }
    }
  }

  /** Makes a value a Result: the operation that it comes from did not fail. */
  #ok(value: Hir.Expr): Hir.Expr {
    const type = this.#resultType(value.type)
    return { kind: 'Variant', type, name: 'Ok', args: [value], fields: [0], ...spanOf(value) }
  }

  #resultType(value: Hir.Type): Hir.Type {
    const { types } = this.module
    return types.named('Result', [value, types.named('str')])
  }

  /** Reads a variable that may hold an answer: as a Result, or as its value. */
  #answer(read: Hir.LocalRead, known: Type, isKept: boolean): Hir.Expr {
    if (known.kind !== 'answer') return read
    if (this.#results.has(read.local)) {
      const held: Hir.LocalRead = { ...read, type: this.#resultType(read.type) }
      if (isKept) return held
      return { kind: 'Convert', type: read.type, conversion: 'unwrap', operand: held, ...spanOf(read) }
    }
    const pattern = this.#answers.get(read.local)
    if (isKept && pattern !== undefined) this.missing.add(pattern)
    return isKept ? this.#ok(read) : read
  }

  #simple(expression: Expression, type: Hir.Type, span: Hir.Span): Hir.Expr {
    switch (expression.kind) {
      case 'Int':
        return { kind: 'Int', type, value: intOf(expression.digits), ...span }
      case 'Float':
        return { kind: 'Float', type, value: Number(expression.digits), ...span }
      case 'Decimal':
        return { kind: 'Decimal', type, digits: expression.digits, ...span }
      case 'String':
        return { kind: 'Str', type: this.module.types.of(STR), value: expression.value, ...span }
      case 'Bool':
        return { kind: 'Bool', type, value: expression.value, ...span }
      case 'Unit':
        return { kind: 'Unit', type: this.module.types.unit, ...span }
      case 'Missing':
        return { kind: 'Unresolved', type, name: '', ...span }
      case 'Tuple':
        return { kind: 'Tuple', type, items: this.#all(expression.items), ...span }
      case 'List':
        return { kind: 'List', type, items: this.#all(expression.items), ...span }
      case 'Object':
        return this.#object(expression, type, span)
      case 'Struct':
        return this.#struct(expression, type, span)
      case 'For':
        return this.#for(expression, type, span)
      case 'Lambda':
        return this.#lambda(expression, type, span)
      case 'Spawn':
        return spawnOf(this, expression, type, span)
      case 'Unary':
        return this.#unary(expression, type, span)
      case 'Binary':
        return this.#binary(expression, type, span)
      case 'With':
        return this.#with(expression, type)
      case 'Member':
        return this.#member(expression, type, span)
      case 'TupleIndex':
        return { kind: 'Item', type, object: this.value(expression.object), index: expression.index, ...span }
      case 'IndexAccess':
        return this.#index(expression, type, span)
      case 'Try':
        return this.#try(expression.operand, type, span)
      case 'Element': {
        const call = this.module.typed.callOfElement(expression)
        return call === null ? this.#element(expression, type, span) : callOf(this, call)
      }
      case 'ElementFragment':
        return { kind: 'Fragment', type, children: this.#all(expression.children), ...span }
      default:
        throw new TypeError(`the expression ${expression.kind} is lowered elsewhere`)
    }
  }

  #all(expressions: readonly Expression[]): Hir.Expr[] {
    return expressions.map(expression => this.value(expression))
  }

  // Names

  #name({ name }: Identifier, type: Hir.Type, span: Hir.Span): Hir.Expr {
    const { module } = this
    const bound = this.scope.lookup(name)
    switch (bound?.kind) {
      case 'local':
        return { kind: 'Local', type, local: bound.local, ...span }
      case 'state':
        return { kind: 'State', type, field: bound.field, ...span }
      case 'request':
        return { kind: 'Request', type, ...span }
    }
    const entry = module.name(name)
    if (entry === undefined) return this.#native(name, type, span)
    const variant = module.variant(name)
    switch (entry.declaration.kind) {
      case 'Function':
      case 'ExternFunction':
      case 'Workflow':
      case 'Activity':
        return { kind: 'Function', type, name, ...span }
      case 'Const':
        return { kind: 'Constant', type, name, ...span }
    }
    if (variant === undefined) return { kind: 'Unresolved', type, name, ...span }
    if (variant.fields.length > 0) return { kind: 'Constructor', type, name, ...span }
    return { kind: 'Variant', type, name, args: [], fields: [], ...span }
  }

  #native(name: string, type: Hir.Type, span: Hir.Span): Hir.Expr {
    const native = this.module.native(name)
    if (native === undefined) return { kind: 'Unresolved', type, name, ...span }
    switch (name) {
      case 'None':
        return { kind: 'Variant', type, name, args: [], fields: [], ...span }
      case 'Unit':
        return { kind: 'Unit', type, ...span }
      case 'Some':
      case 'Ok':
      case 'Error':
        return { kind: 'Constructor', type, name, ...span }
      case 'Err':
        return { kind: 'Constructor', type, name: 'Error', ...span }
      default:
        return { kind: 'Native', type, native: native.path, ...span }
    }
  }

  isLocal(name: string): boolean {
    return this.scope.lookup(name) !== undefined
  }

  #member(node: Member, type: Hir.Type, span: Hir.Span): Hir.Expr {
    const path = this.module.namespacePath(node, name => this.isLocal(name))
    if (path !== null) {
      const split = path.lastIndexOf('.')
      const member = NATIVES.namespace(path.slice(0, split))?.get(node.property.text)
      return member === undefined
        ? { kind: 'Unresolved', type, name: path, ...span }
        : { kind: 'Native', type, native: member.path, ...span }
    }
    const object = this.value(node.object)
    const known = this.module.typeOf(node.object)
    const name = fieldName(known, node.property.text)
    if (object.type.kind === 'tuple') return { kind: 'Item', type, object, index: Number(name), ...span }
    return { kind: 'Field', type, object, name, ...span }
  }

  #index({ object, index }: IndexAccess, type: Hir.Type, span: Hir.Span): Hir.Expr {
    return { kind: 'Index', type, object: this.value(object), index: this.value(index), ...span }
  }

  // Records

  #object(literal: ObjectLiteral, type: Hir.Type, span: Hir.Span): Hir.Expr {
    const name = this.module.typed.records.get(literal)
    if (name !== undefined) return this.#structOf(name, this.module.types.named(name), literal.entries, span)
    if (type.kind === 'named' && type.name === 'Map') return this.#map(literal, type, span)
    return { kind: 'Record', type, fields: this.#entries(literal.entries), ...span }
  }

  #map({ entries }: ObjectLiteral, type: Hir.Type, span: Hir.Span): Hir.MapLiteral {
    return { kind: 'Map', type, entries: this.#entries(entries), ...span }
  }

  #entries(entries: readonly ObjectEntry[]): [string, Hir.Expr][] {
    return entries.map(entry => [entryKey(entry), this.value(entryValue(entry))])
  }

  #structOf(name: string, type: Hir.Type, entries: readonly ObjectEntry[], span: Hir.Span): Hir.Struct {
    return { kind: 'Struct', type, name, fields: this.#entries(entries), ...span }
  }

  /** Lowers `Point { x: 1 }`, and `Circle { r: 1.0 }` of a type with variants. */
  #struct({ name, entries }: StructLiteral, type: Hir.Type, span: Hir.Span): Hir.Expr {
    const variant = this.module.variant(name.text)
    if (variant === undefined) return this.#structOf(name.text, type, entries, span)
    const fields = entries.map(entry => variant.fields.findIndex(field => field.name === entryKey(entry)))
    const args = entries.map(entry => this.value(entryValue(entry)))
    return { kind: 'Variant', type, name: name.text, args, fields, ...span }
  }

  // Operators

  #unary({ operator, operand }: Unary, type: Hir.Type, span: Hir.Span): Hir.Expr {
    // The minimum int has no positive counterpart, so its sign is part of the literal.
    if (operator === '-' && operand.kind === 'Int' && BigInt(operand.digits) === 1n << 63n) {
      return { kind: 'Int', type, value: -(1n << 63n), ...span }
    }
    return { kind: 'Unary', type, operator: operator === '-' ? 'neg' : 'not', operand: this.value(operand), ...span }
  }

  #binary(expression: Binary, type: Hir.Type, span: Hir.Span): Hir.Expr {
    const { operator, left, right } = expression
    if (operator === '|>') return pipeOf(this, left, right, type, span)
    const first = this.value(left)
    const second = this.value(right)
    if (operator === 'and' || operator === 'or') {
      return { kind: 'Logical', type: this.module.types.of(BOOL), operator, left: first, right: second, ...span }
    }
    return { kind: 'Binary', type, operator: BINARY[operator], left: first, right: second, ...span }
  }

  /** Lowers a call with options. Of nested `with` records, the inner one wins. */
  #with({ operand, options }: With, type: Hir.Type): Hir.Expr {
    const records = [bare(options)]
    let inner = bare(operand)
    while (inner.kind === 'With') {
      records.push(bare(inner.options))
      inner = bare(inner.operand)
    }
    const fields = records.flatMap(record => (record.kind === 'Object' ? this.#entries(record.entries) : []))
    const lowered: Hir.Expr = { kind: 'Record', type: this.module.types.any, fields, ...this.module.span(options) }
    const call = this.value(inner)
    return 'options' in call ? { ...call, type, options: lowered } : call
  }

  #try(operand: Expression, type: Hir.Type, span: Hir.Span): Hir.Expr {
    if (this.module.typeOf(operand).kind !== 'answer')
      return { kind: 'Try', type, operand: this.value(operand), ...span }
    // A function that cannot return the failure throws it, so that nothing is left to unwrap.
    if (!this.#frame.returnsFailures) return this.value(operand)
    return { kind: 'Try', type, operand: this.result(operand), ...span }
  }

  // Control

  /** Lowers statements in a new scope. `asResult` keeps the answer in the last one as a Result. */
  block({ statements }: Block, asResult = false): Hir.Block {
    return this.scope.within(() =>
      statements.map((statement, index) => {
        if (index < statements.length - 1 || statement.kind !== 'ExpressionStatement') return this.statement(statement)
        const span = this.module.span(statement)
        return { kind: 'Expr', value: this.#expression(statement.expression, asResult), ...span }
      })
    )
  }

  #if({ condition, then, else: other }: If, type: Hir.Type, span: Hir.Span, asResult: boolean): Hir.If {
    return {
      kind: 'If',
      type,
      condition: this.value(condition),
      // biome-ignore lint/suspicious/noThenProperty: the field holds a branch, not a function
      then: this.block(then, asResult),
      otherwise:
        other === null ? null : other.kind === 'Block' ? this.block(other, asResult) : this.#elseIf(other, asResult),
      ...span
    }
  }

  #elseIf(other: If, asResult: boolean): Hir.Block {
    return [{ kind: 'Expr', value: this.#expression(other, asResult), ...this.module.span(other) }]
  }

  #match({ subject, arms }: Match, type: Hir.Type, span: Hir.Span, asResult: boolean): Hir.Match {
    const known = this.module.typeOf(subject)
    const holds = known.kind === 'answer' ? this.#heldBy(arms) : null
    const lowered = this.#expression(subject, holds === 'result')
    return { kind: 'Match', type, subject: lowered, arms: arms.map(arm => this.#arm(arm, asResult, holds)), ...span }
  }

  /**
   * Returns what the variables of arms hold that match an answer: a Result if a pattern is of one, or if a variable is
   * needed as one; the answer, which may still be needed so; null if a pattern is of the value.
   */
  #heldBy(arms: Match['arms']): 'result' | 'answer' | null {
    const patterns = arms.flatMap(arm => arm.patterns)
    if (patterns.some(isResultPattern)) return 'result'
    if (patterns.some(({ kind }) => kind !== 'BindingPattern' && kind !== 'WildcardPattern')) return null
    return patterns.some(pattern => this.#kept.has(pattern)) ? 'result' : 'answer'
  }

  #arm(
    { patterns, guard, body, start, end }: MatchArm,
    asResult: boolean,
    holds: 'result' | 'answer' | null
  ): Hir.MatchArm {
    return this.scope.within(() => {
      // All alternatives of a pattern bind the same variables.
      const shared = new Map<string, Hir.LocalId>()
      const lowered = patterns.map(pattern => {
        if (holds === 'result' && pattern.kind === 'BindingPattern') return this.#bindResult(pattern)
        const bound = this.pattern(pattern, false, shared)
        if (holds === 'answer' && bound.kind === 'Bind') this.#answers.set(bound.local, pattern)
        return bound
      })
      return {
        patterns: lowered,
        guard: guard === null ? null : this.value(guard),
        body: this.#armBody(body, asResult),
        ...this.module.span({ start, end })
      }
    })
  }

  #armBody(body: MatchArm['body'], asResult: boolean): Hir.Expr {
    if (!isStatement(body)) return this.#expression(body, asResult)
    const isJump = body.kind === 'Return' || body.kind === 'Break' || body.kind === 'Continue'
    const { never, unit } = this.module.types
    const block = [this.statement(body)]
    return { kind: 'Block', type: isJump ? never : unit, block, ...this.module.span(body) }
  }

  #for(loop: For, type: Hir.Type, span: Hir.Span): Hir.For {
    const { binding, index, iterable, key, body } = loop
    const known = this.module.typeOf(loop)
    const over = this.value(iterable)
    return this.scope.within(() => {
      const pattern = this.pattern(binding, false)
      const position = index === null ? null : this.scope.declare(index.text, this.module.types.of(INT))
      return {
        kind: 'For',
        type,
        binding: pattern,
        index: position,
        iterable: over,
        key: key === null ? null : this.value(key),
        body: this.#expression(body, isListOfResults(known)),
        ...span
      }
    })
  }

  #lambda(lambda: Lambda, type: Hir.Type, span: Hir.Span): Hir.Lambda {
    const known = resolved(this.module.typeOf(lambda))
    const types = known.kind === 'fn' ? known.params.map(each => this.module.types.of(each.type)) : []
    const outer = this.#frame
    this.#frame = frameOf(known.kind === 'fn' ? known.result : ANY, lambda.result !== null)
    const [lowered, captures] = this.scope.lambda(() => {
      const head = this.params(lambda.params, types)
      return { ...head, body: this.#expression(lambda.body, this.#frame.returnsResult) }
    })
    this.#frame = outer
    return { kind: 'Lambda', type, isCancellable: lambda.isCancellable, ...lowered, captures, ...span }
  }

  #sideEffect({ body }: SideEffect, type: Hir.Type, span: Hir.Span, asResult: boolean): Hir.SideEffect {
    return { kind: 'SideEffect', type, block: this.block(body, asResult), ...span }
  }

  // Views

  #element({ tag, attributes, children, syntax }: Element, type: Hir.Type, span: Hir.Span): Hir.Element {
    return {
      kind: 'Element',
      type,
      tag: tag.text,
      isCall: syntax === 'call',
      attributes: attributes.map(attribute => ({
        name: attribute.name.text,
        value: attribute.value === null ? null : this.value(attribute.value),
        ...this.module.span(attribute)
      })),
      children: children === null ? null : this.#all(children),
      ...span
    }
  }

  // Statements

  statement(statement: Statement): Hir.Stmt {
    const span = this.module.span(statement)
    switch (statement.kind) {
      case 'ExpressionStatement':
        return { kind: 'Expr', value: this.value(statement.expression), ...span }
      case 'Let':
        return this.#let(statement, span)
      case 'Assign':
        return this.#assign(statement, span)
      case 'Return': {
        const { value } = statement
        return {
          kind: 'Return',
          value: value === null ? null : this.#expression(value, this.#frame.returnsResult),
          ...span
        }
      }
      case 'While':
        return { kind: 'While', condition: this.value(statement.condition), body: this.block(statement.body), ...span }
      case 'Loop':
        return { kind: 'Loop', body: this.block(statement.body), ...span }
      case 'Break':
        return { kind: 'Break', ...span }
      case 'Continue':
        return { kind: 'Continue', ...span }
    }
  }

  #let({ pattern, type, value, isMutable }: Let, span: Hir.Span): Hir.Let {
    // An immutable variable may hold the answer of an operation, which then fails where it is used.
    const isAnswer = type === null && !isMutable && pattern.kind === 'BindingPattern' && this.#isAnswer(bare(value))
    const isKept = isAnswer && this.#kept.has(pattern)
    const lowered = this.#expression(value, isKept)
    const bound =
      isKept && pattern.kind === 'BindingPattern' ? this.#bindResult(pattern) : this.pattern(pattern, isMutable)
    if (isAnswer && bound.kind === 'Bind') this.#answers.set(bound.local, pattern)
    return { kind: 'Let', pattern: bound, value: lowered, ...span }
  }

  /** True for an operation of the database, for branches with some, and for a variable that holds one. */
  #isAnswer(value: Expression): boolean {
    if (value.kind !== 'Identifier') {
      return isDatabaseCall(this, value) || (hasBranches(value) && this.module.typeOf(value).kind === 'answer')
    }
    const bound = this.scope.lookup(value.name)
    return bound?.kind === 'local' && (this.#answers.has(bound.local) || this.#results.has(bound.local))
  }

  /** Declares a variable that holds the answer of an operation as a Result. */
  #bindResult(pattern: BindingPattern): Hir.Pattern {
    const local = this.scope.declare(pattern.name.text, this.#resultType(this.#patternType(pattern)))
    this.#results.add(local)
    return { kind: 'Bind', local, ...this.module.span(pattern) }
  }

  #assign({ target, operator, value }: Assign, span: Hir.Span): Hir.Stmt {
    const place = this.#place(target)
    const lowered = this.value(value)
    return { kind: 'Update', place, operator: ASSIGNED[operator], value: lowered, ...span }
  }

  #place(target: Expression): Hir.Place {
    const path: ({ readonly field: string } | { readonly index: Hir.Expr })[] = []
    const root = this.#root(target, path)
    return { root, path, type: this.module.types.of(this.module.typeOf(target)) }
  }

  #root(target: Expression, path: ({ readonly field: string } | { readonly index: Hir.Expr })[]): Hir.Place['root'] {
    switch (target.kind) {
      case 'Paren':
        return this.#root(target.inner, path)
      case 'Member': {
        const root = this.#root(target.object, path)
        path.push({ field: fieldName(this.module.typeOf(target.object), target.property.text) })
        return root
      }
      case 'TupleIndex': {
        const root = this.#root(target.object, path)
        path.push({ field: String(target.index) })
        return root
      }
      case 'IndexAccess': {
        const root = this.#root(target.object, path)
        path.push({ index: this.value(target.index) })
        return root
      }
      case 'Identifier': {
        const bound = this.scope.lookup(target.name)
        if (bound?.kind === 'local') return bound.local
        return { state: bound?.kind === 'state' ? bound.field : target.name }
      }
      default:
        throw new TypeError('only a variable, or a part of one, can be assigned')
    }
  }

  /** Lowers a pattern and declares its variables. `shared`: those of the other alternatives, by name. */
  pattern(pattern: Pattern, isMutable: boolean, shared: Map<string, Hir.LocalId> | null = null): Hir.Pattern {
    const span = this.module.span(pattern)
    switch (pattern.kind) {
      case 'WildcardPattern':
        return { kind: 'Wildcard', ...span }
      case 'BindingPattern': {
        const { text } = pattern.name
        const known = shared?.get(text)
        if (known !== undefined) return { kind: 'Bind', local: known, ...span }
        const local = this.scope.declare(text, this.#patternType(pattern), isMutable)
        shared?.set(text, local)
        return { kind: 'Bind', local, ...span }
      }
      case 'ConstructorPattern': {
        const name = pattern.name.text
        const args = (pattern.args ?? []).map(arg => this.pattern(arg, isMutable, shared))
        const isBuiltin = name === 'Err' && this.module.variant(name) === undefined
        return { kind: 'Variant', name: isBuiltin ? 'Error' : name, args, ...span }
      }
      case 'TuplePattern':
        return { kind: 'Tuple', items: pattern.items.map(item => this.pattern(item, isMutable, shared)), ...span }
      case 'LiteralPattern': {
        const { types } = this.module
        return { kind: 'Literal', value: literalOf(pattern, this.#patternType(pattern), types, span), ...span }
      }
    }
  }

  #patternType(pattern: Pattern): Hir.Type {
    return this.module.types.of(this.module.typed.typeOfPattern(pattern))
  }
}

/** Returns the frame of a function with this result type. */
export function frameOf(result: Type, declaresResult: boolean): Frame {
  const returnsResult = isResult(result)
  const type = resolved(result)
  const isOpen = type.kind === 'any' || type.kind === 'never' || (type.kind === 'named' && type.def.name === 'Unit')
  return { returnsResult, returnsFailures: returnsResult || (!declaresResult && isOpen) }
}

function isResult(type: Type): boolean {
  const known = resolved(type)
  return known.kind === 'named' && known.def === RESULT
}

/** True for expressions whose value is that of an inner one. */
function hasBranches({ kind }: Expression): boolean {
  return kind === 'Block' || kind === 'If' || kind === 'Match' || kind === 'SideEffect'
}

function isListOfResults(type: Type): boolean {
  return type.kind === 'named' && type.def === LIST && isResult(type.args[0] ?? ANY)
}

/** The key of a row is `_id`; programs also write `id` if the table has no such column. */
function fieldName(type: Type, name: string): string {
  const known = resolved(type.kind === 'answer' ? type.value : type)
  const isKey = name === 'id' && known.kind === 'named' && known.def.kind === 'row' && !known.def.fields?.has('id')
  return isKey ? '_id' : name
}

function isResultPattern(pattern: Pattern): boolean {
  return pattern.kind === 'ConstructorPattern' && ['Ok', 'Error', 'Err'].includes(pattern.name.text)
}
