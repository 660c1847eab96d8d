/**
 * A span of a source text, in UTF-16 offsets. `end` is exclusive and never includes trailing white space or comments.
 */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A part of the syntax tree. A node is its own span. */
export interface Node<Kind extends string> extends Span {
  readonly kind: Kind
}

/** A name as written. */
export interface Name extends Span {
  readonly text: string
}
