import { type Hir, unreachable } from '@svc/contracts'
import { Decimal } from '../decimal.ts'
import { isEqual } from '../equality.ts'
import { fail } from '../failure.ts'
import type { CallFrame } from '../machine.ts'
import { Float, Tagged, Tuple, type Value } from '../value.ts'
import { type BodyCompiler, bindVariable } from './body-compiler.ts'

/** Binds the variables of a pattern; returns false if the value does not match. */
export type Bind = (frame: CallFrame, value: Value) => boolean

/** Compiles a pattern of a `let`, a loop or an arm. */
export function compilePattern(body: BodyCompiler, pattern: Hir.Pattern): Bind {
  body.weight++
  switch (pattern.kind) {
    case 'Wildcard':
      return () => true
    case 'Bind': {
      const bind = bindVariable(body.frame.declare(pattern.local))
      return (frame, value) => {
        bind(frame, value)
        return true
      }
    }
    case 'Literal': {
      const literal = literalOf(pattern.value)
      return typeof literal === 'object' ? (_, value) => isEqual(literal, value) : (_, value) => value === literal
    }
    case 'Tuple': {
      const items = pattern.items.map(item => compilePattern(body, item))
      return (frame, value) => {
        if (!(value instanceof Tuple) || value.items.length !== items.length) return false
        return items.every((item, index) => item(frame, value.items[index] as Value))
      }
    }
    case 'Variant':
      return variantPattern(
        pattern.name === 'Err' ? 'Error' : pattern.name,
        pattern.args.map(arg => compilePattern(body, arg))
      )
    default:
      return unreachable(pattern)
  }
}

/** Compiles the patterns of an arm: `A | B`. They bind the same variables. */
export function compileAlternatives(body: BodyCompiler, patterns: readonly Hir.Pattern[]): Bind {
  const choices = patterns.map(pattern => compilePattern(body, pattern))
  const [only] = choices
  if (only !== undefined && choices.length === 1) return only
  return (frame, value) => choices.some(choice => choice(frame, value))
}

/** Compiles the pattern of a variant. A pattern without arguments matches any arguments. */
function variantPattern(tag: string, args: readonly Bind[]): Bind {
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

function literalOf(literal: Hir.Int | Hir.Float | Hir.Decimal | Hir.Str | Hir.Bool): Value {
  switch (literal.kind) {
    case 'Int':
    case 'Str':
    case 'Bool':
      return literal.value
    case 'Float':
      return new Float(literal.value)
    case 'Decimal':
      return decimalOf(literal)
    default:
      return unreachable(literal)
  }
}

export function decimalOf({ digits, start }: Hir.Decimal): Decimal {
  return Decimal.parse(digits) ?? fail('RUN_TYPE', `${digits} is not a decimal`, start)
}

/** Returns the variables that a pattern binds. */
export function localsOf(pattern: Hir.Pattern): readonly Hir.LocalId[] {
  switch (pattern.kind) {
    case 'Bind':
      return [pattern.local]
    case 'Variant':
      return pattern.args.flatMap(localsOf)
    case 'Tuple':
      return pattern.items.flatMap(localsOf)
    case 'Wildcard':
    case 'Literal':
      return []
    default:
      return unreachable(pattern)
  }
}
