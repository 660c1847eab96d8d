// toestub-ignore(arch/god_object) - the conversions between two types are one recursion over both
import type { Fix } from '../diagnostics/diagnostic.ts'
import type { Expression } from '../syntax/ast-expressions.ts'
import { bare } from '../syntax/entries.ts'
import { isStatement } from '../syntax/is-statement.ts'
import type { Span } from '../syntax/node.ts'
import {
  CHAR,
  DEC,
  FLOAT,
  ID,
  INT,
  LIST,
  list,
  MAP,
  OPTION,
  PAGE,
  RESULT,
  result,
  STR,
  TENSOR,
  UNIT
} from './builtin-types.ts'
import type { Context, Why } from './context.ts'
import { addDefaultUses, addDefaultUsesIn } from './default-uses.ts'
import { show } from './show.ts'
import { substitute } from './substitute.ts'
import {
  ANY,
  type AnswerType,
  type FieldType,
  isSameDef,
  type NamedType,
  named,
  newVar,
  type RecordType,
  type RigidType,
  resolved,
  type Type,
  type TypeDef
} from './type.ts'
import type { Conversion } from './typed-module.ts'
import { link, unify } from './unify.ts'

/**
 * Makes a value of type `found` one of type `expected`, by the closed list of conversions. Reports a mismatch. Returns
 * the type that the value has at its place.
 */
export function coerce(context: Context, at: Expression, found: Type, expected: Type, why: Why): Type {
  const value = resolved(found)
  const target = resolved(expected)
  if (value === target) return target
  const conversion = conversionTo(value, target, at, why.wrapsSome !== undefined)
  if (conversion === false) {
    const success = successTo(context, at, value, target, why)
    reportMismatch(context, at, value, target, why, success === null ? 'error' : 'warning')
    if (success !== null) applyConversion(context, at, success)
    return target
  }
  const checked = conversion === null ? checkOfParts(value, target) : withCheck(value, target, conversion)
  if (checked !== null && !(why.wrapsSome === 'stored' && isStoredAsIs(checked, target))) {
    applyConversion(context, at, checked)
  }
  return target.kind === 'var' || target.kind === 'any' ? value : target
}

/** A function may return a member of JSON without a check of its Result: it ends the program if it is missing. */
function successTo(context: Context, at: Expression, value: Type, target: Type, why: Why): Conversion | null {
  if (why.within !== undefined || why.code !== 'typecheck.return_mismatch') return null
  const call = bare(at)
  const callee = call.kind === 'Call' ? context.calls[call.id]?.target : undefined
  if (callee?.kind !== 'native' || !callee.native.path.startsWith('Json.')) return null
  if (value.kind !== 'named' || value.def !== RESULT) return null
  const type = resolved(value.args[0] ?? ANY)
  return conversionTo(type, target, null, false) === null ? { kind: 'success', type } : null
}

/** A column that may be empty stores a value and `Some(value)` alike, and checks it itself. */
function isStoredAsIs({ kind }: Conversion, target: Type): boolean {
  return kind === 'some' || (kind === 'any' && target.kind === 'named' && target.def === OPTION)
}

/** Returns a check of the parts of a value of type any for which the expected type names a type; null if it has none. */
function checkOfParts(value: Type, target: Type): Conversion | null {
  return closesAny(value, target) ? { kind: 'any', type: target } : null
}

/** Adds a check of the parts of type any to a conversion that leaves the parts as they are. */
function withCheck(value: Type, target: Type, conversion: Conversion): Conversion {
  if (conversion.kind === 'unwrap' && conversion.inner === null && value.kind === 'answer') {
    const inner = checkOfParts(resolved(value.value), target.kind === 'answer' ? resolved(target.value) : target)
    return inner === null ? conversion : { kind: 'unwrap', inner }
  }
  return conversion
}

/**
 * True if a part of a value has type any, but another type in the expected one. Functions cannot be checked. `seen`: the
 * pairs without such a part, since a type may contain another any number of times.
 */
