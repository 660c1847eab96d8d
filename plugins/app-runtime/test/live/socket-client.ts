import { once } from 'node:events'
import { WebSocket } from 'ws'

export type Message = Readonly<Record<string, unknown>>

/** A websocket whose messages are read one after the other. */
export class SocketClient {
  readonly socket: WebSocket
  readonly #messages: Message[] = []
  #wake: (() => void) | null = null

  constructor(url: string, options: ConstructorParameters<typeof WebSocket>[2] = {}) {
    this.socket = new WebSocket(url.replace('http:', 'ws:'), options)
    this.socket.on('message', data => {
      this.#messages.push(JSON.parse(String(data)) as Message)
      this.#wake?.()
    })
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
  }

  async next(): Promise<Message> {
    while (this.#messages.length === 0) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    return this.#messages.shift() as Message
  }

  /** Returns the next message that satisfies a condition. */
  async until(condition: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const message = await this.next()
      if (condition(message)) return message
    }
  }

  close(): void {
    this.socket.close()
  }
}

export async function connect(
  url: string,
  options: ConstructorParameters<typeof WebSocket>[2] = {}
): Promise<SocketClient> {
  const client = new SocketClient(url, options)
  await once(client.socket, 'open')
  return client
}
