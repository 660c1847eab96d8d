import type { Peers } from './peer-packages.ts'
import type { Server } from './servers.ts'
import type { TaskProgress, TaskQueue } from './task-queue.ts'

/** Concurrency of the worker. BullMQ's documentation recommends high values for tasks that wait and do not compute. */
const CONCURRENCY = 256

/**
 * Opens BullMQ. `bulk`: concurrent tasks are added with `addBulk`, as the documentation advises. Otherwise, each task
 * is added separately, and the client pipelines the commands.
 */
export async function openBullmq(
  peers: Peers,
  redis: Server,
  progress: TaskProgress,
  bulk: boolean
): Promise<TaskQueue> {
  const { Queue, Worker } = peers.load('bullmq')
  const connection = { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null }
  const name = bulk ? 'bulk' : 'single'
  const options = { removeOnComplete: true, removeOnFail: true }
  const queue = new Queue(name, { connection, defaultJobOptions: options })
  const worker = new Worker(
    name,
    async (job: { data: { id: number } }) => {
      progress.started(job.data.id)
    },
    { connection, concurrency: CONCURRENCY, removeOnComplete: { count: 0 } }
  )
  worker.on('completed', (job: { data: { id: number } }) => progress.completed(job.data.id))
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])
  return {
    name: bulk ? 'BullMQ, addBulk' : 'BullMQ, add',
    about: `bullmq ${peers.version('bullmq')}, Redis ${redis.version}, appendonly yes, appendfsync always, concurrency ${CONCURRENCY}`,
    async submit(tasks) {
      if (bulk) await queue.addBulk(tasks.map(data => ({ name: 'task', data })))
      else await Promise.all(tasks.map(data => queue.add('task', data)))
    },
    async close() {
      await worker.close()
      await queue.close()
    }
  }
}
