import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface Seen {
  readonly method: string | undefined
  readonly path: string
  readonly authorization: string | undefined
  readonly type: string | undefined
  readonly body: string
}

export type Reply = (response: ServerResponse, path: string) => void

export interface FreeServer {
  readonly url: string
  readonly seen: Seen[]
  reply: Reply
  /** Requests whose client left before the end of the answer. */
  left: number
}

/** Starts a server on a real socket that answers every request with `reply`. */
export async function freeServer(t: Test, reply: Reply): Promise<FreeServer> {
  const state: FreeServer = { url: '', seen: [], reply, left: 0 }
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const { method, url: path = '', headers } = request
    const { authorization, 'content-type': type } = headers
    state.seen.push({ method, path, authorization, type, body: await text(request) })
    response.on('close', () => {
      if (!response.writableFinished) state.left += 1
    })
    state.reply(response, path)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
  return Object.assign(state, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

/** Answers like a local server. `generate` writes the answer to `POST /api/generate`. */
export function local(generate: (response: ServerResponse) => void, model = 'toy'): Reply {
  return (response, path) => {
    if (path === '/api/version') response.end('{"version":"0.12.0"}')
    else if (path === '/api/tags') response.end(JSON.stringify({ models: [{ name: model, model }] }))
    else if (path === '/api/generate') generate(response)
    else response.writeHead(404).end('{"error":"not found"}')
  }
}

export function lines(...rows: readonly object[]): string {
  return rows.map(row => `${JSON.stringify({ model: 'toy', ...row })}\n`).join('')
}

/** Answer of Pollinations, as `chat.completion` objects are declared in @pollinations/sdk 5.0.0 (dist/index.d.ts). */
export function completion(content: unknown): string {
  return JSON.stringify({
    id: 'pllns_1',
    object: 'chat.completion',
    created: 1,
    model: 'openai',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  })
}
