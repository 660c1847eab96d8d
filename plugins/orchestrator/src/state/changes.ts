import type { AgentEventKind, LineageRow, TaskEnd } from '@svc/contracts'

/** Subject of a state record. Records are kept under `kind/key`. */
export type RecordKind =
  | 'task'
  | 'agent'
  | 'lock'
  | 'file_owner'
  | 'group_agent'
  | 'trust'
  | 'budget'
  | 'attention'
  | 'meta'

/** A row for a table of the baseline schema that belongs to a change, for example of `cost_records`. */
export interface TableRow {
  readonly table: string
  readonly values: Readonly<Record<string, string | number | null>>
  /** Whether it takes the place of the row with its key. */
  readonly replaces?: boolean
}

/**
 * Changes of one command, collected while it runs. Records are marked, not copied: the committer reads them from
 * the state at a moment when no command runs, together with those of every other command that waits.
 */
export class StateChanges {
  /** `kind/key` of records that were set or removed. */
  readonly records = new Set<string>()
  readonly events: AgentEventKind[] = []
  readonly lineage: LineageRow[] = []
  readonly rows: TableRow[] = []
  /** Tasks that ended, for listeners after that is durable. */
  readonly ended: TaskEnd[] = []

  touch(kind: RecordKind, key: string | number): void {
    this.records.add(`${kind}/${key}`)
  }

  event(kind: AgentEventKind): void {
    this.events.push(kind)
  }

  /** Whether there are changes to persist. */
  get isKept(): boolean {
    return this.records.size > 0 || this.lineage.length > 0 || this.rows.length > 0
  }

  get isEmpty(): boolean {
    return !this.isKept && this.events.length === 0
  }
}

/** The state, for the committer. */
export interface RecordSource {
  /** JSON of a record as it is now; null if it is no longer there. */
  serialise(kind: RecordKind, key: string): string | null
}
