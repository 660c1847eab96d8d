import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Coordination } from '@svc/contracts'
import { DatabaseCoordination } from '@svc/plugin-coordination/testing'
import type { PostgresServer } from '@svc/plugin-coordination-postgres/testing'
import { openFile } from '@svc/plugin-database/testing'
import type { BedPlace } from './bed-place.ts'
import type { StoreAddress } from './client-child.ts'
import { shiftedClock } from './fake-clock.ts'
import { FaultyProxy } from './faulty-proxy.ts'
import { joinNode, MAILBOX, PLANE_LEASE_MS, Plane, wireOptions } from './plane.ts'
import type { Failpoint, PlaneOptions } from './plane-child.ts'
import { CLIENT_SCRIPT, createDatabase } from './postgres-bed.ts'
import { openPostgres } from './postgres-store.ts'
import { RestartedProcess } from './processes.ts'
import type { Bed } from './workload.ts'

const CLIENT_PROCESSES = 3
/** Maximum duration of a fault of the network, in milliseconds. */
const MAX_FAULT_MS = 400
/** How long a control plane waits for the call at which it kills itself. */
const FAILPOINT_MS = 300
const FAILPOINTS: readonly Failpoint['method'][] = [
  'put',
  'claimAs',
  'ack',
  'extend',
  'nack',
  'grant',
  'renew',
  'release',
  'useOnce'
]
const TIMES: readonly Failpoint['when'][] = ['before', 'during', 'after']

export interface PlanesOptions {
  /** Null: the embedded store, on a file. */
  readonly postgres: PostgresServer | null
  readonly planes: number
  /** Maximum number of kills of control planes, each of which takes a start. */
  readonly maxKills: number
  /** Offsets of the clocks of the client processes, in turn; default none. */
  readonly clocks?: readonly string[]
  /** False: clients acknowledge messages without their fence; default true. */
  readonly acksWithFence?: boolean
}

/**
 * Opens control planes in processes over one store, and clients in processes that call them over HTTP. The control planes are
 * killed before, during and after calls of the store, and paused; the connections between clients and control planes, and
 * between control planes and a server, are disturbed; the clients are killed and paused.
 */
export async function openPlanesBed(place: BedPlace, options: PlanesOptions): Promise<Bed> {
  const { postgres, maxKills, clocks = [], acksWithFence = true } = options
  const { observer, storeOf, storeProxies } = await (postgres === null
    ? openFileStore(place)
    : openServerStore(place, postgres))
  const planes = await Promise.all(
    Array.from({ length: options.planes }, async () => {
      const plane = await Plane.start(await storeOf(), place.folder)
      place.teardown(() => plane.close())
      return plane
    })
  )
  const processes = Array.from({ length: CLIENT_PROCESSES }, (_, at) => {
    const clock = clocks[at % clocks.length]
    const process = new RestartedProcess({
      script: CLIENT_SCRIPT,
      ...(clock === undefined ? null : { env: shiftedClock(clock) })
    })
    place.teardown(() => process.close())
    return process
  })
  await Promise.all(processes.map(each => each.start()))
  let clients = 0
  let faults = 0
  let kills = 0
  const restarts: Promise<void>[] = []
  const pick = <A>(all: readonly A[], random: () => number): A => all[Math.floor(random() * all.length)] as A
  return {
    observer,
    queue: MAILBOX,
    leaseMs: PLANE_LEASE_MS,
    canPark: false,
    async client(node) {
      await joinNode((planes[0] as Plane).directUrl, node)
      const address: StoreAddress = { wire: wireOptions(node, planes, acksWithFence) }
      const process = processes[clients++ % processes.length] as RestartedProcess
      return process.store(JSON.stringify(address))
    },
    async disturb(random) {
      const choice = random()
      const plane = pick(planes, random)
      if (choice > 0.5) return
      if (choice < 0.1 && (kills === maxKills || !plane.isReady)) return
      faults += 1
      if (choice < 0.1) {
        kills += 1
        const failpoint = { method: pick(FAILPOINTS, random), when: pick(TIMES, random) }
        await Promise.race([plane.fail(failpoint), sleep(FAILPOINT_MS)])
        await plane.kill()
        restarts.push(plane.start())
      } else if (choice < 0.15) await plane.pause(random() < 0.3 ? 1.2 * PLANE_LEASE_MS : 150)
      else if (choice < 0.2) await pick(processes, random).pause(random() < 0.3 ? 1.2 * PLANE_LEASE_MS : 150)
      else if (choice < 0.22) await pick(processes, random).kill()
      else if (choice < 0.35 && storeProxies.length > 0) await pick(storeProxies, random).disturb(random, MAX_FAULT_MS)
      else await plane.proxy.disturb(random, MAX_FAULT_MS)
    },
    async heal() {
      await Promise.all(restarts)
    },
    faults: () => faults
  }
}

interface SharedStore {
  readonly observer: Coordination
  /** Returns the store of the next control plane. */
  storeOf(): Promise<PlaneOptions['store']>
  /** Proxies between control planes and their server. */
  readonly storeProxies: readonly FaultyProxy[]
}

async function openFileStore(place: BedPlace): Promise<SharedStore> {
  const file = join(place.folder, 'coordination.db')
  const database = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
  const observer = new DatabaseCoordination(database)
  place.teardown(async () => {
    await observer.close()
    await database.close()
  })
  await observer.count('q')
  return { observer, storeOf: async () => ({ file }), storeProxies: [] }
}

async function openServerStore(place: BedPlace, server: PostgresServer): Promise<SharedStore> {
  const { url, database } = await createDatabase(place, server)
  const observer = openPostgres(url)
  place.teardown(() => observer.close())
  await observer.count('q')
  const storeProxies: FaultyProxy[] = []
  const storeOf = async (): Promise<PlaneOptions['store']> => {
    const proxy = await FaultyProxy.open(server.port)
    place.teardown(() => proxy.close())
    storeProxies.push(proxy)
    return { postgres: server.urlThrough(proxy.port, database) }
  }
  return { observer, storeOf, storeProxies }
}