function closesAny(value: Type, target: Type, seen: Map<Type, Set<Type>> = new Map()): boolean {
  if (value === target || target.kind === 'any' || target.kind === 'error' || target.kind === 'var') return false
  if (value.kind === 'any') return target.kind !== 'fn' && target.kind !== 'rigid'
  const others = seen.get(value) ?? new Set()
  if (others.has(target)) return false
  seen.set(value, others.add(target))
  const closes = (part: Type, wanted: Type | undefined): boolean =>
    closesAny(resolved(part), resolved(wanted ?? ANY), seen)
  if (value.kind === 'named' && target.kind === 'named') {
    return value.def === target.def && value.args.some((arg, index) => closes(arg, target.args[index]))
  }
  if (value.kind === 'tuple' && target.kind === 'tuple') {
    return value.items.some((item, index) => closes(item, target.items[index]))
  }
  if (value.kind !== 'record' || target.kind !== 'record') return false
  return [...value.fields].some(([name, field]) => closes(field, target.fields.get(name)))
}

/**
 * Returns how a value becomes one of the expected type: null if it is one already, false if it cannot become one. Links
 * variables.
 */
export function conversionTo(
  value: Type,
  target: Type,
  at: Expression | null,
  wrapsSome: boolean
): Conversion | null | false {
  if (value.kind === 'error' || target.kind === 'error' || value.kind === 'never') return null
  if (target.kind === 'any') return null
  if (value.kind === 'any') {
    if (target.kind === 'var') return link(target, ANY) ? null : false
    return target.kind === 'fn' ? false : { kind: 'any', type: target }
  }
  if (value.kind === 'answer') return answerTo(value, target, at, wrapsSome)
  if (value.kind === 'var' || target.kind === 'var') return unify(value, target) ? null : false
  if (target.kind === 'answer') return toAnswer(value, target, at, wrapsSome)
  if (value.kind === 'named' && target.kind === 'named') {
    if ((value === TENSOR && target.def === LIST) || (target === TENSOR && value.def === LIST)) {
      return unify(asList(value), asList(target)) ? null : false
    }
    if (isSameDef(value.def, target.def)) {
      const inside = recordsInside(value, target)
      if (inside !== false) return inside
      return wrapsSome && target.def === OPTION ? wrapped(value, target, at) : false
    }
    if (value === INT && target === FLOAT) return { kind: 'float' }
    if (value === CHAR && target === STR) return null
    if (value === STR && target === CHAR) return at !== null && isCharacter(at) ? null : false
    if ((value.def === ID && target === INT) || (value === INT && target.def === ID)) return null
    if (wrapsSome && target.def === OPTION) return wrapped(value, target, at)
    return value.def.kind === 'row' ? rowTo(value, target) : false
  }
  if (value.kind === 'record' && target.kind === 'named') return recordTo(value, target, at, wrapsSome)
  if (value.kind === 'fn' && target.kind === 'fn') return fitsFunction(value, target) ? null : false
  if (wrapsSome && target.kind === 'named' && target.def === OPTION) return wrapped(value, target, at)
  if (value.kind === 'tuple' && target.kind === 'tuple') return recordsInside(value, target)
  return unify(value, target) ? null : false
}

function answerTo(value: AnswerType, target: Type, at: Expression | null, wrapsSome: boolean): Conversion | false {
  if (target.kind === 'answer') return answerTo(value, resolved(target.value), at, wrapsSome)
  if (target.kind === 'named' && target.def === RESULT) {
    const inner = resolved(value.value)
    // The value itself may be a Result that is expected.
    if (!(inner.kind === 'named' && inner.def === RESULT)) {
      const inside = recordsInside(result(value.value, ANY), target)
      return inside === false ? false : { kind: 'keep', inner: inside }
    }
  }
  const inner = conversionTo(resolved(value.value), target, at, wrapsSome)
  return inner === false ? false : { kind: 'unwrap', inner }
}

/** A route that declares `to T` may also answer `Ok(value)` or an Error. */
function toAnswer(
  value: Type,
  target: AnswerType,
  at: Expression | null,
  wrapsSome: boolean
): Conversion | null | false {
  const inner = resolved(target.value)
  const isResult = value.kind === 'named' && value.def === RESULT
  const isResultExpected = inner.kind === 'named' && inner.def === RESULT
  if (!isResult || isResultExpected) return conversionTo(value, inner, at, wrapsSome)
  const [success = ANY, failure = ANY] = value.args
  const conversion = conversionTo(resolved(success), inner, null, wrapsSome)
  return conversion === null || conversion === false
    ? conversion
    : { kind: 'records', type: result(inner, resolved(failure)) }
}

