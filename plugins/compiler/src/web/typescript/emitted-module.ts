import { lowerType } from '../../hir/lower-types.ts'
import type { Type } from '../../syntax/ast-types.ts'
import { valueName } from '../../typescript/names.ts'
import { RUNTIME_MODULE } from '../../typescript/runtime/helpers.ts'
import { TypeImports, type TypeScriptTypes } from '../../typescript/types.ts'
import { hirType } from '../value-types/hir-type.ts'
import type { ValueType } from '../value-types/type.ts'
import type { TranslatedProgram } from './program.ts'

/** Imports and names of one generated module. */
export class EmittedModule {
  readonly program: TranslatedProgram
  readonly types: TypeScriptTypes
  readonly imports: TypeImports
  /** Helpers that any module of the build uses. */
  readonly #helpers: Set<string>
  /** Functions and constants of the program that any module of the build uses. */
  readonly #shared: Set<string>
  readonly #generics: ReadonlySet<string>
  /** Component of the module; null for other modules. */
  readonly own: string | null
  /** True for the module with the shared functions. */
  readonly isShared: boolean

  constructor(
    program: TranslatedProgram,
    types: TypeScriptTypes,
    {
      helpers = new Set(),
      shared = new Set(),
      generics = new Set(),
      own = null,
      isShared = false,
      imports = new TypeImports()
    }: Context = {}
  ) {
    this.program = program
    this.types = types
    this.#helpers = helpers
    this.#shared = shared
    this.#generics = generics
    this.own = own
    this.isShared = isShared
    this.imports = imports
  }

  helper(name: string): string {
    this.#helpers.add(name)
    return this.#imported(RUNTIME_MODULE, name)
  }

  /** Imports a name of React. Returns its name in this module. */
  react(name: string): string {
    return this.#imported('react', name)
  }

  /** Imports a name under an alias if it collides with a name of the program. */
  #imported(module: string, name: string): string {
    if (!this.program.names.has(name)) return this.imports.value(module, name)
    this.imports.value(module, `${name} as vox_${name}`)
    return `vox_${name}`
  }

  /** Returns this module with the generic parameters of a function in scope. */
  within(generics: ReadonlySet<string>): EmittedModule {
    if (generics.size === 0) return this
    const { program, types, own, isShared, imports } = this
    return new EmittedModule(program, types, {
      helpers: this.#helpers,
      shared: this.#shared,
      generics,
      own,
      isShared,
      imports
    })
  }

  /** Imports a function or constant of the program. Returns its name. */
  shared(name: string): string {
    this.#shared.add(name)
    return this.isShared ? valueName(name) : this.imports.value(FUNCTIONS_MODULE, name)
  }

  /** Imports a function that calls the server. Returns its name. */
  client(name: string): string {
    return this.imports.value(CLIENT_MODULE, name)
  }

  /** Imports a component. Returns its name in this module. */
  component(name: string): string {
    if (name === this.own) return name
    return this.imports.value(`./${name}`, name)
  }

  type(type: Type | null): string {
    return this.types.print(type === null ? null : lowerType(type), this.imports, this.#generics)
  }

  /** Prints an inferred type; null if it is unknown. */
  valueType(type: ValueType): string | null {
    const known = hirType(type)
    return known === null ? null : this.types.print(known, this.imports, this.#generics)
  }
}

interface Context {
  readonly own?: string | null
  readonly isShared?: boolean
  readonly imports?: TypeImports
  readonly helpers?: Set<string>
  readonly shared?: Set<string>
  readonly generics?: ReadonlySet<string>
}

/** Path of the module with the program functions that run in a browser. */
export const FUNCTIONS_MODULE = './vox-functions'

/** Path of the module with the forms of a program. */
export const FORMS_MODULE = './forms'

/** Path of the module that calls the server. */
export const CLIENT_MODULE = './vox-client'
