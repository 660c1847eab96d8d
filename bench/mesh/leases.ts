/**
 * Latency of the grant of a named lease in PostgreSQL, compared with an update of one row, which PostgreSQL syncs to disk
 * as well. Both are measured in alternation on idle servers, and while another process puts, claims and acknowledges
 * items at 70 % of the rate that it reaches without a limit. Each kind of call has one connection.
 *
 *   node --import tsx --conditions=svc-source bench/mesh/leases.ts [--json] [--rounds N] [--calls N] [--share N]
 *
 * `--calls`: calls of each kind in a round. `--share`: share of the maximum rate, by default 0.7.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { type Figure, figureOf, MIN_ROUNDS, ratioOf, withRange } from '../figures.ts'
import { isSmoke } from '../smoke-mode.ts'
import { type Server, startPostgres } from '../task-queues/servers.ts'
import { openFolder } from './bench-folder.ts'
import { compiledStores } from './compiled-stores.ts'
import { LeftOut } from './left-out.ts'
import { percentile } from './percentile.ts'
import { contractCycle, urlOf } from './queues.ts'
import { cyclesPerSecond } from './rotation.ts'

/** Latencies in milliseconds. */
export interface Latency {
  readonly p50: Figure
  readonly p99: Figure
}

export interface LeaseLatency {
  readonly grant: Latency
  readonly update: Latency
  /** Grant to update, by round. */
  readonly p99Ratio: Figure
}

export interface LeaseResult {
  readonly idle: LeaseLatency | null
  readonly loaded: LeaseLatency | null
  /** Items per second that the load reached. */
  readonly load_per_second: number
  readonly share: number
  readonly left_out: readonly string[]
}

const LEASE_MS = 30_000
const SCOPE = 'bench'
const CALLERS = 64
const CONNECTIONS = 8
/** Rows of the table that is updated. */
const ROWS = 1_000

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: isSmoke ? '1' : String(MIN_ROUNDS) },
    calls: { type: 'string', default: isSmoke ? '20' : '1000' },
    share: { type: 'string', default: '0.7' },
    // Of the child process that is the load.
    load: { type: 'string' },
    milliseconds: { type: 'string', default: isSmoke ? '300' : '5000' }
  }
})
const share = Number(values.share)

/**
 * Measures the maximum rate, sends it to the parent, and continues at a share of it. Answers a message of the parent with the
 * items per second since then.
 */
async function runLoad(url: string): Promise<void> {
  const { openPostgresStore } = await compiledStores()
  const { store } = openPostgresStore(url, CONNECTIONS)
  const cycle = contractCycle(store, 'load', 'load')
  const cycles = Array.from({ length: CALLERS }, () => cycle)
  // The first run is a warm-up.
  await cyclesPerSecond(cycles, Number(values.milliseconds) / 2)
  const rate = (await cyclesPerSecond(cycles, Number(values.milliseconds))) * share
  process.send?.(rate)
  const begin = performance.now()
  let started = 0
  let completed = 0
  let running = 0
  process.on('message', () => process.send?.((completed * 1_000) / (performance.now() - begin)))
  for (;;) {
    const due = ((performance.now() - begin) * rate) / 1_000
    // A load that falls behind does not grow without limit.
    for (; started < due; started += 1) {
      if (running >= 4 * CALLERS) continue
      running += 1
      void cycle().then(() => {
        running -= 1
        completed += 1
      })
    }
    await sleep(1)
  }
}

type Call = () => Promise<void>

/** Measures calls in alternation. Returns their latencies in milliseconds. */
async function alternate(calls: readonly Call[], count: number): Promise<readonly number[][]> {
  const latencies: number[][] = calls.map(() => [])
  for (let at = 0; at < count; at += 1)
    for (const [index, call] of calls.entries()) {
      const begin = performance.now()
      await call()
      latencies[index]?.push(performance.now() - begin)
    }
  return latencies
}

async function measure(calls: readonly [grant: Call, update: Call]): Promise<LeaseLatency> {
  await alternate(calls, Number(values.calls) / 5)
  const rounds: { readonly grant: readonly number[]; readonly update: readonly number[] }[] = []
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const [grant = [], update = []] = await alternate(calls, Number(values.calls))
    rounds.push({ grant, update })
  }
  const of = (kind: 'grant' | 'update', part: number): number[] => rounds.map(round => percentile(round[kind], part))
  const latency = (kind: 'grant' | 'update'): Latency => ({
    p50: figureOf(of(kind, 0.5)),
    p99: figureOf(of(kind, 0.99))
  })
  return {
    grant: latency('grant'),
    update: latency('update'),
    p99Ratio: ratioOf(of('grant', 0.99), of('update', 0.99))
  }
}

async function run(postgres: Server): Promise<Omit<LeaseResult, 'left_out'>> {
  const url = urlOf(postgres)
  const { openPostgresStore } = await compiledStores()
  const { store, close } = openPostgresStore(url, 1)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  let child: ChildProcess | null = null
  try {
    await client.query(`create table counters (id integer primary key, value bigint not null)`)
    await client.query(`insert into counters select id, 0 from generate_series(0, ${ROWS - 1}) id`)
    let count = 0
    const grant: Call = async () => {
      count += 1
      const lease = await store.grant(SCOPE, `key ${count}`, 'bench', LEASE_MS)
      if (!('fence' in lease)) throw new Error('another holder has the lease')
    }
    const statement = { name: 'update', text: 'update counters set value = value + 1 where id = $1' }
    const update: Call = async () => {
      await client.query({ ...statement, values: [count % ROWS] })
    }
    const calls = [grant, update] as const
    const idle = await measure(calls)
    child = fork(
      import.meta.filename,
      ['--load', url, '--share', values.share, '--milliseconds', values.milliseconds],
      {
        execArgv: ['--import', 'tsx', '--conditions=svc-source']
      }
    )
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the load ended with ${code}`)))
    ended.catch(() => {})
    await Promise.race([once(child, 'message'), ended])
    const loaded = await Promise.race([measure(calls), ended])
    child.send('rate')
    const [rate] = (await Promise.race([once(child, 'message'), ended])) as [number]
    return { idle, loaded, load_per_second: Math.round(rate), share }
  } finally {
    child?.kill('SIGKILL')
    await close()
    await client.end()
  }
}

function text(name: string, { grant, update, p99Ratio }: LeaseLatency): string {
  const of = ({ p50, p99 }: Latency): string => `p50 ${withRange(p50, ' ms')}, p99 ${withRange(p99, ' ms')}`
  return `${name}: grant ${of(grant)}; update ${of(update)}; p99 ${withRange(p99Ratio, 'x')}\n`
}

if (values.load !== undefined) await runLoad(values.load)
const folder = openFolder('leases')
const leftOut = new LeftOut()
const postgres = await leftOut.open('PostgreSQL', () => startPostgres(join(folder.path, 'postgres')))
try {
  const none = { idle: null, loaded: null, load_per_second: 0, share }
  const measured = postgres === null ? none : await run(postgres)
  const result: LeaseResult = { ...measured, left_out: leftOut.reasons }
  if (values.json) process.stdout.write(`${JSON.stringify({ benchmark: 'mesh/leases', ...result })}\n`)
  else {
    if (result.idle !== null) process.stdout.write(text('idle', result.idle))
    if (result.loaded !== null)
      process.stdout.write(text(`with ${result.load_per_second} items per second`, result.loaded))
    process.stdout.write(leftOut.text())
  }
} finally {
  await postgres?.stop()
  folder.remove()
}
process.exit()
