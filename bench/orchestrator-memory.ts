import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { SubmitRequest } from '@svc/contracts'
import { openOrchestrator } from '../plugins/orchestrator/src/service/open.ts'
import { defaultSettings } from '../plugins/orchestrator/test/default-settings.ts'
import { median } from './figures.ts'

/**
 * Measures the orchestrator without a database, with 8 agents: submitted tasks per second, completed tasks per second,
 * and heap size per queued task.
 *
 *   node --import tsx --conditions=svc-source bench/orchestrator-memory.ts [--json] [--rounds 5] [--tasks 100000]
 */

const AGENTS = 8
const IN_FLIGHT = 64

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    tasks: { type: 'string', default: '100000' }
  }
})
const ROUNDS = Number(values.rounds)
const QUEUED = Number(values.tasks)

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const root = mkdtempSync(join(tmpdir(), 'svc-bench-orchestrator-'))

async function withOrchestrator<A>(run: (orchestrator: Awaited<ReturnType<typeof openOrchestrator>>) => Promise<A>) {
  const opened = await openOrchestrator({
    settings: defaultSettings({ stubcheck_gate: false, max_agents: AGENTS, queue_limit: 10 * QUEUED }),
    repositoryId: 'bench',
    root,
    store: null,
    log: silent,
    ended: async () => {},
    envelope: async () => null
  })
  try {
    for (let agent = 0; agent < AGENTS; agent++) await opened.service.spawnAgent({ name: `agent-${agent}` })
    return await run(opened)
  } finally {
    await opened.close()
  }
}

function request(index: number): SubmitRequest {
  return {
    description: `Give module ${index} a parser for its configuration, and tests for each of its errors`,
    files: index % 4 === 0 ? [{ path: `src/module-${index % 5_000}/parser.ts`, access: 'read' }] : []
  }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function liveHeap(): number {
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

interface Rate {
  readonly perSecond: number
  /** Rate per second of CPU time, which is more accurate on a busy machine. */
  readonly perCpuSecond: number
}

async function rateOf(count: number, run: () => Promise<void>): Promise<Rate> {
  const cpu = process.cpuUsage()
  const started = performance.now()
  await run()
  const wall = performance.now() - started
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: (count / wall) * 1_000, perCpuSecond: (count / (user + system)) * 1_000_000 }
}

async function submitRate(): Promise<Rate> {
  return withOrchestrator(({ service }) =>
    rateOf(QUEUED, async () => {
      for (let index = 0; index < QUEUED; index += IN_FLIGHT) {
        const batch: Promise<unknown>[] = []
        for (let each = index; each < Math.min(index + IN_FLIGHT, QUEUED); each++)
          batch.push(service.submit(request(each)))
        await Promise.all(batch)
      }
    })
  )
}

/** Measures the rate of tasks that are submitted, dispatched and completed. */
async function roundTripRate(): Promise<Rate> {
  const tasks = QUEUED / 4
  return withOrchestrator(({ service }) =>
    rateOf(tasks, async () => {
      for (let index = 0; index < tasks; index++) {
        const { agent_id } = await service.submit(request(index))
        const task = await service.next(agent_id)
        if (task !== null) await service.complete(task.id, { checks_passed: ['tests'] })
      }
    })
  )
}

/** Measures the heap size per queued task, in bytes. */
async function bytesPerTask(): Promise<number> {
  return withOrchestrator(async ({ service }) => {
    for (let index = 0; index < 1_000; index++) await service.submit(request(index))
    const before = liveHeap()
    for (let index = 0; index < QUEUED; index++) await service.submit(request(index))
    return (liveHeap() - before) / QUEUED
  })
}

const summary = (rates: readonly Rate[]) => ({
  perSecond: Math.round(median(rates.map(rate => rate.perSecond))),
  perCpuSecond: Math.round(median(rates.map(rate => rate.perCpuSecond))),
  rounds: rates.map(rate => Math.round(rate.perSecond))
})

const submits: Rate[] = []
const roundTrips: Rate[] = []
for (let round = 0; round < ROUNDS; round++) {
  submits.push(await submitRate())
  roundTrips.push(await roundTripRate())
}
const result = {
  agents: AGENTS,
  queued: QUEUED,
  submits: summary(submits),
  roundTrips: summary(roundTrips),
  bytesPerQueuedTask: Math.round(await bytesPerTask())
}
rmSync(root, { recursive: true, force: true })

if (values.json) console.log(JSON.stringify(result))
else {
  const { submits, roundTrips, bytesPerQueuedTask } = result
  console.log(
    `submits per second           ${submits.perSecond.toLocaleString('en')} (per CPU second: ${submits.perCpuSecond})`
  )
  console.log(
    `submitted to completed       ${roundTrips.perSecond.toLocaleString('en')} (per CPU second: ${roundTrips.perCpuSecond})`
  )
  console.log(`bytes per queued task        ${bytesPerQueuedTask.toLocaleString('en')}`)
}
