import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** TCP proxy on 127.0.0.1 whose connections a test can cut or silence. */
export class TcpProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isMute = false

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(port: number): Promise<TcpProxy> {
    const server = createServer()
    const proxy = new TcpProxy(server)
    server.on('connection', client => {
      const upstream = connect(port, '127.0.0.1')
      for (const [socket, other] of [
        [client, upstream],
        [upstream, client]
      ] as const) {
        proxy.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => {
          proxy.#sockets.delete(socket)
          other.destroy()
        })
      }
      client.on('data', data => upstream.write(data))
      upstream.on('data', data => {
        if (!proxy.#isMute) client.write(data)
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  /** Discards responses from now on; requests still arrive. */
  mute(): void {
    this.#isMute = true
  }

  unmute(): void {
    this.#isMute = false
  }

  /** Resets all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
