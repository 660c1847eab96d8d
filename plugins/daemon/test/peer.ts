import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Line-based test client of the daemon. */
export class Peer {
  readonly socket: Socket
  readonly #lines: unknown[] = []
  readonly #rest: string[] = []
  #wake: (() => void) | undefined
  #ended = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      const lines = chunk.split('\n')
      if (lines.length > 1) lines[0] = this.#rest.splice(0).join('') + lines[0]
      this.#rest.push(lines.pop() as string)
      this.#lines.push(...lines.filter(line => line !== '').map(line => JSON.parse(line)))
      this.#wake?.()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => this.#finish())
    socket.on('end', () => this.#finish())
  }

  static async open(address: string): Promise<Peer> {
    const at = address.lastIndexOf(':')
    const socket = address.startsWith('/')
      ? connect(address)
      : connect({ host: address.slice(0, at), port: Number(address.slice(at + 1)), allowHalfOpen: true })
    await once(socket, 'connect')
    return new Peer(socket)
  }

  send(...frames: unknown[]): void {
    for (const frame of frames) this.raw(`${JSON.stringify(frame)}\n`)
  }

  raw(bytes: string | Buffer): void {
    this.socket.write(bytes)
  }

  /** Resolves to the next line. Rejects if the connection ends first. */
  async next(): Promise<any> {
    while (this.#lines.length === 0) {
      if (this.#ended) throw new Error('the connection ended')
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    return this.#lines.shift()
  }

  async take(count: number): Promise<any[]> {
    const lines = []
    for (let index = 0; index < count; index++) lines.push(await this.next())
    return lines
  }

  /** Sends a request and resolves to its response. No other request may be pending. */
  async ask(frame: unknown): Promise<any> {
    this.send(frame)
    return this.next()
  }

  /** Resolves when the daemon has closed the connection. */
  async closed(): Promise<void> {
    while (!this.#ended) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  close(): void {
    this.socket.destroy()
  }

  #finish(): void {
    this.#ended = true
    this.#wake?.()
  }
}
