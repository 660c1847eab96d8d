import { join } from 'node:path'
import '../../plugins/database/test/built-worker.ts'
import { DatabaseCoordination } from '@svc/plugin-coordination/testing'
import { openFile } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import { RestartedProcess } from './processes.ts'
import { type Bed, runWorkload } from './workload.ts'

const CLIENTS = 3

/** Stores of several processes on one file, which are killed and paused. */
async function openProcesses(t: Test): Promise<Bed> {
  const file = join(t.testdir(), 'coordination.db')
  const database = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
  const observer = new DatabaseCoordination(database)
  await observer.count('q')
  const processes: RestartedProcess[] = []
  t.teardown(async () => {
    await Promise.all(processes.map(each => each.close()))
    await observer.close()
    await database.close()
  })
  return {
    observer,
    async client() {
      const started = new RestartedProcess(file)
      processes.push(started)
      return started.store
    },
    async disturb(random) {
      const victim = processes[Math.floor(random() * processes.length)]
      if (random() < 0.3) await victim?.kill()
      else if (random() < 0.5) await victim?.pause(100)
    }
  }
}

for (const seed of [11, 12]) {
  t.test(`processes that are killed and paused leave a correct history: seed ${seed}`, async t => {
    const { violations, unknown, grants } = await runWorkload(await openProcesses(t), seed, CLIENTS)
    t.same(violations, [])
    t.ok(grants > 20, `${grants} grants`)
    t.comment(`${unknown} calls without an answer`)
  })
}
