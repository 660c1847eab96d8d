import type {
  DatabaseCapabilities,
  DatabaseStore,
  PrimaryDatabase,
  Program,
  ThreadAccess,
  ThreadConnection
} from '@svc/contracts'
import { defined, isSvcError } from '@svc/plugin-sdk'
import { freshSchema } from '../schema/migrate.ts'
import type { Bridge } from '../threads/bridge.ts'
import { BridgeConnection } from './bridge-connection.ts'
import { connectThread } from './connect-thread.ts'
import { OutOfProcessConnection } from './out-of-process-connection.ts'
import { ProgramDatabase } from './program-database.ts'
import { rawSqlUseOf } from './raw-sql-use.ts'

/** Database access of a thread. Can be passed to the thread by structured clone. */
export interface DatabaseAccess {
  /** null if the thread uses the main thread's connection, through `storeAnswers` on the bridge. */
  readonly thread: ThreadAccess | null
  /** Path or URL. */
  readonly location: string
  readonly capabilities: Pick<DatabaseCapabilities, 'fts' | 'vector'>
}

/** Returns the access of a program's threads to this store. Throws the errors of opening it. */
export async function accessTo(store: DatabaseStore): Promise<DatabaseAccess> {
  const { fts, vector } = await store.capabilities()
  return { thread: await store.threadAccess(), location: store.location, capabilities: { fts, vector } }
}

/** Returns access to a new in-memory database, for one thread. `maxBytes`: its maximum size; default: no limit. */
export function freshAccess(store: PrimaryDatabase, maxBytes?: number): DatabaseAccess {
  return { thread: store.memoryAccess(maxBytes), location: 'memory', capabilities: { fts: true, vector: true } }
}

export interface OpenOptions {
  readonly isFresh?: boolean
  /** Called before each commit, and before each write outside transactions. */
  readonly onStore?: () => void
}

/**
 * Opens the database of a program in this thread. With `isFresh`, the database is empty and gets the tables.
 * Raw SQL runs in a separate process if the thread has its own connection. Throws `DBS_OPEN_FAILED`,
 * `DBS_CORRUPT`, `DBS_BUSY`, and the errors of creating tables.
 */
export function openDatabase(
  access: DatabaseAccess,
  bridge: Bridge,
  program: Program,
  { isFresh = false, onStore }: OpenOptions = {}
): ProgramDatabase {
  const { thread, location } = access
  const own = thread === null ? null : connectionOf(thread, isFresh)
  const sql = rawSqlUseOf(program)
  // Without a native binding, the database is the main thread's, which has no full-text and vector search.
  const capabilities = own === null && thread !== null ? { fts: false, vector: false } : access.capabilities
  const setup = isFresh ? freshSchema(program, capabilities) : []
  const outOfProcess = own === null || !sql.isUsed ? null : new OutOfProcessConnection(bridge, location, setup)
  // An in-memory database is visible to one process only, so all its SQL runs in the other process.
  const isElsewhere = isFresh && outOfProcess !== null
  if (isElsewhere) own?.close()
  const connection = isElsewhere ? outOfProcess : (own ?? new BridgeConnection(bridge, location))
  if (isElsewhere) outOfProcess.setUp()
  else for (const statement of setup) connection.execute(statement)
  return new ProgramDatabase({
    connection,
    location,
    capabilities,
    ...defined({ onStore }),
    outOfProcess: outOfProcess === null || isElsewhere ? null : { connection: outOfProcess, sql },
    bound: time => {
      if (outOfProcess !== null) outOfProcess.time = time
    }
  })
}

/** Connects this thread. Returns null for a fresh database if there is no native binding. */
function connectionOf(access: ThreadAccess, isFresh: boolean): ThreadConnection | null {
  try {
    return connectThread(access)
  } catch (error) {
    if (isFresh && isSvcError(error, 'DBS_NO_BINDING')) return null
    throw error
  }
}
