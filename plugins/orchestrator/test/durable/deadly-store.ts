// For processes that kill themselves at a point of a transaction.
import { writeSync } from 'node:fs'
import type { DatabaseStore } from '@svc/contracts'

export const kill = (): boolean => process.kill(process.pid, 'SIGKILL')

/** Writes a line synchronously; waits while the pipe is full. */
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
 * Returns a store that kills the process at transaction number `at`: `before` it, `inside` it, when it has just `begun`,
 * or `after` its commit, before callers are notified.
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
