import { fileURLToPath } from 'node:url'
import { type Figure, figureOf, median, ratio, ratioOf, withRange } from './figures.ts'
import type { RouterResult } from './inference-router.ts'
import type { DbosResult } from './mesh/dbos.ts'
import type { FailoverResult, Losses } from './mesh/failover.ts'
import type { HttpResult } from './mesh/http.ts'
import type { LeaseLatency, LeaseResult } from './mesh/leases.ts'
import type { NodesPoint, NodesResult } from './mesh/nodes.ts'
import type { Rates } from './mesh/rotation.ts'
import type { StoreResult } from './mesh/store.ts'
import { runBenchmark } from './run-benchmark.ts'
import type { WorkflowResult } from './workflows.ts'

/** Row of the table. */
interface Row {
  readonly what: string
  readonly measured: string
  readonly goal: string
  /** Null: without a goal, or not measured. */
  readonly isReached: boolean | null
}

interface Goal {
  readonly bound: number
  readonly unit: string
  readonly atLeast?: boolean
}

const PLOT = fileURLToPath(new URL('../docs/mesh-nodes.svg', import.meta.url))

/** Runs the benchmarks of several machines. Returns the lines of their section, and writes docs/mesh-nodes.svg. */
export async function measureMesh(): Promise<string[]> {
  const store = await runBenchmark<StoreResult>('mesh/store')
  const http = await runBenchmark<HttpResult>('mesh/http')
  const leases = await runBenchmark<LeaseResult>('mesh/leases')
  const failover = await runBenchmark<FailoverResult>('mesh/failover')
  const nodes = await runBenchmark<NodesResult>('mesh/nodes', '--plot', PLOT)
  const routing = await runBenchmark<{ readonly nodes: readonly { nodes: number; files_us: number }[] }>('routing')
  const router = await runBenchmark<RouterResult>('inference-router')
  const { results: workflows } = await runBenchmark<{ readonly results: readonly WorkflowResult[] }>('workflows')
  const dbos = await runBenchmark<DbosResult>('mesh/dbos')
  const rows = [
    ...storeRows(store),
    ...httpRows(http),
    ...leaseRows(leases),
    ...failoverRows(failover),
    ...nodeRows(nodes),
    routingRow(routing.nodes),
    ...routerRows(router),
    ...workflowRows(workflows, dbos)
  ]
  const leftOut = [store, http, leases, failover, nodes, dbos].flatMap(each => each.left_out)
  return [
    '',
    'Numbers with an x are ratios of speed, ours divided by theirs, unless they are of times. Every acknowledged change is',
    'synced to disk, on both sides. One machine runs the load, the control planes and the databases (`bench/mesh/`,',
    '`bench/inference-router.ts`, `bench/workflows.ts`, `bench/routing.ts`).',
    '',
    '| what | measured | goal | |',
    '|---|---|---|---|',
    ...rows.map(
      ({ what, measured, goal, isReached }) =>
        `| ${what} | ${measured} | ${goal} | ${isReached === null ? '' : isReached ? 'reached' : 'missed'} |`
    ),
    '',
    ...[...new Set(leftOut)].map(reason => `Not measured: ${reason}.`),
    ...(leftOut.length === 0 ? [] : ['']),
    `Items per second that are put, claimed and acknowledged, with ${store.callers} at a time, unless the row says otherwise:`,
    '',
    ...ratesTable(store.results),
    '',
    `The same over HTTP, with ${http.clients} clients:`,
    '',
    ...ratesTable(http.results),
    '',
    'Cost of an idle node with the default intervals. The axes are logarithmic:',
    '',
    '![CPU time of the control plane and of PostgreSQL for each idle node, by the number of nodes](mesh-nodes.svg)',
    '',
    '| nodes | control plane, ms CPU per second and node | PostgreSQL | bytes per second and node | requests |',
    '|---|---|---|---|---|',
    ...nodes.points.map(
      each =>
        `| ${each.nodes.toLocaleString('en')} | ${withRange(each.plane_cpu_ms, '', 3)} | ${withRange(each.postgres_cpu_ms, '', 3)} | ${withRange(each.bytes)} | ${withRange(each.requests)} |`
    )
  ]
}

