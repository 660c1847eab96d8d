/**
 * CPU time and traffic of a control plane by the number of idle nodes, on PostgreSQL. The nodes run all loops of the
 * plugin with its default intervals: heartbeats, lists of nodes, and waits for work and for requests. Each node has
 * separate connections; a process has at most 250 nodes. Control plane and database are measured separately. Small numbers
 * of nodes are measured at the same time, each with its own control plane and database, since they need little of the CPU.
 *
 *   node --import tsx --conditions=svc-source bench/mesh/nodes.ts [--json] [--nodes N,N,…] [--rounds N] [--seconds N]
 *     [--plot FILE]
 *
 * `--seconds`: duration of a round; all rounds together have several intervals of heartbeats. `--plot`: writes the CPU time by the number
 * of nodes as SVG. Needs Linux.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { MESH_PATH } from '@svc/contracts'
import { type Figure, figureOf, MIN_ROUNDS, withRange } from '../figures.ts'
import { isSmoke } from '../smoke-mode.ts'
import { type Server, startPostgres } from '../task-queues/servers.ts'
import { openFolder } from './bench-folder.ts'
import { Child, compiledProgram, type Program } from './child.ts'
import { cpuTimeOfTree, postgresPid } from './cpu-time.ts'
import { LeftOut } from './left-out.ts'
import { DEFAULT_POLICY } from './node-policy.ts'
import { startPlane } from './planes.ts'
import { logPlot } from './plot.ts'
import { urlOf } from './queues.ts'
import { TOKEN } from './wire-client.ts'

/** Figures of one node, per second. */
export interface NodesPoint {
  readonly nodes: number
  /** Milliseconds of the CPU. */
  readonly plane_cpu_ms: Figure
  readonly postgres_cpu_ms: Figure
  /** Bytes in both directions, with the headers of HTTP. */
  readonly bytes: Figure
  readonly requests: Figure
}

export interface NodesResult {
  readonly points: readonly NodesPoint[]
  readonly left_out: readonly string[]
}

const NODES_PER_PROCESS = 250
const HEARTBEAT_SECONDS = 30
const ROUND_SECONDS = 20
/** Numbers of nodes up to this one are measured at the same time. */
const MAX_TOGETHER = 100
const LEASE_MS = 120_000
const MAX_PLANE_CPU_MS = 0.15
/** Each node reads the complete list once, before the rounds begin. */
const SETTLE_MS = isSmoke ? 100 : 1_200 * DEFAULT_POLICY.poll_interval_secs
const JOIN_LIMIT_MS = 120_000

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    nodes: { type: 'string', default: isSmoke ? '1,5' : '1,10,100,1000' },
    rounds: { type: 'string', default: isSmoke ? '1' : String(MIN_ROUNDS) },
    seconds: { type: 'string', default: isSmoke ? '1' : String(ROUND_SECONDS) },
    plot: { type: 'string' }
  }
})

/** Measures a number of nodes with its own database; null if there is no database server. */
async function point(program: Program, nodes: number): Promise<NodesPoint | null> {
  const home = join(folder.path, `postgres-${nodes}`)
  const postgres = await leftOut.open('PostgreSQL', () => startPostgres(home))
  if (postgres === null) return null
  try {
    return await measure(program, postgres, postgresPid(join(home, 'data')), nodes)
  } finally {
    await postgres.stop()
  }
}

