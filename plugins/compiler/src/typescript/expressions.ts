// toestub-ignore(arch/god_object) - expressions and statements are mutually recursive
import { type Hir, unreachable } from '@svc/contracts'
import { type Doc, hardline, indent, join } from '../doc/doc.ts'
import {
  argumentList,
  arrow,
  block,
  call,
  code,
  enclosed,
  expressionStatement,
  fixed,
  Level,
  operand,
  stable,
  type TypeScriptCode
} from './code.ts'
import {
  awaited,
  bind,
  bindingOf,
  blockOf,
  type Code,
  calledAtOnce,
  constant,
  type Emitter,
  enclose,
  type FunctionFrame,
  inFrame,
  inScope,
  localOf,
  named,
  type Sink,
  typeOf,
  unavailable,
  waits,
  within,
  withinBlock,
  written
} from './emitter.ts'
import { boundIn, isExact } from './int-bounds.ts'
import { literal, longInt, propertyKey, valueName } from './names.ts'
import { armFacts, assuming, eitherKnown, factsOf, forget, know, knownPart } from './narrowing.ts'
import { type MethodCall, methodCode, nativeCode, unknownMethodCode } from './natives.ts'
import { isLiteral, isOpen, isOpenType } from './open-values.ts'
import { asFloat, binaryCode, infixCode, type Operand } from './operators.ts'
import { heldCode, someCode } from './options.ts'
import { type ArmTests, bindingsOf, covers, isSwitch, type PatternTest, patternTest } from './patterns.ts'
import { elementCode, fieldCode, localCode, type PathPart, partCode, storePart } from './places.ts'
import { isDeviceCall } from './program.ts'
import { lacksInside, typeShape } from './type-shape.ts'
import {
  contains,
  diverges,
  isNode,
  leaves,
  mayChangeVariables,
  mayFail,
  mayHaveEffects,
  mentions,
  needsStatements,
  newestStates,
  onlyExpression
} from './uses.ts'
import { ANY, isList, isNamed, isScalar, itemOf, iteratedItemOf } from './value-types.ts'

/** Module with the device functions. */
const MOBILE_MODULE = './mobile-bridge'

/** Expressions without side effects, which are dropped if their value is unused. */
const IDLE: ReadonlySet<Hir.Expr['kind']> = new Set([
  ...(['Int', 'Float', 'Decimal', 'Str', 'Bool', 'Unit', 'Local', 'Constant'] as const),
  ...(['Function', 'Native', 'Constructor'] as const)
])

/** Calls that return nothing in TypeScript if they have no result. */
const CALLS: ReadonlySet<Hir.Expr['kind']> = new Set(['Call', 'CallNative', 'CallValue'])

/** Methods of tables by operation, for messages. */
const DB_METHODS: Readonly<Record<Hir.Db['plan']['op'], string>> = {
  Insert: 'insert',
  Get: 'get',
  Delete: 'delete',
  All: 'all',
  FilterRecord: 'filter',
  Count: 'count',
  UnsafeQueryRawClause: 'query',
  Update: 'update',
  Aggregate: 'aggregate'
}

/** Expressions with several branches that produce the value. */
const CONTROL: ReadonlySet<Hir.Expr['kind']> = new Set(['If', 'Match', 'Block', 'SideEffect'])

// Expressions

/** Translates an expression. The statements that it needs are added to the enclosing function. */
export function expression(e: Emitter, node: Hir.Expr): TypeScriptCode {
  switch (node.kind) {
    case 'Int':
      return typeof node.value === 'bigint' ? stable(longInt(node.value)) : numberCode(String(node.value))
    case 'Float':
      // A whole float keeps its point.
      return numberCode(/^-?\d+$/.test(String(node.value)) ? `${node.value}.0` : String(node.value))
    case 'Decimal':
      return fixed(literal(node.digits))
    case 'Str':
      return e.shown.has(node) && e.views !== null ? e.views.text(e, node) : fixed(literal(node.value))
    case 'Bool':
      return fixed(String(node.value))
    case 'Unit':
      return stable('null')
    case 'Tuple':
    case 'List': {
      const items = operands(e, node.items)
      const made = code(
        enclosed(
          '[',
          items.map(each => each.doc),
          ']'
        )
      )
      const isTuple = node.kind === 'Tuple'
      return {
        ...made,
        isOpen: items.some(each => each.isOpen === true),
        known: isTuple ? items.find(each => each.known !== undefined)?.known : undefined
      }
    }
    case 'Record':
      return objectCode(fieldCodes(e, node.fields))
    case 'Map':
      return objectCode(fieldCodes(e, node.entries))
    case 'Struct': {
      const written = new Set(node.fields.map(([name]) => name))
      const isMissing = (name: string): boolean => !written.has(name)
      const omitted = defaultCodes(e, node.name, isMissing)
      const withDefault = new Set(e.file.program.defaultsOf(node.name).map(([name]) => name))
      // As on the server, members with a default come before those that are None.
      const rest = [true, false].flatMap(has => omitted.filter(([name]) => withDefault.has(name) === has))
      const made = objectCode([...fieldCodes(e, node.fields), ...rest])
      return hasOpenDefault(e, node.name, isMissing) ? { ...made, isOpen: true } : made
    }
    case 'Variant':
      return variantCode(e, node)
    case 'Local':
      return localCode(e, bindingOf(e, node.local))
    case 'Constant':
      return stable(e.file.shared(node.name))
    case 'Function':
      return functionCode(e, node)
    case 'Native':
      return nativeValueCode(e, node)
    case 'Constructor':
      return constructorCode(e, node)
    case 'Request':
      return unavailable(e, '`request`', node)
    case 'State':
      return unavailable(e, `\`${node.field}\``, node)
    case 'Unresolved':
      return unavailable(e, `\`${node.name}\``, node)
    case 'Binary': {
      const [left, right] = operands(e, [node.left, node.right]) as [TypeScriptCode, TypeScriptCode]
      return binaryOf(e, node, left, right)
    }
    case 'Logical':
      return logicalCode(e, node)
    case 'Unary':
      return unaryCode(e, node)
    case 'Call':
      return callCode(e, node)
    case 'CallValue':
      return valueCallCode(e, node)
    case 'CallNative':
      return nativeCallCode(e, node)
    case 'CallMethod':
      return methodCallCode(e, node)
    case 'CallHandler':
      return unavailable(e, `\`${node.event}\` of ${node.actor}`, node)
    case 'Spawn':
      return unavailable(e, 'spawning an actor', node)
    case 'Db':
      return unavailable(e, `db.${node.table}.${DB_METHODS[node.plan.op]}`, node)
    case 'RawSql':
      return unavailable(e, 'db.query', node)
    case 'Field':
      return { ...fieldCode(inferred(e, node.object), node.name), known: knownPart(e, node) }
    case 'Item':
      return {
        ...code([operand(inferred(e, node.object), Level.postfix), `[${node.index}]`]),
        known: knownPart(e, node)
      }
    case 'Index': {
      const [made, index] = operands(e, [node.object, node.index]) as [TypeScriptCode, TypeScriptCode]
      const object = isOpen(node.object) ? withType(e, node.object, made) : made
      return elementCode(e, object, typeOf(e, node.object), index, typeOf(e, node.index))
    }
    case 'If':
      return ifCode(e, node)
    case 'Block': {
      const only = onlyExpression(node)
      if (only === null || needsStatements(only)) return hoisted(e, node)
      return expression(e, only)
    }
    case 'Match':
    case 'SideEffect':
      return hoisted(e, node)
    case 'For':
      return loopCode(e, node)
    case 'Lambda':
      return lambdaCode(e, node, false)
    case 'Try':
      return tryCode(e, node)
    case 'Convert':
      return convertedCode(e, node)
    case 'Element':
    case 'Fragment':
      return e.views === null ? unavailable(e, 'an element outside of a view', node) : e.views.markup(e, node)
    default:
      return unreachable(node)
  }
}

