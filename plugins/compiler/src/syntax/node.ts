/**
 * A span of a source file, in UTF-16 offsets. `end` is exclusive and never includes trailing white space or comments.
 */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A node of the syntax tree. A node is also its span. */
export interface Node<Kind extends string> extends Span {
  readonly kind: Kind
}

/** A node with an entry in side tables, such as those of the type checker. */
export interface IndexedNode<Kind extends string> extends Node<Kind> {
  /** Index in side tables, from 0 to `nodeCount` of the module; {@link NO_ID} for a node that the parser did not make. */
  readonly id: number
}

/** Id of nodes that are made after parsing. */
export const NO_ID = -1

/** A name as written. */
export interface Name extends Span {
  readonly text: string
}
