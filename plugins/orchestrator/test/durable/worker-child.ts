// A process that has a seat and works: FILE, POINT, AT, TASKS. POINT is where it kills itself, in the transaction AT.
// A line for each command that begins (`? TASK STEP`), for each that was acknowledged (`! TASK STEP`), and `seat` and `done`.
import { writeSync } from 'node:fs'
import type { DatabaseStore } from '@svc/contracts'
import { openFile } from '../../../database/src/store/local-store.ts'
import { openDatabasePersistence } from '../../src/durable/database-persistence.ts'
import { EventBus } from '../../src/events/bus.ts'
import type { Changes } from '../../src/state/changes.ts'
import { SmallState } from './small-state.ts'

const [file = '', point = 'never', at = '0', tasks = '0'] = process.argv.slice(2)
const kill = (): boolean => process.kill(process.pid, 'SIGKILL')
/** Out of the process when it returns: a pipe that is full is waited for. */
const say = (line: string): void => {
  for (;;) {
    try {
      return void writeSync(1, `${line}\n`)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
}
let batches = 0

/** Ends the process at its point. */
function deadly(store: DatabaseStore): DatabaseStore {
  const batch: DatabaseStore['batch'] = async statements => {
    batches += 1
    if (batches !== Number(at)) return store.batch(statements)
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
      if (name === 'batch') return batch
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
}

const log = { debug() {}, info() {}, warn: say, error: say }
const state = new SmallState()
const persistence = await openDatabasePersistence({
  store: deadly(await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })),
  repositoryId: 'repo',
  now: Date.now,
  bus: new EventBus({ now: Date.now, report: error => say(String(error)) }),
  log,
  lineage: () => ({ enabled: false, campaignId: null })
})
await persistence.start(state)
say('seat')

const command = async (id: number, step: number, changes: Changes): Promise<void> => {
  say(`? ${id} ${step}`)
  await persistence.committer.commit(changes)
  say(`! ${id} ${step}`)
  if (point === 'acknowledged' && batches >= Number(at)) kill()
}

const work = async (): Promise<void> => {
  const id = persistence.ids.task()
  await command(id, 1, state.submit(id))
  await command(id, 2, state.begin(id))
  if (point === 'waiting') return
  await command(id, 3, state.complete(id))
}

await Promise.all(
  Array.from({ length: 8 }, async () => {
    for (let done = 0; done < Number(tasks); done += 8) {
      await persistence.ids.ready()
      await work()
    }
  })
)
say('done')
if (point === 'waiting') await new Promise(resolve => setTimeout(resolve, 600_000))
await persistence.close()
process.exit(0)
