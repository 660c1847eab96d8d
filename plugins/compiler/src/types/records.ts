import { spellingFix } from '../diagnostics/diagnostic.ts'
import type { ObjectEntry, ObjectLiteral, StructLiteral } from '../syntax/ast-expressions.ts'
import { entryKey, entryValue } from '../syntax/entries.ts'
import type { Span } from '../syntax/node.ts'
import { MAP, map, OPTION, RESULT, result, STR } from './builtin-types.ts'
import type { Context, Inference, Why } from './context.ts'
import { coerce, fieldTypeOf, instantiate } from './conversions.ts'
import { addDefaultUses } from './default-uses.ts'
import { nearest, reportDeprecated, reportUndefined } from './resolve.ts'
import { show } from './show.ts'
import {
  ANY,
  ERROR,
  type FieldType,
  type NamedType,
  newVar,
  type RecordType,
  record,
  resolved,
  type Type,
  type TypeDef
} from './type.ts'
import { link } from './unify.ts'

export function inferRecord(inference: Inference, literal: ObjectLiteral): Type {
  const { entries } = literal
  // A record without members is a map to which the program adds entries.
  if (entries.length === 0) return map(STR, newVar(literal))
  const fields = new Map<string, Type>()
  for (const entry of entries) fields.set(entryKey(entry), inference.infer(entryValue(entry)))
  return record(fields)
}

/** Compares a record literal with the type that its place asks for: it becomes a struct, a row or a Map. */
export function checkRecord(inference: Inference, literal: ObjectLiteral, expected: Type, why: Why): Type {
  const { context } = inference
  const target = resolved(expected)
  if (target.kind === 'record') return checkAgainst(inference, literal, target, why)
  if (target.kind === 'answer') return checkRecord(inference, literal, target.value, why)
  if (target.kind !== 'named') {
    if (target.kind === 'any') {
      for (const entry of literal.entries) inference.check(entryValue(entry), ANY, why)
      return target
    }
    return coerce(context, literal, inferRecord(inference, literal), target, why)
  }
  if (target.def === OPTION && why.wrapsSome !== undefined) {
    const type = checkRecord(inference, literal, target.args[0] ?? ANY, why)
    const inner = context.conversions[literal.id] ?? null
    if (why.wrapsSome === 'member') context.convert(literal, { kind: 'some', inner })
    return type
  }
  if (target.def === MAP) {
    const value = target.args[1] ?? ANY
    for (const entry of literal.entries) {
      inference.check(entryValue(entry), value, {
        code: 'typecheck.element_mismatch',
        message: `the value does not match the type of the values of ${show(target)}`,
        wrapsSome: 'member'
      })
    }
    context.convert(literal, { kind: 'map' })
    return target
  }
  if (target.def.fields === null) return coerce(context, literal, inferRecord(inference, literal), target, why)
  checkFields(inference, literal.entries, target, literal)
  noteDefaults(context, literal, target.def)
  context.convert(literal, { kind: 'record', type: target })
  return target
}

function checkAgainst(inference: Inference, literal: ObjectLiteral, target: RecordType, why: Why): Type {
  const fields = new Map<string, Type>()
  for (const entry of literal.entries) {
    const key = entryKey(entry)
    const expected = target.fields.get(key)
    const value = entryValue(entry)
    fields.set(
      key,
      expected === undefined ? inference.infer(value) : inference.check(value, expected, memberWhy(key, 'the record'))
    )
  }
  return coerce(inference.context, literal, record(fields), target, why)
}

/** Remembers the type of a literal that omits members with a default, so that they are added. */
function noteDefaults(context: Context, literal: ObjectLiteral, { fields, name }: TypeDef): void {
  const present = new Set(literal.entries.map(entryKey))
  for (const field of fields?.values() ?? []) {
    if (field.isOptional && field.field !== null && !present.has(field.name)) {
      context.records.set(literal, name)
      return
    }
  }
}

