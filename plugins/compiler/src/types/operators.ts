import type { Binary, Expression, Unary } from '../syntax/ast-expressions.ts'
import { bare } from '../syntax/entries.ts'
import { BOOL, CHAR, DEC, FLOAT, INT, LIST, OPTION, RESULT, STR, TENSOR, UNIT } from './builtin-types.ts'
import type { Context, Inference, Why } from './context.ts'
import { applyConversion, applyRecords, conversionTo, isNumber, unwrapped } from './conversions.ts'
import { show } from './show.ts'
import { ANY, ERROR, NEVER, newVar, resolved, type Type, type VarType } from './type.ts'
import { link, unify } from './unify.ts'

type Operator = Exclude<Binary['operator'], '|>'>

const LOGIC: Why = { code: 'typecheck.operands', message: '`and`, `or` and `not` take values of type `bool`' }

export function inferBinary(inference: Inference, expression: Binary): Type {
  const { operator, left, right } = expression
  switch (operator) {
    case '|>':
      return ERROR
    case 'and':
    case 'or':
      inference.check(left, BOOL, LOGIC)
      inference.check(right, BOOL, LOGIC)
      return BOOL
    case 'is':
    case 'isnt':
      inferEquality(inference, expression)
      return BOOL
    default: {
      const first = inference.infer(left)
      const isOfInts = operator === '+' && bare(left).kind === 'List' && elementOf(first) === INT
      const second = isOfInts ? inference.infer(right) : inferRight(inference, operator, first, right)
      const widened = isOfInts ? asFloats(inference.context, left, second) : first
      return operands(inference.context, expression, operator, widened, second)
    }
  }
}

const JOINED: Why = { code: 'typecheck.operands', message: '`+` joins lists whose elements have one type' }

/** Finds the type of a right operand. The elements of a literal that is added to a list become those of the list. */
export function inferRight(inference: Inference, operator: Operator, left: Type, right: Expression): Type {
  if (operator !== '+' || bare(right).kind !== 'List') return inference.infer(right)
  const list = unwrapped(left)
  const isAdded = list.kind === 'named' && list.def === LIST
  return isAdded ? inference.check(right, list, JOINED) : inference.infer(right)
}

/** Returns the type of a literal with ints before a list: next to a list of floats, its elements become floats. */
function asFloats(context: Context, left: Expression, right: Type): Type {
  const literal = bare(left)
  if (literal.kind !== 'List' || elementOf(right) !== FLOAT) return context.types[left.id] ?? ERROR
  for (const item of literal.items) applyConversion(context, item, { kind: 'float' })
  return context.record(literal, unwrapped(right))
}

function elementOf(type: Type): Type | null {
  const list = unwrapped(type)
  return list.kind === 'named' && list.def === LIST ? resolved(list.args[0] ?? ANY) : null
}

export function inferUnary(inference: Inference, expression: Unary): Type {
  const { operator, operand } = expression
  if (operator === 'not') {
    inference.check(operand, BOOL, LOGIC)
    return BOOL
  }
  const { context } = inference
  const found = inference.infer(operand)
  const known = unwrapped(found)
  if (known.kind === 'var') {
    const type = newVar(expression)
    context.when(known, expression, value => {
      context.found(type, negated(context, expression, value), expression)
    })
    return type
  }
  return negated(context, expression, known)
}

function negated(context: Context, at: Unary, found: Type): Type {
  const value = unwrapped(found)
  if (isOpen(value)) return value
  if (value === INT || value === FLOAT || value === DEC) return value
  context.report('typecheck.operands', `\`-\` does not accept a value of type ${show(found)}`, at)
  return ERROR
}

/** The types of both operands of `is` must have values in common. */
function inferEquality(inference: Inference, { operator, left, right, start, end }: Binary): void {
  const { context } = inference
  const first = unwrapped(inference.infer(left))
  // A literal without a type name has the type of what it is compared with.
  const second = takesTypeOf(bare(right), first)
    ? inference.check(right, first, { code: 'typecheck.operands', message: 'the value is compared with another type' })
    : unwrapped(inference.infer(right))
  if (first.kind === 'var' || second.kind === 'var') {
    if (first.kind === second.kind) return
    // Either is compared when its type is known; values of all types can be compared.
    context.when(
      first.kind === 'var' ? first : second,
      { start, end },
      () => compare(unwrapped(first), unwrapped(second)),
      false
    )
    return
  }
  compare(first, second)

  function compare(a: Type, b: Type): void {
    if (isComparable(a, b, left, right)) return
    const message = `\`${operator}\` compares ${show(a)} with ${show(b)}, which are never equal`
    context.report('typecheck.operands', message, { start, end })
  }
}

