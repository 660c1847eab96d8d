import type { Declaration } from '../syntax/ast.ts'
import type { Call, Expression, Identifier, Match, Member, Spawn, With } from '../syntax/ast-expressions.ts'
import type { Assign, ConstructorPattern } from '../syntax/ast-statements.ts'
import type { ModuleName, ModuleNames } from '../types/module-names.ts'
import type { LocalName } from './scopes.ts'

/** The meaning of a name at one position; null if it is unresolved. */
export type Meaning =
  | { readonly kind: 'local'; readonly local: LocalName }
  | { readonly kind: 'module'; readonly entry: ModuleName }
  | { readonly kind: 'builtin' }
  | null

/** The current position of the walk. */
export interface BodyPosition {
  readonly item: Declaration
  readonly names: ModuleNames
  meaning(name: string): Meaning
  /** Returns all names in scope here. */
  known(): string[]
  /** Skips an expression later in the walk, since it is not a value but, for example, a column name. */
  ignore(expression: Expression): void
}

/** A check of bodies. Each method is called for every node of its kind, outer nodes before inner ones. */
export interface BodyRule {
  bind?(local: LocalName, position: BodyPosition): void
  /** A name used as a value, including the name of a callee. `db` is visited only if no table follows it. */
  identifier?(node: Identifier, meaning: Meaning, position: BodyPosition): void
  constructorPattern?(node: ConstructorPattern, position: BodyPosition): void
  assign?(node: Assign, position: BodyPosition): void
  /** `piped` is the number of arguments from the left side of `|>`. */
  call?(node: Call, piped: 0 | 1, position: BodyPosition): void
  member?(node: Member, position: BodyPosition): void
  match?(node: Match, position: BodyPosition): void
  /** `operand` is null for the options in an activity declaration. */
  options?(node: Expression, operand: With['operand'] | null, position: BodyPosition): void
  spawn?(node: Spawn, position: BodyPosition): void
}
