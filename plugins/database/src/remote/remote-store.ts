import { QueuedStore } from '../store/queued-store.ts'
import { RemoteConnection, type RemoteOptions } from './remote-connection.ts'
import { ReplicaConnection } from './replica-connection.ts'

/** Throws `DBS_UNREACHABLE` or `DBS_UNAUTHORIZED`. */
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

/** A local copy of a remote database: reads are local, and writes go to the server. It is updated when it is opened. */
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
