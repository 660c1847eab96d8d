import type { Hir } from '@svc/contracts'
import { valueName } from './names.ts'
import type { EmittedProgram } from './program.ts'
import { RUNTIME_MODULE } from './runtime/helpers.ts'
import { TypeImports, type TypeScriptTypes } from './types.ts'
import { printedType } from './value-types.ts'

/** Path of the module with the program functions that run in a browser. */
export const FUNCTIONS_MODULE = './vox-functions'

/** Path of the module with the forms of a program. */
export const FORMS_MODULE = './forms'

/** Path of the module with the state machines of a program. */
export const MACHINES_MODULE = './state_machines'

/** Path of the module that calls the server. */
export const CLIENT_MODULE = './vox-client'

/** State that the modules of a build share. */
export interface Build {
  readonly program: EmittedProgram
  readonly types: TypeScriptTypes
  /**
   * True for a document, which shows the arithmetic of ints and the members of structs as they are written. Pages check
   * that results are exact, and have the members that are None.
   */
  readonly isDocument: boolean
  /** Helpers that any module of the build uses. */
  readonly helpers: Set<string>
  /** Functions and constants of the program that any module of the build uses. */
  readonly shared: Set<string>
}

/** Imports and names of one generated module. */
export class EmittedModule {
  readonly build: Build
  readonly imports: TypeImports
  readonly #generics: ReadonlySet<string>
  /** Component of the module; null for other modules. */
  readonly own: string | null
  /** True for the module with the shared functions. */
  readonly isShared: boolean
  /** Names of the machines that the module declares itself. */
  readonly ownMachines: ReadonlySet<string>

  constructor(
    build: Build,
    {
      generics = new Set(),
      own = null,
      isShared = false,
      ownMachines = new Set(),
      imports = new TypeImports()
    }: Context = {}
  ) {
    this.build = build
    this.#generics = generics
    this.own = own
    this.isShared = isShared
    this.ownMachines = ownMachines
    this.imports = imports
  }

  get program(): EmittedProgram {
    return this.build.program
  }

  /** Imports a function of the runtime module. Returns its name in this module. */
  helper(name: string): string {
    this.build.helpers.add(name)
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
    const { build, own, isShared, ownMachines, imports } = this
    return new EmittedModule(build, { generics, own, isShared, ownMachines, imports })
  }

  /** Imports a function or constant of the program. Returns its name. */
  shared(name: string): string {
    this.build.shared.add(name)
    return this.isShared ? valueName(name) : this.imports.value(FUNCTIONS_MODULE, name)
  }

  /** Imports a function that calls the server. Returns its name. */
  client(name: string): string {
    return this.imports.value(CLIENT_MODULE, name)
  }

  /** Imports a constructor of the program, or `Ok` or `Err`. Returns its name. */
  constructorName(name: string): string {
    return this.imports.value('./types', name)
  }

  /** Imports the constructors of a state machine. Returns their name in this module. */
  machine(name: string): string {
    return this.ownMachines.has(name) ? name : this.imports.value(MACHINES_MODULE, name)
  }

  /** Imports a component. Returns its name in this module. */
  component(name: string): string {
    if (name === this.own) return name
    return this.imports.value(`./${name}`, name)
  }

  /** Prints a type; null if a part of it is unknown. */
  type(type: Hir.Type): string | null {
    const known = printedType(type, this.#generics)
    return known === null ? null : this.build.types.print(known, this.imports, this.#generics)
  }

  /** Prints a type, with `any` for its unknown parts. */
  typeOrAny(type: Hir.Type): string {
    const known = printedType(type, this.#generics, { Named: 'any' })
    return known === null ? 'any' : this.build.types.print(known, this.imports, this.#generics)
  }

  /** Prints a type that the program declares as it is written: with its aliases. */
  declaredType(type: Parameters<TypeScriptTypes['print']>[0]): string {
    return this.build.types.print(type, this.imports, this.#generics)
  }
}

interface Context {
  readonly generics?: ReadonlySet<string>
  readonly own?: string | null
  readonly isShared?: boolean
  readonly ownMachines?: ReadonlySet<string>
  readonly imports?: TypeImports
}