/** True for a literal whose parts become those of the value that it is compared with. */
function takesTypeOf({ kind }: Expression, other: Type): boolean {
  if (kind === 'Tuple') return other.kind === 'tuple'
  if (other.kind !== 'named') return false
  return kind === 'List' ? other.def === LIST : kind === 'Object' && other.def.fields !== null
}

function isComparable(a: Type, b: Type, left: Expression, right: Expression): boolean {
  if (isOpen(a) || isOpen(b)) return true
  if ((a === INT && b === FLOAT) || (a === FLOAT && b === INT)) return true
  return conversionTo(b, a, right, false) !== false || conversionTo(a, b, left, false) !== false
}

function isOpen({ kind }: Type): boolean {
  return kind === 'any' || kind === 'error' || kind === 'never'
}

/** Returns the type of an arithmetic operator or a comparison, also for `+=` and the like. */
export function operands(
  context: Context,
  at: Binary | { readonly start: number; readonly end: number; readonly left: Expression; readonly right: Expression },
  operator: Operator,
  left: Type,
  right: Type
): Type {
  const a = unwrapped(left)
  const b = unwrapped(right)
  const isComparison = operator === '<' || operator === '>' || operator === '<=' || operator === '>='
  const known = isComparison ? compared(a, b) : arithmetic(operator, a, b)
  if (known === 'unknown') {
    const type = isComparison ? BOOL : newVar(at)
    const waits = a.kind === 'var' ? a : b
    context.when(waits, at, () => {
      const now = operands(context, at, operator, left, right)
      if (type.kind === 'var') context.found(type, now, at)
    })
    return type
  }
  if (known !== null) return known
  const message = `\`${operator}\` does not accept ${show(left)} and ${show(right)}`
  context.report('typecheck.operands', message, at, { suggestions: suggestionsFor(a, b) })
  return isComparison ? BOOL : ERROR
}

function suggestionsFor(a: Type, b: Type): string[] {
  const wrapping = [a, b].find(each => each.kind === 'named' && (each.def === RESULT || each.def === OPTION))
  if (wrapping !== undefined)
    return [`take the value of the ${show(wrapping)} first: with \`match\`, \`?\` or \`.unwrap_or(…)\``]
  const [other] = a === DEC ? [b] : b === DEC ? [a] : []
  return other !== undefined && isNumber(other)
    ? [`convert the ${show(other)}: \`dec(…)\`, or write a literal as \`1dec\``]
    : []
}

/** Returns null for operands that the operator does not accept, and `unknown` if that depends on a variable. */
function arithmetic(operator: Operator, a: Type, b: Type): Type | 'unknown' | null {
  if (a.kind === 'never' || b.kind === 'never') return NEVER
  if (a.kind === 'error' || b.kind === 'error') return ERROR
  if (operator === '+') {
    const isText = a === STR || b === STR || a === CHAR || b === CHAR
    if (isText) return a.kind === 'fn' || b.kind === 'fn' ? null : STR
    if (a.kind === 'named' && a.def === LIST && b.kind === 'named' && b.def === LIST) return unify(a, b) ? a : null
  }
  if (a === TENSOR || b === TENSOR) return isScalar(a) && isScalar(b) ? TENSOR : null
  if (a.kind === 'any' || b.kind === 'any') {
    const other = a.kind === 'any' ? b : a
    // The other value may be a text, to which everything but a function can be added.
    if (operator === '+') return other.kind === 'fn' ? null : ANY
    return other.kind === 'any' || other.kind === 'var' || isNumber(other) ? ANY : null
  }
  if (a.kind === 'var') return isPossible(operator, a) && isPossible(operator, b) ? ofLiteral(a, b) : null
  if (b.kind === 'var') return isPossible(operator, a) ? ofLiteral(b, a) : null
  if (!isNumber(a) || !isNumber(b)) return null
  if (a === DEC || b === DEC) return a === b ? DEC : null
  return a === FLOAT || b === FLOAT ? FLOAT : INT
}

