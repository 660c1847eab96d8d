import type { HirExpression, HirPattern } from '@svc/contracts'
import { Decimal } from '../decimal.ts'
import { isEqual } from '../equality.ts'
import { fail } from '../failure.ts'
import type { CallFrame } from '../machine.ts'
import { Float, Tagged, Tuple, type Value } from '../value.ts'
import { type BodyCompiler, bindLocal } from './body-compiler.ts'
import type { Local } from './scope.ts'

/** Binds the names of a pattern; returns false if the value does not match. */
export type Bind = (frame: CallFrame, value: Value) => boolean

/** Compiles a pattern. `shared` holds the variables of the first alternative; the other alternatives bind them too. */
export function compilePattern(
  body: BodyCompiler,
  pattern: HirPattern,
  isMutable: boolean,
  shared: Map<string, Local> | null = null
): Bind {
  body.weight++
  if ('Wildcard' in pattern) return () => true
  if ('Ident' in pattern) {
    const [name] = pattern.Ident
    const local = shared?.get(name) ?? body.scope.declare(name, pattern, isMutable)
    shared?.set(name, local)
    const bind = bindLocal(local)
    return (frame, value) => {
      bind(frame, value)
      return true
    }
  }
  if ('Literal' in pattern) {
    const literal = literalOf(pattern.Literal[0])
    return typeof literal === 'object' ? (_, value) => isEqual(literal, value) : (_, value) => value === literal
  }
  if ('Tuple' in pattern) {
    const items = pattern.Tuple[0].map(item => compilePattern(body, item, isMutable, shared))
    return (frame, value) => {
      if (!(value instanceof Tuple) || value.items.length !== items.length) return false
      return items.every((item, index) => item(frame, value.items[index] as Value))
    }
  }
  if ('Or' in pattern) {
    const declared = shared ?? new Map<string, Local>()
    const choices = pattern.Or[0].map(choice => compilePattern(body, choice, isMutable, declared))
    return (frame, value) => choices.some(choice => choice(frame, value))
  }
  const [name, args] = pattern.Constructor
  return constructorPattern(
    name === 'Err' ? 'Error' : name,
    args.map(arg => compilePattern(body, arg, isMutable, shared))
  )
}

/** Compiles a constructor pattern. A pattern without arguments matches any arguments. */
function constructorPattern(tag: string, args: readonly Bind[]): Bind {
  const [only] = args
  if (only === undefined) {
    if (tag === 'Unit') return (_, value) => value === null
    return (_, value) => value instanceof Tagged && value.tag === tag
  }
  if (args.length === 1) {
    return (frame, value) => {
      return (
        value instanceof Tagged && value.tag === tag && value.fields.length > 0 && only(frame, value.fields[0] as Value)
      )
    }
  }
  return (frame, value) => {
    if (!(value instanceof Tagged) || value.tag !== tag || value.fields.length < args.length) return false
    return args.every((arg, index) => arg(frame, value.fields[index] as Value))
  }
}

function literalOf(expression: HirExpression): Value {
  if ('IntLit' in expression) return expression.IntLit[0]
  if ('StringLit' in expression) return expression.StringLit[0]
  if ('BoolLit' in expression) return expression.BoolLit[0]
  if ('FloatLit' in expression) return new Float(expression.FloatLit[0])
  const digits = 'DecimalLit' in expression ? expression.DecimalLit[0] : ''
  return Decimal.parse(digits) ?? fail('RUN_TYPE', 'a pattern contains an expression that is not a literal')
}
