import { factsOf, type Program } from '@svc/contracts'
import { tableName } from './names.ts'

/** Tables of a program whose changes clients can follow. Only queries name topics, since their guards decide who may follow. */
export interface LiveTables {
  /** Tables whose changes are recorded. */
  readonly tables: ReadonlySet<string>
  /** Tables by topic: names from `.live("…")`, and the name of each table with `.live`. */
  readonly topics: ReadonlyMap<string, ReadonlySet<string>>
  /** Tables read by the queries with `.live`, by query name. */
  readonly queries: ReadonlyMap<string, ReadonlySet<string>>
  /** Live queries that name a topic, or read a table whose name is one, by topic. */
  readonly namedBy: ReadonlyMap<string, ReadonlySet<string>>
}

export function liveTables({ module, facts }: Program): LiveTables {
  const [topics, namedBy] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()]
  const add = (map: Map<string, Set<string>>, topic: string, name: string): void => {
    map.set(topic, (map.get(topic) ?? new Set()).add(name))
  }
  const queries = new Map<string, ReadonlySet<string>>()
  for (const { name } of module.query_fns) {
    const { live, reads, writes } = factsOf(facts, name)
    if (live.length === 0) continue
    const tables = new Set([...reads, ...writes].map(tableName))
    queries.set(name, tables)
    for (const table of tables) add(namedBy, table, name)
    const named = live.flatMap(({ table, topic }) => {
      const own = tableName(table)
      return [...(topic === null ? [] : [topic]), own].map(each => ({ topic: each, own }))
    })
    for (const { topic, own } of named) {
      add(topics, topic, own)
      add(namedBy, topic, name)
    }
  }
  return { tables: new Set([...queries.values()].flatMap(tables => [...tables])), topics, queries, namedBy }
}
