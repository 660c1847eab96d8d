import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PostgresServer } from '@svc/plugin-coordination-postgres/testing'
import type { BedPlace } from './bed-place.ts'
import type { StoreAddress } from './client-child.ts'
import { FaultyProxy } from './faulty-proxy.ts'
import { openPostgres } from './postgres-store.ts'
import { RestartedProcess } from './processes.ts'
import type { Bed } from './workload.ts'

export const CLIENT_SCRIPT = join(import.meta.dirname, 'client-child.ts')
/** Maximum duration of a fault of the network, in milliseconds. */
const MAX_FAULT_MS = 200
/** Number of the fault at which the server crashes. */
const CRASH_AT = 20

/**
 * Opens stores of several processes in a new database of a server, which they reach through a proxy each. Processes are
 * killed and paused, connections disturbed, backends terminated; the server is paused, and crashes once.
 */
export async function openPostgresBed(place: BedPlace, server: PostgresServer): Promise<Bed> {
  const { url, database } = await createDatabase(place, server)
  const observer = openPostgres(url)
  place.teardown(() => observer.close())
  await observer.count('q')
  const clients: { readonly process: RestartedProcess; readonly proxy: FaultyProxy }[] = []
  let faults = 0
  let ticks = 0
  return {
    observer,
    async client() {
      const proxy = await FaultyProxy.open(server.port)
      const process = new RestartedProcess({ script: CLIENT_SCRIPT })
      place.teardown(async () => {
        await process.close()
        await proxy.close()
      })
      await process.start()
      clients.push({ process, proxy })
      return process.store(addressOf(server.urlThrough(proxy.port, database)))
    },
    async disturb(random) {
      ticks += 1
      const victim = clients[Math.floor(random() * clients.length)]
      const choice = random()
      if (ticks === CRASH_AT) {
        faults += 1
        await server.crash()
        await server.up()
        return
      }
      if (victim === undefined || choice > 0.6) return
      faults += 1
      if (choice < 0.07) await victim.process.kill()
      else if (choice < 0.17) await victim.process.pause(150)
      else if (choice < 0.3) await server.killClients()
      else if (choice < 0.33) {
        server.pause()
        await sleep(150)
        server.resume()
      } else await victim.proxy.disturb(random, MAX_FAULT_MS)
    },
    faults: () => faults
  }
}

export interface FailoverOptions {
  /**
   * True: a commit waits for the standby, so that no acknowledged write is lost. False: the standby lags when the primary
   * server crashes.
   */
  readonly isSynchronous: boolean
  /** Statements that run in the database before the clients begin. */
  readonly prepare?: string
}

/** Opens stores of several processes on two servers, of which the first one crashes and the second one is promoted. */
export async function openFailoverBed(place: BedPlace, { isSynchronous, prepare }: FailoverOptions): Promise<Bed> {
  const primary = await PostgresServer.start()
  place.teardown(() => primary.remove())
  // Installs the schema, so that the standby has it.
  const installer = openPostgres(primary.url())
  await installer.count('q')
  await installer.close()
  if (prepare !== undefined) await primary.query(prepare)
  const standby = await PostgresServer.standbyOf(primary)
  place.teardown(() => standby.remove())
  if (isSynchronous) {
    await primary.query("alter system set synchronous_standby_names = '*'")
    await primary.query('select pg_reload_conf()')
  }
  const urlOf = (first: number, second: number): string =>
    primary.urlThrough(first).replace(`:${first}/`, `:${first},127.0.0.1:${second}/`)
  const observer = openPostgres(urlOf(primary.port, standby.port))
  place.teardown(() => observer.close())
  await observer.now()
  const clients: { readonly process: RestartedProcess; readonly proxies: readonly FaultyProxy[] }[] = []
  let faults = 0
  let ticks = 0
  return {
    observer,
    losesWrites: !isSynchronous,
    async client() {
      const proxies = [await FaultyProxy.open(primary.port), await FaultyProxy.open(standby.port)]
      const process = new RestartedProcess({ script: CLIENT_SCRIPT })
      place.teardown(async () => {
        await process.close()
        for (const proxy of proxies) await proxy.close()
      })
      await process.start()
      clients.push({ process, proxies })
      const [first, second] = proxies as [FaultyProxy, FaultyProxy]
      return process.store(addressOf(urlOf(first.port, second.port)))
    },
    async disturb(random) {
      ticks += 1
      if (ticks === CRASH_AT) {
        faults += 1
        if (!isSynchronous) {
          await standby.stop()
          await sleep(600)
        }
        await primary.crash()
        if (!isSynchronous) await standby.up()
        await standby.promote()
        return
      }
      const victim = clients[Math.floor(random() * clients.length)]
      const choice = random()
      if (victim === undefined || choice > 0.2) return
      faults += 1
      // Backends are not terminated: a commit that waits for the standby would then become visible without it.
      if (choice < 0.05) await victim.process.pause(150)
      else for (const proxy of victim.proxies) await proxy.disturb(random, MAX_FAULT_MS / 2)
    },
    faults: () => faults
  }
}

/** Creates a database that is deleted at the end. */
export async function createDatabase(
  place: BedPlace,
  server: PostgresServer
): Promise<{ readonly url: string; readonly database: string }> {
  const url = await server.createDatabase()
  const database = new URL(url).pathname.slice(1)
  place.teardown(() => server.query(`drop database ${database} with (force)`))
  return { url, database }
}

function addressOf(url: string): string {
  return JSON.stringify({ postgres: url } satisfies StoreAddress)
}
