// Approves a publication as its second approver, and is killed before a statement of that transaction.
import { applyBaseline, openFile } from '@svc/plugin-database/testing'
import { Records } from '#root'

const [, , file = '', digest = '', step = ''] = process.argv
const store = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
await applyBaseline(store)
let left = Number(step)
const records = new Records({
  store: {
    ...{ query: store.query.bind(store), migrate: store.migrate.bind(store) },
    transaction: (run: (tx: object) => Promise<unknown>) =>
      store.transaction(async tx => {
        const counted = (call: 'query' | 'execute') => (sql: string, parameters: []) => {
          left -= 1
          if (left === 0) process.kill(process.pid, 'SIGKILL')
          return tx[call](sql, parameters)
        }
        const result = await run({ query: counted('query'), execute: counted('execute') })
        left -= 1
        if (left === 0) process.kill(process.pid, 'SIGKILL')
        return result
      })
  } as never,
  settings: () => ({ armed: true, dry_run: false }),
  log: { warn() {} },
  changed: () => {}
})
await records.approve('study-1', digest, { name: 'bob', role: 'human' })
process.send?.(left)
process.disconnect?.()
await store.close()
