import type { HirModule, HirType } from '@svc/contracts'
import { valueName } from './names.ts'

/** Modules of a build that other modules import. */
export type BuildModule = './types' | './schema' | 'react'

const PLAIN: Readonly<Record<string, string>> = {
  int: 'number',
  float: 'number',
  str: 'string',
  char: 'string',
  bool: 'boolean',
  unit: 'null',
  Unit: 'null',
  never: 'never'
}

/** Container types with elements of one type. */
const SEQUENCES = new Set(['List', 'list', 'Set', 'set', 'Stream', 'stream'])

/**
 * Converts program types to the TypeScript types of their JSON values. An `int` is a number, a `dec` a string, a
 * missing `Option` null; variants have their name in `_tag`. Types that the program does not specify are `any`.
 */
export class TypeScriptTypes {
  readonly #modules: ReadonlyMap<string, BuildModule>
  readonly #generics: ReadonlyMap<string, number>

  constructor({ types, tables }: Pick<HirModule, 'types' | 'tables'>) {
    const named = types.map(({ name }) => [name, './types'] as const)
    this.#modules = new Map([...tables.map(({ name }) => [name, './schema'] as const), ...named])
    this.#generics = new Map(types.map(({ name, generics = [] }) => [name, generics.length]))
  }

  /**
   * Prints a type. `scope` holds the names of generic parameters; `imports` collects the imports that the type needs.
   */
  print(type: HirType | null, imports: TypeImports, scope: ReadonlySet<string> = new Set()): string {
    if (type === null) return 'any'
    if (type === 'Unit') return 'null'
    if (type === 'Decimal') return 'string'
    const inner = (each: HirType): string => this.print(each, imports, scope)
    if ('Tuple' in type) return `readonly [${type.Tuple.map(inner).join(', ')}]`
    if ('Function' in type) {
      const [params, result] = type.Function
      const list = params.map((param, index) => `${String.fromCharCode(97 + index)}: ${inner(param)}`)
      return `(${list.join(', ')}) => ${this.result(result, imports, scope)}`
    }
    if ('Named' in type) return this.#named(type.Named, imports, scope)
    const [name, args] = type.Generic
    // The type of an id does not include its table.
    if (name === 'Id') return 'number'
    return this.#generic(name, args.map(inner), imports, scope)
  }

  /** Returns the result type of a function: void instead of null. */
  result(type: HirType | null, imports: TypeImports, scope?: ReadonlySet<string>): string {
    return isUnit(type) ? 'void' : this.print(type, imports, scope)
  }

  #named(name: string, imports: TypeImports, scope: ReadonlySet<string>): string {
    if (scope.has(name)) return name
    const plain = PLAIN[name]
    if (plain !== undefined) return plain
    if (name === 'Element') return imports.use('react', 'ReactNode')
    if (SEQUENCES.has(name)) return 'readonly any[]'
    const module = this.#modules.get(name)
    if (module === undefined) return 'any'
    const open = this.#generics.get(name) ?? 0
    return imports.use(module, name) + (open === 0 ? '' : `<${Array(open).fill('any').join(', ')}>`)
  }

  #generic(name: string, args: readonly string[], imports: TypeImports, scope: ReadonlySet<string>): string {
    const [first = 'any', second] = args
    if (SEQUENCES.has(name)) return `readonly ${inParentheses(first)}[]`
    switch (name) {
      case 'Option':
        return first === 'any' ? 'any' : `${first.includes('=>') ? `(${first})` : first} | null`
      case 'Result':
        return `${imports.use('./types', 'Result')}<${first}${second === undefined ? '' : `, ${second}`}>`
      case 'Map':
      case 'map':
        return `Readonly<Record<string, ${second ?? 'any'}>>`
      case 'Tensor':
        return 'readonly number[]'
      default: {
        if (this.#generics.get(name) !== args.length) return this.#named(name, imports, scope)
        return `${imports.use(this.#modules.get(name) as BuildModule, name)}<${args.join(', ')}>`
      }
    }
  }
}

/** True if a function with this result type returns nothing. */
function isUnit(type: HirType | null): boolean {
  if (type === null || type === 'Decimal') return false
  if (type === 'Unit') return true
  if ('Tuple' in type) return type.Tuple.length === 0
  return 'Named' in type && PLAIN[type.Named] === 'null'
}

/** True if a value of this type may be missing. */
export function isOption(type: HirType | null): boolean {
  return type !== null && typeof type === 'object' && 'Generic' in type && type.Generic[0] === 'Option'
}

function inParentheses(type: string): string {
  return /[ |]/.test(type) && !/^[\w.]+<.*>$/.test(type) ? `(${type})` : type
}

/** Imports of a module. */
export class TypeImports {
  readonly #types = new Map<string, Set<string>>()
  readonly #values = new Map<string, Set<string>>()
  readonly #importingModule: string | null

  /** `own` is the importing module, which is not imported. */
  constructor(importingModule: BuildModule | null = null) {
    this.#importingModule = importingModule
  }

  /** Imports a type. Returns its name. */
  use(module: BuildModule, name: string): string {
    return this.#add(this.#types, module, name)
  }

  /** Imports a value of any module. Returns its name. */
  value(module: string, name: string): string {
    return this.#add(this.#values, module, valueName(name))
  }

  /** Reserves a name that the module declares itself. */
  importingModule(module: string, name: string): void {
    this.#add(this.#values, module, name)
  }

  uses(module: BuildModule, name: string): boolean {
    return this.#types.get(module)?.has(name) ?? false
  }

  lines(): string[] {
    const modules = [...new Set([...this.#types.keys(), ...this.#values.keys()])].filter(
      each => each !== this.#importingModule
    )
    return modules.sort(compare).map(module => {
      const values = [...(this.#values.get(module) ?? [])]
      const types = [...(this.#types.get(module) ?? [])].filter(name => !values.includes(name))
      const isTypes = values.length === 0
      const names = [...values, ...types.map(name => (isTypes ? name : `type ${name}`))].sort(byName)
      return `import ${isTypes ? 'type ' : ''}{ ${names.join(', ')} } from '${module}'`
    })
  }

  #add(into: Map<string, Set<string>>, module: string, name: string): string {
    const names = into.get(module) ?? new Set()
    into.set(module, names.add(name))
    return name
  }
}

function byName(a: string, b: string): number {
  return compare(a.replace('type ', ''), b.replace('type ', ''))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
