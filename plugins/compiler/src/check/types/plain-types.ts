import type { Param } from '../../syntax/ast.ts'
import type { Expression, ObjectEntry } from '../../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../../syntax/entries.ts'
import type { Span } from '../../syntax/node.ts'
import { CallTypes } from './call-types.ts'
import { calledType } from './calls.ts'
import { isList, itemOf } from './item-types.ts'
import { operatorResult } from './operators.ts'
import { checkRecord } from './records.ts'
import { ANY, BOOL, FLOAT, generic, INT, join, plain, STR, show, UNIT, type ValueType } from './type.ts'

/** Infers the types of expressions without branches. */
export abstract class PlainTypes extends CallTypes {
  /** `first` is the type of the first parameter if it has no annotation. */
  abstract params(params: readonly Param[], first?: ValueType): ValueType[]
  /** Checks the body of a function. Returns its result type. */
  abstract body(body: Expression, declared: ValueType | null): ValueType

  protected plain(expression: Expression): ValueType {
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
        return this.name(expression.name)
      case 'Tuple':
        return { kind: 'tuple', items: expression.items.map(item => this.infer(item)) }
      case 'List': {
        const items = expression.items.map(item => this.infer(item))
        return generic('List', items.length === 0 ? ANY : items.reduce(join))
      }
      case 'Object':
        return { kind: 'record', fields: this.#fields(expression.entries) }
      case 'Struct': {
        const entry = this.signatures.names.get(expression.name.text)
        const presentFields = this.#fields(expression.entries)
        if (entry?.kind === 'constructor') {
          this.members(expression.entries, entry)
          return calledType(entry, this.signatures)
        }
        const type = this.signatures.reader.declared(expression.name.text) ?? ANY
        checkRecord(presentFields, expression, type, this.signatures)
        return type
      }
      case 'For': {
        const over = this.infer(expression.iterable)
        return this.locals.within(() => {
          // Maps yield pairs, and strings yield characters.
          this.pattern(expression.binding, isList(over) ? itemOf(over) : ANY)
          if (expression.index !== null) this.bind(expression.index.text, INT)
          if (expression.key !== null) this.infer(expression.key)
          return generic('List', this.infer(expression.body))
        })
      }
      case 'Lambda':
        return this.locals.within(() => {
          const params = this.params(expression.params, this.items.get(expression))
          const declared = expression.result === null ? null : this.signatures.reader.read(expression.result)
          return { kind: 'function', params, result: this.body(expression.body, declared) }
        })
      case 'Spawn':
        return this.spawned(expression.target)
      case 'SideEffect':
        return this.infer(expression.body)
      case 'Unary':
        return this.#unary(expression.operator, expression.operand, expression)
      case 'Binary': {
        const left = this.infer(expression.left)
        const { operator, right } = expression
        if (operator === '|>') {
          this.pipedInto(right.kind === 'Call' ? right.callee : right, expression.left)
          return right.kind === 'Call' ? this.call(right, left) : this.piped(right)
        }
        const other = this.infer(right)
        const result = operatorResult(operator, left, other)
        if (result !== undefined) return result
        const message = `\`${operator}\` does not accept ${show(left)} and ${show(other)}`
        this.report('typecheck.operands', message, expression)
        return ANY
      }
      case 'With': {
        this.infer(expression.options)
        const result = this.infer(expression.operand)
        // A detached call returns the id of its run.
        return isDetached(expression.options) ? generic('Result', STR, ANY) : result
      }
      case 'Call':
        return this.call(expression, null)
      case 'Member':
        return this.member(expression)
      case 'TupleIndex': {
        const object = this.infer(expression.object)
        return object.kind === 'tuple' ? (object.items[expression.index] ?? ANY) : ANY
      }
      case 'IndexAccess':
        this.infer(expression.index)
        return itemOf(this.infer(expression.object))
      case 'Try':
        return this.#tryOperator(expression.operand, expression)
      case 'Element':
        this.attributes(expression)
        for (const child of expression.children ?? []) this.infer(child)
        return plain('Element')
      case 'ElementFragment':
        for (const child of expression.children) this.infer(child)
        return plain('Element')
      default:
        return ANY
    }
  }

  #fields(entries: readonly ObjectEntry[]): Map<string, ValueType> {
    return new Map(entries.map(entry => [entryKey(entry), this.infer(entryValue(entry))]))
  }

  #unary(operator: 'not' | '-', operand: Expression, at: Span): ValueType {
    const found = this.infer(operand)
    if (operator === 'not') return BOOL
    const value = found.kind === 'dbResult' ? found.value : found
    const isWrong = value.kind === 'plain' && !['int', 'float', 'dec'].includes(value.name)
    if (isWrong) this.report('typecheck.operands', `\`-\` does not accept a value of type ${show(found)}`, at)
    return isWrong ? ANY : value
  }

  #tryOperator(operand: Expression, at: Span): ValueType {
    const found = this.infer(operand)
    // Any function may use `?` on a database operation: a failure throws if the function cannot return it.
    if (found.kind === 'dbResult') return found.value
    if (found.kind === 'any' || found.kind === 'never') return ANY
    if (found.kind !== 'generic' || (found.name !== 'Result' && found.name !== 'Option')) {
      this.report('typecheck.try_misuse', `\`?\` must follow a Result or an Option, found ${show(found)}`, at)
      return ANY
    }
    const { declared } = this.frame
    const returned = declared?.kind === 'generic' ? declared.name : declared?.kind
    if (declared !== null && returned !== 'any' && returned !== found.name) {
      this.report(
        'typecheck.try_misuse',
        `\`?\` of a ${found.name} requires a function that returns a ${found.name}`,
        at,
        {
          suggestions: [`write \`to ${found.name}[${show(declared)}]\`, or handle both cases with \`match\``]
        }
      )
    }
    return found.args[0] ?? ANY
  }
}

/** True for the option `{ detach: true }`, which only workflows accept. */
function isDetached(options: Expression): boolean {
  const record = bare(options)
  if (record.kind !== 'Object') return false
  return record.entries.some(entry => {
    const value = bare(entryValue(entry))
    return entryKey(entry) === 'detach' && value.kind === 'Bool' && value.value
  })
}
