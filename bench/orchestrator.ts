import { type Figure, ratioOf, withRange } from './figures.ts'
import { runBenchmark } from './run-benchmark.ts'

interface Queue {
  readonly name: string
  readonly tasks_per_second: number
  readonly rounds: readonly number[]
  readonly latency_p50_ms: number
  readonly latency_p99_ms: number
  readonly about: string
}

interface Summary {
  readonly throughput: Figure
  readonly cpu: Figure
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

/** Cost of routing a task with a number of mesh nodes, in microseconds. */
interface Nodes {
  readonly nodes: number
  readonly files_us: number
}

/** Row of the table. */
interface Row {
  readonly what: string
  readonly measured: string
  readonly goal: string
  readonly isReached: boolean
}

const QUEUES = ['svc', 'bullmq-bulk', 'bullmq', 'pg-boss', 'graphile-worker']
const KINDS = ['files_us', 'least_loaded_us', 'required_us', 'every_agent_us'] as const

/** Runs the benchmarks of the orchestrator and of its surfaces. Returns the lines of their section. */
export async function measureOrchestrator(): Promise<string[]> {
  const durable = await runBenchmark<{ concurrency: number; results: readonly Queue[]; left_out: readonly string[] }>(
    'orchestrator-durable',
    ...['--only', QUEUES.join(',')]
  )
  const memory = await runBenchmark<Memory>('orchestrator-memory')
  const routing = await runBenchmark<{ results: readonly Routing[]; nodes: readonly Nodes[] }>('routing')
  const mcp = await runBenchmark<{ HTTP: Summary; stdio: Summary }>('mcp-calls')
  const gateway = await runBenchmark<Summary>('gateway')
  const [own, ...peers] = durable.results as readonly [Queue, ...Queue[]]
  const best = peers.toSorted((one, other) => other.tasks_per_second - one.tasks_per_second)[0]
  const tail = own.latency_p99_ms - own.latency_p50_ms
  const [smallest, largest] = [routing.results[0], routing.results.at(-1)] as [Routing, Routing]
  const [few, many] = routing.nodes.filter(({ nodes }) => nodes > 0) as [Nodes, Nodes]
  const growth = Math.max(...KINDS.map(kind => largest[kind] / smallest[kind]))
  const rows: Row[] = [
    best === undefined
      ? {
          what: 'durable submit, dispatch and completion',
          measured: `${own.tasks_per_second} tasks per second`,
          goal: 'no peer was measured',
          isReached: false
        }
      : {
          ...ratioRow(`durable submit, dispatch and completion, vs. ${best.name}`, ratio(own, best), 1),
          measured: `${withRange(ratio(own, best), 'x')}, ${own.tasks_per_second} tasks per second`
        },
    {
      what: 'latency from the due time of a task to its start, at half of that rate: p99 minus p50',
      measured: `${tail.toFixed(1)} ms (p50 ${own.latency_p50_ms.toFixed(1)} ms)`,
      goal: '≤ 10 ms',
      isReached: tail <= 10
    },
    {
      what: `submits per second without a database, ${memory.agents} agents`,
      measured: memory.submits.perSecond.toLocaleString('en'),
      goal: '≥ 50,000',
      isReached: memory.submits.perSecond >= 50_000
    },
    {
      what: `heap size per queued task, with ${memory.queued.toLocaleString('en')} queued`,
      measured: `${(memory.bytesPerQueuedTask / 1024).toFixed(2)} KB`,
      goal: '≤ 2 KB',
      isReached: memory.bytesPerQueuedTask <= 2_048
    },
    {
      what: `time to route a task with ${size(largest)}, vs. ${size(smallest)}; worst column of the table below`,
      measured: `${growth.toFixed(1)}x`,
      goal: `< ${largest.agents / smallest.agents}x`,
      isReached: growth < largest.agents / smallest.agents
    },
    {
      what: `time to route a task with ${many.nodes.toLocaleString('en')} mesh nodes, vs. ${few.nodes}, with 100,000 queued`,
      measured: `${(many.files_us / few.files_us).toFixed(1)}x`,
      goal: '≤ 2x',
      isReached: many.files_us <= 2 * few.files_us
    },
    ratioRow('tool calls per CPU second over Streamable HTTP, vs. the bare SDK', mcp.HTTP.cpu, 0.9),
    ratioRow('tool calls per CPU second over standard streams, vs. the bare SDK', mcp.stdio.cpu, 0.9),
    ratioRow(
      'tool calls per CPU second over the gateway, with token and rate limit, vs. Fastify with the same checks',
      gateway.cpu,
      0.85
    )
  ]
  return [
    '',
    'Numbers with an x are ratios of speed, ours divided by theirs (`bench/orchestrator-durable.ts`,',
    '`orchestrator-memory.ts`, `routing.ts`, `mcp-calls.ts`, `gateway.ts`).',
    '',
    '| what | measured | goal | |',
    '|---|---|---|---|',
    ...rows.map(
      each => `| ${each.what} | ${each.measured} | ${each.goal} | ${each.isReached ? 'reached' : 'missed'} |`
    ),
    '',
    `Durable queues with ${durable.concurrency} concurrent tasks. One process drives them in rotation, and shares the cores with the`,
    "peers' servers:",
    '',
    '| queue | tasks per second | latency to the start at half of that rate: p50, p99 | configuration |',
    '|---|---|---|---|',
    ...durable.results.map(
      each =>
        `| ${each.name} | ${each.tasks_per_second} | ${each.latency_p50_ms.toFixed(1)} ms, ${each.latency_p99_ms.toFixed(1)} ms | ${each.about} |`
    ),
    '',
    ...durable.left_out.map(reason => `Not measured: ${reason}.`),
    ...(durable.left_out.length === 0 ? [] : ['']),
    'Microseconds to route a task by its files, by load only, by a required device, and with a score for every agent:',
    '',
    '| agents | queued tasks | files | least loaded | required | every agent |',
    '|---|---|---|---|---|---|',
    ...routing.results.map(
      each =>
        `| ${each.agents} | ${each.queued.toLocaleString('en')} | ${KINDS.map(kind => each[kind].toFixed(1)).join(' | ')} |`
    )
  ]
}

function ratio(one: Queue, other: Queue): Figure {
  return ratioOf(one.rounds, other.rounds)
}

function ratioRow(what: string, value: Figure, goal: number): Row {
  return { what, measured: withRange(value, 'x'), goal: `≥ ${goal}x`, isReached: value.median >= goal }
}

function size({ agents, queued }: Routing): string {
  return `${agents.toLocaleString('en')} agents and ${queued.toLocaleString('en')} queued tasks`
}
