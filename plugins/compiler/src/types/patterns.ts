import type { ConstructorPattern, LiteralPattern, Pattern } from '../syntax/ast-statements.ts'
import { BOOL, DEC, FLOAT, INT, OPTION, RESULT, result, STR } from './builtin-types.ts'
import type { Context } from './context.ts'
import { conversionTo, fieldTypeOf, instantiate, unwrapped } from './conversions.ts'
import { reportUndefined } from './resolve.ts'
import type { Local } from './scopes.ts'
import { show } from './show.ts'
import { ANY, ERROR, type NamedType, newVar, resolved, type Type, tuple, type VariantType } from './type.ts'
import { unify } from './unify.ts'

/** Binds the names of a pattern to the parts of a value of this type. Reports patterns that match no such value. */
export function bindPattern(
  context: Context,
  pattern: Pattern,
  type: Type,
  isMutable = false,
  canBeMutable = false
): void {
  context.types[pattern.id] = type
  switch (pattern.kind) {
    case 'BindingPattern': {
      const local: Local = { kind: 'variable', name: pattern.name, type, isMutable, canBeMutable }
      bindLocal(context, local)
      return
    }
    case 'TuplePattern': {
      const items = itemsOf(context, pattern, type, pattern.items.length)
      for (const [index, item] of pattern.items.entries()) {
        bindPattern(context, item, items[index] ?? ERROR, isMutable)
      }
      return
    }
    case 'ConstructorPattern':
      bindConstructor(context, pattern, type, isMutable)
      return
    case 'LiteralPattern':
      checkLiteral(context, pattern, type)
  }
}

export function bindLocal(context: Context, local: Local): void {
  if (local.name.text === 'db') {
    context.report('typecheck.reserved_name', '`db` is reserved for the database', local.name)
  }
  context.scopes.bind(local)
}

function itemsOf(context: Context, pattern: Pattern, type: Type, count: number): readonly Type[] {
  const value = unwrapped(type)
  if (value.kind === 'tuple') {
    if (value.items.length === count) return value.items
    const message = `the pattern has ${count} parts, but the tuple has ${value.items.length}`
    context.report('typecheck.pattern_mismatch', message, pattern)
    return []
  }
  if (value.kind === 'any') return Array.from({ length: count }, () => ANY)
  if (value.kind === 'var') {
    const items = Array.from({ length: count }, () => newVar(pattern))
    unify(value, tuple(items))
    return items
  }
  mismatch(context, pattern, 'tuple', value)
  return []
}

function mismatch(context: Context, pattern: Pattern, matched: string, value: Type): void {
  if (value.kind === 'error' || value.kind === 'never') return
  context.report(
    'typecheck.pattern_mismatch',
    `the pattern matches ${withArticle(matched)}, but the value is ${withArticle(show(value))}`,
    pattern,
    {
      foundType: show(value)
    }
  )
}

function bindConstructor(context: Context, pattern: ConstructorPattern, type: Type, isMutable: boolean): void {
  const parts = partsOf(context, pattern, type)
  const args = pattern.args ?? []
  if (parts !== null && pattern.args !== null && parts.types.length !== args.length) {
    const message = `\`${pattern.name.text}\` has ${values(parts.types.length)}, but the pattern has ${args.length}`
    const related = parts.variant?.span ? [{ span: parts.variant.span, message: 'declared here' }] : []
    context.report('typecheck.arity', message, pattern.name, { related })
  }
  for (const [index, arg] of args.entries()) bindPattern(context, arg, parts?.types[index] ?? ERROR, isMutable)
}

interface Parts {
  readonly types: readonly Type[]
  readonly variant: VariantType | null
}

/** Returns the types of the parts of a constructor; null if its error was reported. */
function partsOf(context: Context, pattern: ConstructorPattern, type: Type): Parts | null {
  const name = pattern.name.text
  const local = context.scopes.lookup(name)
  const entry = local === undefined ? context.names.get(name) : undefined
  if (entry?.kind === 'import') return { types: (pattern.args ?? []).map(() => ANY), variant: null }
  const variant = entry === undefined ? undefined : context.declarations.variant(name)
  if (variant !== undefined) {
    const owner = instantiate(variant.def, pattern)
    if (!isOf(context, pattern, owner, type)) return { types: variant.fields.map(() => ERROR), variant }
    return { types: variant.fields.map(field => fieldTypeOf(owner, field)), variant }
  }
  if (entry !== undefined || local !== undefined) {
    context.report('typecheck.pattern_mismatch', `\`${name}\` is not a constructor`, pattern.name)
    return null
  }
  return nativeParts(context, pattern, type)
}

function nativeParts(context: Context, pattern: ConstructorPattern, type: Type): Parts | null {
  const name = pattern.name.text
  const value = resolved(type)
  switch (name) {
    case 'Some':
    case 'None': {
      const owner = instantiate(OPTION, pattern)
      isOf(context, pattern, owner, type)
      return { types: name === 'Some' ? [owner.args[0] as Type] : [], variant: null }
    }
    case 'Ok':
    case 'Error':
    case 'Err': {
      const owner = instantiate(RESULT, pattern)
      isOf(context, pattern, owner, value.kind === 'answer' ? result(value.value) : type)
      const part = owner.args[name === 'Ok' ? 0 : 1] as Type
      // `Ok` without an argument also matches `Ok(Unit)`.
      return { types: name === 'Ok' && pattern.args?.length === 0 ? [] : [part], variant: null }
    }
    default:
      reportUndefined(context, name, pattern.name, false)
      return null
  }
}

/** True if a value of the type can match a pattern of the other type; else reports it. */
function isOf(context: Context, pattern: Pattern, owner: NamedType, type: Type): boolean {
  const value = unwrapped(type)
  if (value.kind === 'any') {
    for (const arg of owner.args) unify(arg, ANY)
    return true
  }
  if (value.kind === 'error') {
    for (const arg of owner.args) unify(arg, ERROR)
    return true
  }
  if (unify(value, owner)) return true
  mismatch(context, pattern, owner.def.name, value)
  for (const arg of owner.args) if (resolved(arg).kind === 'var') unify(arg, ERROR)
  return false
}

function checkLiteral(context: Context, pattern: LiteralPattern, type: Type): void {
  const value = unwrapped(type)
  const literal = literalType(pattern)
  if (value === FLOAT && literal === INT) return
  if (value.kind === 'var') {
    unify(value, literal)
    return
  }
  const isCharacter = literal === STR && pattern.value.kind === 'String' && [...pattern.value.value].length === 1
  const isMatched = conversionTo(literal, value, isCharacter ? (pattern.value as never) : null, false) !== false
  if (!isMatched) mismatch(context, pattern, show(literal), value)
}

function literalType({ value }: LiteralPattern): Type {
  switch (value.kind) {
    case 'Int':
      return INT
    case 'Float':
      return FLOAT
    case 'Decimal':
      return DEC
    case 'Bool':
      return BOOL
    default:
      return STR
  }
}

function withArticle(type: string): string {
  return `${/^[aeiouAEIO]/.test(type) ? 'an' : 'a'} ${type}`
}

function values(count: number): string {
  return count === 0 ? 'no values' : count === 1 ? 'one value' : `${count} values`
}
