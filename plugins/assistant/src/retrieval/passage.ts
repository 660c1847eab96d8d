/** A search result. */
export interface Passage {
  readonly source: 'repository' | 'documents' | 'knowledge'
  /** Path in the project, URL of a document, or id of a node. */
  readonly ref: string
  /** First line, counted from 1; null for a text without lines. */
  readonly line: number | null
  readonly text: string
  /** Higher is better; comparable within one source. */
  readonly score: number
  /** Matched terms of the question. */
  readonly matched: readonly string[]
}
