import type { Doc } from '../../doc/doc.ts'
import type { Call, Expression, For, Identifier, If } from '../../syntax/ast-expressions.ts'
import type { Assign, Block, Let, Pattern, Statement, While } from '../../syntax/ast-statements.ts'
import { bare } from '../../syntax/entries.ts'
import { NO_ID } from '../../syntax/node.ts'
import type { AnyNode } from '../../syntax/walk.ts'
import {
  arrow,
  block,
  code,
  expressionStatement,
  Level,
  operand,
  stable,
  type TypeScriptCode
} from '../../typescript/code.ts'
import { propertyKey } from '../../typescript/names.ts'
import { ANY, type ValueType } from '../value-types/type.ts'
import { ExpressionTranslator } from './expression-translator.ts'
import { iterated, type Sink } from './function-translator.ts'
import { contains, needsStatements } from './needs-statements.ts'
import { newestStates } from './newest-states.ts'
import type { FunctionFrame } from './translator.ts'
import { isGeneric, isPlain, itemOf } from './value-types.ts'

/** Expressions without side effects, which are dropped if their value is unused. */
const IDLE: ReadonlySet<string> = new Set(['Int', 'Float', 'Decimal', 'String', 'Bool', 'Unit', 'Identifier'])

/** Expressions with several branches that produce the value. */
const CONTROL: ReadonlySet<string> = new Set(['If', 'Match', 'Block', 'SideEffect'])

/** Translates statements, and expressions as statements. */
export abstract class StatementTranslator extends ExpressionTranslator {
  protected abstract matchInto(node: Extract<Expression, { kind: 'Match' }>, sink: Sink): void

  functionBody(body: Expression, frame: FunctionFrame, sink: Sink): Doc[] {
    const names = newestStates(body, name => (this.scope.lookup(name)?.setter ?? null) !== null)
    return this.within(() => {
      const newest = new Map(frame.newest)
      for (const name of names) {
        const variable = this.scope.fresh(`next_${name}`)
        const now = frame.newest.get(name) ?? this.scope.lookup(name)?.name ?? name
        newest.set(name, variable)
        this.out.push(`let ${variable} = ${now}`)
      }
      this.inFrame({ ...frame, newest }, () => this.into(body, sink))
    })
  }

  into(expression: Expression, sink: Sink): void {
    const node = bare(expression)
    switch (node.kind) {
      case 'If':
        if (needsStatements(node) || sink.kind === 'drop') this.#ifInto(node, sink)
        else this.#valueInto(node, sink)
        return
      case 'Match':
        this.matchInto(node, sink)
        return
      case 'Block':
        this.#blockInto(node, sink)
        return
      case 'SideEffect':
        this.#blockInto(node.body, sink)
        return
      case 'For':
        if (sink.kind === 'drop') this.eachStatement(node, null)
        else this.#valueInto(node, sink)
        return
      default:
        this.#valueInto(node, sink)
    }
  }

