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
  /** Actor for `spawn`; null if there is none of that name. */
  actorParams(name: string): readonly HirParam[] | null
  /** Field names of a constructor; null if there is none of that name. */
  constructorNames(name: string): readonly string[] | null
  /** Defaults of struct members. */
  defaultsOf(type: string): readonly (readonly [field: string, value: HirExpression])[]
  /** Optional fields of a type. */
  optionsOf(type: string): readonly string[]
  /** A builtin or host function, by name or path. */
  native(path: string): Native | undefined
  /** Declared but not runnable here: `the actor Counter`. */
  elsewhere(name: string): string | undefined
  /** The value of a name. */
  read(name: string, at: number): Eval
  /** A host function or namespace as a value; null for an unknown path. */
  hostValue(body: BodyCompiler, path: string, at: number): Eval | null
  /** An expression outside functions. */
  expression(expression: HirExpression): () => Value
  /** True if paths with this first name lead to the host. */
  isHost(body: BodyCompiler, root: string): boolean
}
