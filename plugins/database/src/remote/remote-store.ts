import type { DatabaseStore } from '@svc/contracts'
import { QueuedStore } from '../store/queued-store.ts'
import { WorkerConnection } from '../store/worker-connection.ts'
import type { WorkerPlace } from '../worker/protocol.ts'
import { RemoteConnection, type RemoteOptions } from './remote-connection.ts'

/** Throws `DBS_UNREACHABLE` or `DBS_UNAUTHORIZED`. */
export async function openRemote(options: RemoteOptions): Promise<DatabaseStore> {
  const writer = new RemoteConnection(options)
  await writer.open()
  const reader = new RemoteConnection(options)
  return new QueuedStore({ mode: 'remote', location: options.url, writer, reader })
}

export interface ReplicaOptions {
  readonly file: string
  readonly url: string
  readonly token: string
  readonly busyTimeoutMs: number
}

/** A local copy that is read, of a remote database to which writes go. Opening brings it up to date. */
export async function openReplica({ file, url, token, busyTimeoutMs }: ReplicaOptions): Promise<DatabaseStore> {
  const place: WorkerPlace = {
    engine: 'libsql',
    file,
    readOnly: false,
    busyTimeoutMs,
    synchronous: 'normal',
    replicaOf: { url, token }
  }
  const writer = new WorkerConnection(place, file)
  await writer.open()
  await writer.sync()
  return new QueuedStore({ mode: 'replica', location: file, writer, reader: null })
}
