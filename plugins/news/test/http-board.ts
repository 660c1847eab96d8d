import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { NewsChannel } from '@svc/contracts'

/** HTTP service that adds a post for each request, whatever its key, and can be searched by key. */
export class HttpBoard {
  readonly posts: string[] = []
  /** Called after a post is added, and after it is answered. */
  at: (step: 'added' | 'answered') => void = () => {}
  readonly #server = createServer((request, response) => {
    // A request of a killed process ends early.
    this.#answer(request, response).catch(() => response.destroy())
  })

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://localhost')
    const key = url.searchParams.get('key') ?? ''
    if (request.method === 'GET') {
      const index = this.posts.indexOf(key)
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: index === -1 ? null : index }))
      return
    }
    for await (const _ of request);
    this.posts.push(key)
    this.at('added')
    response.on('finish', () => this.at('answered'))
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: this.posts.length - 1 }))
  }
}

/** Channel for the service. It is not idempotent, so that only the checkpoints and the search prevent a second post. */
export function httpBoardChannel(base: string): NewsChannel {
  return {
    name: 'board',
    summary: 'A board',
    live: true,
    options: { type: 'object', additionalProperties: false, properties: {} },
    retry: 'standard',
    problem: async () => null,
    preview: async () => [],
    async send(_post, { http, attemptKey, checkpoint, mayExist, saveCheckpoint }) {
      const url = `${base}/posts?key=${attemptKey}`
      if (mayExist && checkpoint !== null) {
        const { id } = (await http.send({ method: 'GET', url })).json() as { readonly id: number | null }
        if (id !== null) return { externalId: String(id) }
      }
      await saveCheckpoint({ intent: true })
      const { id } = (await http.send({ method: 'POST', url, body: '{}' })).json() as { readonly id: number }
      return { externalId: String(id) }
    }
  }
}