/** Returns the type of an operation on the type of an int literal: a literal next to a dec is one. */
function ofLiteral(literal: VarType, other: Type): Type | 'unknown' {
  if (!literal.isNumber || (other !== DEC && other !== FLOAT)) return 'unknown'
  if (other === DEC) link(literal, DEC)
  return other
}

/** True for the operands of a tensor. */
function isScalar(type: Type): boolean {
  return type === TENSOR || type === INT || type === FLOAT || type.kind === 'any' || type.kind === 'var'
}

function isPossible(operator: Operator, type: Type): boolean {
  // `+` accepts every value next to a string.
  return type.kind === 'var' || operator === '+' || isNumber(type)
}

function compared(a: Type, b: Type): Type | 'unknown' | null {
  if (isOpen(a) || isOpen(b)) {
    const other = isOpen(a) ? b : a
    return isOpen(other) || other.kind === 'var' || isOrdered(other) ? BOOL : null
  }
  if (a.kind === 'var' || b.kind === 'var') {
    const other = a.kind === 'var' ? b : a
    return other.kind === 'var' || isOrdered(other) ? 'unknown' : null
  }
  if (!isOrdered(a) || !isOrdered(b)) return null
  if (a === DEC || b === DEC) return a === b ? BOOL : null
  return isNumber(a) === isNumber(b) ? BOOL : null
}

function isOrdered(type: Type): boolean {
  return isNumber(type) || type === STR || type === CHAR
}

/** A branch, an element of a list or another value that is joined with others. */
export interface Joined {
  readonly type: Type
  readonly at: Expression | null
}

/**
 * Returns the common type of several values: never vanishes, an int next to a float is a float, an answer next to a
 * Result is one. Others must be equal. `differ` is called for the first value that fits none of those before it.
 */
export function join(
  context: Context,
  values: readonly Joined[],
  differ: (at: Expression | null, type: Type, first: Type) => Type
): Type {
  let joined: Type = NEVER
  let hasInt = false
  for (const { type, at } of values) {
    const next = resolved(type)
    const current = resolved(joined)
    if (next.kind === 'never') continue
    // toestub-ignore(stringly-typed-enum) - the kind is a union of these texts
    if (current.kind === 'never') joined = next
    else if (current.kind === 'error' || next.kind === 'error') joined = ERROR
    else if (current.kind === 'any' || next.kind === 'any') joined = ANY
    else if (current === INT && next === FLOAT) joined = FLOAT
    else if (current === FLOAT && next === INT) hasInt = true
    else joined = joinPair(current, next, at) ?? differ(at, next, current)
    hasInt ||= next === INT
  }
  if (hasInt && joined === FLOAT) {
    for (const { type, at } of values) {
      if (at !== null && resolved(type) === INT) applyConversion(context, at, { kind: 'float' })
    }
  }
  for (const { type, at } of values) if (at !== null) applyRecords(context, at, resolved(type), resolved(joined))
  return joined
}

/** True for a unit, and for the list that a loop without values makes, also around another such loop. */
function isNothing(type: Type): boolean {
  return type === UNIT || (type.kind === 'named' && type.def === LIST && isNothing(resolved(type.args[0] ?? ANY)))
}

function joinPair(a: Type, b: Type, at: Expression | null): Type | null {
  if (a.kind === 'answer' || b.kind === 'answer') {
    if (a.kind === 'answer' && b.kind === 'answer')
      return joinPair(resolved(a.value), resolved(b.value), null) === null ? null : a
    const plain = a.kind === 'answer' ? b : a
    const isDatabase = a.kind === 'answer' ? a : b
    return conversionTo(isDatabase, plain, at, false) === false ? null : plain
  }
  // A loop without values is a statement.
  if (isNothing(a) && isNothing(b)) return unify(a, b) ? a : UNIT
  if (unify(a, b)) return a
  if (conversionTo(b, a, at, false) !== false) return a
  return conversionTo(a, b, null, false) === false ? null : b
}
