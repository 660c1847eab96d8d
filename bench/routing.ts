/**
 * Cost of a routing decision in microseconds, for several numbers of agents and of queued tasks. Each decision is
 * followed by a change of load, as on a submit.
 *
 *   node --import tsx --conditions=svc-source bench/routing.ts [--json] [--rounds N]
 *
 * Tasks name three files, mostly of their group; each queued task owns one file. `least_loaded`: a task without files.
 * `required`: a task that requires a GPU, which no owner of its files has. `every_agent`: reputation is enabled, and
 * every agent gets a score. The second table has the cost with 8 agents, 100,000 queued tasks and several numbers of
 * mesh nodes, which then count in the score of every agent.
 */
import { parseArgs } from 'node:util'
import { AffinityGroups } from '../plugins/orchestrator/src/routing/groups.ts'
import { RemoteNodes } from '../plugins/orchestrator/src/routing/remote-nodes.ts'
import { Router } from '../plugins/orchestrator/src/routing/router.ts'
import type { RoutingSettings } from '../plugins/orchestrator/src/routing/routing-settings.ts'
import type { TaskToRoute } from '../plugins/orchestrator/src/state/ports.ts'
import { DEFAULTS as SETTINGS } from '../plugins/orchestrator/test/routing/world.ts'

const AGENTS = [10, 100, 1_000]
const QUEUED = [100, 10_000, 100_000]
const GROUPS = 40
const NODES = [0, 10, 1_000]
const AGENTS_OF_MESH = 8
const QUEUED_OF_MESH = 100_000

/** CPU time to spend on each figure. */
const MEASURED_MS = 150

interface Result {
  readonly agents: number
  readonly queued: number
  readonly files_us: number
  readonly least_loaded_us: number
  readonly required_us: number
  readonly every_agent_us: number
}

const { values } = parseArgs({ options: { json: { type: 'boolean' }, rounds: { type: 'string', default: '5' } } })
// Warm-up.
measure(10, 100, 1)
const results: Result[] = []
for (const agents of AGENTS) for (const queued of QUEUED) results.push(measure(agents, queued, Number(values.rounds)))
const nodes = NODES.map(count => measureNodes(count, Number(values.rounds)))
if (values.json) console.log(JSON.stringify({ benchmark: 'routing', node: process.version, results, nodes }))
else {
  console.table(results)
  console.table(nodes)
}

function medianOf(rounds: number, run: () => number): number {
  return Array.from({ length: rounds }, run).sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? Number.NaN
}

/** Measures a decision with a number of schedulable nodes. */
function measureNodes(count: number, rounds: number): { readonly nodes: number; readonly files_us: number } {
  const remote = new RemoteNodes()
  const flags = { maintenance: false, quarantined: false, heartbeat_stale: false }
  const node = { capabilities: { min_vram_mb: 24_000 }, labels: ['pool=a'], has_gpu: true, ...flags }
  remote.set(
    'poll',
    Array.from({ length: count }, (_, index) => ({ ...node, node_id: `node-${index}` }))
  )
  const settings = { ...SETTINGS, mesh_routing_experimental: true }
  const router = world(AGENTS_OF_MESH, QUEUED_OF_MESH, settings, () => remote.schedulable)
  return { nodes: count, files_us: medianOf(rounds, () => cost(router, tasks(QUEUED_OF_MESH))) }
}

function measure(agents: number, queued: number, rounds: number): Result {
  const median = (run: () => number) => medianOf(rounds, run)
  const plain = world(agents, queued, SETTINGS)
  const reputation = world(agents, queued, { ...SETTINGS, qgate_reputation_routing: true })
  const required = { capabilities: { gpu_cuda: true } }
  return {
    agents,
    queued,
    files_us: median(() => cost(plain, tasks(queued))),
    least_loaded_us: median(() => cost(plain, [task([])])),
    required_us: median(() => cost(plain, tasks(queued, required))),
    every_agent_us: median(() => cost(reputation, tasks(queued)))
  }
}

function world(agents: number, queued: number, settings: RoutingSettings, remoteNodes = () => 0): Router {
  const owners = new Map<string, number>()
  const loads = new Float64Array(agents)
  for (let index = 0; index < queued; index++) {
    owners.set(path(index), index % agents)
    loads[index % agents]! += 1
  }
  const groups = Array.from({ length: GROUPS }, (_, index) => ({
    name: `node-${index}`,
    patterns: [`packages/p${index}/**`]
  }))
  const groupAgents = new Map(groups.map(({ name }, index) => [name, index % agents]))
  const router = new Router({
    world: {
      fileOwner: path => owners.get(path) ?? null,
      groupAgent: group => groupAgents.get(group) ?? null,
      completionTrust: () => null,
      trust: agent_id => ({
        agent_id,
        score: 0.5,
        tier: 'Provisional',
        outcomes: 3,
        overridden: false,
        reliability: 0.5
      }),
      canSpawn: () => false,
      now: () => 0
    },
    groups: new AffinityGroups(groups),
    settings: () => settings,
    random: Math.random,
    newAgent: {},
    remoteNodes
  })
  for (let id = 0; id < agents; id++)
    router.agentAdded({
      id,
      name: `agent-${id}`,
      dynamic: false,
      paused: false,
      capabilities: { cpu_cores: 8, gpu_cuda: id % 5 === 4 },
      weighted_load: loads[id] ?? 0
    })
  return router
}

function path(index: number): string {
  return `packages/p${index % GROUPS}/src/module-${index % 97}/file-${index}.ts`
}

function task(files: readonly string[], over: Partial<TaskToRoute> = {}): TaskToRoute {
  return {
    description: 'Change the behaviour of these files, and update their tests',
    files: files.map(path => ({ path, access: 'write' })),
    capabilities: undefined,
    agent_name: undefined,
    required_labels: undefined,
    active_skill: undefined,
    workflow: undefined,
    ...over
  }
}

/** Returns a thousand tasks, spread over all queued tasks; two thirds of their files have an owner. */
function tasks(queued: number, over: Partial<TaskToRoute> = {}): readonly TaskToRoute[] {
  return Array.from({ length: 1_000 }, (_, index) => {
    const at = Math.floor((index * queued) / 1_000)
    return task([path(at), path(at + GROUPS), path(queued + at)], over)
  })
}

/** Measures the mean CPU time of a decision plus a change of load, in microseconds. */
function cost(router: Router, some: readonly TaskToRoute[]): number {
  let count = 0
  const started = process.cpuUsage()
  let elapsed = 0
  while (elapsed < MEASURED_MS * 1_000) {
    for (let repeated = 0; repeated < 1_000; repeated++) {
      const one = some[repeated % some.length] as TaskToRoute
      const decision = router.route(one)
      // Loads go up and down, so that the order of the agents changes.
      if (decision.kind === 'agent') router.loadChanged(decision.agent, (count * 7919) % 1_000)
      count++
    }
    const { user, system } = process.cpuUsage(started)
    elapsed = user + system
  }
  return Math.round((elapsed / count) * 1e3) / 1e3
}
