/** Height of a node and usual width of a character, in pixels. */
export const HEIGHT = 34
export const CHARACTER = 7.4
const MAX_LABEL = 40

export interface GraphNode {
  readonly id: string
  readonly label: string
  readonly state: string
  readonly to: string | null
}

export interface GraphEdgeLine {
  readonly from: string
  readonly to: string
  readonly label: string
  /** Longer text about the edge, shown on hover and read by screen readers. */
  readonly title?: string
}

/** Returns a label that fits into a node. */
export function shortened(text: string): string {
  return text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL - 1)}…` : text
}
