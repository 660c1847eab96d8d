import { join } from 'node:path'
import '../../plugins/database/test/built-worker.ts'
import { applyBaseline } from '../../plugins/database/src/baseline/apply.ts'
import { openFile } from '../../plugins/database/src/store/local-store.ts'
import { defaultSettings } from '../../plugins/orchestrator/test/default-settings.ts'
import { compiled } from './compiled.ts'
import type { TaskProgress, TaskQueue } from './task-queue.ts'

type Orchestrators = typeof import('../../plugins/orchestrator/src/service/open.ts')

const SOURCE = join(import.meta.dirname, '../../plugins/orchestrator/src/service/open.ts')

/** Number of agents, each with one task at a time. */
const AGENTS = 256

/** Opens svc's orchestrator on a database file, with its routing, gates, events and lineage. */
export async function openSvc(
  folder: string,
  file: string,
  synchronous: 'normal' | 'full',
  progress: TaskProgress
): Promise<TaskQueue> {
  const { openOrchestrator } = (await compiled(SOURCE, folder, 'orchestrator')) as Orchestrators
  const store = await openFile(file, { busyTimeoutMs: 10_000, synchronous })
  await applyBaseline(store)
  const warn = (message: string, fields?: object): void =>
    void process.stderr.write(`${message} ${JSON.stringify(fields ?? {})}\n`)
  const opened = await openOrchestrator({
    settings: defaultSettings({ max_agents: AGENTS, stubcheck_gate: false, tier_enforcement: false }),
    repositoryId: 'bench',
    root: folder,
    store,
    log: { debug() {}, info() {}, warn, error: warn },
    ended: async () => {},
    envelope: async () => null
  })
  const { service } = opened
  const ends: AbortController[] = []
  /** Task ids of the benchmark, by task id of the orchestrator. */
  const names = new Map<number, number>()
  const work = async (agent: number, signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const task = await service.next(agent)
      if (task === null) {
        await service.wake(agent, signal).catch(() => {})
        continue
      }
      const name = names.get(task.id) ?? Number(/\d+/.exec(task.description)?.[0])
      progress.started(name)
      await service.complete(task.id, { completion_summary: 'done', checks_passed: ['tests'] })
      names.delete(task.id)
      progress.completed(name)
    }
  }
  const working: Promise<void>[] = []
  for (let at = 0; at < AGENTS; at += 1) {
    const { id } = await service.spawnAgent({ name: `agent-${at}` })
    const end = new AbortController()
    ends.push(end)
    working.push(work(id, end.signal))
  }
  return {
    name: `svc, synchronous ${synchronous}`,
    about: `the orchestrator on a libsql file, ${AGENTS} agents`,
    submit: async tasks =>
      void (await Promise.all(
        tasks.map(async ({ id, description }) => {
          // No files: all tasks with files of one folder would go to one agent.
          const { task_id } = await service.submit({ description, files: [] })
          names.set(task_id, id)
        })
      )),
    async close() {
      for (const end of ends) end.abort()
      await Promise.all(working)
      await opened.close()
      await store.close()
    }
  }
}