/** Finds the type of `Point { x: 1 }` and of `Circle { r: 1.0 }`. */
export function inferStruct(inference: Inference, expression: StructLiteral, expected: Type | null): Type {
  const { context } = inference
  const { name, entries } = expression
  const entry = context.names.get(name.text)
  if (entry !== undefined) reportDeprecated(context, entry, name)
  const variant = context.declarations.variant(name.text)
  const def = variant?.def ?? context.declarations.def(name.text) ?? context.natives.type(name.text)
  if (def === undefined || (variant === undefined && def.fields === null)) {
    for (const each of entries) inference.infer(entryValue(each))
    if (entry?.kind === 'import') return ANY
    if (entry === undefined && !context.natives.typeNames().includes(name.text)) {
      reportUndefined(context, name.text, name, false)
    } else context.report('typecheck.not_a_function', `\`${name.text}\` has no fields`, name)
    return ERROR
  }
  const owner = instantiate(def, expression)
  expectArguments(owner, expected)
  const fields = variant === undefined ? def.fields : new Map(variant.fields.map(field => [field.name, field]))
  checkFields(inference, entries, owner, name, fields, name.text)
  return owner
}

/** Links the arguments of a type that is being constructed to those of the type that is expected. */
export function expectArguments(owner: NamedType, expected: Type | null): void {
  const target = expected === null ? null : withoutAnswer(resolved(expected), owner)
  if (target?.kind !== 'named' || target.def !== owner.def) return
  for (const [index, arg] of owner.args.entries()) {
    const variable = resolved(arg)
    if (variable.kind === 'var') link(variable, target.args[index] ?? ANY)
  }
}

/** A route that declares `to T` may answer `Ok(value)`. */
function withoutAnswer(target: Type, { def }: NamedType): Type {
  if (target.kind !== 'answer') return target
  const inner = resolved(target.value)
  return def !== RESULT || (inner.kind === 'named' && inner.def === RESULT) ? inner : result(inner, ANY)
}

/** Compares the entries of a literal with the fields of its type, and reports unknown and missing ones. */
function checkFields(
  inference: Inference,
  entries: readonly ObjectEntry[],
  owner: NamedType,
  at: Span,
  fields: ReadonlyMap<string, FieldType> | null = owner.def.fields,
  name: string = owner.def.name
): void {
  const { context } = inference
  const present = new Set<string>()
  for (const entry of entries) {
    const key = entryKey(entry)
    present.add(key)
    const field = fields?.get(key)
    if (field === undefined) {
      inference.infer(entryValue(entry))
      const near = nearest(context, key, () => [...(fields?.keys() ?? [])])
      context.report(
        'typecheck.unknown_field',
        `${name} has no field \`${key}\``,
        entry.key,
        spellingFix(near, entry.key)
      )
    } else inference.check(entryValue(entry), fieldTypeOf(owner, field), memberWhy(key, `\`${name}\``))
  }
  const omitted = [...(fields?.values() ?? [])].filter(field => !present.has(field.name))
  addDefaultUses(context, at, owner.def, omitted)
  const missing = omitted.filter(field => !field.isOptional)
  if (missing.length > 0) reportMissing(context, missing, name, at, owner.def.kind === 'row' ? 'warning' : 'error')
}

function memberWhy(key: string, name: string): Why {
  return {
    code: 'typecheck.arg_mismatch',
    message: `the value does not match the type of \`${key}\` of ${name}`,
    wrapsSome: 'member'
  }
}

export function reportMissing(
  context: Context,
  missing: readonly FieldType[],
  name: string,
  at: Span,
  severity: 'error' | 'warning'
): void {
  const names = missing.map(field => `\`${field.name}\``).join(', ')
  const message = `${names} of \`${name}\` ${missing.length === 1 ? 'is' : 'are'} missing`
  const related = missing.flatMap(({ field }) => (field === null ? [] : [{ span: field, message: 'declared here' }]))
  context.report('typecheck.missing_field', message, at, { related, severity })
}
