import { setTimeout as sleep } from 'node:timers/promises'
import { type Coordination, coordinationSql as crd, type DatabaseStore } from '@svc/contracts'

const NOW = crd.NOW_MS

/** Replaces methods of a store by ones with a mistake. */
type Fault = (store: Coordination, database: DatabaseStore) => Partial<Coordination>

const changed = async (
  database: DatabaseStore,
  sql: string,
  tokens: readonly { readonly id: number; readonly fence: number }[],
  ...more: readonly number[]
): Promise<boolean[]> => {
  const applied: boolean[] = []
  for (const { id, fence } of tokens) applied.push((await database.execute(sql, [id, fence, ...more])).changes > 0)
  return applied
}

/** Mistakes of implementations of a coordination store, which the checker must find. */
export const PLANTED_FAULTS: Readonly<Record<string, Fault>> = {
  'ack without a fence': store => ({
    ack: async tokens => {
      const applied: boolean[] = []
      for (const { id } of tokens) applied.push((await store.withdraw('q', id)) !== 'gone')
      return applied
    }
  }),
  "the end of a lease by the host's clock": (store, database) => ({
    async claim(...args) {
      // The clock of this host is 40 ms ahead.
      await database.execute(
        "update coord_items set state = 0 where state = 1 and visible_at <= cast(unixepoch('subsec') * 1000 as integer) + 40"
      )
      return store.claim(...args)
    }
  }),
  'a key that is freed by its acknowledgement': store => ({
    ack: tokens => store.ack(tokens.map(token => ({ ...token, freeKey: true })))
  }),
  'a claim that selects and updates in two steps': (store, database) => ({
    async claim(queue, holder, { max, leaseMs }) {
      const ready = await database.query('select id from coord_items where queue = ? and state = 0 limit ?', [
        queue,
        max
      ])
      await sleep(1)
      const ids = JSON.stringify(ready.rows.map(([id]) => id))
      const { rows } = await database.execute(
        `update coord_items set state = 1, granted = 1, fence = fence + 1, holder = ?, visible_at = ${NOW} + ?
          where id in (select value from json_each(?)) returning id`,
        [holder, leaseMs, ids]
      )
      const items = await store.read(
        queue,
        rows.map(([id]) => Number(id))
      )
      // Items whose lease has ended are ready again.
      await database.execute(`update coord_items set state = 0 where state = 1 and visible_at <= ${NOW}`)
      return items as Awaited<ReturnType<Coordination['claim']>>
    }
  }),
  'a failover that loses grants and begins no epoch': (store, database) => {
    let claims = 0
    return {
      async claim(...args) {
        // The promoted server has not seen the last grants.
        if (++claims % 20 === 0)
          await database.execute(
            'update coord_items set fence = max(0, fence - 1), state = 0, granted = 0 where state = 1'
          )
        return store.claim(...args)
      }
    }
  },
  'an extension after the end of a lease': (_store, database) => ({
    extend: (tokens, leaseMs) =>
      changed(
        database,
        `update coord_items set state = 1, visible_at = ${NOW} + ?3 where id = ?1 and fence = ?2 and granted = 1`,
        tokens,
        leaseMs
      )
  }),
  'values used once in the memory of each process': () => {
    const used = new Set<string>()
    return {
      useOnce: async values =>
        values.map(({ value }) => {
          const isFirst = !used.has(value)
          used.add(value)
          return isFirst
        })
    }
  },
  'a wake that is lost if it comes before the park': (_store, database) => ({
    park: tokens =>
      changed(
        database,
        'update coord_items set state = 3, granted = 0, wanted = 0 where id = ?1 and fence = ?2 and granted = 1',
        tokens
      )
  })
}

/** Returns a store with a planted fault. */
export function withFault(store: Coordination, database: DatabaseStore, fault: Fault): Coordination {
  const methods = fault(store, database)
  return new Proxy(store, {
    get: (_, name) => {
      const replaced = (methods as Record<string | symbol, unknown>)[name]
      if (replaced !== undefined) return replaced
      const value = Reflect.get(store, name) as unknown
      return typeof value === 'function' ? value.bind(store) : value
    }
  })
}
