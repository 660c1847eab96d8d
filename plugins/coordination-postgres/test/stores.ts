import type { Coordination } from '@svc/contracts'
import type { CoordinationBed } from '@svc/contracts/conformance'
import type { Logger } from '@svc/plugin-sdk'
import { PostgresCoordination, type PostgresCoordinationOptions, parseServerAddress } from '#root'

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger

/** Opens a store on a URL, with its own connections. */
export function openStore(url: string, options: Partial<PostgresCoordinationOptions> = {}): PostgresCoordination {
  const address = parseServerAddress({ url, folder: '/' })
  return new PostgresCoordination({ address, connections: 8, fanout: null, log: silent, ...options })
}

/** Opens several stores on one database. */
export function openBed(url: string): CoordinationBed {
  const stores: PostgresCoordination[] = []
  const another = async (): Promise<Coordination> => {
    const store = openStore(url)
    stores.push(store)
    return store
  }
  const first = openStore(url)
  stores.push(first)
  return {
    store: first,
    another,
    async close() {
      await Promise.all(stores.map(store => store.close()))
    }
  }
}
