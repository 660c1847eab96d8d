import type { Declaration } from '../syntax/ast.ts'
import type { Name, Span } from '../syntax/node.ts'
import type { AnyNode } from '../syntax/walk.ts'

export type SymbolKind =
  | 'function'
  | 'activity'
  | 'workflow'
  | 'constructor'
  | 'type'
  | 'generic'
  | 'table'
  | 'actor'
  | 'agent'
  | 'component'
  | 'constant'
  | 'import'
  | 'environment'
  | 'machine'
  | 'url'
  | 'parameter'
  | 'variable'
  | 'state'
  | 'field'
  | 'handler'

/** A named entity of one file. */
export interface LanguageSymbol {
  readonly kind: SymbolKind
  readonly name: string
  /** The name in the declaration. */
  readonly definition: Name
  /** The smallest declaring node: a parameter, a field, a declaration. */
  readonly node: AnyNode
  /** The containing top-level declaration, or the declaration itself. */
  readonly declaration: Declaration
}

/** A word that refers to a symbol. */
export interface Occurrence extends Span {
  readonly symbol: LanguageSymbol
  readonly isDefinition: boolean
  /** `shorthand` for `{ a }`, which is both key and value; `string` for a quoted name: `select("title")`. */
  readonly form: 'word' | 'shorthand' | 'string'
}
