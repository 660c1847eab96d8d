import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import { literal, propertyKey } from './names.ts'
import type { EmittedProgram } from './program.ts'
import { isList } from './value-types.ts'

/** Types whose values the helper `checked` knows. Of others, any value is accepted. */
const PLAIN: Readonly<Record<string, string>> = {
  int: 'int',
  Id: 'int',
  float: 'float',
  str: 'str',
  char: 'str',
  bool: 'bool',
  dec: 'dec'
}

export interface ShapeContext {
  readonly program: EmittedProgram
  /** Returns the code of the defaults of a struct, by field; none for other types. */
  defaultsOf(type: string): readonly (readonly [field: string, value: Doc])[]
  /** Names of the types of records around this one, outermost first. */
  readonly outer: readonly string[]
}

/** Returns a type as the argument of the helper `checked`; null if any value is one of it. */
export function typeShape(type: Hir.Type, context: ShapeContext): Doc | null {
  switch (type.kind) {
    case 'unit':
      return "'unit'"
    case 'tuple':
      return ['{ tuple: [', listed(type.items.map(item => shapeOf(item, context))), '] }']
    case 'record':
      return ['{ fields: ', fieldsShape(type.fields, { ...context, outer: [...context.outer, ''] }), ' }']
    case 'named': {
      const { name, args } = type
      const plain = Object.hasOwn(PLAIN, name) ? PLAIN[name] : undefined
      if (plain !== undefined) return literal(plain)
      if (name === 'Tensor') return "{ list: 'float' }"
      if (isList(type)) return ['{ list: ', shapeOf(args[0], context), ' }']
      if (name === 'Map') return ['{ map: ', shapeOf(args[1], context), ' }']
      if (name === 'Option') return ['{ option: ', shapeOf(args[0], context), ' }']
      if (name === 'Result') return ['{ result: [', shapeOf(args[0], context), ', ', shapeOf(args[1], context), '] }']
      return declaredShape(type, context)
    }
    default:
      return null
  }
}

/** True if a record inside of a value lacks members of the struct that it becomes, which have a default. */
export function lacksInside(from: Hir.Type, to: Hir.Type, program: EmittedProgram): boolean {
  const lacks = (parts: readonly Hir.Type[], wanted: readonly Hir.Type[]): boolean =>
    parts.some((part, index) => {
      const type = wanted[index]
      return type !== undefined && (lacksDefault(part, type, program) || lacksInside(part, type, program))
    })
  if (from === to) return false
  if (from.kind === 'tuple' && to.kind === 'tuple') return lacks(from.items, to.items)
  if (to.kind !== 'named') return false
  if (from.kind === 'named' && from.name === to.name) return lacks(from.args, to.args)
  const [members, wanted] = [program.fieldsOf(from), program.fieldsOf(to)]
  if (members === null || wanted === null) return false
  const shared = [...wanted].filter(([name]) => members.has(name))
  return lacks(
    shared.map(([name]) => members.get(name) as Hir.Type),
    shared.map(([, type]) => type)
  )
}

function lacksDefault(from: Hir.Type, to: Hir.Type, program: EmittedProgram): boolean {
  if (to.kind !== 'named' || (from.kind === 'named' && from.name === to.name)) return false
  const members = program.fieldsOf(from)
  return members !== null && program.omissibleOf(to.name).some(([name]) => !members.has(name))
}

function shapeOf(type: Hir.Type | undefined, context: ShapeContext): Doc {
  return (type === undefined ? null : typeShape(type, context)) ?? "'any'"
}

function declaredShape(type: Extract<Hir.Type, { kind: 'named' }>, context: ShapeContext): Doc | null {
  const { program, outer } = context
  const at = outer.indexOf(type.name)
  if (at >= 0) return `{ up: ${outer.length - at} }`
  const within = { ...context, outer: [...outer, type.name] }
  const variants = program.variantsOf(type)
  if (variants !== null) {
    const cases = variants.map(({ name, fields }): Doc => [`${propertyKey(name)}: `, fieldsShape(fields, within)])
    return ['{ cases: { ', listed(cases), ' } }']
  }
  const fields = program.fieldsOf(type)
  if (fields === null) return null
  const defaults = context.defaultsOf(type.name).map(([name, value]): Doc => [`${propertyKey(name)}: `, value])
  const added: Doc = defaults.length === 0 ? '' : [', defaults: () => ({ ', listed(defaults), ' })']
  return ['{ fields: ', fieldsShape([...fields], within), added, ' }']
}

function fieldsShape(fields: readonly (readonly [name: string, type: Hir.Type])[], context: ShapeContext): Doc {
  if (fields.length === 0) return '{}'
  return ['{ ', listed(fields.map(([name, type]): Doc => [`${propertyKey(name)}: `, shapeOf(type, context)])), ' }']
}

function listed(docs: readonly Doc[]): Doc {
  return docs.map((doc, index): Doc => [index === 0 ? '' : ', ', doc])
}
