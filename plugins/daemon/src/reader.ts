import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { AccessTokens, type KernelPort, TokenBuckets, type UnitView } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { AnonymousAccess } from './access.ts'
import { type DaemonConnection, newConnection } from './connection.ts'
import { Driver, type DriverHost, type DriverSettings } from './driver.ts'
import type { DaemonHub, HubOwner } from './hub.ts'
import { LimitedLog } from './limited-log.ts'
import type { MethodTable } from './methods.ts'

/** Limit for wrong tokens from one address. */
const MAX_WRONG_TOKENS_PER_MINUTE = 60
/** Maximum number of connections above the limit whose first line may prove that they have the token. */
const MAX_UNPROVEN = 16
/** Time limit for their first line, in milliseconds. */
const FIRST_LINE_MS = 5_000
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
  readonly #tokens: AccessTokens
  /** Connections above the limit that have not sent a request yet, in their order, with their time limits. */
  readonly #unproven = new Map<DaemonConnection, NodeJS.Timeout>()
  #host: DriverHost | null = null
  #quiet = false

  constructor(hub: DaemonHub, options: ReaderOptions) {
    this.#hub = hub
    this.#options = options
    this.#log = new LimitedLog(options.log)
    this.#tokens = new AccessTokens(options.tokens, new TokenBuckets(MAX_WRONG_TOKENS_PER_MINUTE))
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
      checkToken: (token, address) => {
        const check = this.#tokens.check(token ?? '', address)
        if (check.index === null && anonymous !== 'all') this.#log.warn('a client sent a wrong token', { address })
        return check
      },
      admits: connection => this.#admits(connection),
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
    for (const timer of this.#unproven.values()) clearTimeout(timer)
    this.#unproven.clear()
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
    const connection = newConnection(socket, socket)
    if (!this.#hasRoom(connection)) this.#addUnproven(connection)
    this.#hub.connections.add(connection)
    this.#drive(connection)
  }

  /**
   * Accepts a connection above the limit, since its first line may have the token. At most 16 of them wait; then the
   * oldest is refused.
   */
  #addUnproven(connection: DaemonConnection): void {
    const [oldest] = this.#unproven.keys()
    if (oldest !== undefined && this.#unproven.size >= MAX_UNPROVEN) this.#refuse(oldest)
    this.#unproven.set(connection, setTimeout(() => this.#refuse(connection), FIRST_LINE_MS).unref())
  }

  /** Returns true if a connection may run requests; above the limit, if it can take the place of another one. */
  #admits(connection: DaemonConnection): boolean {
    if (!this.#unproven.has(connection)) return true
    const admitted = this.#hasRoom(connection)
    if (!admitted) this.#logRefused()
    this.#forget(connection)
    return admitted
  }

  #refuse(connection: DaemonConnection): void {
    this.#forget(connection)
    this.#logRefused()
    this.#drivers.get(connection)?.makeRoom('all of them are busy')
  }

  #logRefused(): void {
    const { max_connections } = this.#options.settings
    this.#log.warn('a connection was refused, because all connections are busy', { max_connections })
  }

  #forget(connection: DaemonConnection): void {
    clearTimeout(this.#unproven.get(connection))
    this.#unproven.delete(connection)
  }

  /**
   * Returns true if there is room for a connection. At the limit, closes another one: the one with the longest idle time
   * of the first kind that has any. Any user of the machine can open connections, so none with a token is closed for one
   * without.
   */
  #hasRoom(newcomer: DaemonConnection): boolean {
    const { max_connections } = this.#options.settings
    const open = [...this.#drivers.keys()].filter(each => !each.output.writableEnded && !this.#unproven.has(each))
    if (open.length < max_connections) return true
    const anonymous = open.filter(each => !this.#isTrusted(each))
    const kinds = [anonymous.filter(isIdle), anonymous.filter(isStreaming)]
    if (this.#isTrusted(newcomer)) kinds.push(anonymous, open.filter(isIdle))
    const [first, ...others] = kinds.find(kind => kind.length > 0) ?? []
    if (first === undefined) return false
    const longest = others.reduce((found, each) => (each.activeAt < found.activeAt ? each : found), first)
    const idleMs = Math.round(performance.now() - longest.activeAt)
    this.#log.warn('a connection was closed for a new one', { max_connections, idle_ms: idleMs })
    this.#drivers.get(longest)?.makeRoom('this connection was closed for a new one')
    return true
  }

  /** True if the client has the token, or needs none. */
  #isTrusted({ tokenDigest }: DaemonConnection): boolean {
    return tokenDigest !== null || this.#options.anonymous === 'all'
  }

  #drive(connection: DaemonConnection): void {
    const driver = new Driver(connection, () => this.#current())
    this.#drivers.set(connection, driver)
    driver.attach()
  }

  readonly #onClose = (connection: DaemonConnection): void => {
    this.#drivers.get(connection)?.detach()
    this.#drivers.delete(connection)
    this.#forget(connection)
    this.#hub.connections.delete(connection)
    if (this.#hub.server === null) this.#options.onStdioEnd()
  }

  #current(): DriverHost {
    if (this.#host === null) throw new Error('a connection was read before the first generation')
    return this.#host
  }
}

function isIdle({ inFlight, waiting }: DaemonConnection): boolean {
  return inFlight === 0 && waiting.length === 0
}

/** True if all running calls only send events. */
function isStreaming({ inFlight, streams }: DaemonConnection): boolean {
  return inFlight === streams
}
