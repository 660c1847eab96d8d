// For processes that kill themselves at a point of a transaction.
import { writeSync } from 'node:fs'
import type { DatabaseStore } from '@svc/contracts'

export const kill = (): boolean => process.kill(process.pid, 'SIGKILL')

/** Out of the process when it returns: a pipe that is full is waited for. */
export const say = (line: string): void => {
  for (;;) {
    try {
      return void writeSync(1, `${line}\n`)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}

/**
 * The store, which ends the process with the transaction `at`: `before` it, `inside` of it, when it has `begun`, or `after` its
 * commit, before anybody learns of that.
 */
export function deadly(store: DatabaseStore, point: string, at: number): DatabaseStore & { readonly batches: number } {
  let batches = 0
  const batch: DatabaseStore['batch'] = async statements => {
    batches += 1
    if (batches !== at) return store.batch(statements)
    if (point === 'before') kill()
    if (point === 'inside')
      await store.transaction(async tx => {
        for (const each of statements.slice(0, -1)) {
          const { sql, parameters } = typeof each === 'string' ? { sql: each, parameters: [] } : each
          await tx.execute(sql, parameters)
        }
        kill()
      })
    if (point === 'begun') {
      void store.batch(statements)
      await new Promise(resolve => setImmediate(resolve))
      kill()
    }
    const results = await store.batch(statements)
    if (point === 'after') kill()
    return results
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'batches') return batches
      if (name === 'batch') return batch
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    }
  }) as DatabaseStore & { readonly batches: number }
}
