import type { FunctionDeclaration, Type as TypeSyntax } from '../../syntax/ast.ts'
import { parse } from '../../syntax/parse.ts'
import { BUILTIN_DEFS, DEC, RESULT, result, UNIT } from '../builtin-types.ts'
import { EFFECTS, type Effect } from '../effect.ts'
import {
  ANY,
  type FieldType,
  fn,
  NEVER,
  named,
  param,
  type RigidType,
  record,
  rigid,
  type Type,
  type TypeDef,
  tuple
} from '../type.ts'
import { type Bound, isNativeFunction, type NativeMember, type Natives } from './natives-contract.ts'
import {
  EVERY_VALUE,
  NATIVE_GLOBALS,
  NATIVE_MEMBERS,
  NATIVE_NAMESPACES,
  NATIVE_RECORDS,
  SAME_METHODS,
  SHORT_NAMESPACES
} from './natives-table.ts'

type Members = ReadonlyMap<string, NativeMember>

/** A line of the table: `name[T](params) to type uses effects where T: bound // text`, or `name: type // text`. */
const LINE =
  /^(?<source>(?<name>\w+)(?<generics>\[[^\]]*\])?(?:(?<params>\(.*\)) to|(?<omittable>\?)?:) (?<type>.+?)(?: uses (?<effects>[\w, ]+?))?(?: where (?<bounded>\w+): (?<bound>\w+))?) \/\/ (?<text>.+)$/

interface Line {
  readonly source: string
  readonly name: string
  readonly generics?: string
  /** Parameters in parentheses; missing for a value. */
  readonly params?: string
  readonly omittable?: string
  readonly type: string
  readonly effects?: string
  readonly bounded?: string
  readonly bound?: Bound
  readonly text: string
}

/** Types that only natives have. */
const TYPES: ReadonlyMap<string, TypeDef> = new Map(
  [...Object.keys(NATIVE_MEMBERS), ...Object.keys(SAME_METHODS)]
    .filter(name => /^\w+$/.test(name) && !BUILTIN_DEFS.has(name))
    .map(name => [name, nativeType(name)])
)

function nativeType(name: string): TypeDef {
  return {
    kind: 'builtin',
    name,
    generics: [],
    declaration: null,
    // Read on first use: a field may have a type of the table.
    get fields() {
      return fieldsOf(this)
    },
    variants: null
  }
}

/** Reads the members of a namespace or of a type. Throws on a line that the language cannot read. */
function readMembers(owner: string, text: string, receiver: string | null = null): Members {
  const lines = text
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => {
      const groups = LINE.exec(line.trim())?.groups
      if (groups === undefined) throw new Error(`${owner}: the native cannot be read: ${line.trim()}`)
      return groups as unknown as Line
    })
  const self = receiver === null ? '' : `fn self(self: ${receiver}) { }\n`
  const functions = lines.map(({ generics = '', params = '()', type }, index) => {
    const plain = params.replaceAll(/(\w+)(?:\?|\.\.\.):/g, '$1:')
    return `fn native_${index}${generics}${plain} to ${type} { }\n`
  })
  const { module, diagnostics } = parse(self + functions.join(''))
  if (diagnostics.length > 0) throw new Error(`${owner}: the natives cannot be read: ${diagnostics[0]?.message}`)
  const declarations = module.items as readonly FunctionDeclaration[]
  const syntax = receiver === null ? null : (declarations[0]?.params[0]?.type ?? null)
  const own = new Map(syntax === null ? [] : parametersOf(syntax).map(name => [name, rigid(name)] as const))
  const prefix = owner === '' ? '' : `${owner}.`
  return new Map(
    lines.map((line, index) => {
      const declaration = declarations[index + (syntax === null ? 0 : 1)] as FunctionDeclaration
      return [line.name, readMember(prefix + line.name, line, declaration, syntax, own)]
    })
  )
}

function readMember(
  path: string,
  { source: line, params, omittable, effects, bounded, bound, text }: Line,
  declaration: FunctionDeclaration,
  receiver: TypeSyntax | null,
  own: ReadonlyMap<string, RigidType>
): NativeMember {
  const source = line.replace(/ uses [\w, ]+/, row => row.replaceAll(/\b(?:fs|db)_\w+/g, name => name.slice(0, 2)))
  const scope = new Map(own)
  for (const { text: name } of declaration.generics) scope.set(name, rigid(name))
  const generics = [...scope.values()]
  const type = readType(declaration.result, scope)
  if (params === undefined) return { path, generics, type, isOptional: omittable !== undefined, text, source }
  const optional = new Set(Array.from(params.matchAll(/(\w+)\?:/g), ([, name]) => name))
  const bounds = new Map<RigidType, Bound>()
  const limited = scope.get(bounded ?? '')
  if (limited !== undefined && bound !== undefined) bounds.set(limited, bound)
  return {
    path,
    generics,
    receiver: receiver === null ? null : readType(receiver, scope),
    params: declaration.params.map(({ name, type }) => ({
      name: name.text,
      type: readType(type, scope),
      isOptional: optional.has(name.text)
    })),
    isVariadic: params.includes('...:'),
    result: type,
    effects: (effects?.split(', ') ?? []).map(readEffect),
    bounds,
    text,
    source
  }
}

function readEffect(name: string): Effect {
  const effect = EFFECTS.find(each => each === name)
  if (effect === undefined) throw new Error(`${name}: no such effect`)
  return effect
}

