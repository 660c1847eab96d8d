import type { HirType } from '../hir.ts'
import type { Expr, Local, LocalId, Span, Stmt } from './expressions.ts'

/** A component, or a fragment, which has no members. */
export interface Component {
  readonly name: string
  /** Properties, states, derived values, and the variables of all code. */
  readonly locals: readonly Local[]
  readonly properties: readonly Property[]
  /** Each member after those whose values it uses. Effects come last. */
  readonly members: readonly Member[]
  readonly view: Expr | null
}

export interface Property {
  readonly local: LocalId
  /** Type as written; null if it has none. */
  readonly annotation: HirType | null
  /** null if the property is required. */
  readonly default: Expr | null
}

export type Member = StateMember | DerivedMember | EffectMember | Stmt

/** A state, whose assignments show the view again. */
export interface StateMember extends Span {
  readonly kind: 'State'
  readonly local: LocalId
  readonly annotation: HirType | null
  readonly value: Expr
}

/** A value that is computed from states and properties. */
export interface DerivedMember extends Span {
  readonly kind: 'Derived'
  readonly local: LocalId
  readonly annotation: HirType | null
  readonly value: Expr
}

/** Code that runs after a change, or when the component is shown or leaves the page. */
export interface EffectMember extends Span {
  readonly kind: 'Effect'
  readonly moment: 'change' | 'mount' | 'cleanup'
  /** Variables whose changes run the effect; null for all that it reads. */
  readonly dependencies: readonly LocalId[] | null
  readonly body: Expr
}
