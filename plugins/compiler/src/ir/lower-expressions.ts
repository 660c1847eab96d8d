import type { HirSpan } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { ByteOffsets } from '../hir/byte-offsets.ts'
import { lowerType } from '../hir/lower-types.ts'
import type { Param } from '../syntax/ast.ts'
import type {
  Argument,
  Attribute,
  BinaryOperator,
  Call,
  Element,
  Expression,
  For,
  Lambda,
  Match,
  MatchArm,
  ObjectEntry,
  ObjectLiteral,
  Unary
} from '../syntax/ast-expressions.ts'
import type { Block, LiteralPattern, Pattern, Statement } from '../syntax/ast-statements.ts'
import { bare, entryKey, entryValue } from '../syntax/entries.ts'
import { isStatement } from '../syntax/is-statement.ts'
import type { Span } from '../syntax/node.ts'
import { type DbChain, readDbChain } from '../types/db/chain.ts'
import type { DbTables } from '../types/db/db-tables.ts'
import type {
  DefId,
  IrArgument,
  IrAttribute,
  IrBinaryOperator,
  IrBlock,
  IrDbTableOp,
  IrExpression,
  IrMatchArm,
  IrParam,
  IrPattern,
  IrStatement
} from './ir-expressions.ts'

const BINARY: Readonly<Record<Exclude<BinaryOperator, '|>'>, IrBinaryOperator>> = {
  or: 'Or',
  and: 'And',
  is: 'Is',
  isnt: 'Isnt',
  '<': 'Lt',
  '>': 'Gt',
  '<=': 'Lte',
  '>=': 'Gte',
  '+': 'Add',
  '-': 'Sub',
  '*': 'Mul',
  '/': 'Div',
  '%': 'Mod'
}

const ASSIGNED = { '+=': 'Add', '-=': 'Sub', '*=': 'Mul', '/=': 'Div' } as const

/** Type names of record literals that have no type name and omit members with a default. */
export type RecordTypes = ReadonlyMap<ObjectLiteral, string>

/** Lowers bodies. The parser limits the depth of the syntax tree, so recursion is safe. */
export class ExpressionLowering {
  /** Builtin records that the bodies use. */
  readonly records = new Set<string>()
  readonly #offsets: ByteOffsets
  readonly #tables: DbTables
  readonly #records: RecordTypes
  #next: DefId = 0

  constructor(offsets: ByteOffsets, tables: DbTables, records: RecordTypes) {
    this.#offsets = offsets
    this.#tables = tables
    this.#records = records
  }

  /** Assigns and returns the next definition number. */
  define(): DefId {
    return this.#next++
  }

  span(span: Span): HirSpan {
    return this.#offsets.span(span)
  }

  params(params: readonly Param[]): IrParam[] {
    return params.map(param => ({
      id: this.define(),
      name: param.name.text,
      type_ann: param.type === null ? null : lowerType(param.type),
      default: param.value === null ? null : this.expression(param.value),
      span: this.span(param)
    }))
  }

  block({ statements }: Block): IrBlock {
    return statements.map(statement => this.statement(statement))
  }

  statement(statement: Statement): IrStatement {
    const span = this.span(statement)
    switch (statement.kind) {
      case 'Let': {
        const { pattern, type, value, isMutable: mutable } = statement
        const type_ann = type === null ? null : lowerType(type)
        return { Let: { pattern: this.pattern(pattern), type_ann, value: this.expression(value), mutable, span } }
      }
      case 'Assign': {
        const { target, operator, value } = statement
        const assigned = this.expression(value)
        const place = this.expression(target)
        if (operator === '=') return { Assign: { target: place, value: assigned, span } }
        // The operand and the target are one object, by which the interpreter knows a compound assignment.
        return { Assign: { target: place, value: { Binary: [ASSIGNED[operator], place, assigned, span] }, span } }
      }
      case 'ExpressionStatement':
        return { Expr: { expr: this.expression(statement.expression), span } }
      case 'Return':
        return { Return: { value: statement.value === null ? null : this.expression(statement.value), span } }
      case 'While':
        return { While: { condition: this.expression(statement.condition), body: this.block(statement.body), span } }
      case 'Loop':
        return { Loop: { body: this.block(statement.body), span } }
      case 'Break':
        return { Break: { span } }
      case 'Continue':
        return { Continue: { span } }
    }
  }