function wrapped(value: Type, target: NamedType, at: Expression | null): Conversion | false {
  const inner = conversionTo(value, resolved(target.args[0] ?? ANY), at, false)
  return inner === false ? false : { kind: 'some', inner }
}

/** A record becomes a struct if it has its fields. Only a literal becomes a variant, a row or a Map. */
function recordTo(value: RecordType, target: NamedType, at: Expression | null, wrapsSome: boolean): Conversion | false {
  if (target.def === OPTION && wrapsSome) return wrapped(value, target, at)
  const isLiteral = at !== null && bare(at).kind === 'Object'
  if (target.def === MAP && isLiteral) return { kind: 'map' }
  const { fields } = target.def
  if (fields === null || (target.def.kind === 'row' && !isLiteral)) return false
  // The members of a literal are converted with it, if any has to be.
  let isWhole = !isLiteral
  for (const [name, type] of value.fields) {
    const field = fields.get(name)
    if (field === undefined) {
      // A record that is no literal may have more fields than the struct.
      if (isLiteral) return false
      continue
    }
    const conversion = conversionTo(resolved(type), resolved(fieldTypeOf(target, field)), null, true)
    if (conversion === false) return false
    isWhole ||= conversion !== null
  }
  for (const [name, field] of fields) if (!field.isOptional && !value.fields.has(name)) return false
  return { kind: isWhole ? 'records' : 'record', type: target }
}

/** A row, also one with some of its columns, becomes a struct with such fields. */
function rowTo(value: NamedType, target: NamedType): Conversion | false {
  if (target.def.kind !== 'struct' || target.def.fields === null) return false
  for (const field of target.def.fields.values()) {
    const column = value.def.fields?.get(field.name)
    const wanted = resolved(fieldTypeOf(target, field))
    if (column === undefined ? !field.isOptional : conversionTo(resolved(column.type), wanted, null, true) === false)
      return false
  }
  return { kind: 'records', type: target }
}

/** Types whose elements convert like separate values. */
const CONVERTED: ReadonlySet<TypeDef> = new Set([LIST, OPTION, MAP, PAGE, RESULT])

/** Results for pairs of types, since a type may contain another any number of times. */
type KnownPairs = Map<Type, Map<Type, Conversion | null | false>>

/**
 * Returns how the parts of a value become those of the expected type: null if they are such parts already, or links
 * of variables suffice; false if they cannot. Records and rows become structs; other parts must be equal.
 */
function recordsInside(value: Type, target: Type, known: KnownPairs = new Map()): Conversion | null | false {
  const [from, to] = [resolved(value), resolved(target)]
  const ofValue = known.get(from) ?? new Map<Type, Conversion | null | false>()
  known.set(from, ofValue)
  const earlier = ofValue.get(to)
  if (earlier !== undefined) return earlier
  const found = recordsOf(from, to, known)
  ofValue.set(to, found)
  return found
}

function recordsOf(from: Type, to: Type, known: KnownPairs): Conversion | null | false {
  if (to.kind === 'named' && to.def.kind === 'struct') {
    const isRow = from.kind === 'named' && from.def.kind === 'row'
    if (from.kind === 'record' || isRow) {
      const conversion = from.kind === 'record' ? recordTo(from, to, null, false) : rowTo(from, to)
      return conversion !== false && isComplete(from, to) ? null : conversion
    }
  }
  const [parts, wanted] = partsOf(from, to)
  if (parts === null || wanted === null || parts.length !== wanted.length) return unify(from, to) ? null : false
  let converts = false
  for (const [index, part] of parts.entries()) {
    const inside = recordsInside(part, wanted[index] ?? ANY, known)
    if (inside === false) return false
    converts ||= inside !== null
  }
  return converts ? { kind: 'records', type: to } : null
}

type Parts = readonly Type[] | null

function partsOf(from: Type, to: Type): readonly [Parts, Parts] {
  if (from.kind === 'tuple' && to.kind === 'tuple') return [from.items, to.items]
  if (from.kind !== 'named' || to.kind !== 'named' || from.def !== to.def) return [null, null]
  return CONVERTED.has(from.def) ? [from.args, to.args] : [null, null]
}

function memberType(value: RecordType | NamedType, name: string): Type | undefined {
  return value.kind === 'record' ? value.fields.get(name) : value.def.fields?.get(name)?.type
}

