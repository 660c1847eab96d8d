import type { Declaration, Decorator, Field, Module, Param, Type, Variant } from '../syntax/ast.ts'
import type { Pattern } from '../syntax/ast-statements.ts'
import type { Name } from '../syntax/node.ts'

/** Parameters of a name that can be called. */
export interface Signature {
  readonly params: readonly (Param | Field)[]
  readonly result: Type | null
}

/** A name that is in scope in the whole module, also before its declaration. */
export interface ModuleName {
  readonly kind: 'function' | 'constructor' | 'actor' | 'constant' | 'import' | 'other'
  readonly name: Name
  readonly declaration: Declaration
  /** null if the name cannot be called, or its parameters are unknown. */
  readonly signature: Signature | null
  /** All variants of the type that has this constructor. */
  readonly variants: readonly Variant[]
  readonly isDeprecated: boolean
}

export type ModuleNames = ReadonlyMap<string, ModuleName>

/** Collects the names of a module. The first declaration of a name counts. */
export function moduleNames({ items }: Module): ModuleNames {
  const names = new Map<string, ModuleName>()
  for (const declaration of items) {
    for (const entry of namesOf(declaration)) {
      if (entry.name.text !== '' && !names.has(entry.name.text)) names.set(entry.name.text, entry)
    }
  }
  return names
}

type Rest = Partial<Pick<ModuleName, 'signature' | 'variants'>>

function namesOf(declaration: Declaration): ModuleName[] {
  const isDeprecated = 'decorators' in declaration && deprecation(declaration.decorators) !== undefined
  const entry = (kind: ModuleName['kind'], name: Name, rest: Rest = {}): ModuleName => ({
    kind,
    name,
    declaration,
    signature: null,
    variants: [],
    isDeprecated,
    ...rest
  })
  switch (declaration.kind) {
    case 'Import':
      return declaration.items.flatMap(item => importedNames(item).map(name => entry('import', name)))
    case 'Function':
    case 'ExternFunction':
    case 'Workflow':
    case 'Activity': {
      const { name, params, result } = declaration
      return [entry('function', name, { signature: { params, result } })]
    }
    case 'Type': {
      const { name, definition } = declaration
      const type = entry('other', name)
      if (definition.form !== 'variants') return [type]
      const { variants } = definition
      const constructors = variants.map(variant => {
        const signature = variant.isRecord ? null : { params: variant.fields, result: null }
        return entry('constructor', variant.name, { signature, variants })
      })
      // A variant may have the name of its type.
      return [...constructors, type]
    }
    case 'Actor':
    case 'Agent':
      return [entry('actor', declaration.name)]
    case 'Const': {
      const { statement } = declaration
      return statement.kind === 'Let' ? boundNames(statement.pattern).map(name => entry('constant', name)) : []
    }
    case 'StateMachine': {
      const states = declaration.items.filter(item => item.kind === 'MachineState')
      return [entry('other', declaration.name), ...states.map(({ name }) => entry('other', name))]
    }
    case 'AppHook':
      return declaration.name === null ? [] : [entry('other', declaration.name)]
    case 'HttpRoute':
    case 'Index':
    case 'Routes':
    case 'ScriptStatement':
      return []
    default:
      return [entry('other', declaration.name)]
  }
}

/** Returns the names that one import item adds to a module. */
export function importedNames(item: Extract<Declaration, { kind: 'Import' }>['items'][number]): Name[] {
  if (item.kind === 'RustImport') return [item.alias ?? item.crate]
  if (item.kind === 'ReactImport') return [item.name]
  if (item.members !== null) return item.members.map(({ name, alias }) => alias ?? name)
  const name = item.alias ?? item.path.at(-1)
  return name === undefined ? [] : [name]
}

/** Returns the names that a pattern binds. */
export function boundNames(pattern: Pattern): Name[] {
  switch (pattern.kind) {
    case 'BindingPattern':
      return [pattern.name]
    case 'ConstructorPattern':
      return (pattern.args ?? []).flatMap(boundNames)
    case 'TuplePattern':
      return pattern.items.flatMap(boundNames)
    default:
      return []
  }
}

/** Returns the decorator that deprecates a declaration. */
export function deprecation(decorators: readonly Decorator[]): Decorator | undefined {
  return decorators.find(({ name }) => name.text === 'deprecated')
}
