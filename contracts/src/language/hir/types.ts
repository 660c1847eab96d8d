/**
 * Type of an expression, as inferred. Equal types of a module are one object, so that a clone of the module holds each
 * once. Names are canonical: `List`, `Map`, `Option`, `Result`, `int`, `str`; a table's name is the type of its rows.
 */
export type Type =
  | { readonly kind: 'named'; readonly name: string; readonly args: readonly Type[] }
  | { readonly kind: 'fn'; readonly params: readonly Type[]; readonly result: Type }
  | { readonly kind: 'tuple'; readonly items: readonly Type[] }
  /** A record without a declared type. */
  | { readonly kind: 'record'; readonly fields: readonly (readonly [name: string, type: Type])[] }
  /** A type parameter of the enclosing function. */
  | { readonly kind: 'param'; readonly name: string }
  | { readonly kind: 'unit' }
  /** Known only when the program runs: JSON, raw SQL, parameters without a type. */
  | { readonly kind: 'any' }
  /** Type of expressions that never return. */
  | { readonly kind: 'never' }
