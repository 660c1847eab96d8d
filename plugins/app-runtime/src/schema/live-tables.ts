import { databaseUses, liveQueriesOf, type Program, tablesOfOperation } from '@svc/contracts'
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

export function liveTables(program: Program): LiveTables {
  const topics = new Map<string, Set<string>>()
  const add = (topic: string, table: string): void => {
    topics.set(topic, (topics.get(topic) ?? new Set()).add(table))
  }
  for (const { table, plan } of databaseUses([program.module, program.constants]).operations) {
    const { emits_change_log, live_topic } = plan.capabilities
    if (live_topic !== null) add(live_topic, tableName(table))
    if (emits_change_log) add(tableName(table), tableName(table))
  }
  const queries = new Map<string, ReadonlySet<string>>()
  const namedBy = new Map<string, Set<string>>()
  for (const [name, operations] of liveQueriesOf(program.module)) {
    const tables = new Set(operations.flatMap(tablesOfOperation).map(tableName))
    for (const table of tables) add(table, table)
    queries.set(name, tables)
    const named = operations.flatMap(({ plan }) => plan.capabilities.live_topic ?? [])
    for (const topic of [...tables, ...named]) namedBy.set(topic, (namedBy.get(topic) ?? new Set()).add(name))
  }
  return { tables: new Set([...topics.values()].flatMap(tables => [...tables])), topics, queries, namedBy }
}
