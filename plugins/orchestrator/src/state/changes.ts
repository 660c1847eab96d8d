import type { AgentEventKind, LineageRow, TaskEnd } from '@svc/contracts'
import type { Withdrawal } from './holds.ts'

/** Kind of a state record. Records are stored under `kind/key`. */
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

/** A row for a table of the baseline schema, written with a change, for example in `cost_records`. */
export interface TableRow {
  readonly table: string
  readonly values: Readonly<Record<string, string | number | null>>
  /** True if the row replaces an existing one with the same key. */
  readonly replaces?: boolean
}

/**
 * Changes of one command, collected while it runs. Records are only marked: the committer later reads them from the
 * state while no command runs, together with the records of all other waiting changes.
 */
export class StateChanges {
  /** Records that were set or removed, as `kind/key`. */
  readonly records = new Set<string>()
  readonly events: AgentEventKind[] = []
  readonly lineage: LineageRow[] = []
  readonly rows: TableRow[] = []
  /** Ended tasks, reported to listeners once the change is durable. */
  readonly ended: TaskEnd[] = []
  /** Remote work that is no longer wanted, reported to its placers once the change is durable; null if there is none. */
  withdrawn: Withdrawal[] | null = null

  touch(kind: RecordKind, key: string | number): void {
    this.records.add(`${kind}/${key}`)
  }

  event(kind: AgentEventKind): void {
    this.events.push(kind)
  }

  withdraw(withdrawal: Withdrawal): void {
    this.withdrawn ??= []
    this.withdrawn.push(withdrawal)
  }

  /** True if there is something to persist. */
  get isKept(): boolean {
    return this.records.size > 0 || this.lineage.length > 0 || this.rows.length > 0
  }

  get isEmpty(): boolean {
    return !this.isKept && this.events.length === 0
  }
}

/** State from which the committer reads records. */
export interface RecordSource {
  /** Returns the current JSON of a record; null if it no longer exists. */
  serialise(kind: RecordKind, key: string): string | null
}