  #valueInto(node: Expression, sink: Sink): void {
    if (sink.kind === 'drop') {
      if (IDLE.has(node.kind)) return
      const value = this.isRemote(node) ? this.throwingCall(node) : this.expression(node)
      const isDone = value.isStable === true && typeof value.doc === 'string'
      if (!isDone) this.out.push(expressionStatement(value.doc))
      return
    }
    const value = this.expression(node)
    const type = this.typeOf(node)
    if (type.kind === 'never') this.out.push(expressionStatement(value.doc))
    else this.out.push(sink.kind === 'return' ? ['return ', value.doc] : [`${sink.to} = `, value.doc])
  }

  #blockInto({ statements }: Block, sink: Sink): void {
    const { scope } = this
    this.scope = scope.overlay()
    for (const [index, statement] of statements.entries()) {
      this.statement(statement, index === statements.length - 1 ? sink : { kind: 'drop' })
    }
    const last = statements.at(-1)
    if (last?.kind !== 'ExpressionStatement' && last?.kind !== 'Return' && sink.kind === 'assign') {
      this.out.push(`${sink.to} = null`)
    }
    this.scope = scope
  }

  #ifInto({ condition, then, else: other }: If, sink: Sink): void {
    const test = this.expression(condition)
    const parts: Doc[] = ['if (', test.doc, ') ', this.blockOf(() => this.into(then, sink))]
    if (other === null) {
      this.out.push(parts)
      if (sink.kind === 'assign') this.out.push(`${sink.to} = null`)
      return
    }
    const rest = this.within(() => this.into(other, sink))
    const [only] = rest
    // If the else branch is only an `if`, the output is `else if`.
    const isChain = other.kind === 'If' && rest.length === 1 && Array.isArray(only) && only[0] === 'if ('
    if (rest.length > 0) parts.push(' else ', isChain ? (only as Doc) : block(rest))
    this.out.push(parts)
  }

  statement(statement: Statement, sink: Sink): void {
    switch (statement.kind) {
      case 'ExpressionStatement':
        this.into(statement.expression, sink)
        return
      case 'Let':
        this.#let(statement)
        return
      case 'Assign':
        this.assign(statement)
        return
      case 'Return':
        if (statement.value === null) this.out.push('return')
        else this.into(statement.value, { kind: 'return' })
        return
      case 'While':
        this.#while(statement)
        return
      case 'Loop':
        this.out.push(['while (true) ', this.#loop(() => this.into(statement.body, { kind: 'drop' }))])
        return
      case 'Break':
      case 'Continue':
        if (this.frame.isInLoop) this.out.push(statement.kind === 'Break' ? 'break' : 'continue')
        else this.out.push(this.unavailable('a loop to leave from here', statement).doc)
    }
  }

  #while({ condition, body }: While): void {
    if (needsStatements(condition)) {
      const inner = this.#loop(() => {
        const test = this.expression(condition)
        this.out.push(['if (!', operand(test, Level.prefix), ') break'])
        this.into(body, { kind: 'drop' })
      })
      this.out.push(['while (true) ', inner])
      return
    }
    const test = this.expression(condition)
    this.out.push(['while (', test.doc, ') ', this.#loop(() => this.into(body, { kind: 'drop' }))])
  }

  #loop(write: () => void): Doc {
    return this.inFrame({ ...this.frame, isInLoop: true }, () => this.blockOf(write))
  }

  #let({ pattern, type, value, isMutable }: Let): void {
    const found = type === null ? this.typeOf(value) : this.program.reader.read(type)
    if (pattern.kind !== 'BindingPattern') {
      const made = this.expression(value)
      this.out.push(['const ', this.target(pattern, found), ' = ', made.doc])
      return
    }
    const { text } = pattern.name
    const isAsync = value.kind === 'Lambda' && this.hasToWait(value.body)
    const declared = { type: found, isVariable: isMutable, isAsync }
    const known = type === null ? this.file.valueType(found) : this.file.type(type)
    if (CONTROL.has(bare(value).kind) && needsStatements(value)) {
      const name = this.scope.fresh(text)
      this.out.push(`let ${name}${known === null ? '' : `: ${known}`}`)
      this.into(value, { kind: 'assign', to: name })
      this.scope.declare(text, { ...declared, as: name })
      return
    }
    const made = this.expression(value)
    const { name } = this.scope.declare(text, declared)
    const isOpen = isMutable || type !== null
    this.out.push([
      `${isMutable ? 'let' : 'const'} ${name}${isOpen && known !== null ? `: ${known}` : ''} = `,
      made.doc
    ])
  }

  protected assign({ target, operator, value }: Pick<Assign, 'target' | 'operator' | 'value'>): void {
    const { start, end } = value
    const changed: Expression =
      operator === '='
        ? value
        : { kind: 'Binary', id: NO_ID, operator: operator.charAt(0) as '+', left: target, right: value, start, end }
    const name = this.#updated(target, changed)
    if (name === null) this.#replace(target, value, changed)
    else this.#update(name, changed)
  }

  /** Assigns a changed value. The indexes of the target are evaluated once, from left to right, and then the value. */
  #replace(target: Expression, value: Expression, changed: Expression): void {
    const changes = contains(value, each => this.#mayChangeVariables(each))
    const indexes = indexesOf(target).filter(index => (changes ? !isLiteral(index) : contains(index, mayHaveEffects)))
    for (const index of indexes) this.fixed.set(index, stable(this.named(this.expression(index), 'at')))
    const made = this.expression(changed)
    const isPart = bare(target).kind !== 'Identifier'
    this.store(target, changes && isPart ? stable(this.named(made, 'changed')) : made)
    for (const index of indexes) this.fixed.delete(index)
  }

  /** True for assignments, and for calls of variables, which may be functions with assignments. */
  #mayChangeVariables(node: AnyNode): boolean {
    if (node.kind === 'Assign') return true
    const { callee } = node as Partial<Call>
    return node.kind === 'Call' && callee?.kind === 'Identifier' && this.scope.lookup(callee.name) !== undefined
  }

  /**
   * Returns the state in an assignment that depends on its previous value, in code that may run after another render;
   * null for other assignments.
   */
  #updated(target: Expression, value: Expression): string | null {
    const inner = bare(target)
    if (inner.kind !== 'Identifier' || !this.frame.isLater || needsStatements(value) || this.hasToWait(value))
      return null
    const isState = (this.scope.lookup(inner.name)?.setter ?? null) !== null && !this.frame.newest.has(inner.name)
    return isState && contains(value, each => (each as Identifier).name === inner.name, new Set()) ? inner.name : null
  }

  #update(state: string, value: Expression): void {
    const local = this.scope.lookup(state)
    if (local?.setter == null) return
    const { scope } = this
    this.scope = scope.inner()
    // The parameter shadows the value of the current render.
    this.scope.replace(state, { ...local, setter: null })
    const made = this.closed(value)
    this.scope = scope
    this.out.push([`${local.setter}(`, arrow(local.name, made).doc, ')'])
  }

  /** Assigns a variable. To assign a part of a record or a list, assigns a changed copy. */
  store(target: Expression, value: TypeScriptCode): void {
    const inner = bare(target)
    switch (inner.kind) {
      case 'Identifier': {
        const local = this.scope.lookup(inner.name)
        if (local?.setter == null) {
          this.out.push([`${local?.name ?? inner.name} = `, value.doc])
          return
        }
        const newest = this.frame.newest.get(inner.name)
        if (newest !== undefined) this.out.push([`${newest} = `, value.doc])
        this.out.push([`${local.setter}(`, newest ?? value.doc, ')'])
        return
      }
      case 'Member': {
        const objectCode = this.expression(inner.object)
        const key = propertyKey(inner.property.text)
        const entry: Doc = value.doc === key ? key : [`${key}: `, value.doc]
        this.store(inner.object, code(['{ ...', objectCode.doc, ', ', entry, ' }']))
        return
      }
      case 'IndexAccess': {
        const [objectCode, at] = this.operands([inner.object, inner.index]) as [TypeScriptCode, TypeScriptCode]
        const isKey = isGeneric(this.typeOf(inner.object), 'Map') || isPlain(this.typeOf(inner.index), 'str')
        const copy: Doc = isKey
          ? ['{ ...', objectCode.doc, ', [', at.doc, ']: ', value.doc, ' }']
          : [this.helper('with_item'), '(', objectCode.doc, ', ', at.doc, ', ', value.doc, ')']
        this.store(inner.object, code(copy))
        return
      }
      default:
        this.unavailable('an assignment to this', target)
    }
  }

  protected target(pattern: Pattern, type: ValueType): Doc {
    switch (pattern.kind) {
      case 'BindingPattern':
        return this.scope.declare(pattern.name.text, { type }).name
      case 'TuplePattern': {
        const items = type.kind === 'tuple' ? type.items : []
        return [
          '[',
          pattern.items.map((item, index) => [index === 0 ? '' : ', ', this.target(item, items[index] ?? ANY)]),
          ']'
        ]
      }
      default:
        return this.scope.fresh('_')
    }
  }

  protected eachStatement({ binding, index, iterable, body }: For, collect: string | null): void {
    const over = this.expression(iterable)
    const type = this.typeOf(iterable)
    const list = isPlain(type, 'str') && index === null ? over : iterated(over, type)
    let head: Doc = ''
    const statements = this.within(() => {
      const target = this.target(binding, itemOf(type))
      if (index === null) head = ['const ', target, ' of ', list.doc]
      else {
        const position = this.scope.declare(index.text, { type: { kind: 'plain', name: 'int' } })
        head = [`const [${position.name}, `, target, '] of ', operand(list, Level.postfix), '.entries()']
      }
      this.inFrame({ ...this.frame, isInLoop: true }, () => {
        if (collect === null) this.into(body, { kind: 'drop' })
        else this.out.push([`${collect}.push(`, this.expression(body).doc, ')'])
      })
    })
    this.out.push(['for (', head, ') ', block(statements)])
  }
}

/** Returns the indexes in the target of an assignment, from left to right. */
function indexesOf(target: Expression): Expression[] {
  const inner = bare(target)
  if (inner.kind === 'IndexAccess') return [...indexesOf(inner.object), inner.index]
  return inner.kind === 'Member' || inner.kind === 'TupleIndex' ? indexesOf(inner.object) : []
}

function isLiteral(expression: Expression): boolean {
  const inner = bare(expression)
  return LITERALS.has(inner.kind) || (inner.kind === 'Unary' && LITERALS.has(bare(inner.operand).kind))
}

const LITERALS: ReadonlySet<string> = new Set(['Int', 'String'])

function mayHaveEffects({ kind }: AnyNode): boolean {
  return kind === 'Call' || kind === 'Assign' || kind === 'SideEffect'
}
