import type { Declaration } from '../../syntax/ast.ts'
import type { Call, Expression, Identifier, Match, Member, Spawn, With } from '../../syntax/ast-expressions.ts'
import type { Assign, ConstructorPattern } from '../../syntax/ast-statements.ts'
import type { ModuleName, ModuleNames } from './module-names.ts'
import type { LocalName } from './scopes.ts'

/** The meaning of a name at one place; null when it is unresolved. */
export type Meaning =
  | { readonly kind: 'local'; readonly local: LocalName }
  | { readonly kind: 'module'; readonly entry: ModuleName }
  | { readonly kind: 'builtin' }
  | null

/** The position of a walk. */
export interface BodyPosition {
  readonly item: Declaration
  readonly names: ModuleNames
  meaning(name: string): Meaning
  /** All names in scope here. */
  known(): string[]
  /** Skips an expression that comes later in the walk: it is not a value but, for example, a column name. */
  ignore(expression: Expression): void
}

/** A check of bodies. Each method is called for every node of its kind, outer nodes before inner ones. */
export interface BodyRule {
  bind?(local: LocalName, place: BodyPosition): void
  /** A name as a value. Also called for the name of a callee; called for `db` only if no table follows. */
  identifier?(node: Identifier, meaning: Meaning, place: BodyPosition): void
  constructorPattern?(node: ConstructorPattern, place: BodyPosition): void
  assign?(node: Assign, place: BodyPosition): void
  /** `piped` arguments come from the left side of `|>`. */
  call?(node: Call, piped: 0 | 1, place: BodyPosition): void
  member?(node: Member, place: BodyPosition): void
  match?(node: Match, place: BodyPosition): void
  /** `operand` is null for the options of an activity. */
  options?(node: Expression, operand: With['operand'] | null, place: BodyPosition): void
  spawn?(node: Spawn, place: BodyPosition): void
}
