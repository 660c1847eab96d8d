// Serves the stores of clients of a mesh to the parent process: on PostgreSQL, or over control planes.

import { serveStores } from '../../plugins/coordination/test/serve-stores.ts'
import { openPostgres } from './postgres-store.ts'
import { WireStore, type WireStoreOptions } from './wire-store.ts'

/** Name of a store, as JSON. */
export type StoreAddress = { readonly postgres: string } | { readonly wire: WireStoreOptions }

serveStores(async name => {
  const address = JSON.parse(name) as StoreAddress
  if ('postgres' in address) {
    const store = openPostgres(address.postgres)
    return { store, close: () => store.close() }
  }
  return { store: new WireStore(address.wire), close: async () => {} }
})
