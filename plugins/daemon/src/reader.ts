import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type KernelPort, TokenBuckets, type UnitView } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { AnonymousAccess } from './access.ts'
import { type DaemonConnection, newConnection } from './connection.ts'
import { Driver, type DriverHost, type DriverSettings, tooManyConnections } from './driver.ts'
import type { DaemonHub, HubOwner } from './hub.ts'
import { LimitedLog } from './limited-log.ts'
import type { MethodTable } from './methods.ts'

/** Limit for wrong tokens from one address. */
const MAX_WRONG_TOKENS_PER_MINUTE = 60
/** Poll interval for running calls, in milliseconds. */
const QUIESCE_STEP_MS = 10

export interface ReaderOptions {
  readonly port: Pick<KernelPort, 'version' | 'current'>
  readonly settings: DriverSettings & { readonly max_buffered_bytes: number; readonly max_connections: number }
  readonly anonymous: AnonymousAccess
  readonly tokens: readonly string[]
  readonly log: Logger
  onStdioEnd(): void
}

/** Reads the connections of a hub for one unit, from the flip in which the unit begins to serve. */
export class ConnectionReader implements HubOwner {
  readonly #hub: DaemonHub
  readonly #options: ReaderOptions
  readonly #log: LimitedLog
  readonly #drivers = new Map<DaemonConnection, Driver>()
  readonly #wrongTokens = new TokenBuckets(MAX_WRONG_TOKENS_PER_MINUTE)
  #host: DriverHost | null = null
  #quiet = false

  constructor(hub: DaemonHub, options: ReaderOptions) {
    this.#hub = hub
    this.#options = options
    this.#log = new LimitedLog(options.log)
  }

  /**
   * Runs in each flip: installs the methods of the generation. In the first flip of the unit, also takes over the
   * connections.
   */
  serve(methods: MethodTable, unit: UnitView): void {
    const { port, settings, anonymous, tokens } = this.#options
    this.#host = {
      port,
      unit,
      methods,
      settings,
      anonymous,
      tokens,
      maxBufferedBytes: settings.max_buffered_bytes,
      serving: () => !this.#quiet && port.current.units.has(unit.name),
      countWrongToken: address => {
        this.#log.warn('a client sent a wrong token', { address })
        return this.#wrongTokens.take(address)
      },
      onClose: this.#onClose
    }
    if (this.#hub.owner === this) return
    this.#hub.owner?.detach()
    this.#hub.owner = this
    this.#hub.server?.removeAllListeners('connection').on('connection', this.#onSocket)
    for (const connection of this.#hub.connections) this.#drive(connection)
    for (const socket of this.#hub.arrived.splice(0)) this.#onSocket(socket)
  }

  detach(): void {
    this.#hub.server?.off('connection', this.#onSocket)
    for (const driver of this.#drivers.values()) driver.detach()
    this.#drivers.clear()
  }

  /** Rejects new requests. Resolves when running calls have ended, or at the time limit. */
  async quiesce(milliseconds: number): Promise<void> {
    this.#quiet = true
    for (const driver of this.#drivers.values()) driver.rejectWaiting()
    const deadline = Date.now() + milliseconds
    const busy = (): boolean => [...this.#hub.connections].some(connection => connection.inFlight > 0)
    while (busy() && Date.now() < deadline) await delay(QUIESCE_STEP_MS)
  }

  readonly #onSocket = (socket: Socket): void => {
    if (!this.#hasRoom()) {
      const { max_connections } = this.#options.settings
      this.#log.warn('a connection was refused, because all connections are busy', { max_connections })
      socket.on('error', () => undefined).end(`${tooManyConnections('all of them are busy')}\n`, () => socket.destroy())
      return
    }
    const connection = newConnection(socket, socket)
    this.#hub.connections.add(connection)
    this.#drive(connection)
  }

  /**
   * Returns true if a connection can be accepted. At the limit, closes the connection with the longest idle time. False
   * if none is idle.
   */
  #hasRoom(): boolean {
    const open = [...this.#drivers.keys()].filter(({ output }) => !output.writableEnded)
    if (open.length < this.#options.settings.max_connections) return true
    const idle = open.filter(({ inFlight, waiting }) => inFlight === 0 && waiting.length === 0)
    // Any user of the machine can open connections, so authenticated ones are closed last.
    const anonymous = idle.filter(({ tokenDigest }) => tokenDigest === null)
    const [first, ...others] = anonymous.length > 0 ? anonymous : idle
    if (first === undefined) return false
    const longest = others.reduce((found, each) => (each.activeAt < found.activeAt ? each : found), first)
    const idleMs = Math.round(performance.now() - longest.activeAt)
    const { max_connections } = this.#options.settings
    this.#log.warn('an idle connection was closed for a new one', { max_connections, idle_ms: idleMs })
    this.#drivers.get(longest)?.makeRoom()
    return true
  }

  #drive(connection: DaemonConnection): void {
    const driver = new Driver(connection, () => this.#current())
    this.#drivers.set(connection, driver)
    driver.attach()
  }

  readonly #onClose = (connection: DaemonConnection): void => {
    this.#drivers.get(connection)?.detach()
    this.#drivers.delete(connection)
    this.#hub.connections.delete(connection)
    if (this.#hub.server === null) this.#options.onStdioEnd()
  }

  #current(): DriverHost {
    if (this.#host === null) throw new Error('a connection was read before the first generation')
    return this.#host
  }
}
