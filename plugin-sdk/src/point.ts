/**
 * A typed place that plugins contribute items to and one plugin reads, for example raw HTTP routes or readiness checks.
 *
 * Contributions belong to their unit, and appear and disappear with the generation, never removed by hand.
 */
export interface Point<A = unknown> {
  readonly kind: 'point'
  readonly id: string
  /** Keys that an item occupies; two items with one key are a conflict that names both owners. */
  readonly keys?: (item: A) => readonly string[]
}

export function point<A>(id: string, options: { readonly keys?: (item: A) => readonly string[] } = {}): Point<A> {
  return { kind: 'point', id, ...options }
}
