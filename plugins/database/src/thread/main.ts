import type { ConnectThread } from '@svc/contracts'
import { FileConnection, type ThreadPlace } from './file-connection.ts'

/** See `ThreadAccess`. */
export const connect: ConnectThread = options => new FileConnection(options as ThreadPlace)
