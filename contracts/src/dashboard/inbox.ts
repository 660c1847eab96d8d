/** Something that waits for a person. */
export interface InboxItem {
  /** Unique in the operation that returns it. */
  readonly id: string
  readonly kind: 'approval' | 'doubt' | 'question' | 'signal' | 'failure'
  readonly title: string
  readonly body: string
  /** Unix milliseconds. */
  readonly since: number
  /** Unix milliseconds. */
  readonly deadline?: number
  /** Path in the console with details, such as `/ui/p/orchestrator-tools/tasks/T-1`. */
  readonly link: string
  readonly answers: readonly InboxAnswer[]
}

export interface InboxAnswer {
  readonly label: string
  /** Operation that gives the answer. */
  readonly operation: string
  readonly input: Readonly<Record<string, unknown>>
  /** Input fields that the person fills in before the call. Absent: one click. */
  readonly ask?: readonly string[]
  /** `primary`: the expected answer. `danger`: asks for confirmation. */
  readonly tone?: 'primary' | 'danger'
}
