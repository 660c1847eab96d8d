/**
 * Throughput of durable task queues: tasks per second that are submitted, dispatched and completed, with every step
 * durable. The peers are BullMQ on Redis, with an append-only file that is synced after each change, and pg-boss and
 * graphile-worker on PostgreSQL. This process drives all queues in rotation, with the same tasks and concurrency. Then
 * each queue runs at half of its throughput, and the latency from submit to start is measured.
 *
 * Every acknowledgement follows a sync to disk. `svc` is measured with `synchronous = full`, which is stricter than the
 * default of [database], because the peers sync each commit. Each peer is configured as its documentation advises for
 * many small tasks. Tasks of the same turn of the event loop are submitted in one bulk call, if the peer has one. `svc`
 * gets one call per task. Only `svc` routes tasks, runs gates, and writes lineage.
 *
 *   node --import tsx --conditions=svc-source bench/orchestrator-durable.ts [--json] [--rounds 5] [--seconds 3]
 *     [--concurrency 256] [--peers FOLDER] [--only NAME,NAME]
 *
 * Peers need redis-server and PostgreSQL of Debian, or SVC_BENCH_REDIS and SVC_BENCH_POSTGRES. Missing peers are
 * skipped, and the result lists them. Packages are installed into FOLDER, or into a temporary folder.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { errorMessage } from '@svc/plugin-sdk'
import { median } from './figures.ts'
import { isSmoke } from './smoke-mode.ts'
import { openBullmq } from './task-queues/bullmq.ts'
import { openCommitted } from './task-queues/committed.ts'
import { openGraphileWorker } from './task-queues/graphile-worker.ts'
import { openSvc } from './task-queues/orchestrator.ts'
import { installPeers } from './task-queues/peer-packages.ts'
import { openPgBoss } from './task-queues/pg-boss.ts'
import { startPostgres, startRedis } from './task-queues/servers.ts'
import type { BenchTask, TaskQueue } from './task-queues/task-queue.ts'
import { nextTask, Progress, throughput } from './task-queues/throughput.ts'

interface Measured {
  readonly name: string
  readonly about: string
  readonly tasks_per_second: number
  readonly rounds: readonly number[]
  readonly latency_p50_ms: number
  readonly latency_p99_ms: number
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    concurrency: { type: 'string', default: '256' },
    peers: { type: 'string' },
    only: { type: 'string' }
  }
})
const rounds = Number(values.rounds)
const milliseconds = Number(values.seconds) * 1_000
const concurrency = Number(values.concurrency)
const load = { concurrency, milliseconds }
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-queues-'))
// The database server runs as another user.
chmodSync(folder, 0o755)

/** Measures the milliseconds between the due time of a task and its start, at `rate` tasks per second. */
async function latency(queue: TaskQueue, progress: Progress, rate: number): Promise<{ p50: number; p99: number }> {
  const latencies: number[] = []
  const submits: Promise<void>[] = []
  const count = Math.floor((rate * milliseconds) / 1_000)
  let left = count
  let finish = (): void => {}
  const finished = new Promise<void>(resolve => {
    finish = resolve
  })
  const begin = performance.now()
  for (let next = 0; next < count; ) {
    const tasks: BenchTask[] = []
    for (; next < count && begin + (next * 1_000) / rate <= performance.now(); next += 1) {
      const task = nextTask()
      const due = begin + (next * 1_000) / rate
      progress.onStarted.set(task.id, () => void latencies.push(performance.now() - due))
      progress.onCompleted.set(task.id, () => {
        left -= 1
        if (left === 0) finish()
      })
      tasks.push(task)
    }
    if (tasks.length > 0) submits.push(queue.submit(tasks))
    await sleep(1)
  }
  await Promise.all(submits)
  await finished
  latencies.sort((a, b) => a - b)
  const at = (part: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

const leftOut: string[] = []

/** Returns null if the peer is unavailable; the reason becomes part of the result. */
async function openPeer<A>(what: string, open: () => A | Promise<A>): Promise<A | null> {
  if (isSmoke) return null
  try {
    return await open()
  } catch (error) {
    leftOut.push(`${what}: ${errorMessage(error)}`)
    return null
  }
}

const peers = await openPeer('packages of the peers', () => installPeers(values.peers ?? join(folder, 'peers')))
const redis = await openPeer('redis-server', () => startRedis(join(folder, 'redis')))
const postgres = await openPeer('PostgreSQL', () => startPostgres(join(folder, 'postgres')))
const openers: Readonly<Record<string, (progress: Progress) => Promise<TaskQueue>>> = {
  svc: progress => openSvc(folder, join(folder, 'svc.db'), 'full', progress),
  'svc-normal': progress => openSvc(folder, join(folder, 'svc-normal.db'), 'normal', progress),
  committer: progress => openCommitted(join(folder, 'full.db'), 'full', progress),
  ...(peers === null || redis === null
    ? {}
    : {
        'bullmq-bulk': progress => openBullmq(peers, redis, progress, true),
        bullmq: progress => openBullmq(peers, redis, progress, false)
      }),
  ...(peers === null || postgres === null
    ? {}
    : {
        'pg-boss': progress => openPgBoss(peers, postgres, progress),
        'graphile-worker': progress => openGraphileWorker(peers, postgres, progress)
      })
}
const PEERS = ['bullmq-bulk', 'bullmq', 'pg-boss', 'graphile-worker']
const names = values.only?.split(',') ?? Object.keys(openers)
const contestants: { queue: TaskQueue; progress: Progress; figures: number[] }[] = []
try {
  for (const name of names) {
    const progress = new Progress()
    const open = openers[name]
    if (open === undefined && PEERS.includes(name)) continue
    if (open === undefined) throw new Error(`--only ${name}: one of ${Object.keys(openers).join(', ')}`)
    contestants.push({ queue: await open(progress), progress, figures: [] })
  }
  for (const { queue, progress } of contestants) await throughput(queue, progress, load)
  for (let round = 0; round < rounds; round += 1)
    for (const { queue, progress, figures } of contestants) figures.push(await throughput(queue, progress, load))
  const results: Measured[] = []
  for (const { queue, progress, figures } of contestants) {
    const rate = median(figures)
    const { p50, p99 } = await latency(queue, progress, rate / 2)
    results.push({
      name: queue.name,
      about: queue.about,
      tasks_per_second: Math.round(rate),
      rounds: figures.map(Math.round),
      latency_p50_ms: Number(p50.toFixed(2)),
      latency_p99_ms: Number(p99.toFixed(2))
    })
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ concurrency, results, left_out: leftOut }, null, 2)}\n`)
  else
    for (const { name, tasks_per_second, latency_p50_ms, latency_p99_ms, about } of results)
      process.stdout.write(
        `${name.padEnd(30)} ${String(tasks_per_second).padStart(7)} tasks/s   latency at half of it: p50 ${latency_p50_ms} ms, p99 ${latency_p99_ms} ms\n  ${about}\n`
      )
} finally {
  for (const { queue } of contestants) await queue.close()
  await Promise.all([redis?.stop(), postgres?.stop()])
  if (!values.json) for (const reason of leftOut) process.stdout.write(`not measured: ${reason}\n`)
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