function storeRows({ results }: StoreResult): Row[] {
  const of = ratiosOf(results)
  const bare = results.find(({ name }) => name.startsWith('bare pg'))?.name
  const half: Goal = { bound: 0.5, unit: 'x', atLeast: true }
  const more: Goal = { bound: 1.5, unit: 'x', atLeast: true }
  const bullmq = fastest(results.filter(({ name }) => name.startsWith('BullMQ')))?.name
  return [
    row('put, claim and ack on PostgreSQL one by one, vs. plain `pg`', of('svc on PostgreSQL, one by one', bare), half),
    row(
      'the same with the calls of many callers joined, vs. plain `pg` one by one',
      of('svc on PostgreSQL, coalesced', bare),
      {
        ...half,
        bound: 5
      }
    ),
    row(
      'put, claim and ack in bulk on PostgreSQL, vs. pg-boss in bulk',
      of('svc on PostgreSQL, in bulk', 'pg-boss'),
      more
    ),
    row('put, claim and ack in bulk in a file, vs. BullMQ', of('svc in a file, in bulk', bullmq), more)
  ]
}

function httpRows({ results, clients }: HttpResult): Row[] {
  const bare = fastest(results.filter(({ name }) => name.startsWith('bare pg')))
  return results
    .filter(({ name }) => name.startsWith('svc'))
    .map(({ name, rounds }) =>
      row(
        `put, claim and ack of ${clients} clients: ${name}, vs. plain \`pg\` without HTTP`,
        bare === undefined ? null : ratioOf(rounds, bare.rounds),
        { bound: 0.8, unit: 'x', atLeast: true }
      )
    )
}

function leaseRows({ idle, loaded, share }: LeaseResult): Row[] {
  const one = (when: string, latency: LeaseLatency | null): Row => {
    const { p99Ratio = null, grant } = latency ?? {}
    const what = `p99 of the grant of a lease, ${when}, vs. an update of one row`
    const found = row(what, p99Ratio, { bound: 3, unit: 'x' })
    if (grant === undefined) return found
    return {
      ...found,
      measured: `${found.measured}; p50 ${withRange(grant.p50, ' ms')}, p99 ${withRange(grant.p99, ' ms')}`
    }
  }
  return [one('idle', idle), one(`at ${Math.round(share * 100)} % of the maximum load`, loaded)]
}

function failoverRows({ lease_ms, node, plane, promote }: FailoverResult): Row[] {
  const losses = (what: string, found: Losses | null): Row => ({
    what: `${what}: acknowledged messages that were lost or acknowledged twice`,
    measured:
      found === null ? 'not measured' : `${found.lost + found.doubled} of ${found.delivered.toLocaleString('en')}`,
    goal: '0',
    isReached: found === null ? null : found.lost + found.doubled === 0
  })
  const ms = (bound: number): Goal => ({ bound, unit: ' ms' })
  return [
    row(
      `node killed: time until another node begins its work, lease ${lease_ms} ms`,
      node?.second_effect_ms ?? null,
      ms(lease_ms + 500)
    ),
    row('control plane killed under load: time without a grant', plane?.gap_ms ?? null, ms(2_000)),
    row('the same: time until its last client has a grant', plane?.last_client_ms ?? null, ms(1_000)),
    losses('control plane killed', plane),
    row('PostgreSQL standby promoted: time until the next grant', promote?.after_promote_ms ?? null, ms(2_000)),
    losses('PostgreSQL standby promoted', promote)
  ]
}

function nodeRows({ points }: NodesResult): Row[] {
  const most = points.at(-1)
  const fewer = points.at(-2)
  const count = (most?.nodes ?? 0).toLocaleString('en')
  const growth = (one: NodesPoint, other: NodesPoint): Figure => ratio(one.plane_cpu_ms, other.plane_cpu_ms)
  return [
    row(`CPU time of the control plane per second and idle node, ${count} nodes`, most?.plane_cpu_ms ?? null, {
      bound: 0.15,
      unit: ' ms'
    }),
    row(
      `the same, vs. ${(fewer?.nodes ?? 0).toLocaleString('en')} nodes`,
      most === undefined || fewer === undefined ? null : growth(most, fewer),
      { bound: 1, unit: 'x' }
    ),
    row(`bytes per second and idle node, ${count} nodes`, most?.bytes ?? null, { bound: 400, unit: ' B' })
  ]
}

