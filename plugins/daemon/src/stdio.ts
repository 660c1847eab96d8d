import { reservedStdout } from '@svc/contracts'
import { newToken } from './access.ts'
import { newConnection } from './connection.ts'
import type { DaemonHub } from './hub.ts'

/** The one peer on the standard streams. From now on only protocol lines reach standard output. */
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
