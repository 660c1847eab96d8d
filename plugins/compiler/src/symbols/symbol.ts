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

/** Something that has a name in one file. */
export interface LanguageSymbol {
  readonly kind: SymbolKind
  readonly name: string
  /** The word that gives it its name. */
  readonly definition: Name
  /** The smallest syntax that declares it: a parameter, a field, a declaration. */
  readonly node: AnyNode
  /** The declaration that contains it, or that it is. */
  readonly declaration: Declaration
}

/** A word that stands for a symbol. */
export interface Occurrence extends Span {
  readonly symbol: LanguageSymbol
  readonly isDefinition: boolean
  /** `shorthand` for `{ a }`, which is key and value at once; `string` for a name in quotes: `select("title")`. */
  readonly form: 'word' | 'shorthand' | 'string'
}
