/**
 * Time until work goes on after a failure, on PostgreSQL.
 *
 * 1. Node: two nodes, of which one works on a message. It is killed; the time until the other one begins the same work.
 * 2. Control plane: clients of two control planes grant leases, and deliver, claim and acknowledge messages. One control
 *    plane is killed; the longest time without a successful grant of any client, and the time until the last client of
 *    the killed control plane has its next grant.
 * 3. Database: the same load on one control plane, over a primary and a synchronous standby. The primary crashes, and the
 *    standby is promoted; the time from then to the next successful grant, and the time without a grant.
 *
 * After 2 and 3, all acknowledged messages are looked for.
 *
 *   node --import tsx --conditions=svc-source bench/mesh/failover.ts [--json] [--rounds N] [--clients N] [--lease-ms N]
 *     [--only node,plane,promote]
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { noPostgres, PostgresServer } from '../../plugins/coordination-postgres/src/testing/postgres-server.ts'
import { type Figure, figureOf, MIN_ROUNDS, withRange } from '../figures.ts'
import { isSmoke } from '../smoke-mode.ts'
import { startPostgres } from '../task-queues/servers.ts'
import { openFolder } from './bench-folder.ts'
import { Child, compiledProgram, type Program } from './child.ts'
import { LeftOut } from './left-out.ts'
import { MeshLoad } from './mesh-load.ts'
import { DEFAULT_POLICY } from './node-policy.ts'
import { startPlane } from './planes.ts'
import { urlOf } from './queues.ts'
import { RECEIVER, TOKEN, WireClient } from './wire-client.ts'

/** Times in milliseconds. */
export interface FailoverResult {
  readonly lease_ms: number
  readonly node: { readonly second_effect_ms: Figure } | null
  readonly plane: (Losses & { readonly gap_ms: Figure; readonly last_client_ms: Figure }) | null
  readonly promote: (Losses & { readonly after_promote_ms: Figure; readonly gap_ms: Figure }) | null
  readonly left_out: readonly string[]
}

/** Sums over all rounds. */
export interface Losses {
  readonly delivered: number
  readonly lost: number
  readonly doubled: number
}

/** Time limit of the begin of work in milliseconds. */
const MAX_WAIT_MS = 60_000
/** Duration of the load before and after the failure, in milliseconds. */
const LOAD_MS = isSmoke ? 300 : 2_000

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: isSmoke ? '1' : String(MIN_ROUNDS) },
    clients: { type: 'string', default: '16' },
    'lease-ms': { type: 'string', default: isSmoke ? '1000' : '2000' },
    only: { type: 'string', default: 'node,plane,promote' }
  }
})
const rounds = Number(values.rounds)
const clients = Number(values.clients)
const leaseMs = Number(values['lease-ms'])

async function measureNode(program: Program, store: string): Promise<NonNullable<FailoverResult['node']>> {
  const plane = await startPlane(program, store, leaseMs)
  const sender = new WireClient(plane.url)
  const began: { readonly key: string; readonly node: string; readonly at: number }[] = []
  let wake = (): void => {}
  const startNode = async (id: string): Promise<Child> => {
    const node = await Child.start(program, {
      kind: 'nodes',
      urls: [plane.url],
      token: TOKEN,
      ids: [id],
      policy: { ...DEFAULT_POLICY, remote_execute_experimental: true },
      heartbeatSeconds: 30,
      spreadMs: 0
    })
    node.onBegan((key, name) => {
      began.push({ key, node: name, at: performance.now() })
      wake()
    })
    return node
  }
  const nodes = new Map<string, Child>()
  const times: number[] = []
  try {
    await sender.join('sender')
    for (let round = 0; round < rounds; round += 1) {
      // Fresh ids: a restarted node would continue its own work.
      for (let at = nodes.size; at < 2; at += 1) {
        const id = `node-${round}-${at}`
        nodes.set(id, await startNode(id))
      }
      const count = began.length
      const begin = async (number: number): Promise<(typeof began)[number]> => {
        const limit = performance.now() + MAX_WAIT_MS
        while (began.length < count + number) {
          if (performance.now() > limit) throw new Error(`round ${round}: no node began the work in ${MAX_WAIT_MS} ms`)
          await Promise.race([
            sleep(500),
            new Promise<void>(resolve => {
              wake = resolve
            })
          ])
        }
        return began[count + number - 1] as (typeof began)[number]
      }
      await sender.call('/a2a/deliver', {
        sender_agent_id: '1',
        receiver_agent_id: RECEIVER,
        message_type: 'job_submit',
        payload: JSON.stringify({ task_description: 'Work until the end', assigned_agent_id: 1 }),
        idempotency_key: `job-${round}`
      })
      const first = await begin(1)
      // The node renews its lease while it works.
      await sleep(leaseMs * (0.5 + round / rounds / 2))
      const victim = nodes.get(first.node) as Child
      nodes.delete(first.node)
      const killedAt = performance.now()
      await victim.kill()
      const second = await begin(2)
      if (second.key !== first.key) throw new Error(`${second.key} began instead of ${first.key}`)
      times.push(second.at - killedAt)
      for (const node of nodes.values()) node.finish()
    }
    return { second_effect_ms: figureOf(times) }
  } finally {
    sender.close()
    for (const node of nodes.values()) await node.kill()
    await plane.kill()
  }
}