/** Returns the names in a type that stand for any type: `T` of `List[T]`. */
function parametersOf(syntax: TypeSyntax): string[] {
  const args = syntax.kind === 'NamedType' ? syntax.args : []
  return args.flatMap(arg => (arg.kind === 'NamedType' ? arg.path.map(({ text }) => text) : [])).filter(isUnknown)
}

function isUnknown(name: string): boolean {
  return !BUILTIN_DEFS.has(name) && !TYPES.has(name)
}

function readType(syntax: TypeSyntax | null, scope: ReadonlyMap<string, RigidType>): Type {
  switch (syntax?.kind) {
    case 'DecimalType':
      return DEC
    case 'UnitType':
      return UNIT
    case 'TupleType':
      return tuple(syntax.items.map(item => readType(item, scope)))
    case 'FunctionType':
      return fn(
        syntax.params.map(each => param(readType(each, scope))),
        readType(syntax.result, scope)
      )
    case 'NamedType':
      return readNamed(
        syntax.path.map(({ text }) => text).join('.'),
        syntax.args.map(arg => readType(arg, scope)),
        scope
      )
    default:
      throw new Error(`a native cannot have the type ${syntax?.kind}`)
  }
}

function readNamed(name: string, args: readonly Type[], scope: ReadonlyMap<string, RigidType>): Type {
  if (name === 'any') return ANY
  if (name === 'never') return NEVER
  const parameter = scope.get(name)
  if (parameter !== undefined) return parameter
  const fields = Object.hasOwn(NATIVE_RECORDS, name) ? NATIVE_RECORDS[name] : undefined
  if (fields !== undefined) return readRecord(fields)
  const def = TYPES.get(name) ?? BUILTIN_DEFS.get(name)
  if (def === undefined) throw new Error(`${name}: no such type`)
  const [first] = args
  return def === RESULT && args.length === 1 && first !== undefined ? result(first) : named(def, args)
}

function readRecord(fields: string): Type {
  const { module } = parse(`fn record(${fields}) { }\n`)
  const { params } = module.items[0] as FunctionDeclaration
  return record(new Map(params.map(({ name, type }) => [name.text, readType(type, new Map())])))
}

const known = new Map<string, Members>()

/** Reads members when they are first used. */
function once(key: string, read: () => Members): Members {
  const members = known.get(key) ?? read()
  known.set(key, members)
  return members
}

const globals = (): Members => once('globals', () => readMembers('', NATIVE_GLOBALS))
const ofEveryValue = (): Members => once('every value', () => readMembers('any', EVERY_VALUE, 'any'))

/** Types of receivers as the table writes them, by type name: `List[T]`. */
const RECEIVERS: ReadonlyMap<string, string> = new Map(
  Object.keys(NATIVE_MEMBERS).map(receiver => [receiver.replace(/\[.*/, ''), receiver])
)

/** Returns the methods and fields of a type; null if the table does not know it. */
function membersOf({ name, kind, generics }: TypeDef): Members | null {
  if (kind !== 'primitive' && kind !== 'builtin') return null
  const listed = Object.hasOwn(SAME_METHODS, name) ? (SAME_METHODS[name] as string) : name
  const receiver = RECEIVERS.get(listed)
  if (receiver === undefined) return null
  const own = listed === name ? receiver : `${name}${generics.length === 0 ? '' : '[T]'}`
  return once(`type ${name}`, () => readMembers(name, `${NATIVE_MEMBERS[receiver]}${EVERY_VALUE}`, own))
}

function fieldsOf(def: TypeDef): ReadonlyMap<string, FieldType> | null {
  const values = [...(membersOf(def) ?? [])].flatMap(([name, member]): [string, FieldType][] =>
    isNativeFunction(member) ? [] : [[name, { name, type: member.type, isOptional: member.isOptional, field: null }]]
  )
  return values.length === 0 ? null : new Map(values)
}

/** First names of namespaces. `secrets` has no members here: a host may provide them. */
const ROOTS: ReadonlySet<string> = new Set([
  ...Object.keys(NATIVE_NAMESPACES).map(path => path.replace(/\..*/, '')),
  ...SHORT_NAMESPACES,
  'secrets'
])

/** Returns the path of a namespace below `std` that is written without it. */
function fullPath(path: string): string {
  return SHORT_NAMESPACES.includes(path.replace(/\..*/, '')) ? `std.${path}` : path
}

/** The functions, methods and values that every program has. */
export const NATIVES: Natives = {
  global: name => globals().get(name),
  globalNames: () => [...globals().keys(), ...ROOTS],
  namespace(path) {
    const full = fullPath(path)
    if (!Object.hasOwn(NATIVE_NAMESPACES, full)) return undefined
    return once(`namespace ${full}`, () => readMembers(full, NATIVE_NAMESPACES[full] as string))
  },
  isRoot: name => ROOTS.has(name),
  namespaces: () => Object.keys(NATIVE_NAMESPACES),
  method(def, name) {
    const member = (membersOf(def) ?? ofEveryValue()).get(name)
    return member !== undefined && isNativeFunction(member) ? member : undefined
  },
  members: membersOf,
  methodNames(def) {
    const members = membersOf(def)
    return members === null ? null : [...members].filter(([, each]) => isNativeFunction(each)).map(([name]) => name)
  },
  type: name => TYPES.get(name),
  typeNames: () => [...TYPES.keys()]
}
