import type { ConnectThread } from '@svc/contracts'
import { FileConnection, type ThreadPlace } from './file-connection.ts'

/** Entry point of `ThreadAccess.module`. */
export const connect: ConnectThread = (options, waitMs, guard) => {
  const place = options as ThreadPlace
  return new FileConnection(waitMs === undefined ? place : { ...place, busyTimeoutMs: waitMs }, guard)
}