/** Returns the longest time without a grant since `from`, until `to`. */
function longestGap(load: MeshLoad, from: number, to: number): number {
  const times = load.grants.map(({ at }) => at).filter(at => at >= from && at <= to)
  return Math.max(...[...times, to].map((at, index) => at - (times[index - 1] ?? from)))
}

async function measurePlane(program: Program, store: string): Promise<NonNullable<FailoverResult['plane']>> {
  const planes: Child[] = []
  const gaps: number[] = []
  const last: number[] = []
  const losses = { delivered: 0, lost: 0, doubled: 0 }
  try {
    for (let round = 0; round < rounds; round += 1) {
      while (planes.length < 2) planes.push(await startPlane(program, store, leaseMs))
      const load = new MeshLoad(
        planes.map(({ url }) => url),
        `plane-${round}`,
        clients
      )
      await load.settled(clients)
      await sleep(LOAD_MS)
      const victim = planes.shift() as Child
      const killedAt = performance.now()
      await victim.kill()
      await load.settled(clients)
      const nextGrants = new Map<number, number>()
      // Clients with an even number began with the control plane that was killed.
      for (const { client, at } of load.grants)
        if (at > killedAt && client % 2 === 0 && !nextGrants.has(client)) nextGrants.set(client, at - killedAt)
      await sleep(LOAD_MS)
      gaps.push(longestGap(load, killedAt, performance.now()))
      last.push(Math.max(...nextGrants.values()))
      const outcome = await load.stop(leaseMs)
      losses.delivered += outcome.delivered
      losses.lost += outcome.lost
      losses.doubled += outcome.doubled
    }
    return { gap_ms: figureOf(gaps), last_client_ms: figureOf(last), ...losses }
  } finally {
    for (const plane of planes) await plane.kill()
  }
}

async function measurePromote(program: Program): Promise<NonNullable<FailoverResult['promote']>> {
  const gaps: number[] = []
  const after: number[] = []
  const losses = { delivered: 0, lost: 0, doubled: 0 }
  for (let round = 0; round < rounds; round += 1) {
    const primary = await PostgresServer.start()
    let standby: PostgresServer | null = null
    let plane: Child | null = null
    try {
      standby = await PostgresServer.standbyOf(primary)
      await primary.query("alter system set synchronous_standby_names = '*'")
      await primary.query('select pg_reload_conf()')
      const both = primary.url().replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`)
      plane = await startPlane(program, both, leaseMs)
      const load = new MeshLoad([plane.url], `promote-${round}`, clients)
      await load.settled(clients)
      await sleep(LOAD_MS)
      const crashedAt = performance.now()
      await primary.crash()
      await standby.promote()
      const promotedAt = performance.now()
      await load.settled(clients)
      const next = load.grants.find(({ at }) => at > promotedAt)?.at ?? Number.NaN
      after.push(next - promotedAt)
      gaps.push(longestGap(load, crashedAt, performance.now()))
      const outcome = await load.stop(leaseMs)
      losses.delivered += outcome.delivered
      losses.lost += outcome.lost
      losses.doubled += outcome.doubled
    } finally {
      await plane?.kill()
      await standby?.remove()
      await primary.remove()
    }
  }
  return { after_promote_ms: figureOf(after), gap_ms: figureOf(gaps), ...losses }
}

function lossesText({ delivered, lost, doubled }: Losses): string {
  return `${lost} of ${delivered} acknowledged messages lost, ${doubled} acknowledged twice\n`
}

function text({ node, plane, promote }: FailoverResult): string {
  const lines: string[] = []
  if (node !== null)
    lines.push(
      `node killed: the other one begins after ${withRange(node.second_effect_ms, ' ms')}; lease ${leaseMs} ms\n`
    )
  if (plane !== null)
    lines.push(
      `control plane killed: ${withRange(plane.gap_ms, ' ms')} without a grant, last client ${withRange(plane.last_client_ms, ' ms')}; ${lossesText(plane)}`
    )
  if (promote !== null)
    lines.push(
      `standby promoted: next grant after ${withRange(promote.after_promote_ms, ' ms')}; ${withRange(promote.gap_ms, ' ms')} without a grant; ${lossesText(promote)}`
    )
  return lines.join('')
}

const only = values.only.split(',')
const folder = openFolder('failover')
const leftOut = new LeftOut()
const postgres = await leftOut.open('PostgreSQL', () => startPostgres(join(folder.path, 'postgres')))
try {
  const program = await compiledProgram(folder.path)
  if (only.includes('promote') && noPostgres !== false) leftOut.add('promotion of a standby', noPostgres)
  const isOn = (name: string): boolean => only.includes(name) && postgres !== null
  const store = postgres === null ? '' : urlOf(postgres)
  const result: FailoverResult = {
    lease_ms: leaseMs,
    node: isOn('node') ? await measureNode(program, store) : null,
    plane: isOn('plane') ? await measurePlane(program, store) : null,
    promote: isOn('promote') && noPostgres === false ? await measurePromote(program) : null,
    left_out: leftOut.reasons
  }
  if (values.json) process.stdout.write(`${JSON.stringify({ benchmark: 'mesh/failover', ...result })}\n`)
  else process.stdout.write(text(result) + leftOut.text())
} finally {
  await postgres?.stop()
  folder.remove()
}
process.exit()