/** Translates code together with the statements that it needs. */
export function closed(e: Emitter, node: Code): TypeScriptCode {
  const only = onlyExpression(node)
  if (only !== null && (!CONTROL.has(only.kind) || !needsStatements(only))) return enclose(e, () => expression(e, only))
  const frame = { ...e.frame, isInLoop: false }
  return calledAtOnce(
    e,
    inFrame(e, frame, () => within(e, () => into(e, node, { kind: 'return' })))
  )
}

/**
 * Translates operands in order. If a later one needs statements, earlier values are stored in variables before them, so
 * that the evaluation order is preserved.
 */
export function operands(e: Emitter, nodes: readonly Hir.Expr[]): TypeScriptCode[] {
  const codes: TypeScriptCode[] = []
  for (const node of nodes) {
    const before = e.out.length
    const made = expression(e, node)
    if (e.out.length > before) keepValues(e, codes, nodes, before)
    codes.push(made)
  }
  return codes
}

/** Stores values in variables, before the statement at a position. */
function keepValues(e: Emitter, codes: TypeScriptCode[], nodes: readonly Hir.Expr[], position: number): void {
  let at = position
  for (const [index, each] of codes.entries()) {
    if (each.isStable === true) continue
    const name = e.scope.fresh('value')
    const node = nodes[index]
    const hasType = node === undefined || (!isOpen(node) && each.isOpen !== true)
    const made = hasType ? each : withType(e, node, each)
    e.out.splice(at++, 0, [`const ${name} = `, made.doc])
    know(e, name, null, made.known)
    codes[index] = constant(e, name)
  }
}

function numberCode(text: string): TypeScriptCode {
  return text.startsWith('-') ? fixed(text, Level.prefix) : fixed(text)
}

function functionCode(e: Emitter, node: Hir.FunctionValue): TypeScriptCode {
  const { name } = node
  switch (e.file.program.kindOf(name)) {
    case 'local':
      return stable(e.file.shared(e.file.program.instances.ofValue(node)))
    case 'read':
    case 'write':
      return stable(e.file.client(name))
    case 'view':
      return stable(e.file.component(name))
    case 'server':
      return unavailable(e, `the function ${name}`, node)
  }
}

/** Translates a function that every program has, as a value. */
function nativeValueCode(e: Emitter, node: Hir.NativeValue): TypeScriptCode {
  if (node.native === 'null') return stable('null')
  const types = node.type.kind === 'fn' ? node.type.params : []
  const names = types.map((_, index) => String.fromCharCode(97 + index))
  const bounds = types.map(() => Number.POSITIVE_INFINITY)
  const called = nativeCode(node.native, { e, args: names.map(name => stable(name)), types, bounds })
  if (called === null) return unavailable(e, `\`${node.native}\``, node)
  const params = types.map((type, index) => `${names[index]}: ${e.file.typeOrAny(type)}`)
  return arrow(enclosed('(', params, ')'), called)
}

/** Translates a constructor as a function. */
function constructorCode(e: Emitter, node: Hir.ConstructorValue): TypeScriptCode {
  const { name } = node
  if (e.file.program.variant(name) !== undefined)
    return ownConstructor(e, name, node) ?? unavailable(e, `\`${name}\``, node)
  if (name !== 'Some') return stable(e.file.constructorName(name === 'Ok' ? 'Ok' : 'Err'))
  const type = node.type.kind === 'fn' ? (node.type.params[0] ?? ANY) : ANY
  return arrow(`(value: ${e.file.typeOrAny(type)})`, someCode(e.file, stable('value'), type))
}

/** Returns a constructor of the program; null for one that cannot be called. */
function ownConstructor(e: Emitter, name: string, { type }: Hir.Expr): TypeScriptCode | null {
  const declaration = e.file.program.variant(name)
  if (declaration?.kind === 'StateMachine') return stable(`${e.file.machine(declaration.name.text)}.${name}`)
  return type.kind === 'never' ? null : constant(e, e.file.constructorName(name))
}

function variantCode(e: Emitter, node: Hir.Variant): TypeScriptCode {
  const { name, args, fields } = node
  const { program } = e.file
  if (program.variant(name) === undefined) return builtinVariantCode(e, node)
  const own = ownConstructor(e, name, node)
  if (own === null) return unavailable(e, `\`${name}\``, node)
  const variant = program.variantsOf(node.type)?.find(each => each.name === name)
  if (variant?.isRecord === true && args.length > 0) {
    const names = fields.map(field => variant.fields[field]?.[0] ?? `_${field}`)
    const values = operands(e, args)
    const entries = names.map((field, index) => [field, (values[index] as TypeScriptCode).doc] as const)
    return objectCode([['_tag', literal(name)], ...entries])
  }
  if (args.length === 0) return own
  return call(own.doc, ...orderedCodes(e, args, fields))
}

function builtinVariantCode(e: Emitter, { name, args }: Hir.Variant): TypeScriptCode {
  const [value] = args
  if (value === undefined) return fixed('null')
  const [made = stable('null')] = argumentCodes(e, [value])
  if (name === 'Some') return someCode(e.file, made, typeOf(e, value))
  return call(e.file.constructorName(name === 'Ok' ? 'Ok' : 'Err'), made.doc)
}

type Entry = readonly [key: string, value: Doc]

function fieldCodes(e: Emitter, fields: readonly Hir.NamedExpr[]): Entry[] {
  const values = operands(
    e,
    fields.map(([, value]) => value)
  )
  return fields.map(([name], index) => [name, (values[index] as TypeScriptCode).doc])
}

/** Returns the values of the fields of a struct that are omitted. */
function defaultCodes(e: Emitter, type: string, isMissing: (field: string) => boolean): Entry[] {
  return e.file.program.omissibleOf(type).flatMap(([field, value]): Entry[] => {
    if (!isMissing(field)) return []
    if (value === null) return e.file.build.isDocument ? [] : [[field, 'null']]
    const inner: Emitter = { ...e, locals: value.locals, bound: new Map() }
    return [[field, closed(inner, value.block).doc]]
  })
}

/** True if TypeScript cannot infer the type of a default of a field. */
function hasOpenDefault(e: Emitter, type: string, isMissing: (field: string) => boolean): boolean {
  return e.file.program.omissibleOf(type).some(([field, value]) => {
    const only = value === null ? null : onlyExpression(value.block)
    if (!isMissing(field)) return false
    if (only === null) return value === null
    if (isOpen(only)) return true
    const written = new Set(only.kind === 'Struct' ? only.fields.map(([name]) => name) : [])
    return only.kind === 'Struct' && hasOpenDefault(e, only.name, name => !written.has(name))
  })
}

function objectCode(entries: readonly Entry[]): TypeScriptCode {
  const parts = entries.map(([key, value]): Doc => {
    const name = propertyKey(key)
    return value === name ? name : [name, ': ', value]
  })
  return code(enclosed('{', parts, '}', ' '))
}

