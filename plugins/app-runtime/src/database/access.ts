import type {
  DatabaseCapabilities,
  DatabaseStore,
  PrimaryDatabase,
  Program,
  ThreadAccess,
  ThreadConnection
} from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { freshSchema } from '../schema/migrate.ts'
import type { Bridge } from '../threads/bridge.ts'
import { BridgeConnection } from './bridge-connection.ts'
import { connectThread } from './connect-thread.ts'
import { OutOfProcessConnection } from './out-of-process-connection.ts'
import { ProgramDatabase } from './program-database.ts'
import { rawSqlUseOf } from './raw-sql-use.ts'

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

/** For the thread of tests: a separate database, or one in the main thread where it cannot have that. */
export function freshAccess(store: PrimaryDatabase): DatabaseAccess {
  return { thread: store.memoryAccess(), location: 'memory', capabilities: { fts: true, vector: true } }
}

/**
 * Opens the database of a program in this thread; in one that is fresh, and so empty, its tables are made. SQL of the program's
 * own is run in another process where the database is one that several can have. Throws `DBS_OPEN_FAILED`, `DBS_CORRUPT`,
 * `DBS_BUSY`, and what making tables throws.
 */
export function openDatabase(
  access: DatabaseAccess,
  bridge: Bridge,
  program: Program,
  isFresh = false
): ProgramDatabase {
  const { thread, location } = access
  const own = thread === null ? null : connectionOf(thread, isFresh)
  const sql = rawSqlUseOf(program)
  // The main thread's store can do less than a connection of this thread.
  const capabilities = own === null && thread !== null ? { fts: false, vector: false } : access.capabilities
  const setup = isFresh ? freshSchema(program, capabilities) : []
  const outOfProcess = own === null || !sql.isUsed ? null : new OutOfProcessConnection(bridge, location, setup)
  // An in-memory database exists only in one process.
  const isElsewhere = isFresh && outOfProcess !== null
  if (isElsewhere) own?.close()
  const connection = isElsewhere ? outOfProcess : (own ?? new BridgeConnection(bridge, location))
  if (isElsewhere) outOfProcess.setUp()
  else for (const statement of setup) connection.execute(statement)
  return new ProgramDatabase({
    connection,
    location,
    capabilities,
    outOfProcess: outOfProcess === null || isElsewhere ? null : { connection: outOfProcess, sql },
    bound: time => {
      if (outOfProcess !== null) outOfProcess.time = time
    }
  })
}

/** null where an empty database is available only in the main thread. */
function connectionOf(access: ThreadAccess, isFresh: boolean): ThreadConnection | null {
  try {
    return connectThread(access)
  } catch (error) {
    if (isFresh && isSvcError(error, 'DBS_NO_BINDING')) return null
    throw error
  }
}
