import type { Peers } from './peer-packages.ts'
import type { Server } from './servers.ts'
import type { BenchTask, TaskProgress, TaskQueue } from './task-queue.ts'

const FETCHERS = 4
const BATCH = 500
const QUEUE = 'tasks'

/**
 * Opens pg-boss. Uses bulk calls of `insert`, `fetch` and `complete`, as the documentation advises for throughput.
 * pg-boss's worker polls at most twice per second, so this queue has its own fetchers, which an insert wakes.
 */
export async function openPgBoss(peers: Peers, postgres: Server, progress: TaskProgress): Promise<TaskQueue> {
  const PgBoss = peers.load('pg-boss')
  const boss = new PgBoss({
    connectionString: `postgres://bench@127.0.0.1:${postgres.port}/postgres`,
    max: FETCHERS * 2
  })
  boss.on('error', (error: Error) => process.stderr.write(`pg-boss: ${error.message}\n`))
  await boss.start()
  await boss.createQueue(QUEUE)
  let closed = false
  let wake: (() => void)[] = []
  const work = async (): Promise<void> => {
    while (!closed) {
      const jobs: { id: string; data: BenchTask }[] = await boss.fetch(QUEUE, { batchSize: BATCH })
      if (jobs.length === 0) {
        await new Promise<void>(resolve => wake.push(resolve))
        continue
      }
      for (const { data } of jobs) progress.started(data.id)
      await boss.complete(
        QUEUE,
        jobs.map(({ id }) => id)
      )
      for (const { data } of jobs) progress.completed(data.id)
    }
  }
  const rouse = (): void => {
    const sleepers = wake
    wake = []
    for (const each of sleepers) each()
  }
  const working = Promise.all(Array.from({ length: FETCHERS }, work))
  return {
    name: 'pg-boss',
    about: `pg-boss ${peers.version('pg-boss')}, PostgreSQL ${postgres.version}, fsync on, ${FETCHERS} fetchers of up to ${BATCH}`,
    async submit(tasks) {
      await boss.insert(tasks.map(data => ({ name: QUEUE, data })))
      rouse()
    },
    async close() {
      closed = true
      rouse()
      await working
      await boss.stop({ graceful: false, wait: true })
    }
  }
}
