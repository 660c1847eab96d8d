import type { RecordKind } from '../state/changes.ts'
import type { Records } from '../state/records.ts'
import { exportVolatileState, type VolatileState } from '../state/volatile-state.ts'
import type { World } from '../state/world.ts'

/**
 * The whole state, for the next core in the same process. It is passed from one version of the code to another, so it
 * contains only strings, numbers, arrays and maps.
 */
export interface StateSnapshot {
  readonly records: readonly StoredRecord[]
  readonly volatile: VolatileState
  /** Exported state of each `Transferable`, by its name. */
  readonly components: Readonly<Record<string, unknown>>
}

type StoredRecord = readonly [kind: RecordKind, key: string, json: string]

export function snapshotState(world: World, records: Records, components: StateSnapshot['components']): StateSnapshot {
  return { records: [...recordsOf(world, records)], volatile: exportVolatileState(world), components }
}

function* recordsOf(world: World, records: Records): Iterable<StoredRecord> {
  const entries = function* (kind: RecordKind, keys: Iterable<string | number>): Iterable<StoredRecord> {
    for (const key of keys) {
      const json = records.serialise(kind, String(key))
      if (json !== null) yield [kind, String(key), json]
    }
  }
  const agents = [...world.agents.keys()]
  yield* entries('agent', agents)
  yield* entries('task', world.tasks.keys())
  yield* entries('lock', world.locks.paths())
  yield* entries('file_owner', world.files.paths())
  yield* entries('group_agent', world.groupAgents.keys())
  yield* entries('trust', world.deps.trust.keys())
  yield* entries('budget', world.deps.budgets.keys())
  yield* entries('attention', ['global'])
  yield* entries('meta', ['totals', 'stopped'])
}
