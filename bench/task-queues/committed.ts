import { randomUUID } from 'node:crypto'
import '../../plugins/database/test/built-worker.ts'
import { applyBaseline } from '../../plugins/database/src/baseline/apply.ts'
import { openFile } from '../../plugins/database/src/store/local-store.ts'
import { openDatabasePersistence } from '../../plugins/orchestrator/src/durable/database-persistence.ts'
import { EventBus } from '../../plugins/orchestrator/src/events/bus.ts'
import { StateChanges } from '../../plugins/orchestrator/src/state/changes.ts'
import type { Restorable } from '../../plugins/orchestrator/src/state/ports.ts'
import type { BenchTask, TaskProgress, TaskQueue } from './task-queue.ts'

/** Maximum number of concurrent tasks. */
const WORKERS = 128
/** Number of completed tasks to keep, as in the orchestrator. */
const HISTORY = 1_000

interface KeptTask extends BenchTask {
  status: 'Queued' | 'InProgress' | 'Completed'
  readonly trace_id: string
  readonly created_at_ms: number
}

/**
 * Opens a queue that only writes the orchestrator's records of a task, its lock and its lineage. Measures the speed of
 * durable changes without the rest of the orchestrator.
 */
export async function openCommitted(
  file: string,
  synchronous: 'normal' | 'full',
  progress: TaskProgress
): Promise<TaskQueue> {
  const store = await openFile(file, { busyTimeoutMs: 10_000, synchronous })
  await applyBaseline(store)
  const tasks = new Map<string, KeptTask>()
  const locks = new Map<string, number>()
  const ended: string[] = []
  const state: Restorable = {
    serialise(kind, key) {
      const value = kind === 'task' ? tasks.get(key) : locks.get(key)
      return value === undefined ? null : JSON.stringify(value)
    },
    restore() {},
    recovered: () => new StateChanges()
  }
  const line = (message: string, fields?: object): void =>
    void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`)
  const persistence = await openDatabasePersistence({
    store,
    repositoryId: 'bench',
    now: Date.now,
    bus: new EventBus({ now: Date.now, report: error => line(String(error)) }),
    log: { debug() {}, info() {}, warn: line, error: line },
    settings: () => ({ commit_timeout_ms: 10_000, commit_queue_limit: 20_000, lineage_off: false })
  })
  await persistence.start(state)
  const { committer } = persistence
  const queued: KeptTask[] = []
  let busy = 0

  const work = async (task: KeptTask): Promise<void> => {
    const key = String(task.id)
    task.status = 'InProgress'
    locks.set(task.file, task.id)
    const begun = new StateChanges()
    begun.touch('task', key)
    begun.touch('lock', task.file)
    begun.event({ type: 'task_started', task_id: task.id, agent_id: 1 })
    await committer.commit(begun)
    progress.started(task.id)
    task.status = 'Completed'
    locks.delete(task.file)
    const done = new StateChanges()
    done.touch('task', key)
    done.touch('lock', task.file)
    done.lineage.push({ kind: 'task_completed', task_id: task.id, agent_id: 1 })
    done.event({ type: 'task_completed', task_id: task.id, agent_id: 1 })
    ended.push(key)
    const oldest = ended.length > HISTORY ? ended.shift() : undefined
    if (oldest !== undefined) {
      tasks.delete(oldest)
      done.touch('task', oldest)
    }
    await committer.commit(done)
    progress.completed(task.id)
  }
  const dispatch = (): void => {
    while (busy < WORKERS) {
      const task = queued.shift()
      if (task === undefined) return
      busy += 1
      void work(task).then(() => {
        busy -= 1
        dispatch()
      })
    }
  }
  const submit = async (task: BenchTask): Promise<void> => {
    const kept: KeptTask = { ...task, status: 'Queued', trace_id: randomUUID(), created_at_ms: Date.now() }
    tasks.set(String(task.id), kept)
    const changes = new StateChanges()
    changes.touch('task', task.id)
    changes.lineage.push({ kind: 'task_submitted', task_id: task.id, agent_id: 1 })
    changes.event({ type: 'task_submitted', task_id: task.id, agent_id: 1, description: task.description })
    await committer.commit(changes)
    queued.push(kept)
    dispatch()
  }
  return {
    name: `committer, synchronous ${synchronous}`,
    about: `records of the orchestrator in a libsql file, ${WORKERS} concurrent tasks`,
    submit: async tasks => void (await Promise.all(tasks.map(submit))),
    async close() {
      await persistence.close()
      await store.close()
    }
  }
}
