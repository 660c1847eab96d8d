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

/** A name as written. */
export interface Name extends Span {
  readonly text: string
}
