import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { resetConnection } from '../reset-connection.ts'

/** `up`: from clients to the server. */
export type Direction = 'up' | 'down'

interface Link {
  readonly sockets: readonly [Socket, Socket]
  /** True after bytes were discarded: the connection cannot be used any more. */
  isLossy: boolean
}

/**
 * TCP proxy on 127.0.0.1 with the faults of a network: connections are cut; bytes are late, wait until the network heals,
 * or are discarded, in one direction or both. Connections are accepted meanwhile, as if packets were lost.
 */
export class FaultyProxy {
  /** Port of the server; it may change when the server starts again. */
  target: number
  readonly #server: Server
  readonly #links = new Set<Link>()
  readonly #held = new Set<Direction>()
  readonly #dropped = new Set<Direction>()
  readonly #waiting: (() => void)[] = []
  #delayMs = 0

  private constructor(server: Server, target: number) {
    this.#server = server
    this.target = target
  }

  static async open(target: number): Promise<FaultyProxy> {
    const server = createServer({ allowHalfOpen: true })
    const proxy = new FaultyProxy(server, target)
    server.on('connection', client => proxy.#serve(client))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Whether an open connection has lost bytes. */
  get isLossy(): boolean {
    return [...this.#links].some(({ isLossy }) => isLossy)
  }

  /** Forwards each piece this much later. */
  delay(milliseconds: number): void {
    this.#delayMs = milliseconds
  }

  /** Keeps the bytes of a direction back until {@link heal}. Then they arrive, unless the connection was cut. */
  hold(direction: Direction): void {
    this.#held.add(direction)
  }

  /** Discards the bytes of a direction until {@link heal}, which resets the connections that lost some. */
  drop(direction: Direction): void {
    this.#dropped.add(direction)
  }

  /** Resets all connections. */
  cut(): void {
    for (const { sockets } of this.#links) for (const socket of sockets) resetConnection(socket)
  }

  /** Ends all faults. */
  heal(): void {
    this.#delayMs = 0
    this.#held.clear()
    this.#dropped.clear()
    for (const { sockets, isLossy } of this.#links) if (isLossy) for (const socket of sockets) resetConnection(socket)
    for (const resume of this.#waiting.splice(0)) resume()
  }

  /** Has one fault at random, for at most `maxMs` milliseconds. */
  async disturb(random: () => number, maxMs: number): Promise<void> {
    const choice = random()
    const direction = random() < 0.5 ? 'up' : 'down'
    const milliseconds = Math.ceil(random() * maxMs)
    if (choice < 0.25) this.cut()
    else {
      if (choice < 0.5) this.drop(direction)
      else if (choice < 0.7) this.hold(direction)
      else if (choice < 0.85) {
        this.drop('up')
        this.drop('down')
      } else this.delay(random() * 20)
      await sleep(milliseconds)
      // Held bytes arrive late, or never.
      if (random() < 0.3) this.cut()
      this.heal()
    }
  }

  async close(): Promise<void> {
    this.cut()
    this.heal()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #serve(client: Socket): void {
    const upstream = connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true })
    const link: Link = { sockets: [client, upstream], isLossy: false }
    this.#links.add(link)
    for (const socket of link.sockets) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        if (client.destroyed && upstream.destroyed) this.#links.delete(link)
      })
    }
    void this.#forward(link, 'up')
    void this.#forward(link, 'down')
  }

  async #forward(link: Link, direction: Direction): Promise<void> {
    const [from, to] = direction === 'up' ? link.sockets : [link.sockets[1], link.sockets[0]]
    try {
      for await (const piece of from.iterator({ destroyOnReturn: false })) {
        if (this.#delayMs > 0) await sleep(this.#delayMs)
        while (this.#held.has(direction)) await new Promise<void>(resolve => this.#waiting.push(resolve))
        if (this.#dropped.has(direction)) link.isLossy = true
        else if (to.destroyed) throw new Error('the other side has ended')
        else if (!to.write(piece)) await Promise.race([once(to, 'drain'), once(to, 'close')])
      }
      if (!link.isLossy) to.end()
    } catch {
      // One side was reset.
      for (const socket of link.sockets) socket.destroy()
    }
  }
}