/** True if a record or a row has all members of a struct, each as the struct has it. */
function isComplete(value: RecordType | NamedType, target: NamedType): boolean {
  for (const field of target.def.fields?.values() ?? []) {
    const own = memberType(value, field.name)
    if (own === undefined) return false
    if (conversionTo(resolved(own), resolved(fieldTypeOf(target, field)), null, true) !== null) return false
  }
  return true
}

/**
 * True if a function can replace another: a result that is not used may have any type. A parameter of type any takes
 * each value, and leaves the type of the value open.
 */
function fitsFunction(value: Extract<Type, { kind: 'fn' }>, target: Extract<Type, { kind: 'fn' }>): boolean {
  if (value.params.length < target.params.length) return false
  for (const [index, { type, isOptional }] of value.params.entries()) {
    const given = target.params[index]
    if (given === undefined) {
      if (!isOptional) return false
    } else if (resolved(type).kind !== 'any' && !unify(given.type, type)) return false
  }
  const wanted = resolved(target.result)
  if (wanted === UNIT) return true
  const given = resolved(value.result)
  if (given.kind === 'answer' && wanted.kind !== 'answer') return answerTo(given, wanted, null, false) !== false
  return unify(given, wanted)
}

/** Returns the type of a field in a type with arguments. */
export function fieldTypeOf(owner: Type, field: FieldType): Type {
  if (owner.kind !== 'named' || owner.args.length === 0) return field.type
  return withDefinition(field.type, owner.def, owner.args)
}

function withDefinition(type: Type, { generics }: TypeDef, args: readonly Type[]): Type {
  const by = new Map<RigidType, Type>()
  for (const [index, parameter] of generics.entries()) by.set(parameter, args[index] ?? ANY)
  return substitute(type, by)
}

/** Returns the type of a definition with a variable for each parameter. */
export function instantiate(def: TypeDef, origin: Span): NamedType {
  if (def.generics.length === 0) return named(def) as NamedType
  return named(
    def,
    def.generics.map(() => newVar(origin))
  ) as NamedType
}

function isCharacter(at: Expression): boolean {
  const literal = bare(at)
  return literal.kind === 'String' && [...literal.value].length === 1
}

/** Returns the list that a tensor is written as; other types are returned as they are. */
export function asList(type: Type): Type {
  return type === TENSOR ? list(FLOAT) : type
}

/** Returns the value of a database operation; other types are returned as they are. */
export function unwrapped(type: Type): Type {
  const inner = resolved(type)
  return inner.kind === 'answer' ? resolved(inner.value) : inner
}

/**
 * Notes a conversion where it happens: at the last value of a block, and at that of each branch.
 */
export function applyConversion(context: Context, at: Expression, conversion: Conversion): void {
  switch (at.kind) {
    case 'Paren':
      applyConversion(context, at.inner, conversion)
      return
    case 'Block': {
      const last = at.statements.at(-1)
      if (last?.kind === 'ExpressionStatement') applyConversion(context, last.expression, conversion)
      return
    }
    case 'If':
      applyConversion(context, at.then, conversion)
      if (at.else !== null) applyConversion(context, at.else, conversion)
      return
    case 'Match':
      for (const { body } of at.arms) if (!isStatement(body)) applyConversion(context, body, conversion)
      return
    default:
      // A branch that is a float already needs no conversion.
      if (conversion.kind === 'float' && unwrapped(context.types[at.id] ?? ANY) !== INT) return
      context.convert(at, conversion)
      addConversionUses(context, at, conversion)
  }
}

/** Notes the defaults that a conversion adds. */
function addConversionUses(context: Context, at: Expression, conversion: Conversion): void {
  if ('inner' in conversion && conversion.inner !== null) addConversionUses(context, at, conversion.inner)
  else if ('type' in conversion && context.hasDefaults) {
    addOmittedUses(context, at, unwrapped(context.types[at.id] ?? ANY), conversion.type, new Map())
  }
}

