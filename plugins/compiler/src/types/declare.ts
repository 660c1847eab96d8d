import type {
  Activity,
  Actor,
  Agent,
  Declaration,
  ExternFunction,
  Field,
  FunctionDeclaration,
  Handler,
  Module,
  Param,
  TypeDeclaration,
  Type as TypeSyntax,
  Workflow
} from '../syntax/ast.ts'
import type { Name, Span } from '../syntax/node.ts'
import { BUILTIN_DEFS, ELEMENT, id, option, STR, TENSOR, UNIT } from './builtin-types.ts'
import { importedNames, type ModuleName, type ModuleNames } from './module-names.ts'
import type { Natives } from './natives/natives-contract.ts'
import { withArguments } from './substitute.ts'
import {
  ANY,
  ERROR,
  type FieldType,
  fn,
  NEVER,
  named,
  newVar,
  type ParamType,
  param,
  type RigidType,
  rigid,
  type Type,
  type TypeDef,
  type TypeDefKind,
  tuple,
  unannotated,
  type VariantType
} from './type.ts'

/** A parameter of a declared function, handler or component. */
export interface SignatureParam extends ParamType {
  readonly name: string
  readonly span: Span
  readonly param: Param | Field
}

/** The header of something that can be called. */
export interface Signature {
  readonly name: Name
  readonly owner: Declaration | Handler
  /** Declared parameters; inference adds those of functions without annotations. */
  generics: RigidType[]
  readonly params: readonly SignatureParam[]
  readonly result: Type
  readonly declaresResult: boolean
  /** True if a parameter or the result is a variable until the body is inferred. */
  readonly isOpen: boolean
}

/** Declarations that are called like functions. */
export type Callable = FunctionDeclaration | ExternFunction | Workflow | Activity

type Scope = ReadonlyMap<string, RigidType>

const NO_GENERICS: Scope = new Map()

/** Types of the host whose parts are unknown to programs. */
const HOST_TYPES: ReadonlySet<string> = new Set('Response Database Table Handle cap Self Request'.split(' '))

/** Roles of functions that only the program itself calls. Others receive their arguments from outside. */
const INTERNAL_ROLES: ReadonlySet<string> = new Set(['plain', 'loading'])

/** Headers of a module: its types, and the signatures of its functions. */
export class Declarations {
  readonly names: ModuleNames
  readonly natives: Natives
  readonly #defs = new Map<string, TypeDef>()
  readonly #aliases = new Map<string, TypeDeclaration>()
  readonly #open = new Set<string>()
  readonly #ofAnyType = new Set<string>()
  readonly #unknown = new Map<string, TypeDef>()
  readonly #variants = new Map<string, VariantType>()
  readonly #scopes = new Map<Declaration, Scope>()
  readonly #signatures = new Map<Declaration | Handler, Signature>()
  readonly #constants = new Map<Name, Type>()

  constructor({ items }: Module, names: ModuleNames, natives: Natives) {
    this.names = names
    this.natives = natives
    for (const item of items) this.#declare(item)
    for (const def of this.#defs.values()) this.#fill(def)
  }

  #declare(item: Declaration): void {
    switch (item.kind) {
      case 'Table':
        this.#define('row', item.name.text, item)
        return
      case 'Actor':
      case 'Agent':
        this.#define('actor', item.name.text, item)
        return
      case 'StateMachine':
        this.#define('machine', item.name.text, item)
        return
      case 'Url':
      case 'Form':
      case 'Component':
      case 'Island':
      case 'V0':
        this.#define('opaque', item.name.text, item)
        return
      case 'Type':
        if (item.definition.form === 'alias') this.#alias(item)
        else this.#define(item.definition.form, item.name.text, item, item.generics)
        return
      case 'Import':
        for (const each of item.items) for (const { text } of importedNames(each)) this.#ofAnyType.add(text)
    }
  }

  #define(kind: TypeDefKind, name: string, declaration: Declaration, names: readonly Name[] = []): void {
    if (this.#isDeclared(name)) return
    const generics = names.map(({ text }) => rigid(text))
    this.#defs.set(name, { kind, name, generics, declaration, fields: null, variants: null })
    if (names.length > 0) {
      this.#scopes.set(declaration, new Map(generics.map(each => [each.name, each])))
    }
  }

  #alias(item: TypeDeclaration): void {
    if (!this.#isDeclared(item.name.text)) this.#aliases.set(item.name.text, item)
  }

