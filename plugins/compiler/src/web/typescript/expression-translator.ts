import type { Doc } from '../../doc/doc.ts'
import type {
  Binary,
  Expression,
  If,
  IndexAccess,
  Member,
  ObjectEntry,
  ObjectLiteral,
  StringLiteral,
  Try
} from '../../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../../syntax/entries.ts'
import { NO_ID } from '../../syntax/node.ts'
import { block, code, enclosed, Level, operand, stable, type TypeScriptCode } from '../../typescript/code.ts'
import { literal, propertyKey } from '../../typescript/names.ts'
import { FunctionTranslator } from './function-translator.ts'
import { needsStatements } from './needs-statements.ts'
import { translateBinary } from './operators.ts'
import type { Binding } from './scope.ts'
import { isGeneric, isPlain } from './value-types.ts'

/** Translates expressions except calls and elements. */
export abstract class ExpressionTranslator extends FunctionTranslator {
  protected abstract call(expression: Extract<Expression, { kind: 'Call' }>): TypeScriptCode
  protected abstract markup(expression: Extract<Expression, { kind: 'Element' | 'ElementFragment' }>): TypeScriptCode

  override closed(expression: Expression): TypeScriptCode {
    const node = bare(expression)
    const isControl = node.kind === 'Match' || node.kind === 'Block' || node.kind === 'If'
    if (!isControl || !needsStatements(node)) return super.closed(node)
    const frame = { ...this.frame, isInLoop: false }
    return this.calledAtOnce(this.inFrame(frame, () => this.within(() => this.into(node, { kind: 'return' }))))
  }

  expression(expression: Expression): TypeScriptCode {
    const fixed = this.fixed.get(expression)
    if (fixed !== undefined) return fixed
    switch (expression.kind) {
      case 'Paren':
        return this.expression(expression.inner)
      case 'Int':
      case 'Float':
        if (this.program.isDecimal(expression)) return stable(literal(expression.digits))
        return stable(expression.digits.replace(/^0+(?=\d)/, ''))
      case 'Decimal':
        return stable(literal(expression.digits))
      case 'String':
        return this.string(expression)
      case 'Bool':
        return stable(String(expression.value))
      case 'Unit':
        return stable('null')
      case 'Missing':
        return stable('undefined')
      case 'Identifier':
        return this.#name(expression)
      case 'Tuple':
      case 'List':
        return code(
          enclosed(
            '[',
            this.operands(expression.items).map(each => each.doc),
            ']'
          )
        )
      case 'Object':
        return this.#record(expression)
      case 'Struct':
        return this.#struct(expression.name.text, expression.entries)
      case 'If':
        return this.#if(expression)
      case 'Block':
        return needsStatements(expression) ? this.#hoisted(expression) : this.#onlyExpression(expression)
      case 'Match':
      case 'SideEffect':
        return this.#hoisted(expression)
      case 'For':
        return this.loop(expression)
      case 'Lambda':
        return this.lambda(expression, [])
      case 'Spawn':
        return this.unavailable('spawning an actor', expression)
      case 'Unary':
        return this.#unary(expression.operator, expression.operand)
      case 'Binary':
        return this.#binary(expression)
      case 'With':
        return this.expression(expression.operand)
      case 'Call':
        return this.call(expression)
      case 'Member':
        return this.#member(expression)
      case 'TupleIndex': {
        const object = this.expression(expression.object)
        return code([operand(object, Level.postfix), `[${expression.index}]`])
      }
      case 'IndexAccess':
        return this.#index(expression)
      case 'Try':
        return this.#try(expression)
      case 'Element':
      case 'ElementFragment':
        return this.markup(expression)
    }
  }

