// Runs tasks through the orchestrator and reports its memory. Arguments: FILE (empty: in memory), TASKS per round,
// ROUNDS.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Orchestrator } from '@svc/contracts'
import { DONE } from '../e2e/orchestrator-faults/story.ts'
import { openWhole } from '../e2e/orchestrator-faults/whole.ts'
import { openInMemory } from './orchestrator-in-memory.ts'

const [file = '', tasks = '0', rounds = '0'] = process.argv.slice(2)
const AGENTS = 8
const WINDOW = 50

/** Submits, claims and completes `count` tasks for one agent, one window at a time. */
async function work(service: Orchestrator, agent: number, name: string, count: number): Promise<number> {
  let completed = 0
  for (let done = 0; done < count; done += WINDOW) {
    const window = Math.min(WINDOW, count - done)
    await Promise.all(
      Array.from({ length: window }, (_, each) => {
        const files = each % 5 === 0 ? [{ path: `src/${name}/${done + each}.ts`, access: 'write' as const }] : []
        return service.submit({ description: `Part ${done + each} of ${name}`, files, agent_name: name })
      })
    )
    for (let next = await service.next(agent); next !== null; next = await service.next(agent)) {
      const result = await service.complete(next.id, DONE)
      if (result.completed) completed += 1
    }
  }
  return completed
}

const opened = file === '' ? await openInMemory() : await openWhole(file)
const service = opened.service()
const agents = await Promise.all(Array.from({ length: AGENTS }, (_, each) => service.spawnAgent({ name: `a${each}` })))
const heaps: number[] = []
let completed = 0
for (let round = 0; round < Number(rounds); round += 1) {
  const done = await Promise.all(agents.map(({ id, name }) => work(service, id, name, Number(tasks) / AGENTS)))
  completed += done.reduce((sum, each) => sum + each, 0)
  // Several passes: notifications may be pending, and some objects are collected only in the second pass.
  for (let pass = 0; pass < 3; pass += 1) {
    await new Promise(resolve => setImmediate(resolve))
    globalThis.gc?.()
  }
  heaps.push(process.memoryUsage().heapUsed)
}
// The last acknowledgements of the outbox may still be on their way to the database.
while (service.status().outbox.pending > 0) await sleep(10)
const { total_completed, total_queued, total_in_progress, locked_files, outbox } = service.status()
const left = { total_completed, total_queued, total_in_progress, locked_files, pending: outbox.pending }
console.log(
  JSON.stringify({ completed, heaps, left, kept: service.tasks().length, events: service.recentEvents().length })
)
await opened.kernel.close()
process.exit(0)
