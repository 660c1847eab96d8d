import { chmod, unlink } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { newToken } from './access.ts'
import { type Address, formatAddress, SOCKET_SETTING, SOCKET_VARIABLE } from './address.ts'
import type { DaemonConnection } from './connection.ts'
import { daemonErrors } from './errors.ts'

/** Listening socket and connections, which outlive a reload. Contains only data; the serving unit attaches itself. */
export interface DaemonHub {
  /** Actual address, with the port that the system chose; `stdio` for standard streams. */
  readonly address: string
  /** Token of the daemon. It does not change on a reload. Clients read it from the state file. */
  readonly token: string
  /** Null for stdio. */
  readonly server: Server | null
  readonly connections: Set<DaemonConnection>
  /** Sockets that connected before the first unit served. */
  readonly arrived: Socket[]
  owner: HubOwner | null
}

export interface HubOwner {
  /** Stops reading, since another unit takes over the connections. */
  detach(): void
}

/** Opens the listening socket. Throws `DMN_PORT_IN_USE` or `DMN_LISTEN_FAILED`. */
export async function openHub(
  address: Exclude<Address, { kind: 'stdio' }>,
  maxConnections: number
): Promise<DaemonHub> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true, keepAlive: true })
  const arrived: Socket[] = []
  server.on('connection', socket => {
    if (arrived.push(socket) > maxConnections) arrived.shift()?.destroy()
  })
  await listen(server, address)
  if (address.kind === 'unix') await chmod(address.path, 0o600)
  const bound = server.address()
  const real =
    typeof bound === 'object' && bound !== null && address.kind === 'tcp' ? { ...address, port: bound.port } : address
  return { address: formatAddress(real), token: newToken(), server, connections: new Set(), arrived, owner: null }
}

/** Stops listening and closes all connections after flushing their output. */
export async function closeHub(hub: DaemonHub): Promise<void> {
  hub.owner?.detach()
  hub.owner = null
  const closed = new Promise(resolve => (hub.server === null ? resolve(undefined) : hub.server.close(resolve)))
  for (const socket of hub.arrived) socket.destroy()
  await Promise.all([...hub.connections].map(disconnect))
  await closed
}

/** Time limit for flushing the output of a connection, in milliseconds. */
const LAST_BYTES_MS = 1_000

async function disconnect({ input, output, calls }: DaemonConnection): Promise<void> {
  for (const controllers of calls.values()) for (const controller of controllers) controller.abort()
  input.on('error', () => undefined)
  output.on('error', () => undefined)
  let timer: NodeJS.Timeout | undefined
  await Promise.race([
    new Promise<void>(resolve => (output.writableEnded ? resolve() : output.end(resolve))),
    new Promise<void>(resolve => {
      timer = setTimeout(resolve, LAST_BYTES_MS)
    })
  ])
  clearTimeout(timer)
  input.destroy()
}

async function listen(server: Server, address: Exclude<Address, { kind: 'stdio' }>): Promise<void> {
  try {
    await bind(server, address)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE' && address.kind === 'unix' && !(await isListening(address.path))) {
      // No process listens: the socket file is left over from a process that ended.
      await unlink(address.path)
      await bind(server, address)
      return
    }
    throw code === 'EADDRINUSE' ? inUse(address, error as Error) : failed(address, error as Error)
  }
}

function bind(server: Server, address: Exclude<Address, { kind: 'stdio' }>): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    const done = (): void => {
      server.off('error', reject)
      resolve()
    }
    if (address.kind === 'unix') server.listen(address.path, done)
    else server.listen({ host: address.host, port: address.port, exclusive: true }, done)
  })
}

function isListening(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const probe = connect(path)
    probe.once('connect', () => resolve(true)).once('error', () => resolve(false))
    probe.once('connect', () => probe.destroy())
  })
}

function inUse(address: Address, cause: Error): Error {
  const where = formatAddress(address)
  return daemonErrors.create(
    'DMN_PORT_IN_USE',
    `another process already uses ${where}, which is the daemon's address in ${SOCKET_SETTING}`,
    {
      hint:
        'stop the other process (svc serve of another project?), or let the system choose a free port: ' +
        `socket = "127.0.0.1:0" under [plugins.daemon] in svc.toml, or ${SOCKET_VARIABLE}=127.0.0.1:0`,
      at: { path: 'plugins.daemon.socket' },
      cause
    }
  )
}

function failed(address: Address, cause: Error): Error {
  const where = formatAddress(address)
  return daemonErrors.create(
    'DMN_LISTEN_FAILED',
    `the daemon cannot listen at ${where} (${SOCKET_SETTING}): ${cause.message}`,
    {
      at: { path: 'plugins.daemon.socket' },
      cause
    }
  )
}
