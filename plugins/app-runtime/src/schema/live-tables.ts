import { factsOf, type Program } from '@svc/contracts'
import { tableName } from './names.ts'

/** Tables of a program whose changes clients can subscribe to. */
export interface LiveTables {
  /** Tables whose changes are recorded. */
  readonly tables: ReadonlySet<string>
  /** Tables by topic: names from `.live("…")`, and each table's own name. */
  readonly topics: ReadonlyMap<string, ReadonlySet<string>>
  /** Tables read by the queries with `.live`, by query name. */
  readonly queries: ReadonlyMap<string, ReadonlySet<string>>
  /** Live queries that name a topic, or read a table whose name is one, by topic. */
  readonly namedBy: ReadonlyMap<string, ReadonlySet<string>>
}

export function liveTables({ module, facts }: Program): LiveTables {
  const topics = new Map<string, Set<string>>()
  const add = (topic: string, table: string): void => {
    topics.set(topic, (topics.get(topic) ?? new Set()).add(table))
  }
  for (const { table, topic } of facts.live) {
    if (topic !== null) add(topic, tableName(table))
    add(tableName(table), tableName(table))
  }
  const queries = new Map<string, ReadonlySet<string>>()
  const namedBy = new Map<string, Set<string>>()
  for (const { name } of module.query_fns) {
    const { live, reads, writes } = factsOf(facts, name)
    if (live.length === 0) continue
    const tables = new Set([...reads, ...writes].map(tableName))
    for (const table of tables) add(table, table)
    queries.set(name, tables)
    const named = live.flatMap(({ topic }) => topic ?? [])
    for (const topic of [...tables, ...named]) namedBy.set(topic, (namedBy.get(topic) ?? new Set()).add(name))
  }
  return { tables: new Set([...topics.values()].flatMap(tables => [...tables])), topics, queries, namedBy }
}