function operandOf(e: Emitter, node: Hir.Expr, made: TypeScriptCode): Operand {
  const isNone = node.kind === 'Variant' && node.name === 'None' && isNamed(node.type, 'Option')
  return { code: made, type: typeOf(e, node), isNone, bound: boundIn(e.file.build, node) }
}

function binaryOf(e: Emitter, node: Hir.Binary, left: TypeScriptCode, right: TypeScriptCode): TypeScriptCode {
  const { operator } = node
  const [first, second] = [operandOf(e, node.left, left), operandOf(e, node.right, right)]
  const isCompared = operator === 'is' || operator === 'isnt'
  const isFixed =
    isCompared &&
    (isScalar(first.type) || isScalar(second.type)) &&
    left.known !== undefined &&
    right.known !== undefined
  const open = (inner: Hir.Expr, own: Operand, other: Operand): Operand => {
    const hasNoContext = isFixed || ((operator === 'add' || (isCompared && other.isNone)) && isOpen(inner))
    return hasNoContext ? { ...own, code: withType(e, inner, own.code) } : own
  }
  return binaryCode(e, operator, open(node.left, first, second), isFixed ? second : open(node.right, second, first))
}

/** Adds the type of a value, which TypeScript cannot infer. */
function withType(e: Emitter, node: Hir.Expr, made: TypeScriptCode): TypeScriptCode {
  const type = e.file.typeOrAny(typeOf(e, node))
  return code([operand(made, Level.nullish), ` as ${type}`], Level.choice)
}

/** Translates a value that is used where TypeScript infers its type. */
function inferred(e: Emitter, node: Hir.Expr): TypeScriptCode {
  const made = expression(e, node)
  return isOpen(node) || made.isOpen === true || isNarrowed(e, node, made) ? withType(e, node, made) : made
}

/** True for an option or a result of which TypeScript knows only a part. */
function isNarrowed(e: Emitter, node: Hir.Expr, made: TypeScriptCode): boolean {
  const type = typeOf(e, node)
  return isNamed(type, 'Option') ? made.known === 'null' : isNamed(type, 'Result') && made.known !== undefined
}

/** Translates a condition. After a literal one, TypeScript would take code for unreachable, and infer no types in it. */
function conditionCode(e: Emitter, node: Hir.Expr): TypeScriptCode {
  const made = expression(e, node)
  return made.doc === 'true' || made.doc === 'false' ? code([made.doc, ' as boolean'], Level.choice) : made
}

function logicalCode(e: Emitter, { operator, left, right }: Hir.Logical): TypeScriptCode {
  const isAnd = operator === 'and'
  const first = conditionCode(e, left)
  const facts = factsOf(e, left, isAnd)
  let second = stable('null')
  const statements = needsStatements(right)
    ? null
    : within(e, () => {
        second = assuming(e, facts, () => conditionCode(e, right))
      })
  if (statements?.length === 0) return infixCode(first, isAnd ? '&&' : '||', second, isAnd ? Level.and : Level.or)
  // The second operand is evaluated only if the first one does not decide.
  const name = e.scope.fresh('holds')
  e.out.push([`let ${name}: boolean = `, first.doc])
  const body =
    statements === null
      ? blockOf(e, () => assuming(e, facts, () => into(e, right, { kind: 'assign', to: name })))
      : block([...statements, [`${name} = `, second.doc]])
  e.out.push([`if (${isAnd ? '' : '!'}${name}) `, body])
  return stable(name)
}

function unaryCode(e: Emitter, { operator, operand: inner }: Hir.Unary): TypeScriptCode {
  if (operator === 'not') {
    const value = conditionCode(e, inner)
    return { ...code(['!', operand(value, Level.prefix)], Level.prefix), known: value.known }
  }
  const value = expression(e, inner)
  if (isNamed(typeOf(e, inner), 'dec')) {
    return code([e.file.helper('decimal_difference'), "('0', ", value.doc, ')'])
  }
  if (isNamed(typeOf(e, inner), 'int') && !isExact(boundIn(e.file.build, inner))) {
    return call(e.file.helper('int_difference'), '0', value.doc)
  }
  const isNegative = value.level === Level.prefix
  const made = code(['-', isNegative ? ['(', value.doc, ')'] : operand(value, Level.prefix)], Level.prefix)
  return typeof value.doc === 'string' && /^\d/.test(value.doc) ? { ...made, known: `-${value.doc}` } : made
}

function ifCode(e: Emitter, node: Hir.If): TypeScriptCode {
  if (needsStatements(node)) return hoisted(e, node)
  const condition = conditionCode(e, node.condition)
  const then = assuming(e, factsOf(e, node.condition, true), () => closed(e, node.then))
  const otherwise =
    node.otherwise === null
      ? stable('null')
      : assuming(e, factsOf(e, node.condition, false), () => closed(e, node.otherwise as Hir.Block))
  const made = code(
    [operand(condition, Level.nullish), ' ? ', operand(then, Level.nullish), ' : ', operand(otherwise, Level.choice)],
    Level.choice
  )
  return { ...made, known: eitherKnown(typeOf(e, node), then, otherwise) }
}

/** Translates an expression that needs statements. They assign a variable, whose name is returned. */
function hoisted(e: Emitter, node: Hir.Expr): TypeScriptCode {
  const type = typeOf(e, node)
  if (type.kind === 'unit' || type.kind === 'never') {
    into(e, node, { kind: 'drop' })
    return stable('null')
  }
  const name = e.scope.fresh('result')
  e.out.push(`let ${name}: ${e.file.typeOrAny(type)}`)
  assignedInto(e, node, name, type)
  return constant(e, name)
}

/** Translates a value with branches, which assign it to a declared variable. */
function assignedInto(e: Emitter, node: Hir.Expr, name: string, type: Hir.Type): void {
  const values = new Set<string | undefined>()
  e.assigned.set(name, values)
  into(e, node, { kind: 'assign', to: name })
  know(e, name, type, values.size === 1 ? [...values][0] : undefined)
}

function tryCode(e: Emitter, { operand: inner }: Hir.Try): TypeScriptCode {
  // The lowering makes the value of an operation that cannot fail here an `Ok`.
  if (inner.kind === 'Variant' && inner.name === 'Ok' && inner.args[0] !== undefined)
    return expression(e, inner.args[0])
  if (isRemote(e, inner) && e.frame.onFailure === 'throw') return remoteCall(e, inner, false)
  const value = inferred(e, inner)
  const isOption = isNamed(typeOf(e, inner), 'Option')
  const type = itemOf(typeOf(e, inner))
  if (e.frame.onFailure === 'throw') {
    const unwrapped = call(e.file.helper(isOption ? 'unwrap_some' : 'unwrap_ok'), value.doc)
    return isOption ? heldCode(e.file, unwrapped, type) : unwrapped
  }
  const name = named(e, value, 'tried')
  const [failed, result, found] = isOption
    ? [`${name} == null`, 'null', name]
    : [`${name}._tag === 'Err'`, name, `${name}.value`]
  e.out.push([`if (${failed}) `, block([`return ${result}`])])
  return isOption ? heldCode(e.file, constant(e, found), type) : constant(e, found)
}

