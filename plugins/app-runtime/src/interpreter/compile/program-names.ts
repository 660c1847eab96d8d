import type { HirExpression, HirParam, ProgramUsers } from '@svc/contracts'
import type { ProgramTables } from '../../database/program-tables.ts'
import type { Eval } from '../machine.ts'
import type { Native } from '../native.ts'
import type { Value } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'
import type { FunctionUnit } from './functions.ts'

/** Names of a program that are not variables of a function. */
export interface ProgramNames {
  readonly tables: ProgramTables
  /** The table of users; null if there is none. */
  readonly users: ProgramUsers | null
  function(name: string): FunctionUnit | undefined
  /** Parameters of an actor; null if there is no actor of that name. */
  actorParams(name: string): readonly HirParam[] | null
  /** Field names of a constructor; null if there is no constructor of that name. */
  constructorNames(name: string): readonly string[] | null
  /** Defaults of struct members. */
  defaultsOf(type: string): readonly (readonly [field: string, value: HirExpression])[]
  /** True if the program declares a type or table of that name. */
  hasType(name: string): boolean
  /** Optional fields of a type. */
  optionsOf(type: string): readonly string[]
  /** A builtin or host function, by name or path. */
  native(path: string): Native | undefined
  /** Describes a name that is declared but has no value here: `Counter without spawn`, `the import x`. */
  unavailable(name: string): string | undefined
  /** Code that reads the value of a name. */
  read(name: string, at: number): Eval
  /** A host function or namespace as a value; null for an unknown path. */
  hostValue(body: BodyCompiler, path: string, at: number): Eval | null
  /** Compiles an expression outside functions. */
  expression(expression: HirExpression): () => Value
  /** True if `request` stands for the request in the function that is being compiled. */
  readonly hasRequest: boolean
  /** True if every caller of the function that is being compiled has an identity. */
  readonly isIdentified: boolean
  /** True if paths with this first name are host functions. */
  isHost(body: BodyCompiler, root: string): boolean
}
