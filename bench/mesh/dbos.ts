/**
 * Workflow runs of one activity per second on PostgreSQL with fsync, compared with DBOS on the same server. DBOS runs in 4
 * processes that call its workflow directly, the fastest of its ways; svc in 4 hosts that share their runs. svc in its
 * embedded database with `synchronous = full` is measured as well (`bench/workflows.ts`). Rounds alternate. Needs
 * `npm run build`.
 *
 *   node --import tsx --conditions=svc-source bench/mesh/dbos.ts [--json] [--rounds N] [--runs N] [--workers N]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, figureOf, MIN_ROUNDS, ratioOf, withRange } from '../figures.ts'
import { runBenchmark } from '../run-benchmark.ts'
import { isSmoke } from '../smoke-mode.ts'
import { installPeers, type Peers } from '../task-queues/peer-packages.ts'
import { type Server, startPostgres } from '../task-queues/servers.ts'
import type { WorkflowResult } from '../workflows.ts'
import { openFolder, PEERS } from './bench-folder.ts'
import type { DbosWorkerCall, DbosWorkerTask } from './dbos-worker.ts'
import { LeftOut } from './left-out.ts'
import { urlOf } from './queues.ts'
import { SharedWorkflows } from './shared-workflows.ts'

export interface DbosResult {
  /** Runs per second of svc on PostgreSQL; null if it was left out. */
  readonly shared: Figure | null
  /** Runs per second of svc in its embedded database. */
  readonly embedded: Figure
  /** Null if DBOS was left out. */
  readonly dbos: Figure | null
  /** svc on PostgreSQL to DBOS, by round. */
  readonly shared_ratio: Figure | null
  readonly embedded_ratio: Figure | null
  readonly about: string
  readonly left_out: readonly string[]
}

const PACKAGE = '@dbos-inc/dbos-sdk'
const PACKAGES = [`${PACKAGE}@5.3.0`]
const FOLDER = `${PEERS}-dbos`
/** Runs at a time of each worker. */
const CONCURRENCY = 16

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: isSmoke ? '1' : String(MIN_ROUNDS) },
    runs: { type: 'string', default: isSmoke ? '20' : '3000' },
    workers: { type: 'string', default: '4' }
  }
})
const runs = Number(values.runs)
const count = Number(values.workers)

/** Workers of DBOS, which share the runs. */
class DbosWorkers {
  readonly #workers: readonly ChildProcess[]

  private constructor(workers: readonly ChildProcess[]) {
    this.#workers = workers
  }

  static async start(postgres: Server, count: number): Promise<DbosWorkers> {
    const workers: ChildProcess[] = []
    for (let worker = 0; worker < count; worker += 1) {
      const child = fork(join(import.meta.dirname, 'dbos-worker.ts'), [], {
        // Of the driver in DBOS.
        execArgv: ['--no-deprecation', '--import', 'tsx', '--conditions=svc-source'],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc']
      })
      workers.push(child)
      const url = urlOf(postgres).replace(/\/postgres$/, '/dbos')
      // One after the other, because the first one creates the tables.
      await ask(child, { packages: FOLDER, url, worker } satisfies DbosWorkerTask)
    }
    return new DbosWorkers(workers)
  }

  /** Returns runs per second. */
  async measure(): Promise<number> {
    const begin = performance.now()
    const each = Math.ceil(runs / this.#workers.length)
    await Promise.all(
      this.#workers.map(worker => ask(worker, { runs: each, concurrency: CONCURRENCY } satisfies DbosWorkerCall))
    )
    return (each * this.#workers.length) / ((performance.now() - begin) / 1_000)
  }

  close(): void {
    for (const worker of this.#workers) worker.kill('SIGKILL')
  }
}

/** Sends a message and waits for the answer. Rejects if the child ends. */
async function ask(child: ChildProcess, message: object): Promise<void> {
  const ending = new AbortController()
  const { signal } = ending
  try {
    child.send(message)
    const ended = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`the worker of DBOS ended with ${code}`)
    })
    await Promise.race([once(child, 'message', { signal }), ended])
  } finally {
    ending.abort()
  }
}

async function embedded(): Promise<number> {
  const { results } = await runBenchmark<{ readonly results: readonly WorkflowResult[] }>(
    'workflows',
    ...['--waiting', '0', '--rounds', '1', '--runs', String(runs)]
  )
  return results[0]?.runsPerSecond.median ?? Number.NaN
}

const folder = openFolder('dbos')
const leftOut = new LeftOut()
const peers: Peers | null = await leftOut.openPeer('DBOS', () => installPeers(FOLDER, PACKAGES))
const postgres = await leftOut.open('PostgreSQL', () => startPostgres(join(folder.path, 'postgres')))
let workers: DbosWorkers | null = null
let hosts: SharedWorkflows | null = null
try {
  if (postgres !== null) {
    if (peers !== null) workers = await DbosWorkers.start(postgres, count)
    hosts = await leftOut.open('svc workflows on PostgreSQL', () =>
      SharedWorkflows.start(folder.path, urlOf(postgres), count)
    )
  }
  // Warm-up.
  await workers?.measure()
  await hosts?.measure(runs)
  const rates: Record<'shared' | 'embedded' | 'dbos', number[]> = { shared: [], embedded: [], dbos: [] }
  for (let round = 0; round < Number(values.rounds); round += 1) {
    if (workers !== null) rates.dbos.push(await workers.measure())
    if (hosts !== null) rates.shared.push(await hosts.measure(runs))
    rates.embedded.push(await embedded())
  }
  const version = peers === null || postgres === null ? '' : `${peers.version(PACKAGE)}, PostgreSQL ${postgres.version}`
  const figure = (samples: readonly number[]): Figure | null => (samples.length === 0 ? null : figureOf(samples))
  const toDbos = (samples: readonly number[]): Figure | null =>
    samples.length === 0 || rates.dbos.length === 0 ? null : ratioOf(samples, rates.dbos)
  const result: DbosResult = {
    shared: figure(rates.shared),
    embedded: figureOf(rates.embedded),
    dbos: figure(rates.dbos),
    shared_ratio: toDbos(rates.shared),
    embedded_ratio: toDbos(rates.embedded),
    about: `DBOS ${version}, fsync on, ${count} processes with ${CONCURRENCY} runs at a time`,
    left_out: leftOut.reasons
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ benchmark: 'mesh/dbos', ...result })}\n`)
  else {
    const { shared, dbos, shared_ratio, embedded_ratio, about } = result
    const of = (ratio: Figure | null): string => (ratio === null ? '' : `, ${withRange(ratio, 'x')} of DBOS`)
    if (dbos !== null) process.stdout.write(`DBOS: ${withRange(dbos, ' runs/s')}\n  ${about}\n`)
    if (shared !== null)
      process.stdout.write(`svc on PostgreSQL, ${count} hosts: ${withRange(shared, ' runs/s')}${of(shared_ratio)}\n`)
    process.stdout.write(
      `svc in its embedded database: ${withRange(result.embedded, ' runs/s')}${of(embedded_ratio)}\n`
    )
    process.stdout.write(leftOut.text())
  }
} finally {
  workers?.close()
  await hosts?.close()
  await postgres?.stop()
  folder.remove()
}
process.exit()
