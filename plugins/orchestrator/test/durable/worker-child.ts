// A process that acquires a seat and works. Arguments: FILE, POINT, AT, TASKS; it kills itself at POINT of transaction AT.
// Prints `seat`, then `? TASK STEP` before each command and `! TASK STEP` once it is acknowledged, and at last `done`.

import { openFile } from '@svc/plugin-database/testing'
import { openDatabasePersistence } from '#durable'
import { EventBus } from '#events'
import type { StateChanges } from '#state'
import { deadly, kill, say } from './deadly-store.ts'
import { SmallState } from './small-state.ts'

const [file = '', point = 'never', at = '0', tasks = '0'] = process.argv.slice(2)
const store = deadly(await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' }), point, Number(at))
const log = { debug() {}, info() {}, warn: say, error: say }
const state = new SmallState()
const persistence = await openDatabasePersistence({
  store: store,
  repositoryId: 'repo',
  now: Date.now,
  bus: new EventBus({ now: Date.now, report: error => say(String(error)) }),
  log,
  settings: () => ({ commit_timeout_ms: 10_000, commit_queue_limit: 20_000, lineage_off: true })
})
await persistence.start(state)
say('seat')

const command = async (id: number, step: number, changes: StateChanges): Promise<void> => {
  say(`? ${id} ${step}`)
  await persistence.committer.commit(changes)
  say(`! ${id} ${step}`)
  if (point === 'acknowledged' && store.batches >= Number(at)) kill()
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
