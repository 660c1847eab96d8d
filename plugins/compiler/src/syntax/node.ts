/** A place in a source text: UTF-16 offsets, `end` excluded and never past white space or comments that follow. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A part of the syntax tree. A node is its own span. */
export interface Node<Kind extends string> extends Span {
  readonly kind: Kind
}

/** A word that names something, as it is written. */
export interface Name extends Span {
  readonly text: string
}
