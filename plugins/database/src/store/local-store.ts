import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ThreadAccess } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { ThreadPlace } from '../thread/file-connection.ts'
import { MEMORY, type WorkerPlace } from '../worker/protocol.ts'
import { QueuedStore } from './queued-store.ts'
import { WorkerConnection } from './worker-connection.ts'

/** Path of the module in the compiled plugin's folder, which threads of any plugin can load. */
const MODULE = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../dist/thread-connection.cjs' : './thread-connection.cjs',
    import.meta.url
  )
)

export interface LocalOptions {
  readonly busyTimeoutMs: number
  readonly synchronous: 'normal' | 'full'
}

/** Opens a file with two threads: one writes and one reads. Rejects if the file cannot be opened. */
export async function openFile(file: string, { busyTimeoutMs, synchronous }: LocalOptions): Promise<QueuedStore> {
  const location = resolve(file)
  const place: WorkerPlace = { engine: 'libsql', file: location, readOnly: false, busyTimeoutMs, synchronous }
  const writer = new WorkerConnection(place, location)
  const { id: expected } = await writer.open()
  // The reader opens the file later; `expected` detects a file that was replaced by then.
  const same: WorkerPlace = expected === undefined ? place : { ...place, expected }
  const reader = new WorkerConnection({ ...same, readOnly: true }, location)
  const copier = () => new WorkerConnection(same, location)
  const options: ThreadPlace = { file: location, busyTimeoutMs, synchronous }
  return new QueuedStore({ mode: 'file', location, writer, reader, copier, threads: { module: MODULE, options } })
}

/** Returns access for one thread to its own empty in-memory database. */
export function memoryAccess(maxBytes?: number): ThreadAccess {
  const options: ThreadPlace = { file: MEMORY, busyTimeoutMs: 0, synchronous: 'normal', ...defined({ maxBytes }) }
  return { module: MODULE, options }
}

/** Opens an empty database in memory. */
export async function openMemory(): Promise<QueuedStore> {
  const location = MEMORY
  const place: WorkerPlace = { engine: 'sqljs', file: '', readOnly: false, busyTimeoutMs: 0, synchronous: 'normal' }
  const writer = new WorkerConnection(place, location)
  await writer.open()
  return new QueuedStore({ mode: 'memory', location, writer, reader: null, copier: null })
}
