import type { Peers } from './peer-packages.ts'
import type { Server } from './servers.ts'
import type { BenchTask, TaskProgress, TaskQueue } from './task-queue.ts'

/** As on the page about performance of its documentation, which it was also measured with. */
const WORKER = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0
}

export async function openGraphileWorker(peers: Peers, postgres: Server, progress: TaskProgress): Promise<TaskQueue> {
  const { run, makeWorkerUtils, Logger } = peers.load('graphile-worker')
  const connectionString = `postgres://bench@127.0.0.1:${postgres.port}/postgres`
  const logger = new Logger(() => () => {})
  const utils = await makeWorkerUtils({ connectionString, logger })
  const runner = await run({
    preset: { worker: { ...WORKER, connectionString, logger } },
    taskList: {
      task: (payload: BenchTask) => progress.started(payload.id)
    }
  })
  // Told when the change is on its way to the database, not when it is kept: what is measured is a little too good.
  runner.events.on('job:complete', ({ job }: { job: { payload: BenchTask } }) => progress.completed(job.payload.id))
  return {
    name: 'graphile-worker',
    about: `graphile-worker ${peers.version('graphile-worker')}, PostgreSQL ${postgres.version}, fsync on, ${JSON.stringify(WORKER)}`,
    async submit(tasks) {
      await utils.addJobs(tasks.map(payload => ({ identifier: 'task', payload })))
    },
    async close() {
      await runner.stop()
      await utils.release()
    }
  }
}
