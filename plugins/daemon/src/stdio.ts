import { reservedStdout } from '@svc/contracts'
import { newToken } from './access.ts'
import { newConnection } from './connection.ts'
import type { DaemonHub } from './hub.ts'

/** Opens a connection on the standard streams. From now on, only protocol lines are written to standard output. */
export function openStdio(): DaemonHub {
  const connection = newConnection(process.stdin, reservedStdout())
  return {
    address: 'stdio',
    token: newToken(),
    server: null,
    connections: new Set([connection]),
    arrived: [],
    owner: null
  }
}
