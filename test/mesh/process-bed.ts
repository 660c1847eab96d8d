import { join } from 'node:path'
import { DatabaseCoordination } from '@svc/plugin-coordination/testing'
import { openFile } from '@svc/plugin-database/testing'
import type { BedPlace } from './bed-place.ts'
import { RestartedProcess } from './processes.ts'
import type { Bed } from './workload.ts'

/** Opens stores of several processes on one file, which are killed and paused. */
export async function openProcessBed(place: BedPlace): Promise<Bed> {
  const file = join(place.folder, 'coordination.db')
  const database = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
  const observer = new DatabaseCoordination(database)
  await observer.count('q')
  const processes: RestartedProcess[] = []
  let faults = 0
  place.teardown(async () => {
    await Promise.all(processes.map(each => each.close()))
    await observer.close()
    await database.close()
  })
  return {
    observer,
    async client() {
      const started = new RestartedProcess()
      await started.start()
      processes.push(started)
      return started.store(file)
    },
    async disturb(random) {
      const victim = processes[Math.floor(random() * processes.length)]
      const choice = random()
      if (choice >= 0.65) return
      faults += 1
      if (choice < 0.3) await victim?.kill()
      else await victim?.pause(100)
    },
    faults: () => faults
  }
}
