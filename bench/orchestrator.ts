import { runBenchmark } from './run-benchmark.ts'

interface Queue {
  readonly name: string
  readonly tasks_per_second: number
  readonly latency_p50_ms: number
  readonly latency_p99_ms: number
  readonly about: string
}

interface Summary {
  readonly throughput: number
  readonly cpu: number
}

interface Routing {
  readonly agents: number
  readonly queued: number
  readonly files_us: number
  readonly least_loaded_us: number
  readonly required_us: number
  readonly every_agent_us: number
}

interface Memory {
  readonly agents: number
  readonly queued: number
  readonly submits: { readonly perSecond: number }
  readonly roundTrips: { readonly perSecond: number }
  readonly bytesPerQueuedTask: number
}

/** One line of the table. */
interface Row {
  readonly what: string
  readonly measured: string
  readonly goal: string
  readonly isReached: boolean
}

const QUEUES = ['svc', 'bullmq-bulk', 'bullmq', 'pg-boss', 'graphile-worker']
const KINDS = ['files_us', 'least_loaded_us', 'required_us', 'every_agent_us'] as const

/** Runs what measures the orchestrator and the ways to it; gives the lines of a table. `quick`: to see that all of it runs. */
export async function measureOrchestrator(quick: boolean): Promise<string[]> {
  const few = (...options: readonly string[]): readonly string[] => (quick ? options : [])
  const durable = await runBenchmark<{ concurrency: number; results: readonly Queue[] }>(
    'orchestrator-durable',
    ...['--only', QUEUES.join(',')],
    ...few('--rounds', '1', '--seconds', '0.5')
  )
  const memory = await runBenchmark<Memory>('orchestrator-memory', ...few('--rounds', '1', '--tasks', '5000'))
  const routing = await runBenchmark<{ results: readonly Routing[] }>('routing', ...few('--rounds', '1'))
  const servers = few('--lives', '1', '--rounds', '1', '--requests', '300')
  const mcp = await runBenchmark<{ HTTP: Summary; stdio: Summary }>('mcp-calls', ...servers)
  const gateway = await runBenchmark<Summary>('gateway', ...servers)
  const [own, ...peers] = durable.results as readonly [Queue, ...Queue[]]
  const best = peers.reduce((one, other) => (other.tasks_per_second > one.tasks_per_second ? other : one))
  const tail = own.latency_p99_ms - own.latency_p50_ms
  const [least, most] = [routing.results[0], routing.results.at(-1)] as [Routing, Routing]
  const growth = Math.max(...KINDS.map(kind => most[kind] / least[kind]))
  const rows: Row[] = [
    {
      ...ratioRow(`submit, dispatch and completion, each durable, over ${best.name}`, ratio(own, best), 1),
      measured: `${ratio(own, best).toFixed(2)}x (${own.tasks_per_second} tasks a second)`
    },
    {
      what: 'from the moment that a task is due to its begin, at half of that: p99 above p50',
      measured: `${tail.toFixed(1)} ms (p50 ${own.latency_p50_ms.toFixed(1)} ms)`,
      goal: '≤ 10 ms',
      isReached: tail <= 10
    },
    {
      what: `submits without a database, ${memory.agents} agents, a second`,
      measured: memory.submits.perSecond.toLocaleString('en'),
      goal: '≥ 50,000',
      isReached: memory.submits.perSecond >= 50_000
    },
    {
      what: `heap of a task that waits, ${memory.queued.toLocaleString('en')} of them`,
      measured: `${(memory.bytesPerQueuedTask / 1024).toFixed(2)} KB`,
      goal: '≤ 2 KB',
      isReached: memory.bytesPerQueuedTask <= 2_048
    },
    {
      what: `routing at ${size(most)} over that at ${size(least)}, time, the worst of the table below`,
      measured: `${growth.toFixed(1)}x`,
      goal: `< ${most.agents / least.agents}x`,
      isReached: growth < most.agents / least.agents
    },
    ratioRow('tool call over Streamable HTTP, calls a CPU second, over the bare SDK', mcp.HTTP.cpu, 0.9),
    ratioRow('the same over standard streams', mcp.stdio.cpu, 0.9),
    ratioRow(
      'tool call over the gateway, with its token and rate limit, over Fastify with the same checks',
      gateway.cpu,
      0.85
    )
  ]
  return [
    '',
    'Ratios of speed, ours over theirs, unless something else is told (`bench/orchestrator-durable.ts`,',
    '`orchestrator-memory.ts`, `routing.ts`, `mcp-calls.ts`, `gateway.ts`).',
    '',
    '| what | measured | goal | |',
    '|---|---|---|---|',
    ...rows.map(each => `| ${each.what} | ${each.measured} | ${each.goal} | ${each.isReached ? 'reached' : 'short'} |`),
    '',
    `Queues that lose nothing of what they acknowledged, ${durable.concurrency} tasks under way, driven in turn by one process that shares`,
    'the cores with the servers of the others:',
    '',
    '| queue | tasks a second | at half of it: p50, p99 until the begin | |',
    '|---|---|---|---|',
    ...durable.results.map(
      each =>
        `| ${each.name} | ${each.tasks_per_second} | ${each.latency_p50_ms.toFixed(1)} ms, ${each.latency_p99_ms.toFixed(1)} ms | ${each.about} |`
    ),
    '',
    'Microseconds to say which agent has a task: by its files, by load alone, by a device that it requires, and where every agent',
    'has a score.',
    '',
    '| agents | queued tasks | files | least loaded | required | every agent |',
    '|---|---|---|---|---|---|',
    ...routing.results.map(
      each =>
        `| ${each.agents} | ${each.queued.toLocaleString('en')} | ${KINDS.map(kind => each[kind].toFixed(1)).join(' | ')} |`
    )
  ]
}

function ratio(one: Queue, other: Queue): number {
  return one.tasks_per_second / other.tasks_per_second
}

function ratioRow(what: string, value: number, goal: number): Row {
  return { what, measured: `${value.toFixed(2)}x`, goal: `≥ ${goal}x`, isReached: value >= goal }
}

function size({ agents, queued }: Routing): string {
  return `${agents.toLocaleString('en')} agents and ${queued.toLocaleString('en')} queued tasks`
}