function convertedCode(e: Emitter, { conversion, operand: inner, type }: Hir.Convert): TypeScriptCode {
  switch (conversion) {
    case 'float':
      return asFloat({ code: expression(e, inner), type: typeOf(e, inner), bound: boundIn(e.file.build, inner) })
    case 'struct':
      return structCode(e, inner, type)
    case 'unwrap':
      if (isRemote(e, inner)) return remoteCall(e, inner, false)
      return call(e.file.helper('unwrap_ok'), expression(e, inner).doc)
    case 'checked':
      return checkedCode(e, inner, type)
  }
}

/** Adds the defaults of structs to records without them. */
function structCode(e: Emitter, inner: Hir.Expr, type: Hir.Type): TypeScriptCode {
  if (lacksInside(typeOf(e, inner), type, e.file.program)) return checkedCode(e, inner, type, true)
  const value = expression(e, inner)
  const present = new Set(e.file.program.fieldsOf(typeOf(e, inner))?.keys())
  const missing = type.kind === 'named' ? defaultCodes(e, type.name, name => !present.has(name)) : []
  if (missing.length === 0) return value
  const parts = missing.map(([name, each]): Doc => [`${propertyKey(name)}: `, each])
  return { ...code(enclosed('{', [['...', value.doc], ...parts], '}', ' ')), isOpen: true }
}

function checkedCode(e: Emitter, inner: Hir.Expr, type: Hir.Type, allowsMore = false): TypeScriptCode {
  const value = expression(e, inner)
  const defaultsOf = (name: string): Entry[] => defaultCodes(e, name, () => true)
  const shape = typeShape(type, { program: e.file.program, defaultsOf, outer: [] })
  if (shape === null) return value
  return call(
    `${e.file.helper('checked')}<${e.file.typeOrAny(type)}>`,
    value.doc,
    shape,
    ...(allowsMore ? ['true'] : [])
  )
}

// Calls

function callCode(e: Emitter, node: Hir.Call): TypeScriptCode {
  const { name } = node
  const element = elementOfCall(e, node)
  if (element !== null && e.views !== null) return e.views.markup(e, element)
  switch (e.file.program.kindOf(name)) {
    case 'read':
    case 'write':
      return remoteCall(e, node, true)
    case 'local': {
      const args = orderedCodes(e, node.args, node.params)
      const copy = e.file.program.instances.ofCall(node, each => typeOf(e, each))
      const made = call([e.file.shared(copy), copy === name ? typeArguments(e, node) : ''], ...args)
      return e.file.program.isAsync(name) ? waiting(e, node, made, typeOf(e, node), null) : made
    }
    default:
      return unavailable(e, `\`${name}\``, node)
  }
}

/** Returns the type arguments of a call that TypeScript cannot infer from its arguments, in angle brackets. */
function typeArguments(e: Emitter, { name, args, params, type }: Hir.Call): string {
  const { program } = e.file
  const declaration = program.names.get(name)?.declaration
  const body = program.body(name)
  if (declaration?.kind !== 'Function' || declaration.generics.length === 0 || body === null) return ''
  const isInferred = args.every(arg => arg.kind === 'Local' && !e.known.has(bindingOf(e, arg.local).name))
  if (isInferred) return ''
  const used = args.map((arg, index) => [params[index] ?? index, typeOf(e, arg)] as const)
  const known = program.instances.typeArguments(name, body, used, type)
  return `<${declaration.generics.map(({ text }) => e.file.typeOrAny(known.get(text) ?? ANY)).join(', ')}>`
}

/** Returns the element that the call of a component stands for; null for other calls. */
export function elementOfCall(e: Emitter, { name, args, params, ...node }: Hir.Call): Hir.Element | null {
  const view = e.file.program.view(name)
  if (view?.kind !== 'Function') return null
  const attributes = args.map((value, index) => {
    const property = view.properties[params[index] ?? index]?.name ?? `arg${index}`
    const { start, end } = value
    return { name: property, value, start, end }
  })
  const { type, start, end } = node
  return { kind: 'Element', type, start, end, tag: name, isCall: true, attributes, children: null }
}

