import type { HirExpression, HirParam } from '@svc/contracts'
import type { ProgramTables } from '../../database/program-tables.ts'
import type { Eval } from '../machine.ts'
import type { Native } from '../native.ts'
import type { Value } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'
import type { FunctionUnit } from './functions.ts'

/** Meanings of names that are not variables of a function. */
export interface ProgramNames {
  readonly tables: ProgramTables
  function(name: string): FunctionUnit | undefined
  /** Actor for `spawn`; null when there is none of that name. */
  actorParams(name: string): readonly HirParam[] | null
  /** Names of the fields of a constructor; null where there is none of that name. */
  constructorNames(name: string): readonly string[] | null
  /** Of the members of a struct. */
  defaultsOf(type: string): readonly (readonly [field: string, value: HirExpression])[]
  /** Fields of a type that may hold nothing. */
  optionsOf(type: string): readonly string[]
  /** A function of the language or of the host, by name or path. */
  native(path: string): Native | undefined
  /** Declared, but not runnable here: `the actor Counter`. */
  elsewhere(name: string): string | undefined
  /** The value of a name. */
  read(name: string, at: number): Eval
  /** A function or namespace of the host as a value; null where a path does not lead there. */
  hostValue(body: BodyCompiler, path: string, at: number): Eval | null
  /** An expression that stands outside of functions. */
  expression(expression: HirExpression): () => Value
  /** Whether paths that begin with this name lead to the host. */
  isHost(body: BodyCompiler, root: string): boolean
}
