import type { Hir, ProgramUsers } from '@svc/contracts'
import type { ProgramTables } from '../../database/program-tables.ts'
import type { Codec } from '../../wire/codec.ts'
import type { Eval } from '../machine.ts'
import type { Value } from '../value.ts'
import type { FunctionUnit } from './functions.ts'

/** Names of a program that are not variables of a function. */
export interface ProgramNames {
  readonly tables: ProgramTables
  /** The table of users; null if there is none. */
  readonly users: ProgramUsers | null
  function(name: string): FunctionUnit | undefined
  /** Names of the parameters of a handler. */
  handlerParams(actor: string, event: string): readonly string[]
  /** Field names of a constructor; null if the program declares no constructor of that name. */
  constructorNames(name: string): readonly string[] | null
  /** Members of a struct or row that a literal may omit, with their defaults; null stands for None. */
  omissibleOf(type: string): readonly (readonly [field: string, value: Eval | null])[]
  /** True if the program declares a type or table of that name. */
  hasType(name: string): boolean
  /** The codec that checks values of a type; null if every value has it. */
  codec(type: Hir.Type): Codec | null
  /** Describes a name that is declared but has no value here: `Counter without spawn`, `the import x`. */
  unavailable(name: string): string | undefined
  /** Code that reads the value of a constant. */
  readConstant(name: string, at: number): Eval
  functionValue(name: string, at: number): Eval
  nativeValue(key: string, at: number): Eval
  constructorValue(name: string, type: Hir.Type): Eval
  /** Compiles code outside functions without parameters: a default. */
  valueOf(code: Hir.Body): () => Value
}
