/**
 * Typed extension point: plugins contribute items, such as raw HTTP routes or readiness checks, and one plugin reads
 * them.
 *
 * Contributions belong to their unit. They appear and disappear with it and are never removed explicitly.
 */
export interface Point<A = unknown> {
  readonly kind: 'point'
  readonly id: string
  /** Returns the keys of an item. Two items with the same key conflict; the error names both owners. */
  readonly keys?: (item: A) => readonly string[]
  /**
   * True if items are plain data. They are copied when they are contributed, and isolated plugins can contribute them,
   * too. Default false.
   */
  readonly data?: boolean
}

export function point<A>(
  id: string,
  options: { readonly keys?: (item: A) => readonly string[]; readonly data?: boolean } = {}
): Point<A> {
  return { kind: 'point', id, ...options }
}
