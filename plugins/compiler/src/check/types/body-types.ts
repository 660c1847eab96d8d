import type { DiagnosticCode } from '../../diagnostics/codes.ts'
import type { Fix } from '../../diagnostics/diagnostic.ts'
import type { Param } from '../../syntax/ast.ts'
import type { Expression, MatchArm } from '../../syntax/ast-expressions.ts'
import type { Assign, Statement } from '../../syntax/ast-statements.ts'
import { isStatement } from '../../syntax/is-statement.ts'
import type { Span } from '../../syntax/node.ts'
import { PlainTypes } from './plain-types.ts'
import { ANY, BOOL, fits, join, NEVER, show, UNIT, type ValueType } from './type.ts'
import { limited } from './type-size.ts'

/** Infers the types of the expressions in one body. Reports certain errors only. */
export class BodyTypes extends PlainTypes {
  /** `first` is the type of the first parameter if it has no annotation. */
  override params(params: readonly Param[], first: ValueType = ANY): ValueType[] {
    return params.map(({ name, type, value }, index) => {
      const read = type === null && index === 0 ? first : this.signatures.reader.read(type)
      if (value !== null) {
        this.infer(value)
        this.expect(value, read)
      }
      this.bind(name.text, read)
      return read
    })
  }

  /** Checks the body of a function. Returns its result type. */
  override body(body: Expression, declared: ValueType | null): ValueType {
    const outer = this.frame
    this.frame = { declared, returns: [] }
    // If the function returns nothing, the value of the last expression is discarded.
    const tail = declared === null || isUnit(declared) ? null : declared
    const last = this.infer(body, tail)
    if (tail !== null) this.expect(body, tail)
    const result = this.frame.returns.reduce(join, last)
    this.frame = outer
    return declared ?? result
  }

  /** Compares a value with its declared type. Returns the declared type if there is one, else the type of the value. */
  declared(value: Expression, type: Param['type'], code: DiagnosticCode, label: string): ValueType {
    const found = this.infer(value)
    if (type === null) return found
    const expected = this.signatures.reader.read(type)
    this.expect(value, expected)
    if (!fits(found, expected)) {
      const message = `${label} does not have its declared type`
      this.mismatch(code, message, value, expected, found, resultFix(type, found))
    }
    return expected
  }

  /** Infers the type of an expression. `tail` is the declared result type if the value is the result of a function. */
  override infer(expression: Expression, tail: ValueType | null = null): ValueType {
    this.signatures.depth++
    const found = limited(this.#infer(expression, tail))
    this.signatures.depth--
    this.signatures.observe?.(expression, found)
    return found
  }

  #infer(expression: Expression, tail: ValueType | null): ValueType {
    switch (expression.kind) {
      case 'Paren':
        return this.infer(expression.inner, tail)
      case 'Block':
        return this.locals.within(() => this.#block(expression.statements, tail))
      case 'If': {
        this.#condition(expression.condition)
        const first = this.infer(expression.then, expression.else === null ? null : tail)
        return expression.else === null ? UNIT : join(first, this.infer(expression.else, tail))
      }
      case 'Match': {
        const subject = this.infer(expression.subject)
        const types = expression.arms.map(arm => this.locals.within(() => this.#arm(arm, subject, tail)))
        return types.length === 0 ? ANY : types.reduce(join)
      }
      default: {
        const found = this.plain(expression)
        if (tail !== null && !fits(found, tail)) this.#returned(expression, found, tail)
        return found
      }
    }
  }

  #returned(expression: Expression, found: ValueType, expected: ValueType): void {
    this.mismatch(
      'typecheck.return_mismatch',
      'the function does not return its declared type',
      expression,
      expected,
      found
    )
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
        this.pattern(statement.pattern, statement.isMutable && statement.type === null ? mutableType(found) : found)
        return UNIT
      }
      case 'Assign':
        this.#assign(statement)
        return UNIT
      case 'Return': {
        const { declared, returns } = this.frame
        const found = statement.value === null ? UNIT : this.infer(statement.value)
        returns.push(found)
        if (statement.value !== null && declared !== null) this.expect(statement.value, declared)
        if (declared !== null && !isUnit(declared) && !fits(found, declared)) {
          const { start, end } = statement.value ?? statement
          this.mismatch(
            'typecheck.return_mismatch',
            'the function does not return its declared type',
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
        // A loop ends with `return` or never, unless it contains a `break`.
        return ANY
      default:
        return NEVER
    }
  }

  #assign({ target, operator, value }: Assign): void {
    const found = this.infer(value)
    const expected = this.infer(target)
    if (operator === '=') this.expect(value, expected)
    // Other assignment operators convert their operands; ints and floats convert to each other.
    if (operator !== '=' || fits(found, expected) || (isNumber(found) && isNumber(expected))) return
    this.mismatch(
      'typecheck.assign_mismatch',
      'the type of the value does not match the variable',
      value,
      expected,
      found
    )
  }

  /** Reports a condition whose type is known and is not bool. */
  #condition(condition: Expression): void {
    const found = this.infer(condition)
    if (found.kind !== 'plain' || fits(found, BOOL)) return
    this.mismatch('typecheck.condition', 'a condition must be a `bool`', condition, BOOL, found)
  }

  #arm({ patterns, guard, body }: MatchArm, subject: ValueType, tail: ValueType | null): ValueType {
    for (const pattern of patterns) this.pattern(pattern, subject)
    if (guard !== null) this.#condition(guard)
    return isStatement(body) ? this.statement(body) : this.infer(body, tail)
  }
}

/** Returns the fix that declares a `Result` for a value that may be an error. */
function resultFix(declared: Span, found: ValueType): Fix[] {
  const [value] = found.kind === 'generic' && found.name === 'Result' ? found.args : []
  if (value?.kind !== 'plain') return []
  const replacement = show(found)
  return [{ label: `declare it as ${replacement}`, span: declared, replacement }]
}

function isNumber(type: ValueType): boolean {
  return type.kind === 'plain' && ['int', 'float'].includes(type.name)
}

function isUnit(type: ValueType): boolean {
  return type.kind === 'plain' && type.name === 'Unit'
}

/**
 * Returns the type of a mutable variable. It is any for records, tuples and database results, since later values may
 * differ.
 */
function mutableType(type: ValueType): ValueType {
  return type.kind === 'record' || type.kind === 'tuple' || type.kind === 'dbResult' ? ANY : type
}