async function measure(program: Program, postgres: Server, pid: number, nodes: number): Promise<NodesPoint> {
  const plane = await startPlane(program, urlOf(postgres), LEASE_MS)
  const children: Child[] = []
  try {
    const ids = Array.from({ length: nodes }, (_, index) => `node-${index}`)
    const starting: Promise<Child>[] = []
    for (let from = 0; from < nodes; from += NODES_PER_PROCESS)
      starting.push(
        Child.start(program, {
          kind: 'nodes',
          urls: [plane.url],
          token: TOKEN,
          ids: ids.slice(from, from + NODES_PER_PROCESS),
          policy: DEFAULT_POLICY,
          heartbeatSeconds: HEARTBEAT_SECONDS,
          // Spread over the interval, as machines start at different times.
          spreadMs: isSmoke || nodes === 1 ? 0 : HEARTBEAT_SECONDS * 1_000
        })
      )
    children.push(...(await Promise.all(starting)))
    await allJoined(plane.url, nodes)
    await sleep(SETTLE_MS)
    const rounds: Record<'plane' | 'postgres' | 'bytes' | 'requests', number[]> = {
      plane: [],
      postgres: [],
      bytes: [],
      requests: []
    }
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const before = { ...(await plane.usage()), postgres: cpuTimeOfTree(pid), at: performance.now() }
      await sleep(Number(values.seconds) * 1_000)
      const after = { ...(await plane.usage()), postgres: cpuTimeOfTree(pid), at: performance.now() }
      const seconds = ((after.at - before.at) / 1_000) * nodes
      rounds.plane.push((after.cpuMs - before.cpuMs) / seconds)
      rounds.postgres.push((after.postgres - before.postgres) / seconds)
      rounds.bytes.push((after.bytes - before.bytes) / seconds)
      rounds.requests.push((after.requests - before.requests) / seconds)
    }
    return {
      nodes,
      plane_cpu_ms: figureOf(rounds.plane),
      postgres_cpu_ms: figureOf(rounds.postgres),
      bytes: figureOf(rounds.bytes),
      requests: figureOf(rounds.requests)
    }
  } finally {
    for (const child of children) await child.kill()
    await plane.kill()
  }
}

async function allJoined(url: string, nodes: number): Promise<void> {
  const limit = performance.now() + JOIN_LIMIT_MS
  for (;;) {
    const response = await fetch(`${url}${MESH_PATH}/nodes`, { headers: { authorization: `Bearer ${TOKEN}` } })
    const list = (await response.json()) as { readonly nodes: readonly unknown[] }
    if (list.nodes.length >= nodes) return
    if (performance.now() > limit)
      throw new Error(`${list.nodes.length} of ${nodes} nodes joined in ${JOIN_LIMIT_MS} ms`)
    await sleep(500)
  }
}

function plotOf(points: readonly NodesPoint[]): string {
  const series = (key: 'plane_cpu_ms' | 'postgres_cpu_ms') => points.map(point => ({ x: point.nodes, y: point[key] }))
  return logPlot({
    title: 'CPU time of an idle node',
    xLabel: 'nodes',
    yLabel: 'ms per second and node',
    series: [
      { name: 'control plane', color: '#1f6feb', points: series('plane_cpu_ms') },
      { name: 'PostgreSQL', color: '#d1570a', points: series('postgres_cpu_ms') }
    ],
    line: { y: MAX_PLANE_CPU_MS, name: `goal for the control plane: ${MAX_PLANE_CPU_MS} ms` }
  })
}

const folder = openFolder('nodes')
const leftOut = new LeftOut()
try {
  const program = await compiledProgram(folder.path)
  const sizes = values.nodes.split(',').map(Number)
  const small = sizes.filter(nodes => nodes <= MAX_TOGETHER)
  const measured = await Promise.all(small.map(nodes => point(program, nodes)))
  for (const nodes of sizes.filter(each => each > MAX_TOGETHER)) measured.push(await point(program, nodes))
  const points = measured.filter(each => each !== null).sort((one, other) => one.nodes - other.nodes)
  if (values.plot !== undefined && points.length > 0) writeFileSync(values.plot, plotOf(points))
  const result: NodesResult = { points, left_out: [...new Set(leftOut.reasons)] }
  if (values.json) process.stdout.write(`${JSON.stringify({ benchmark: 'mesh/nodes', ...result })}\n`)
  else {
    for (const { nodes, plane_cpu_ms, postgres_cpu_ms, bytes, requests } of points)
      process.stdout.write(
        `${nodes} nodes, each per second: control plane ${withRange(plane_cpu_ms, ' ms CPU')}, PostgreSQL ${withRange(postgres_cpu_ms, ' ms CPU')}, ${withRange(bytes, ' bytes')}, ${withRange(requests, ' requests')}\n`
      )
    process.stdout.write(leftOut.text())
  }
} finally {
  folder.remove()
}
process.exit()
