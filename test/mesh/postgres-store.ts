import { PostgresCoordination, parseServerAddress } from '@svc/plugin-coordination-postgres/testing'
import type { Logger } from '@svc/plugin-sdk'

const silent = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger

/** Opens a store on the URL of a PostgreSQL server. */
export function openPostgres(url: string): PostgresCoordination {
  const address = parseServerAddress({ url, folder: '/' })
  return new PostgresCoordination({ address, connections: 4, fanout: null, log: silent })
}
