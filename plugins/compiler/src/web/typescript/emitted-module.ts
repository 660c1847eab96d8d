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
  /** Helpers of all modules of a build. */
  readonly #helpers: Set<string>
  /** Functions and constants of the program that the modules of a build use. */
  readonly #shared: Set<string>
  readonly #generics: ReadonlySet<string>
  /** The component that the module is for; null where it is for another purpose. */
  readonly own: string | null
  /** Whether it is the module with the functions that others share. */
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

  /** A name that the program may have, too, has another one in this module. */
  #imported(module: string, name: string): string {
    if (!this.program.names.has(name)) return this.imports.value(module, name)
    this.imports.value(module, `${name} as vox_${name}`)
    return `vox_${name}`
  }

  /** The same module within a function that has generic parameters. */
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

  /** A function or constant of the program that is translated as well; gives its name. */
  shared(name: string): string {
    this.#shared.add(name)
    return this.isShared ? valueName(name) : this.imports.value(FUNCTIONS_MODULE, name)
  }

  /** A function that calls the server. */
  client(name: string): string {
    return this.imports.value(CLIENT_MODULE, name)
  }

  /** Name of an element that the program's views use, in this module. */
  component(name: string): string {
    if (name === this.own) return name
    return this.imports.value(`./${name}`, name)
  }

  type(type: Type | null): string {
    return this.types.print(type === null ? null : lowerType(type), this.imports, this.#generics)
  }

  /** The same for what was inferred; null where it is not known. */
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

/** The module with the functions of a program that run in a browser. */
export const FUNCTIONS_MODULE = './vox-functions'

/** The module with the forms of a program. */
export const FORMS_MODULE = './forms'

/** The module that calls the server. */
export const CLIENT_MODULE = './vox-client'