function valueCallCode(e: Emitter, node: Hir.CallValue): TypeScriptCode {
  const { callee, args, params } = node
  if (callee.kind === 'Unresolved') {
    // A function component may call React hooks.
    if (!/^use_[a-z]/.test(callee.name) || e.file.own === null) return unavailable(e, `\`${callee.name}\``, node)
    const hook = callee.name.replace(/_+([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase())
    return call(e.file.react(hook), ...orderedCodes(e, args, params))
  }
  const made = expression(e, callee)
  const called = code([operand(made, Level.postfix), argumentList(orderedCodes(e, args, params))])
  const isAsync = callee.kind === 'Local' && e.bound.get(callee.local)?.isAsync === true
  return isAsync && e.frame.mayAwait ? awaited(e, called) : called
}

function nativeCallCode(e: Emitter, node: Hir.CallNative): TypeScriptCode {
  const { native, receiver, args } = node
  if (native.startsWith('std.mobile.')) return deviceCall(e, node)
  if (receiver !== null) return methodCallOf(e, node, receiver, args, each => methodCode(native, each))
  const types = args.map(arg => typeOf(e, arg))
  const made = nativeCode(native, {
    e,
    args: argumentCodes(e, args),
    types,
    bounds: args.map(arg => boundIn(e.file.build, arg))
  })
  return made ?? unavailable(e, native.includes('.') ? native : `\`${native}\``, node)
}

function deviceCall(e: Emitter, { native, args }: Hir.CallNative): TypeScriptCode {
  const path = native.slice('std.mobile.'.length).split('.').map(valueName).join('.')
  const callee = `${e.file.imports.value(MOBILE_MODULE, 'mobile')}.${path}`
  const made = call(callee, ...argumentCodes(e, args).map(each => each.doc))
  return e.frame.mayAwait && isDeviceCall(native) ? awaited(e, made) : made
}

function methodCallCode(e: Emitter, node: Hir.CallMethod): TypeScriptCode {
  const { receiver, method, args } = node
  return methodCallOf(e, node, receiver, args, each => unknownMethodCode(method, each))
}

/** Translates the call of a method. A function argument that waits makes its list a list of promises. */
function methodCallOf(
  e: Emitter,
  node: Hir.CallNative | Hir.CallMethod,
  receiver: Hir.Expr,
  args: readonly Hir.Expr[],
  translate: (invocation: MethodCall) => TypeScriptCode | null
): TypeScriptCode {
  const name = node.kind === 'CallNative' ? (node.native.split('.').at(-1) ?? '') : node.method
  const values = args.map(arg => (arg.kind === 'Native' ? nativeOfItem(arg, typeOf(e, receiver)) : arg))
  const present =
    name === 'unwrap_or' && receiver.kind === 'Variant' && receiver.name === 'Some' ? receiver.args[0] : undefined
  let [object, ...codes] = argumentCodes(e, [present ?? receiver, ...values], node.kind === 'CallNative')
  // TypeScript refuses `??` after a choice whose branches it sees to be missing or present.
  if (name === 'unwrap_or' && isChoice(receiver)) {
    object = constant(e, named(e, withType(e, receiver, object as TypeScriptCode), 'value'))
  }
  // The translation evaluates the other value only if it is needed.
  if (name === 'unwrap_or' && args.some(arg => contains(arg, each => mayHaveEffects(each) || mayFail(each)))) {
    object = constant(e, named(e, object as TypeScriptCode, 'value'))
    codes = codes.map(each => constant(e, named(e, each, 'other')))
  }
  if (present !== undefined) return object as TypeScriptCode
  if (name === 'unwrap_or' && receiver.kind === 'Variant' && isNamed(receiver.type, 'Option')) {
    return codes[0] as TypeScriptCode
  }
  const isUntyped =
    isOpen(receiver) ||
    isNarrowed(e, receiver, object as TypeScriptCode) ||
    (name === 'is_empty' && object?.known !== undefined)
  if (isUntyped && node.kind === 'CallNative') object = withType(e, receiver, object as TypeScriptCode)
  const types = args.map(arg => typeOf(e, arg))
  const made = translate({
    e,
    object: object as TypeScriptCode,
    type: typeOf(e, receiver),
    bound: boundIn(e.file.build, receiver),
    args: codes,
    types,
    bounds: args.map(arg => boundIn(e.file.build, arg))
  })
  if (made === null) return unavailable(e, `\`${name}\` of ${ownerOf(node)}`, node)
  const isAsync = args.some(arg => arg.kind === 'Lambda' && waits(e, arg.body))
  if (!isAsync || !e.frame.mayAwait) return made
  if (name !== 'map') return unavailable(e, `calling the server within \`${name}\``, node)
  return awaited(e, call('Promise.all', made.doc))
}

function isChoice(node: Hir.Expr): boolean {
  return onlyExpression(node)?.kind === 'If' && isNamed(node.type, 'Option')
}

/** Gives a function of one value of any type the type of the elements that it gets: `[Some(1)].map(str)`. */
function nativeOfItem(node: Hir.NativeValue, receiver: Hir.Type): Hir.NativeValue {
  const { type } = node
  if (type.kind !== 'fn' || type.params.length !== 1) return node
  return { ...node, type: { ...type, params: [itemOf(receiver)] } }
}

function ownerOf(node: Hir.CallNative | Hir.CallMethod): string {
  return node.kind === 'CallNative' ? (node.native.split('.')[0] ?? '') : 'any'
}

/** Translates arguments. `hasTypes`: TypeScript knows the types of the parameters. */
function argumentCodes(e: Emitter, args: readonly Hir.Expr[], hasTypes = true): TypeScriptCode[] {
  const evaluated = args.filter(arg => arg.kind !== 'Lambda')
  const codes = operands(e, evaluated)
  return args.map(arg => {
    if (arg.kind === 'Lambda') return lambdaCode(e, arg, hasTypes)
    const made = codes[evaluated.indexOf(arg)] as TypeScriptCode
    return !hasTypes && isOpen(arg) ? withType(e, arg, made) : made
  })
}

/** Returns arguments in parameter order. An omitted argument before another one becomes its default. */
function orderedCodes(e: Emitter, args: readonly Hir.Expr[], params: readonly number[]): Doc[] {
  const codes = argumentCodes(e, args)
  const isInOrder = params.every((param, index) => index === 0 || param > (params[index - 1] ?? 0))
  // Arguments are evaluated as they are written.
  if (!isInOrder) keepValues(e, codes, args, e.out.length)
  const ordered: Doc[] = Array.from({ length: Math.max(-1, ...params) + 1 }, () => 'undefined')
  for (const [index, param] of params.entries()) ordered[param] = (codes[index] as TypeScriptCode).doc
  return ordered
}

/** True if an expression is a server call. */
function isRemote(e: Emitter, node: Hir.Expr): node is Hir.Call {
  if (node.kind !== 'Call') return false
  const kind = e.file.program.kindOf(node.name)
  return kind === 'read' || kind === 'write'
}

/** Translates a server call. With `settles`, a failure becomes a `Result` if the function declares one. */
function remoteCall(e: Emitter, node: Hir.Call, settles: boolean): TypeScriptCode {
  const { name } = node
  const { program } = e.file
  const args = orderedCodes(e, node.args, node.params)
  const made = call(e.file.client(name), ...args)
  const isResult = settles && isNamed(node.type, 'Result')
  const value = isResult ? "$value => $on_value({ _tag: 'Ok', value: $value })" : '$on_value'
  const follow = program.live.has(name) ? followCode(e, name, args, value) : null
  return waiting(e, node, isResult ? call(settleCode(e, node.type), made.doc) : made, node.type, follow)
}

/** Returns the function that makes a `Result` of a server call: with the message as an error, or with the Error itself. */
function settleCode(e: Emitter, type: Hir.Type): Doc {
  const [value, error] = type.kind === 'named' ? type.args : []
  const printed = error === undefined || isNamed(error, 'str') ? null : e.file.type(error)
  if (printed === null) return e.file.helper('settle')
  return `${e.file.helper('settle_refusal')}<${e.file.typeOrAny(value ?? ANY)}, ${printed}>`
}

/** Returns a function that passes the later values of a live query on. */
function followCode(e: Emitter, name: string, args: readonly Doc[], onValue: string): TypeScriptCode {
  const params = e.file.program.names.get(name)?.signature?.params ?? []
  const entries = params.flatMap(({ name: param }, index): Doc[] => {
    const arg = args[index]
    return arg === undefined ? [] : [[`${propertyKey(param.text)}: `, arg]]
  })
  const record = enclosed('{', entries, '}', ' ')
  return arrow('($on_value, $on_error)', call(`${e.file.client(name)}.live`, record, onValue, '$on_error'))
}

function waiting(
  e: Emitter,
  node: Hir.Call,
  made: TypeScriptCode,
  type: Hir.Type,
  follow: TypeScriptCode | null
): TypeScriptCode {
  if (e.frame.mayAwait) return awaited(e, made)
  const isLocal = contains(node, each => each.kind === 'Local' && e.bound.get(each.local)?.isOuter === false, new Set())
  const known = isLocal ? null : (e.remoteValues?.(node, made, type, follow) ?? null)
  if (known !== null) return stable(known)
  return unavailable(e, 'a server call for each item, or outside a component,', node)
}

// Functions and loops

/** Translates a lambda. `hasTypes`: TypeScript infers the types of its parameters from the context. */
function lambdaCode(e: Emitter, node: Hir.Lambda, hasTypes: boolean): TypeScriptCode {
  const { body } = node
  const isAsync = waits(e, body)
  const result = node.type.kind === 'fn' ? node.type.result : typeOf(e, body)
  const sink: Sink = result.kind === 'unit' ? { kind: 'drop' } : { kind: 'return' }
  return inScope(e, () => {
    const list = paramsCode(e, node, type => (hasTypes ? null : e.file.typeOrAny(type)))
    const frame: FunctionFrame = {
      ...e.frame,
      mayAwait: isAsync,
      isLater: e.frame.isLater || isAsync,
      isInLoop: false,
      isCancellable: node.isCancellable || e.frame.isCancellable,
      onFailure: sink.kind === 'drop' ? 'throw' : 'return'
    }
    const isKnown = sink.kind === 'drop' || !(needsStatements(body) ? isOpenType(result) : isOpen(body))
    const printed = isKnown ? null : e.file.type(result)
    const annotation = printed === null ? '' : `: ${isAsync ? `Promise<${printed}>` : printed}`
    const head: Doc = [isAsync ? 'async ' : '', list, annotation]
    if (needsStatements(body)) return arrow(head, functionBody(e, body, frame, sink))
    return inFrame(e, frame, () => arrow(head, returnedCode(e, body)))
  })
}

function returnedCode(e: Emitter, body: Hir.Expr): TypeScriptCode | readonly Doc[] {
  const statements = within(e, () => into(e, body, { kind: 'return' }))
  const [only] = statements
  if (statements.length === 1 && Array.isArray(only) && only[0] === 'return ') {
    return code(only[1] as Doc, Level.choice)
  }
  return statements
}

/** Returns parameters with their parentheses, and declares them. `annotation` returns the printed type of one. */
export function paramsCode(
  e: Emitter,
  { params, defaults }: Pick<Hir.Body, 'params' | 'defaults'>,
  annotation: (type: Hir.Type, index: number) => string | null
): Doc {
  return enclosed(
    '(',
    params.map((param, index) => {
      const value = defaults[index] ?? null
      const initial = value === null ? null : closed(e, value)
      const { name, type } = bind(e, param)
      const printed = annotation(type, index)
      return [name, printed === null ? '' : `: ${printed}`, ...(initial === null ? [] : [' = ', initial.doc])]
    }),
    ')'
  )
}

/** Returns the statements of a function with this body. */
export function functionBody(e: Emitter, body: Code, frame: FunctionFrame, sink: Sink): Doc[] {
  const states = newestStates(body, local => (e.bound.get(local)?.setter ?? null) !== null)
  return within(e, () => {
    const newest = new Map(frame.newest)
    for (const local of states) {
      const { name } = localOf(e, local)
      const variable = e.scope.fresh(`next_${name}`)
      newest.set(local, variable)
      e.out.push(`let ${variable} = ${frame.newest.get(local) ?? bindingOf(e, local).name}`)
    }
    inFrame(e, { ...frame, newest }, () => into(e, body, sink))
  })
}

/** Translates `for` as an expression: the list of its body's values. */
function loopCode(e: Emitter, node: Hir.For): TypeScriptCode {
  if (!leaves(node.body) && !waits(e, node.body)) return mappedCode(e, node)
  const name = e.scope.fresh('items')
  const item = e.file.typeOrAny(typeOf(e, node.body))
  e.out.push(`const ${name}: ${/[ |]/.test(item) ? `(${item})` : item}[] = []`)
  eachStatement(e, node, name)
  return stable(name)
}

/** Translates `for` as a call of `map`. */
function mappedCode(e: Emitter, node: Hir.For): TypeScriptCode {
  const { binding, index, iterable, body } = node
  const over = inferred(e, iterable)
  return inScope(e, () => {
    const target = targetCode(e, binding)
    let position = index === null ? null : bind(e, index).name
    let value = stable('null')
    const statements = written(e, () => {
      const take = (): string => {
        position ??= e.scope.fresh('index')
        return position
      }
      value = e.views?.item(e, node, take) ?? valueCode(e, body)
    })
    const made = statements.length === 0 ? value : [...statements, ['return ', value.doc]]
    const printed = isOpen(body) ? e.file.type(typeOf(e, body)) : null
    // TypeScript infers no parameters for a method of a value of any type.
    const isAny = typeOf(e, iterable).kind === 'any'
    const isPlain = position === null && printed === null && typeof target === 'string' && !isAny
    const item: Doc = isAny ? [target, ': any'] : target
    const params: Doc = position === null ? item : [item, isAny ? `, ${position}: number` : `, ${position}`]
    const head: Doc = isPlain ? target : ['(', params, ')', printed === null ? '' : `: ${printed}`]
    return code([operand(iterated(over, typeOf(e, iterable)), Level.postfix), '.map(', arrow(head, made).doc, ')'])
  })
}

/** Translates a value of a list. A call without a result becomes a statement. */
function valueCode(e: Emitter, node: Hir.Expr): TypeScriptCode {
  const only = onlyExpression(node)
  if (only === null || only.type.kind !== 'unit' || !CALLS.has(only.kind)) return expression(e, node)
  into(e, node, { kind: 'drop' })
  return stable('null')
}

/** Translates `for` as a statement. `collected` names the list that receives the body's values. */
function eachStatement(e: Emitter, { binding, index, iterable, body }: Hir.For, collected: string | null): void {
  const over = inferred(e, iterable)
  const type = typeOf(e, iterable)
  const list = isNamed(type, 'str') && index === null ? over : iterated(over, type)
  forget(e, body)
  let head: Doc = ''
  const statements = within(e, () => {
    const target = targetCode(e, binding)
    if (index === null) head = ['const ', target, ' of ', list.doc]
    else head = [`const [${bind(e, index).name}, `, target, '] of ', operand(list, Level.postfix), '.entries()']
    inFrame(e, { ...e.frame, isInLoop: true }, () => {
      if (collected === null) into(e, body, { kind: 'drop' })
      else e.out.push([`${collected}.push(`, valueCode(e, body).doc, ')'])
    })
  })
  e.out.push(['for (', head, ') ', block(statements)])
  forget(e, body)
}

/** Converts a value to an iterable. */
function iterated(over: TypeScriptCode, type: Hir.Type): TypeScriptCode {
  if (isNamed(type, 'str')) return code(['[...', over.doc, ']'])
  if (isList(type) || type.kind === 'any' || iteratedItemOf(type).kind !== 'tuple') return over
  return code(['Object.entries(', over.doc, ')'])
}

/** Declares the names of a pattern. Returns the pattern as an assignment target. */
function targetCode(e: Emitter, pattern: Hir.Pattern): Doc {
  switch (pattern.kind) {
    case 'Bind':
      return bind(e, pattern.local).name
    case 'Tuple':
      return ['[', pattern.items.map((item, index): Doc => [index === 0 ? '' : ', ', targetCode(e, item)]), ']']
    default:
      return e.scope.fresh('_')
  }
}

/** True for a pattern of `let mut`. */
function declaresVariable(e: Emitter, pattern: Hir.Pattern): boolean {
  if (pattern.kind === 'Bind') return localOf(e, pattern.local).isMutable
  return pattern.kind === 'Tuple' && pattern.items.some(item => declaresVariable(e, item))
}

// Statements

/** Writes code as statements. */
export function into(e: Emitter, node: Code, sink: Sink): void {
  if (!isNode(node)) {
    blockInto(e, node, sink)
    return
  }
  const value = node as Hir.Expr
  switch (value.kind) {
    case 'If':
      if (needsStatements(value) || sink.kind === 'drop') ifInto(e, value, sink)
      else valueInto(e, value, sink)
      return
    case 'Match':
      matchInto(e, value, sink)
      return
    case 'Block':
    case 'SideEffect':
      blockInto(e, value.block, sink)
      return
    case 'For':
      if (sink.kind === 'drop') eachStatement(e, value, null)
      else valueInto(e, value, sink)
      return
    default:
      valueInto(e, value, sink)
  }
}

function valueInto(e: Emitter, node: Hir.Expr, sink: Sink): void {
  if (sink.kind === 'drop') {
    if (IDLE.has(node.kind)) return
    const value = isRemote(e, node) ? remoteCall(e, node, false) : expression(e, node)
    const isDone = value.isStable === true && typeof value.doc === 'string'
    if (!isDone) e.out.push(expressionStatement(value.doc))
    return
  }
  const value = expression(e, node)
  if (typeOf(e, node).kind === 'never') e.out.push(expressionStatement(value.doc))
  else if (sink.kind === 'return') e.out.push(['return ', value.doc])
  else {
    e.assigned.get(sink.to)?.add(value.known)
    e.out.push([`${sink.to} = `, value.doc])
  }
}

function blockInto(e: Emitter, statements: Hir.Block, sink: Sink): void {
  const { scope } = e
  e.scope = scope.overlay()
  for (const [index, each] of statements.entries()) {
    statement(e, each, index === statements.length - 1 ? sink : { kind: 'drop' })
    // TypeScript infers no types in code that is never reached.
    if (diverges(each)) break
  }
  const last = statements.at(-1)?.kind
  const hasValue = last === 'Expr' || last === 'Return' || last === 'Break' || last === 'Continue'
  if (!hasValue && sink.kind === 'assign') e.out.push(`${sink.to} = null`)
  e.scope = scope
}

function ifInto(e: Emitter, { condition, then, otherwise }: Hir.If, sink: Sink): void {
  const test = conditionCode(e, condition)
  const [ifTrue, ifFalse] = [factsOf(e, condition, true), factsOf(e, condition, false)]
  const parts: Doc[] = ['if (', test.doc, ') ', blockOf(e, () => assuming(e, ifTrue, () => into(e, then, sink)))]
  const after = (): void => {
    for (const each of [then, otherwise ?? []]) forget(e, each)
    const known = diverges(then) ? ifFalse : otherwise !== null && diverges(otherwise) ? ifTrue : []
    for (const [name, value] of known) e.known.set(name, value)
  }
  if (otherwise === null) {
    e.out.push(parts)
    if (sink.kind === 'assign') e.out.push(`${sink.to} = null`)
    after()
    return
  }
  const rest = within(e, () => assuming(e, ifFalse, () => into(e, otherwise, sink)))
  after()
  const [only] = rest
  // If the else branch is only an `if`, the output is `else if`.
  const isChain =
    onlyExpression(otherwise)?.kind === 'If' && rest.length === 1 && Array.isArray(only) && only[0] === 'if ('
  if (rest.length > 0) parts.push(' else ', isChain ? (only as Doc) : block(rest))
  e.out.push(parts)
}

export function statement(e: Emitter, node: Hir.Stmt, sink: Sink): void {
  switch (node.kind) {
    case 'Expr':
      into(e, node.value, sink)
      return
    case 'Let':
      letStatement(e, node)
      return
    case 'Update':
      updateStatement(e, node)
      return
    case 'Return':
      if (node.value === null) e.out.push('return')
      else into(e, node.value, { kind: 'return' })
      return
    case 'While':
      whileStatement(e, node)
      return
    case 'Loop':
      forget(e, node.body)
      e.out.push(['while (true) ', loopBlock(e, () => into(e, node.body, { kind: 'drop' }))])
      forget(e, node.body)
      return
    case 'Break':
    case 'Continue':
      if (e.frame.isInLoop) e.out.push(node.kind === 'Break' ? 'break' : 'continue')
      else e.out.push(unavailable(e, 'a loop to leave from here', node).doc)
      return
    default:
      unreachable(node)
  }
}

function whileStatement(e: Emitter, { condition, body }: Hir.While): void {
  forget(e, body)
  let test = stable('true')
  const statements = within(e, () => {
    test = condition.kind === 'Bool' && condition.value ? test : conditionCode(e, condition)
  })
  const facts = factsOf(e, condition, true)
  if (statements.length === 0) {
    const write = (): void => assuming(e, facts, () => into(e, body, { kind: 'drop' }))
    e.out.push(['while (', test.doc, ') ', loopBlock(e, write)])
    forget(e, body)
    return
  }
  // The condition is evaluated before each round.
  const inner = loopBlock(e, () => {
    const each = expression(e, condition)
    e.out.push(['if (!', operand(each, Level.prefix), ') break'])
    assuming(e, facts, () => into(e, body, { kind: 'drop' }))
  })
  forget(e, body)
  e.out.push(['while (true) ', inner])
}

function loopBlock(e: Emitter, write: () => void): Doc {
  return inFrame(e, { ...e.frame, isInLoop: true }, () => blockOf(e, write))
}

/** Translates a `let`. `isAnnotated`: the type is printed, as in the program. */
export function letStatement(e: Emitter, { pattern, value }: Hir.Let, isAnnotated = false): void {
  if (pattern.kind !== 'Bind') {
    const made = expression(e, value)
    const keyword = declaresVariable(e, pattern) ? 'let ' : 'const '
    e.out.push([keyword, targetCode(e, pattern), ' = ', made.doc])
    noteSetter(e, pattern)
    return
  }
  const { name: written, type, isMutable } = localOf(e, pattern.local)
  const isAsync = value.kind === 'Lambda' && waits(e, value.body)
  const known = e.file.type(type)
  if (CONTROL.has(value.kind) && needsStatements(value)) {
    const name = e.scope.fresh(written)
    e.out.push(`let ${name}: ${e.file.typeOrAny(type)}`)
    assignedInto(e, value, name, type)
    bind(e, pattern.local, { as: name, isAsync })
    return
  }
  const made = expression(e, value)
  const { name } = bind(e, pattern.local, { isAsync })
  const isTyped = isOpen(value) || made.isOpen === true || (known !== null && (isAnnotated || isMutable))
  const annotation = isTyped ? `: ${e.file.typeOrAny(type)}` : ''
  know(e, name, isTyped ? type : null, made.known)
  e.out.push([`${isMutable ? 'let' : 'const'} ${name}${annotation} = `, made.doc])
}

/** Makes the variable of a React hook a state: `let (text, set_text) = use_state("")`. */
function noteSetter(e: Emitter, pattern: Hir.Pattern): void {
  const [state, setter] = pattern.kind === 'Tuple' ? pattern.items : []
  if (state?.kind !== 'Bind' || setter?.kind !== 'Bind') return
  if (localOf(e, setter.local).name !== `set_${localOf(e, state.local).name}`) return
  e.bound.set(state.local, { ...bindingOf(e, state.local), setter: bindingOf(e, setter.local).name })
}

function updateStatement(e: Emitter, node: Hir.Update): void {
  const { place, operator, value } = node
  if (typeof place.root !== 'number') {
    e.out.push(unavailable(e, `\`${place.root.state}\``, node).doc)
    return
  }
  if (place.path.length > 0) updatePart(e, node)
  else if (isUpdated(e, node, place.root)) updateState(e, node, place.root)
  else {
    const local = place.root
    const right = operandOf(e, value, operator === null ? expression(e, value) : inferred(e, value))
    store(e, place, operator === null ? right.code : binaryCode(e, operator, localOperand(e, local), right))
    know(e, bindingOf(e, local).name, localOf(e, local).type, operator === null ? right.code.known : undefined)
  }
}

function localOperand(e: Emitter, local: Hir.LocalId): Operand {
  const variable = localOf(e, local)
  const bound = boundIn(e.file.build, variable)
  return { code: localCode(e, bindingOf(e, local)), type: variable.type, isNone: false, bound }
}

/** Assigns a part. The indexes of the place are evaluated once, from left to right, and then the value. */
function updatePart(e: Emitter, { place, operator, value }: Hir.Update): void {
  const changes = contains(value, mayChangeVariables)
  const last = place.path.length - 1
  const fixed = place.path.map((part, position): PathPart => {
    if (!('index' in part)) return part
    const made = expression(e, part.index)
    const isRepeated = operator !== null || position < last
    const isUnchanged =
      (part.index.kind !== 'Tuple' && isLiteral(part.index)) || (!changes && part.index.kind === 'Local')
    const isKept = !isUnchanged && (isRepeated || changes || contains(part.index, mayHaveEffects))
    return { index: isKept ? stable(named(e, made, 'at')) : made, type: typeOf(e, part.index) }
  })
  // A compound assignment reads its target before the value, and a plain one reads the lists around its target after it.
  const read = operator === null ? [] : [partCode(e, place.root as Hir.LocalId, fixed)]
  const before = e.out.length
  const right = operandOf(e, value, operator === null ? expression(e, value) : inferred(e, value))
  if (e.out.length > before) keepValues(e, read, [], before)
  let changed = right.code
  const [left] = read
  if (operator !== null && left !== undefined) {
    const bound = boundIn(e.file.build, localOf(e, place.root as Hir.LocalId))
    changed = binaryCode(e, operator, { code: left, type: place.type, isNone: false, bound }, right)
  } else if (last > 0 && contains(value, mayHaveEffects)) changed = stable(named(e, changed, 'value'))
  storePart(e, place.root as Hir.LocalId, fixed, changes ? stable(named(e, changed, 'changed')) : changed)
}

/** Assigns a place, whose indexes are not evaluated yet. */
export function store(e: Emitter, { root, path }: Hir.Place, value: TypeScriptCode): void {
  if (typeof root !== 'number') throw new TypeError('browsers have no state of actors')
  const parts = path.map((part): PathPart => {
    return 'index' in part ? { index: expression(e, part.index), type: typeOf(e, part.index) } : part
  })
  storePart(e, root, parts, value)
}

/** True for an assignment to a state that depends on its previous value, in code that may run after another render. */
function isUpdated(e: Emitter, { operator, value }: Hir.Update, local: Hir.LocalId): boolean {
  if (!e.frame.isLater || needsStatements(value) || waits(e, value)) return false
  const isState = bindingOf(e, local).setter !== null && !e.frame.newest.has(local)
  const reads = (): boolean => contains(value, each => each.kind === 'Local' && each.local === local, new Set())
  return isState && (operator !== null || reads())
}

function updateState(e: Emitter, { operator, value }: Hir.Update, local: Hir.LocalId): void {
  const binding = bindingOf(e, local)
  // The parameter shadows the value of the current render.
  e.bound.set(local, { ...binding, setter: null })
  const made = enclose(e, () => {
    const right = operandOf(e, value, expression(e, value))
    return operator === null ? right.code : binaryCode(e, operator, localOperand(e, local), right)
  })
  e.bound.set(local, binding)
  e.out.push([`${binding.setter}(`, arrow(binding.name, made).doc, ')'])
}

// Matches

/** Translates `match`: to a switch if the arms only distinguish variants, else to a chain of conditions. */
function matchInto(e: Emitter, { subject, arms }: Hir.Match, sink: Sink): void {
  const made = expression(e, subject)
  const type = typeOf(e, subject)
  const isTuple = subject.kind === 'Tuple' && made.known === undefined
  // Of a known value, TypeScript would expect no other one.
  const isFixed = made.known !== undefined || (isOpen(subject) && !isTuple)
  const held = isFixed ? withType(e, subject, made) : made
  const value = named(e, isTuple ? { ...made, doc: [made.doc, ' as const'] } : held, 'value')
  const tests = arms.map(arm => arm.patterns.map(pattern => patternTest(pattern, value, type, e.file)))
  if (isSwitch(arms, tests, type, e.file.program)) switchInto(e, value, arms, tests, type, sink)
  else conditionsInto(e, value, arms, tests, type, sink)
  for (const { body } of arms) forget(e, body)
  // A value that only some arms let pass is still one of these.
  if (arms.some(({ body }) => diverges(body)) && !isNamed(type, 'Option')) {
    for (const arm of arms) for (const [name, known] of armFacts(value, type, arm)) e.known.set(name, known)
  }
}

function switchInto(
  e: Emitter,
  value: string,
  arms: readonly Hir.MatchArm[],
  tests: ArmTests,
  type: Hir.Type,
  sink: Sink
): void {
  const cases = arms.map((arm, index): Doc => {
    const labels = arm.patterns.map(pattern =>
      pattern.kind === 'Variant' ? `case ${literal(pattern.name)}: ` : 'default: '
    )
    const write = (): void => armBody(e, arm, tests[index] ?? [], sink)
    const statements = within(e, () => assuming(e, armFacts(value, type, arm), write))
    if (!ends(statements.at(-1))) statements.push('break')
    return [join(hardline, labels), block(statements)]
  })
  if (!covers(arms, type, e.file.program)) cases.push(['default: ', block([noArm(e)])])
  e.out.push([`switch (${value}._tag) {`, indent([hardline, join(hardline, cases)]), hardline, '}'])
}

function conditionsInto(
  e: Emitter,
  value: string,
  arms: readonly Hir.MatchArm[],
  tests: ArmTests,
  type: Hir.Type,
  sink: Sink
): void {
  const isCovered = covers(arms, type, e.file.program)
  const parts: Doc[] = []
  let isUnmatched = true
  for (const [index, arm] of arms.entries()) {
    const own = tests[index] ?? []
    const isLast = index === arms.length - 1
    const test = armTest(e, arm, own)
    const isElse = test === null || (isLast && isCovered && arm.guard === null)
    if (index === 0 && isElse) {
      e.out.push(...withinBlock(e, () => armBody(e, arm, own, sink)))
      return
    }
    const facts = armFacts(value, type, arm)
    const statements = within(e, () => assuming(e, facts, () => armBody(e, arm, own, sink)))
    if (isElse) isUnmatched = false
    if (isElse && statements.length === 0) break
    parts.push(index === 0 ? '' : ' else ', isElse ? '' : ['if (', test as Doc, ') '], block(statements))
    if (isElse) break
  }
  if (isUnmatched) parts.push(parts.length === 0 ? '' : ' else ', block([noArm(e)]))
  e.out.push(parts)
}

function noArm(e: Emitter): Doc {
  return `${e.file.helper('no_match')}()`
}

/** Returns the condition of an arm; null if the arm always matches. */
function armTest(e: Emitter, { guard }: Hir.MatchArm, tests: readonly PatternTest[]): Doc | null {
  const joined = tests.map(each => each.tests.join(' && '))
  const isAlways = joined.includes('')
  const pattern = isAlways
    ? null
    : joined.length === 1
      ? (joined[0] as string)
      : joined.map(each => (each.includes(' && ') ? `(${each})` : each)).join(' || ')
  if (guard === null) return pattern
  const condition = inScope(e, () => {
    // The variables of the pattern are not bound yet.
    for (const [local, value] of bindingsOf(tests)) bind(e, local, { as: value })
    return operand(closed(e, guard), Level.and)
  })
  if (pattern === null) return condition
  return [joined.length === 1 ? pattern : `(${pattern})`, ' && ', condition]
}

function armBody(e: Emitter, { body }: Hir.MatchArm, tests: readonly PatternTest[], sink: Sink): void {
  for (const [local, value] of bindingsOf(tests)) {
    if (!mentions(body, local, localOf(e, local).name)) continue
    const { name } = bind(e, local)
    e.out.push(`const ${name} = ${value}`)
    know(e, name, null, e.known.get(value))
  }
  into(e, body, sink)
}

function ends(statement: Doc | undefined): boolean {
  if (statement === undefined) return false
  const text = typeof statement === 'string' ? statement : Array.isArray(statement) ? statement[0] : ''
  return typeof text === 'string' && /^(return\b|continue$|throw )/.test(text)
}