function routingRow(nodes: readonly { readonly nodes: number; readonly files_us: number }[]): Row {
  const [few, many] = nodes.filter(each => each.nodes > 0)
  const growth = few === undefined || many === undefined ? null : figureOf([many.files_us / few.files_us])
  return row(
    `time to route a task with ${many?.nodes.toLocaleString('en')} mesh nodes and 100,000 queued, vs. ${few?.nodes} nodes`,
    growth,
    { bound: 2, unit: 'x' }
  )
}

function routerRows({ addedP99, hits, firstTokenRatio }: RouterResult): Row[] {
  return [
    row('model requests over the router: added latency, p99', addedP99, { bound: 1, unit: ' ms' }),
    row('prefix blocks found in caches, of those that any server had', hits, { bound: 0.9, unit: 'x', atLeast: true }),
    row('time to the first token, p99, vs. round robin', firstTokenRatio, { bound: 0.7, unit: 'x' })
  ]
}

function workflowRows(results: readonly WorkflowResult[], compared: DbosResult): Row[] {
  const { shared, dbos, shared_ratio, embedded_ratio, about } = compared
  const [first, last] = [results[0], results.at(-1)]
  const rates = results.map(({ waiting, runsPerSecond }) =>
    row(
      `workflow runs of one activity per second in a file, ${waiting.toLocaleString('en')} runs waiting`,
      runsPerSecond,
      { bound: 2_000, unit: '', atLeast: true }
    )
  )
  const flat =
    first === undefined || last === undefined || first === last ? null : ratio(last.runsPerSecond, first.runsPerSecond)
  const toDbos = row('the same, vs. DBOS', shared_ratio, { bound: 1, unit: 'x', atLeast: true })
  return [
    ...rates,
    row(`the same, ${last?.waiting.toLocaleString('en')} waiting vs. ${first?.waiting}`, flat, null),
    row('the same in a file, vs. DBOS on PostgreSQL', embedded_ratio, null),
    row('workflow runs of one activity per second on PostgreSQL, 4 hosts', shared, {
      bound: 500,
      unit: '',
      atLeast: true
    }),
    dbos === null
      ? toDbos
      : { ...toDbos, measured: `${toDbos.measured}; DBOS ${withRange(dbos)} runs per second; ${about}` }
  ]
}

/** Returns a row of the table; a figure of null was not measured. */
function row(what: string, figure: Figure | null, goal: Goal | null): Row {
  const unit = goal?.unit ?? 'x'
  const sign = goal?.atLeast === true ? '≥' : '≤'
  const isReached =
    figure === null || goal === null
      ? null
      : goal.atLeast === true
        ? figure.median >= goal.bound
        : figure.median <= goal.bound
  return {
    what,
    measured: figure === null ? 'not measured' : withRange(figure, unit),
    goal: goal === null ? '–' : `${sign} ${goal.bound.toLocaleString('en')}${unit}`,
    isReached
  }
}

/** Returns a function that compares two contestants by their names; null if one was not measured. */
function ratiosOf(results: readonly Rates[]): (over: string, under: string | undefined) => Figure | null {
  const find = (wanted: string | undefined): Rates | undefined => results.find(({ name }) => name === wanted)
  return (over, under) => {
    const [one, other] = [find(over), find(under)]
    return one === undefined || other === undefined ? null : ratioOf(one.rounds, other.rounds)
  }
}

function fastest(results: readonly Rates[]): Rates | undefined {
  return results.toSorted((one, other) => median(other.rounds) - median(one.rounds))[0]
}

function ratesTable(results: readonly Rates[]): string[] {
  return [
    '| | per second | configuration |',
    '|---|---|---|',
    ...results.map(({ name, rounds, about }) => `| ${name} | ${withRange(figureOf(rounds), '', 0)} | ${about} |`)
  ]
}