  pattern(pattern: Pattern): IrPattern {
    const span = this.span(pattern)
    switch (pattern.kind) {
      case 'WildcardPattern':
        return { Wildcard: span }
      case 'BindingPattern':
        return { Ident: [pattern.name.text, span] }
      case 'ConstructorPattern':
        return { Constructor: [pattern.name.text, (pattern.args ?? []).map(arg => this.pattern(arg)), span] }
      case 'TuplePattern':
        return { Tuple: [pattern.items.map(item => this.pattern(item)), span] }
      case 'LiteralPattern':
        return { Literal: [this.#literal(pattern), span] }
    }
  }

  #literal(pattern: LiteralPattern): IrExpression {
    const span = this.span(pattern)
    const { value, isNegative } = pattern
    const sign = isNegative ? '-' : ''
    switch (value.kind) {
      case 'Int':
        return { IntLit: [intOf(sign + value.digits), span] }
      case 'Float':
        return { FloatLit: [Number(sign + value.digits), span] }
      case 'Decimal':
        return { DecimalLit: [sign + value.digits, span] }
      default:
        return this.expression(value)
    }
  }

  /** Lowers a value as it is written: conversions at its place are not part of the document. */
  expression(expression: Expression): IrExpression {
    const span = this.span(expression)
    switch (expression.kind) {
      case 'Int':
        return { IntLit: [intOf(expression.digits), span] }
      case 'Float':
        return { FloatLit: [Number(expression.digits), span] }
      case 'Decimal':
        return { DecimalLit: [expression.digits, span] }
      case 'String':
        return { StringLit: [expression.value, span] }
      case 'Bool':
        return { BoolLit: [expression.value, span] }
      case 'Unit':
        return { TupleLit: [[], span] }
      case 'Identifier':
        return { Ident: [expression.name, span] }
      case 'Missing':
        return { Ident: ['', span] }
      case 'Paren':
        return this.expression(expression.inner)
      case 'Tuple':
        return { TupleLit: [this.#all(expression.items), span] }
      case 'List':
        return { ListLit: [this.#all(expression.items), span] }
      case 'Object':
        return this.#record(expression, span)
      case 'Struct':
        return { StructLit: { name: expression.name.text, fields: this.#entries(expression.entries), span } }
      case 'Block':
        return { Block: [this.block(expression), span] }
      case 'If': {
        const other = expression.else
        const branch =
          other === null
            ? null
            : other.kind === 'Block'
              ? this.block(other)
              : [{ Expr: { expr: this.expression(other), span: this.span(other) } }]
        return { If: [this.expression(expression.condition), this.block(expression.then), branch, span] }
      }
      case 'Match':
        return this.#match(expression, span)
      case 'For':
        return this.#for(expression, span)
      case 'Lambda':
        return this.#lambda(expression, span)
      case 'Spawn':
        return { Spawn: [this.expression(expression.target), span] }
      case 'SideEffect':
        return { SideEffect: { body: this.block(expression.body), span } }
      case 'Unary':
        return this.#unary(expression, span)
      case 'Binary': {
        const left = this.expression(expression.left)
        const right = this.expression(expression.right)
        if (expression.operator === '|>') return { Pipe: [left, right, span] }
        return { Binary: [BINARY[expression.operator], left, right, span] }
      }
      case 'With':
        return { With: [this.expression(expression.operand), this.expression(expression.options), span] }
      case 'Call':
        return this.#call(expression, span)
      case 'Member':
        return { FieldAccess: [this.expression(expression.object), expression.property.text, span] }
      case 'TupleIndex':
        return { FieldAccess: [this.expression(expression.object), String(expression.index), span] }
      case 'IndexAccess':
        return { Index: [this.expression(expression.object), this.expression(expression.index), span] }
      case 'Try':
        return { Try: { target: this.expression(expression.operand), span } }
      case 'Element':
        return this.#element(expression, span)
      case 'ElementFragment':
        return { JsxFragment: { children: this.#all(expression.children), span } }
    }
  }

  #all(expressions: readonly Expression[]): IrExpression[] {
    return expressions.map(expression => this.expression(expression))
  }

  #entries(entries: readonly ObjectEntry[]): [string, IrExpression][] {
    return entries.map(entry => [entryKey(entry), this.expression(entryValue(entry))])
  }

  /** Lowers a record literal. If it omits members with a default, it becomes a struct of its type. */
  #record(record: ObjectLiteral, span: HirSpan): IrExpression {
    const fields = this.#entries(record.entries)
    const name = this.#records.get(record)
    return name === undefined ? { ObjectLit: [fields, span] } : { StructLit: { name, fields, span } }
  }

  #match({ subject, arms }: Match, span: HirSpan): IrExpression {
    return { Match: [this.expression(subject), arms.map(arm => this.#arm(arm)), span] }
  }

  #arm(arm: MatchArm): IrMatchArm {
    const [only] = arm.patterns
    const patterns = arm.patterns.map(pattern => this.pattern(pattern))
    const first = arm.patterns[0] ?? arm
    const last = arm.patterns.at(-1) ?? arm
    const joined = this.span({ start: first.start, end: last.end })
    return {
      pattern: only !== undefined && patterns.length === 1 ? (patterns[0] as IrPattern) : { Or: [patterns, joined] },
      guard: arm.guard === null ? null : this.expression(arm.guard),
      body: this.#armBody(arm.body),
      span: this.span(arm)
    }
  }

  #armBody(body: MatchArm['body']): IrExpression {
    return isStatement(body) ? { Block: [[this.statement(body)], this.span(body)] } : this.expression(body)
  }

  #for({ binding, index, iterable, key, body }: For, span: HirSpan): IrExpression {
    const name = binding.kind === 'BindingPattern' ? binding.name.text : binding.kind === 'WildcardPattern' ? '_' : null
    const over = this.expression(iterable)
    if (name !== null && index === null && key === null) return { For: [name, over, this.expression(body), span] }
    return {
      ForEach: {
        binding: this.pattern(binding),
        index: index?.text ?? null,
        iterable: over,
        key: key === null ? null : this.expression(key),
        body: this.expression(body),
        span
      }
    }
  }

  #lambda({ params, result, body }: Lambda, span: HirSpan): IrExpression {
    const lowered = this.params(params)
    return { Lambda: [lowered, result === null ? null : lowerType(result), this.expression(body), span] }
  }

  #unary({ operator, operand }: Unary, span: HirSpan): IrExpression {
    // The minimum int has no positive counterpart, so its sign is part of the literal.
    const isMinimum = operator === '-' && operand.kind === 'Int' && BigInt(operand.digits) === 1n << 63n
    if (isMinimum) return { IntLit: [-(1n << 63n), span] }
    return { Unary: [operator === '-' ? 'Neg' : 'Not', this.expression(operand), span] }
  }

  #call(call: Call, span: HirSpan): IrExpression {
    const chain = readDbChain(call, this.#tables)
    if (chain !== null) return this.#dbOperation(chain, span)
    const callee = bare(call.callee)
    const args = call.args.map(argument => this.#argument(argument))
    if (callee.kind !== 'Member') return { Call: [this.expression(callee), args, false, span] }
    return { MethodCall: [this.expression(callee.object), callee.property.text, args, span] }
  }

  #argument({ name, value }: Argument): IrArgument {
    return { name: name?.text ?? null, value: this.expression(value) }
  }

  #dbOperation({ operation }: DbChain, span: HirSpan): IrExpression {
    const { table, op, predicate, projection, orderBy, limit, offset, page, capabilities } = operation
    const { aggregation, includes } = operation
    const has_limit = limit !== null
    return {
      DbTableOp: {
        table,
        op,
        args: operation.args.map(({ name, value }) => ({ name, value: this.expression(value) })),
        select_cols: projection,
        order_by: orderBy,
        limit: limit === null ? null : this.expression(limit),
        plan: {
          table,
          op,
          predicate,
          projection,
          order_by: orderBy,
          has_limit,
          capabilities,
          ...defined({
            aggregation: aggregation ?? undefined,
            includes: includes.length === 0 ? undefined : includes
          })
        },
        ...defined({
          offset: offset === null ? undefined : this.expression(offset),
          page: page === null ? undefined : this.#page(page)
        }),
        span
      }
    }
  }

  #page({ size, cursor }: NonNullable<DbChain['operation']['page']>): IrDbTableOp['page'] {
    this.records.add('Page')
    return { size: this.expression(size), cursor: cursor === null ? null : this.expression(cursor) }
  }

  #element({ tag, attributes, children }: Element, span: HirSpan): IrExpression {
    const lowered = attributes.map(attribute => this.#attribute(attribute))
    if (children === null) return { JsxSelfClosing: { tag: tag.text, attributes: lowered, span } }
    return { Jsx: { tag: tag.text, attributes: lowered, children: this.#all(children), span } }
  }

  /** Lowers an attribute; without a value, it is true. */
  #attribute(attribute: Attribute): IrAttribute {
    const { name, value } = attribute
    if (value !== null) return { name: name.text, value: this.expression(value) }
    return { name: name.text, value: { BoolLit: [true, this.span(attribute)] } }
  }
}

/** Returns a number if it is exact, else a bigint. */
function intOf(digits: string): number | bigint {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : BigInt(digits)
}
