import { MemoryIds } from '../durable/ids.ts'
import type { Changes, RecordKind } from '../state/changes.ts'
import type { Records } from '../state/records.ts'
import type { World } from '../state/world.ts'

type StoredRecord = readonly [kind: RecordKind, key: string, json: string]

/**
 * What outlives a reload of the plugin where no database does: who comes after says what it does with the records of who went
 * before. Both number from one counter, since for a while both are there.
 */
export class MemoryHandover {
  readonly ids = new MemoryIds()
  #heir: object | null = null
  #receive: ((records: readonly StoredRecord[]) => void) | null = null

  /** From now on what others leave goes to this state. `commit` gets what taking it up has changed. */
  join(records: Records, commit: (changes: Changes) => void): void {
    this.#heir = records
    this.#receive = left => {
      for (const [kind, key, json] of left) records.restore(kind, key, json)
      commit(records.recovered())
    }
  }

  /** Everything of a state that ends goes to the one that came after it; nowhere where none did. */
  leave(world: World, records: Records): void {
    if (this.#heir === records || this.#receive === null) return
    this.#receive([...recordsOf(world, records)])
  }
}

function* recordsOf(world: World, records: Records): Iterable<StoredRecord> {
  const kept = function* (kind: RecordKind, keys: Iterable<string | number>): Iterable<StoredRecord> {
    for (const key of keys) {
      const json = records.serialise(kind, String(key))
      if (json !== null) yield [kind, String(key), json]
    }
  }
  const agents = [...world.agents.keys()]
  yield* kept('agent', agents)
  yield* kept('task', world.tasks.keys())
  yield* kept(
    'lock',
    world.locks.views().map(({ path }) => path)
  )
  yield* kept(
    'file_owner',
    agents.flatMap(agent => world.files.filesOf(agent))
  )
  yield* kept('group_agent', world.groupAgents.keys())
  yield* kept('trust', agents)
  yield* kept(
    'budget',
    agents.map(agent => `agent:${agent}`)
  )
  yield* kept('attention', ['global'])
  yield* kept('meta', ['totals', 'stopped'])
}
