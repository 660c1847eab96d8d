import { QueuedStore } from '../store/queued-store.ts'
import { RemoteConnection, type RemoteOptions } from './remote-connection.ts'
import { ReplicaConnection } from './replica-connection.ts'

/** Opens a remote database. Throws `DBS_UNREACHABLE` or `DBS_UNAUTHORIZED`. */
export async function openRemote(options: RemoteOptions): Promise<QueuedStore> {
  const writer = new RemoteConnection(options)
  await writer.open()
  const reader = new RemoteConnection(options)
  return new QueuedStore({ mode: 'remote', location: options.url, writer, reader })
}

export interface ReplicaOptions extends RemoteOptions {
  readonly file: string
  readonly busyTimeoutMs: number
}

/** Opens a replica and updates it. Reads are local; writes go to the server. */
export async function openReplica({ file, busyTimeoutMs, ...primary }: ReplicaOptions): Promise<QueuedStore> {
  const writer = new ReplicaConnection(file, busyTimeoutMs, primary)
  try {
    await writer.open()
    await writer.sync()
  } catch (error) {
    await writer.close()
    throw error
  }
  return new QueuedStore({ mode: 'replica', location: file, writer, reader: null })
}
