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

/** Database access of a thread; survives a structured clone. */
export interface DatabaseAccess {
  /** null if the main thread answers requests, through `storeAnswers` on the bridge. */
  readonly thread: ThreadAccess | null
  /** Path or URL. */
  readonly location: string
  readonly capabilities: Pick<DatabaseCapabilities, 'fts' | 'vector'>
}

/** Access for the threads of a program with this store. Throws the errors of opening it. */
export async function accessTo(store: DatabaseStore): Promise<DatabaseAccess> {
  const { fts, vector } = await store.capabilities()
  return { thread: await store.threadAccess(), location: store.location, capabilities: { fts, vector } }
}

/** Access for the test thread: a separate database, or one in the main thread if threads cannot open one. */
export function freshAccess(store: PrimaryDatabase): DatabaseAccess {
  return { thread: store.memoryAccess(), location: 'memory', capabilities: { fts: true, vector: true } }
}

/**
 * Opens the database of a program in this thread; creates the tables in a fresh, empty one. Raw SQL runs
 * in another process if the database allows several. Throws `DBS_OPEN_FAILED`, `DBS_CORRUPT`, `DBS_BUSY`, and the
 * errors of creating tables.
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
  // The main thread's store supports less than a connection of this thread.
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

/** null if an empty database exists only in the main thread. */
function connectionOf(access: ThreadAccess, isFresh: boolean): ThreadConnection | null {
  try {
    return connectThread(access)
  } catch (error) {
    if (isFresh && isSvcError(error, 'DBS_NO_BINDING')) return null
    throw error
  }
}
