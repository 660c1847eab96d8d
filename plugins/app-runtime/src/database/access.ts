import { createRequire } from 'node:module'
import type { ConnectThread, DatabaseCapabilities, DatabaseStore, ThreadAccess } from '@svc/contracts'
import type { Bridge } from '../threads/bridge.ts'
import { BridgeConnection } from './bridge-connection.ts'
import { ProgramDatabase } from './program-database.ts'

/** How a thread gets at a database; survives a structured clone. */
export interface DatabaseAccess {
  /** null where the main thread is asked, with `storeAnswers` on the bridge. */
  readonly thread: ThreadAccess | null
  /** Path or URL. */
  readonly location: string
  readonly capabilities: Pick<DatabaseCapabilities, 'fts' | 'vector'>
}

/** For the threads of a program that uses this store. Throws what opening it throws. */
export async function accessTo(store: DatabaseStore): Promise<DatabaseAccess> {
  const { fts, vector } = await store.capabilities()
  return { thread: await store.threadAccess(), location: store.location, capabilities: { fts, vector } }
}

/** Opens the database in this thread. Throws `DBS_OPEN_FAILED`, `DBS_CORRUPT` and `DBS_BUSY`. */
export function openDatabase({ thread, location, capabilities }: DatabaseAccess, bridge: Bridge): ProgramDatabase {
  return new ProgramDatabase({ connection: connectionTo(thread, location, bridge), location, capabilities })
}

function connectionTo(thread: ThreadAccess | null, location: string, bridge: Bridge) {
  if (thread === null) return new BridgeConnection(bridge, location)
  const { connect } = createRequire(import.meta.url)(thread.module) as { readonly connect: ConnectThread }
  return connect(thread.options)
}