/** Notes the defaults of the members that a value lacks when it becomes one of the expected type. */
function addOmittedUses(context: Context, at: Span, from: Type, expected: Type, seen: Map<Type, Set<Type>>): void {
  const [value, target] = [resolved(from), resolved(expected)]
  const others = seen.get(value) ?? new Set()
  if (value === target || others.has(target)) return
  seen.set(value, others.add(target))
  const isMade = target.kind === 'named' && target.def.kind === 'struct'
  if (value.kind === 'any') addDefaultUsesIn(context, at, target)
  else if (isMade && (value.kind === 'record' || (value.kind === 'named' && value.def.kind === 'row'))) {
    for (const field of target.def.fields?.values() ?? []) {
      const own = memberType(value, field.name)
      if (own === undefined) addDefaultUses(context, at, target.def, [field])
      else addOmittedUses(context, at, own, fieldTypeOf(target, field), seen)
    }
  } else {
    const [parts, wanted] = partsOf(value, target)
    for (const [index, part] of (parts ?? []).entries()) addOmittedUses(context, at, part, wanted?.[index] ?? ANY, seen)
    const isWrapped = parts === null && target.kind === 'named' && target.def === OPTION
    if (isWrapped) addOmittedUses(context, at, value, target.args[0] ?? ANY, seen)
  }
}

/** Notes that the records in a value become structs of the type that it has together with others. */
export function applyRecords(context: Context, at: Expression, found: Type, joined: Type): void {
  if (found === joined || joined.kind === 'answer') return
  const conversion = conversionTo(found, joined, at, false)
  if (conversion === false) return
  const converts = conversion?.kind === 'unwrap' ? conversion.inner : conversion
  const isOfRecords = converts?.kind === 'records' || converts?.kind === 'record'
  const noted = isOfRecords ? conversion : converts === null ? checkOfParts(found, joined) : null
  if (noted !== null) applyConversion(context, at, noted)
}

/** Reports a value that does not have the type that its place asks for. */
export function reportMismatch(
  context: Context,
  at: Expression,
  found: Type,
  expected: Type,
  why: Why,
  severity: 'error' | 'warning' = 'error'
): void {
  const { within } = why
  if (within !== undefined) {
    if (within.isReported) return
    within.isReported = true
    reportMismatch(context, within.at, within.of(found), within.expected, within.why)
    return
  }
  context.report(why.code, why.message, at, {
    severity,
    expectedType: show(expected),
    foundType: show(found),
    fixes: fixesFor(at, found, expected, why),
    suggestions: suggestionsFor(found, expected),
    ...(why.related === undefined ? {} : { related: [why.related] })
  })
}

function suggestionsFor(found: Type, expected: Type): string[] {
  const isWrapped = found.kind === 'named' && (found.def === RESULT || found.def === OPTION)
  if (isWrapped || expected.kind !== 'named' || expected.def !== RESULT) return []
  return ['write `Ok(…)` for a value, and `Error(…)` for a failure']
}

/** Expressions that can precede a method call without parentheses. */
const BINDS_TIGHTLY: ReadonlySet<string> = new Set(['Call', 'Identifier', 'Member', 'IndexAccess', 'Paren'])

function fixesFor(at: Expression, found: Type, expected: Type, { annotation }: Why): Fix[] {
  if (found.kind !== 'named' || (found.def !== RESULT && found.def !== OPTION)) return []
  const inner = resolved(found.args[0] ?? ANY)
  if (inner.kind !== 'any' && BINDS_TIGHTLY.has(at.kind) && mayFit(inner, expected)) {
    return [{ label: 'unwrap the value first', span: { start: at.end, end: at.end }, replacement: '.unwrap()' }]
  }
  if (annotation === undefined || found.def !== RESULT) return []
  const replacement = show(found)
  return [{ label: `declare it as ${replacement}`, span: annotation, replacement }]
}

/** True if a value fits without a conversion of its parts. Links no variables. */
function mayFit(value: Type, target: Type): boolean {
  if (value.kind === 'var' || target.kind === 'var') return false
  if (value.kind === 'named' && target.kind === 'named') {
    if (value === INT) return target === INT || target === FLOAT || target.def === ID
    return (
      value.def === target.def && value.args.every((arg, i) => mayFit(resolved(arg), resolved(target.args[i] ?? ANY)))
    )
  }
  return value.kind === target.kind && (value.kind === 'any' || show(value) === show(target))
}

/** True for the types that `-`, `*`, `<` and the like accept. */
export function isNumber(type: Type): boolean {
  return type === INT || type === FLOAT || type === DEC || (type.kind === 'named' && type.def === ID)
}