  #onlyExpression({ statements: [only] }: Extract<Expression, { kind: 'Block' }>): TypeScriptCode {
    return only?.kind === 'ExpressionStatement' ? this.expression(only.expression) : stable('null')
  }

  #name(node: Extract<Expression, { kind: 'Identifier' }>): TypeScriptCode {
    const { name } = node
    const local = this.scope.lookup(name)
    if (local !== undefined) return this.#local(name, local)
    if (name === 'None' || name === 'Unit' || name === 'null') return stable('null')
    const entry = this.program.names.get(name)
    switch (entry?.kind) {
      case 'constant':
        return stable(this.file.shared(name))
      case 'constructor':
        return stable(this.file.imports.value('./types', name))
      case 'function': {
        const kind = this.program.kindOf(entry)
        if (kind === 'local') return stable(this.file.shared(name))
        if (kind === 'read' || kind === 'write') return stable(this.file.client(name))
        return kind === 'view' ? stable(this.file.component(name)) : this.unavailable(`the function ${name}`, node)
      }
      case undefined:
        return this.unavailable(`\`${name}\``, node)
      default:
        return this.unavailable(`\`${name}\``, node)
    }
  }

  #local(name: string, local: Binding): TypeScriptCode {
    const newest = local.setter === null ? undefined : this.frame.newest.get(name)
    if (newest !== undefined) return code(newest)
    return local.isVariable ? code(local.name) : stable(local.name)
  }

  #record(record: ObjectLiteral): TypeScriptCode {
    const { entries } = record
    const type = this.program.recordType(record)
    if (type !== undefined) return this.#struct(type, entries)
    const values = this.operands(entries.map(entryValue))
    return this.object(entries.map((entry, index) => [entryKey(entry), (values[index] as TypeScriptCode).doc]))
  }

  protected object(entries: readonly (readonly [key: string, value: Doc])[]): TypeScriptCode {
    const parts = entries.map(([key, value]): Doc => {
      const name = propertyKey(key)
      return value === name ? name : [name, ': ', value]
    })
    return code(enclosed('{', parts, '}', ' '))
  }

  /** Translates a struct literal. Omitted members get their defaults. */
  #struct(name: string, entries: readonly ObjectEntry[]): TypeScriptCode {
    const declaration = this.program.names.get(name)?.declaration
    const presentKeys = new Set(entries.map(entryKey))
    const variant =
      declaration?.kind === 'Type' && declaration.definition.form === 'variants'
        ? declaration.definition.variants.find(each => each.name.text === name)
        : undefined
    const fields =
      declaration?.kind === 'Type' && declaration.definition.form === 'struct' ? declaration.definition.fields : []
    const values = this.operands(entries.map(entryValue))
    const own = entries.map((entry, index) => [entryKey(entry), (values[index] as TypeScriptCode).doc] as const)
    const left = fields.flatMap(field =>
      presentKeys.has(field.name.text) || field.value === null
        ? []
        : [[field.name.text, this.expression(field.value).doc] as const]
    )
    return this.object([...(variant === undefined ? [] : [['_tag', literal(name)] as const]), ...own, ...left])
  }

  #if(node: If): TypeScriptCode {
    if (needsStatements(node)) return this.#hoisted(node)
    const condition = this.expression(node.condition)
    const then = this.closed(node.then)
    const other = node.else === null ? stable('null') : this.closed(node.else)
    return code(
      [operand(condition, Level.or), ' ? ', operand(then, Level.or), ' : ', operand(other, Level.choice)],
      Level.choice
    )
  }

  /** Translates an expression that needs statements. They assign a variable, whose name is returned. */
  #hoisted(node: Expression): TypeScriptCode {
    const type = this.typeOf(node)
    if (isPlain(type, 'Unit') || type.kind === 'never') {
      this.into(node, { kind: 'drop' })
      return stable('null')
    }
    const name = this.scope.fresh('result')
    const text = this.file.valueType(type)
    this.out.push(`let ${name}${text === null ? '' : `: ${text}`}`)
    this.into(node, { kind: 'assign', to: name })
    return stable(name)
  }

  protected string({ value }: StringLiteral): TypeScriptCode {
    return stable(literal(value))
  }

  #unary(operator: 'not' | '-', inner: Expression): TypeScriptCode {
    const value = this.expression(inner)
    if (operator === 'not') return code(['!', operand(value, Level.prefix)], Level.prefix)
    if (isPlain(this.typeOf(inner), 'dec')) return code([this.helper('decimal_difference'), "('0', ", value.doc, ')'])
    const isNegative = typeof value.doc !== 'string' && value.level === Level.prefix
    return code(['-', isNegative ? ['(', value.doc, ')'] : operand(value, Level.prefix)], Level.prefix)
  }

  #binary(node: Binary): TypeScriptCode {
    const { operator, left, right } = node
    if (operator === '|>') return this.#pipe(node)
    if ((operator === 'and' || operator === 'or') && needsStatements(right)) return this.#shortCircuit(node)
    const [a, b] = this.operands([left, right]) as [TypeScriptCode, TypeScriptCode]
    const types = [this.typeOf(left), this.typeOf(right)] as const
    const isNone = (each: Expression): boolean => {
      const inner = bare(each)
      return inner.kind === 'Identifier' && inner.name === 'None' && this.scope.lookup('None') === undefined
    }
    return translateBinary(operator, a, b, types, [isNone(left), isNone(right)], {
      helper: name => this.helper(name),
      text: (value, type) => this.textOf(value, type)
    })
  }

  #shortCircuit({ operator, left, right }: Binary): TypeScriptCode {
    const name = this.scope.fresh('holds')
    this.out.push([`let ${name} = `, this.expression(left).doc])
    const body = this.blockOf(() => this.into(right, { kind: 'assign', to: name }))
    this.out.push([`if (${operator === 'and' ? '' : '!'}${name}) `, body])
    return stable(name)
  }

  #pipe({ left, right, start, end }: Binary): TypeScriptCode {
    const inner = bare(right)
    const piped = { kind: 'Argument', name: null, value: left, start: left.start, end: left.end } as const
    const [callee, args] = inner.kind === 'Call' ? [inner.callee, inner.args] : [inner, []]
    return this.call({ kind: 'Call', id: NO_ID, callee, args: [piped, ...args], start, end })
  }

  #member({ object, property }: Member): TypeScriptCode {
    const objectCode = this.expression(object)
    const name = property.text
    if (!/^[A-Za-z_$][\w$]*$/.test(name)) return code([operand(objectCode, Level.postfix), '[', literal(name), ']'])
    return code([operand(objectCode, Level.postfix), '.', name])
  }

  #index({ object, index }: IndexAccess): TypeScriptCode {
    const [objectCode, at] = this.operands([object, index]) as [TypeScriptCode, TypeScriptCode]
    const type = this.typeOf(object)
    if (isPlain(type, 'str')) return code([this.helper('item_at'), '([...', objectCode.doc, '], ', at.doc, ')'])
    const isKey = isGeneric(type, 'Map') || isPlain(this.typeOf(index), 'str')
    return code([this.helper(isKey ? 'entry_of' : 'item_at'), '(', objectCode.doc, ', ', at.doc, ')'])
  }

  #try({ operand: inner }: Try): TypeScriptCode {
    const isRemote = this.isRemote(inner)
    if (isRemote && this.frame.onFailure === 'throw') return this.throwingCall(inner)
    const value = this.expression(inner)
    const type = this.typeOf(inner)
    const isOption = isGeneric(type, 'Option')
    if (this.frame.onFailure === 'throw') {
      return code([this.helper(isOption ? 'unwrap_some' : 'unwrap_ok'), '(', value.doc, ')'])
    }
    // A function that returns the result of a query has nothing to unwrap.
    if (type.kind !== 'any' && !isOption && !isGeneric(type, 'Result')) return value
    const name = this.named(value, 'tried')
    const [failed, result, found] = isOption
      ? [`${name} == null`, 'null', name]
      : [`${name}._tag === 'Err'`, name, `${name}.value`]
    this.out.push([`if (${failed}) `, block([`return ${result}`])])
    return stable(found)
  }

  /** True if an expression is a server call. */
  protected abstract isRemote(expression: Expression): boolean
  /** Translates a server call whose failure is thrown. */
  protected abstract throwingCall(expression: Expression): TypeScriptCode
}