  #isDeclared(name: string): boolean {
    return this.#defs.has(name) || this.#aliases.has(name)
  }

  #fill(def: TypeDef): void {
    const { declaration } = def
    if (declaration === null) return
    const scope = this.#scopes.get(declaration) ?? NO_GENERICS
    // toestub-ignore(stringly-typed-enum) - the kind is a union of these texts
    if (declaration.kind === 'Table') {
      const key: FieldType = { name: '_id', type: id(named(def)), isOptional: true, field: null }
      def.fields = new Map([['_id', key], ...this.#fields(declaration.fields, scope)])
    } else if (declaration.kind === 'Type' && declaration.definition.form === 'struct') {
      def.fields = new Map(this.#fields(declaration.definition.fields, scope))
    } else if (declaration.kind === 'Type' && declaration.definition.form === 'variants') {
      def.variants = declaration.definition.variants.map(({ name, fields, isRecord, start, end }) => {
        const types = fields.map(field => ({ ...this.#field(field, scope), isOptional: false }))
        const variant = { name: name.text, def, fields: types, isRecord, span: { start, end } }
        if (!this.#variants.has(name.text)) this.#variants.set(name.text, variant)
        return variant
      })
    } else if (declaration.kind === 'StateMachine') {
      def.variants = declaration.items.flatMap(item =>
        item.kind !== 'MachineState'
          ? []
          : [
              {
                name: item.name.text,
                def,
                fields: item.params.map(each => ({
                  name: each.name.text,
                  type: this.read(each.type),
                  isOptional: each.value !== null,
                  field: each
                })),
                isRecord: false,
                span: item
              }
            ]
      )
      for (const variant of def.variants) {
        if (!this.#variants.has(variant.name)) this.#variants.set(variant.name, variant)
      }
    }
  }

  #fields(fields: readonly Field[], scope: Scope): [string, FieldType][] {
    return fields.map(field => [field.name.text, this.#field(field, scope)])
  }

  #field(field: Field, scope: Scope): FieldType {
    return { name: field.name.text, type: this.read(field.type, scope), isOptional: mayBeOmitted(field), field }
  }

  def(name: string): TypeDef | undefined {
    return this.#defs.get(name)
  }

  /** The variant, or the state of a machine, that a name constructs. */
  variant(name: string): VariantType | undefined {
    return this.#variants.get(name)
  }

  /** The type parameters of a declaration. */
  scopeOf(declaration: Declaration): Scope {
    const known = this.#scopes.get(declaration)
    if (known !== undefined || !('generics' in declaration) || declaration.generics.length === 0) {
      return known ?? NO_GENERICS
    }
    const scope = new Map(declaration.generics.map(({ text }) => [text, rigid(text)]))
    this.#scopes.set(declaration, scope)
    return scope
  }

  /** Returns the type of an annotation; any if there is none. */
  read(type: TypeSyntax | null, scope: Scope = NO_GENERICS): Type {
    switch (type?.kind) {
      case 'NamedType':
        if (type.path.length !== 1) return ANY
        return this.#named(
          type.path[0]?.text ?? '',
          type.args.map(arg => this.read(arg, scope)),
          scope
        )
      case 'OptionalType':
        return option(this.read(type.inner, scope))
      case 'FunctionType': {
        const result = type.result === null ? UNIT : this.read(type.result, scope)
        return fn(
          type.params.map(each => param(this.read(each, scope))),
          result
        )
      }
      case 'TupleType':
        return tuple(type.items.map(item => this.read(item, scope)))
      case 'UnitType':
        return UNIT
      case 'InferType':
        return newVar(type)
      case 'DecimalType':
        return named(BUILTIN_DEFS.get('dec') as TypeDef)
      default:
        return ANY
    }
  }

  #named(name: string, args: readonly Type[], scope: Scope): Type {
    const parameter = scope.get(name)
    if (parameter !== undefined) return parameter
    const declared = this.#defs.get(name)
    if (declared !== undefined) return named(declared, complete(args, declared))
    const alias = this.#aliases.get(name)
    if (alias !== undefined) return this.#expand(alias, args)
    if (this.#ofAnyType.has(name)) return ANY
    if (name === 'any') return ANY
    if (name === 'never') return NEVER
    if (name === 'Tensor') return TENSOR
    const builtin = BUILTIN_DEFS.get(name) ?? this.natives.type(name)
    if (builtin !== undefined) {
      // The error of `Result[T]` is a `str`.
      if (builtin.name === 'Result' && args.length === 1) return named(builtin, [...args, STR])
      return named(builtin, complete(args, builtin))
    }
    if (name === '') return ERROR
    return named(this.#opaque(name))
  }

  /** Returns the type of an alias with arguments. An alias that contains itself has no type. */
  #expand(alias: TypeDeclaration, args: readonly Type[]): Type {
    const { definition, name } = alias
    if (definition.form !== 'alias' || this.#open.has(name.text)) return ERROR
    this.#open.add(name.text)
    const scope = this.scopeOf(alias)
    const type = this.read(definition.type, scope)
    this.#open.delete(name.text)
    return withArguments(type, [...scope.values()], args)
  }

  #opaque(name: string): TypeDef {
    const known = this.#unknown.get(name)
    if (known !== undefined) return known
    const def: TypeDef = { kind: 'opaque', name, generics: [], declaration: null, fields: null, variants: null }
    this.#unknown.set(name, def)
    return def
  }

  /** True for a type name that is neither declared nor known: its error was reported where it is written. */
  isUnknown(def: TypeDef): boolean {
    return def.kind === 'opaque' && def.declaration === null && !HOST_TYPES.has(def.name)
  }

  signature(declaration: Callable): Signature {
    const known = this.#signatures.get(declaration)
    if (known !== undefined) return known
    const scope = this.scopeOf(declaration)
    const isInternal =
      declaration.kind === 'Function' && INTERNAL_ROLES.has(declaration.role) && declaration.body !== null
    const params = this.params(declaration.params, scope, isInternal)
    const isInferred = declaration.result === null && declaration.kind !== 'ExternFunction' && declaration.body !== null
    const result = isInferred ? unannotated(declaration.name) : this.read(declaration.result, scope)
    const signature: Signature = {
      name: declaration.name,
      owner: declaration,
      generics: [...scope.values()],
      params,
      result,
      declaresResult: declaration.result !== null,
      isOpen: isInferred || (isInternal && declaration.params.some(isUntyped))
    }
    this.#signatures.set(declaration, signature)
    return signature
  }

  handler(owner: Actor | Agent, handler: Handler): Signature {
    const known = this.#signatures.get(handler)
    if (known !== undefined) return known
    const signature: Signature = {
      name: handler.event,
      owner: handler,
      generics: [],
      params: this.params(handler.params, this.scopeOf(owner), false),
      result: handler.result === null ? unannotated(handler.event) : this.read(handler.result),
      declaresResult: handler.result !== null,
      isOpen: handler.result === null
    }
    this.#signatures.set(handler, signature)
    return signature
  }

  /** Parameters without a type are inferred if only the program passes arguments, and else take any value. */
  params(params: readonly (Param | Field)[], scope: Scope, isInferred: boolean): SignatureParam[] {
    return params.map(each => ({
      name: each.name.text,
      type: isInferred && isUntyped(each) ? unannotated(each.name) : this.read(each.type, scope),
      isOptional: each.value !== null || (each.kind === 'Field' && each.isOptional),
      span: each,
      param: each
    }))
  }

  /** Properties of a component or another element that the program declares; null for other declarations. */
  properties(declaration: Declaration): SignatureParam[] | null {
    switch (declaration.kind) {
      case 'Component':
      case 'Fragment':
      case 'Function':
        return this.params(declaration.params, this.scopeOf(declaration), false)
      case 'Island':
      case 'V0':
        return this.params(declaration.props, NO_GENERICS, false)
      default:
        return null
    }
  }

  /** The type of a constant: declared, or a variable until its value is inferred. */
  constant(name: Name, annotation: TypeSyntax | null): Type {
    const known = this.#constants.get(name)
    if (known !== undefined) return known
    const type = annotation === null ? unannotated(name) : this.read(annotation)
    this.#constants.set(name, type)
    return type
  }

  /** The type of a name of the module as a value; null for names that are no values. */
  valueType(entry: ModuleName): Type | null {
    const { declaration, name } = entry
    switch (declaration.kind) {
      case 'Import':
        return ANY
      case 'Const':
        return this.constant(name, constantAnnotation(declaration.statement))
      case 'Component':
      case 'Fragment':
      case 'Island':
      case 'V0':
        return fn(this.properties(declaration) ?? [], ELEMENT)
      case 'Url':
      case 'Form':
      case 'AppHook':
        return named(this.#opaque(name.text))
      default:
        return null
    }
  }
}

/** Fills in missing arguments: `List` is `List[any]`. */
function complete(args: readonly Type[], { generics }: TypeDef): readonly Type[] {
  if (args.length === generics.length) return args
  return generics.map((_, index) => args[index] ?? ANY)
}

function isUntyped({ type }: Param | Field): boolean {
  return type === null
}

function constantAnnotation(statement: Extract<Declaration, { kind: 'Const' }>['statement']): TypeSyntax | null {
  return statement.kind === 'Let' && statement.pattern.kind === 'BindingPattern' ? statement.type : null
}

/** True if a literal may omit a member. */
function mayBeOmitted({ value, type, isOptional }: Field): boolean {
  if (value !== null || isOptional) return true
  return type.kind === 'OptionalType' || (type.kind === 'NamedType' && type.path.at(-1)?.text === 'Option')
}
