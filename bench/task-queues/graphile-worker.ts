import type { Peers } from './peer-packages.ts'
import type { Server } from './servers.ts'
import type { BenchTask, TaskProgress, TaskQueue } from './task-queue.ts'

const CONNECTIONS = 25
/** Worker options from the performance page of the documentation. */
const WORKER = {
  concurrentJobs: 24,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0
}
/** Matches the statement that completes jobs, whose first parameter is one id or several. */
const COMPLETES = /^delete from \S+_private_jobs"? as jobs/

interface Query {
  readonly text?: string
  readonly values?: readonly unknown[]
}

/**
 * Opens graphile-worker. The worker reports a job as complete before its commit; here a job counts as complete when the
 * database has confirmed the statement that completes it.
 */
export async function openGraphileWorker(peers: Peers, postgres: Server, progress: TaskProgress): Promise<TaskQueue> {
  const { run, makeWorkerUtils, Logger } = peers.load('graphile-worker')
  const { Client, Pool } = peers.load('pg')
  /** Task ids by job id. */
  const tasks = new Map<string, number>()
  const completed = (job: unknown): void => {
    const task = tasks.get(String(job))
    tasks.delete(String(job))
    if (task !== undefined) progress.completed(task)
  }
  class WatchedClient extends Client {
    query(query: Query, ...rest: readonly unknown[]): unknown {
      const result = super.query(query, ...rest)
      if (typeof query === 'object' && COMPLETES.test(query.text ?? ''))
        result.then(() => {
          for (const job of [query.values?.[0]].flat()) completed(job)
        })
      return result
    }
  }
  const connectionString = `postgres://bench@127.0.0.1:${postgres.port}/postgres`
  const pool = new Pool({ connectionString, max: CONNECTIONS, Client: WatchedClient })
  let closed = false
  pool.on('error', (error: Error) => closed || process.stderr.write(`graphile-worker: ${error.message}\n`))
  pool.on('connect', () => {})
  const logger = new Logger(() => () => {})
  const utils = await makeWorkerUtils({ pgPool: pool, logger })
  const runner = await run({
    pgPool: pool,
    preset: { worker: { ...WORKER, logger } },
    noHandleSignals: true,
    taskList: {
      task: (payload: BenchTask, { job }: { job: { id: string } }) => {
        tasks.set(job.id, payload.id)
        progress.started(payload.id)
      }
    }
  })
  return {
    name: 'graphile-worker',
    about: `graphile-worker ${peers.version('graphile-worker')}, PostgreSQL ${postgres.version}, fsync on, ${JSON.stringify(WORKER)}`,
    async submit(tasks) {
      await utils.addJobs(tasks.map(payload => ({ identifier: 'task', payload })))
    },
    async close() {
      closed = true
      await runner.stop()
      await utils.release()
      await pool.end()
    }
  }
}
