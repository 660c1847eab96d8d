import { hirType } from '../../check/types/hir-type.ts'
import type { ValueType } from '../../check/types/type.ts'
import { lowerType } from '../../hir/lower-types.ts'
import type { Type } from '../../syntax/ast-types.ts'
import { valueName } from '../typescript-names.ts'
import { TypeImports, type TypeScriptTypes } from '../typescript-types.ts'
import type { TranslatedProgram } from './program.ts'
import { RUNTIME_MODULE } from './runtime/helpers.ts'

/** Imports of one emitted module. */
export class EmittedModule {
  readonly program: TranslatedProgram
  readonly types: TypeScriptTypes
  readonly imports: TypeImports
  /** Helpers of all modules in a build. */
  readonly #helpers: Set<string>
  /** Program functions and constants that the modules of a build use. */
  readonly #shared: Set<string>
  readonly #generics: ReadonlySet<string>
  /** The component of the module; null for modules of another kind. */
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

  /** Names that React exports. */
  react(name: string): string {
    return this.#imported('react', name)
  }

  /** Renames an import that collides with a program name. */
  #imported(module: string, name: string): string {
    if (!this.program.names.has(name)) return this.imports.value(module, name)
    this.imports.value(module, `${name} as vox_${name}`)
    return `vox_${name}`
  }

  /** The same module, inside a function with generic parameters. */
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

  /** A translated function or constant of the program; returns its name. */
  shared(name: string): string {
    this.#shared.add(name)
    return this.isShared ? valueName(name) : this.imports.value(FUNCTIONS_MODULE, name)
  }

  /** A function that calls the server. */
  client(name: string): string {
    return this.imports.value(CLIENT_MODULE, name)
  }

  /** Name of an element in this module. */
  component(name: string): string {
    if (name === this.own) return name
    return this.imports.value(`./${name}`, name)
  }

  type(type: Type | null): string {
    return this.types.print(type === null ? null : lowerType(type), this.imports, this.#generics)
  }

  /** The same for an inferred type; null if unknown. */
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

/** The module with the program functions that run in a browser. */
export const FUNCTIONS_MODULE = './vox-functions'

/** The module with the forms of a program. */
export const FORMS_MODULE = './forms'

/** The module that calls the server. */
export const CLIENT_MODULE = './vox-client'
