import type { Program } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import { liveTables } from '../schema/live-tables.ts'
import { tableName } from '../schema/names.ts'
import type { Change } from './change-log.ts'
import type { LiveUpdates } from './live-updates.ts'

/** A change in the form that clients receive. */
export interface Announcement {
  readonly id: number
  readonly topic: string
  /** Declared table name. */
  readonly table: string
  readonly op: Change['op']
  readonly row_id: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** Topics of a program, by the names that clients use. */
export class LiveTopics {
  readonly #tables: ReadonlyMap<string, ReadonlySet<string>>
  readonly #queries: ReadonlyMap<string, ReadonlySet<string>>
  readonly #namedBy: ReadonlyMap<string, ReadonlySet<string>>
  readonly #declared: ReadonlyMap<string, string>
  readonly #updates: LiveUpdates | null

  constructor(program: Program, updates: LiveUpdates | null = null) {
    this.#updates = updates
    const { topics, queries, namedBy } = liveTables(program)
    // Ids of rows that a caller may not read must not reach it.
    const ruled = new Set(program.rules.map(({ table }) => tableName(table)))
    const announced = (tables: ReadonlySet<string>): Set<string> =>
      new Set([...tables].filter(each => !ruled.has(each)))
    this.#tables = new Map([...topics].map(([topic, tables]) => [topic, announced(tables)]))
    this.#queries = queries
    this.#namedBy = namedBy
    this.#declared = new Map(program.module.tables.map(({ name }) => [tableName(name), name]))
  }

  /** True if the program has no topics. */
  get isEmpty(): boolean {
    return this.#tables.size === 0
  }

  /** Returns the tables of a topic: a name from `.live("…")`, or a table name. Throws `RUN_LIVE_UNKNOWN`. */
  tablesOf(topic: string): ReadonlySet<string> {
    const tables = this.#tables.get(topic) ?? this.#tables.get(tableName(topic))
    if (tables?.size === 0)
      throw runErrors.create(
        'RUN_LIVE_UNKNOWN',
        `the topic ${topic} announces nothing, since its tables have row rules`,
        {
          hint: 'follow a query instead'
        }
      )
    if (tables !== undefined) return tables
    const known = [...this.#tables.keys()].map(name => this.#declared.get(name) ?? name)
    throw runErrors.create('RUN_LIVE_UNKNOWN', `there is no topic ${topic}; the topics are ${known.join(', ')}`)
  }

  /** Returns the live queries that name a topic: who may call all of them may follow it. */
  queriesOf(topic: string): ReadonlySet<string> {
    return this.#namedBy.get(topic) ?? this.#namedBy.get(tableName(topic)) ?? new Set()
  }

  /** Returns the tables that a query reads. Throws `RUN_LIVE_UNKNOWN` for a query without `.live`. */
  tablesOfQuery(name: string): ReadonlySet<string> {
    const tables = this.#queries.get(name)
    if (tables !== undefined) return tables
    const known = [...this.#queries.keys()]
    const others = known.length === 0 ? '' : `; the live queries are ${known.join(', ')}`
    throw runErrors.create('RUN_LIVE_UNKNOWN', `there is no live query ${name}${others}`, {
      hint: 'add .live("…") to a table operation of the query'
    })
  }

  /** Returns a change for one client of a topic. */
  announce(topic: string, { id, table, op, row, at }: Change): Announcement {
    this.#updates?.change(topic, id)
    return { id, topic, table: this.#declared.get(table) ?? table, op, row_id: row, at }
  }
}
