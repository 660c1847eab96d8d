import { connect, type Socket } from 'node:net'
import { isTyped } from '../http-client.ts'
import { Refusal, Unavailable } from '../ledger.ts'
import type { SvcNode } from '../svc-node.ts'
import { openWebSocket } from './live.ts'
import type { Load, LoadContext } from './load.ts'
import { pause, repeat } from './load.ts'

const NAME = 'broken clients'
/** A connection with half a request stays open for so long, which is more than the server allows. */
const HALF_OPEN_MS = 75_000
const OVERSIZE_BYTES = 2 * 1024 * 1024

type Breakage = (node: SvcNode) => Promise<Refusal>

/** Sends what broken and hostile clients send. Each must be refused with a typed error or a closed connection. */
export function brokenClients(context: LoadContext): Load {
  const held = new Set<Socket>()
  const expectStatus = async (
    node: SvcNode,
    url: string,
    body: string,
    statuses: readonly number[]
  ): Promise<Refusal> => {
    const answer = await node.client.request(url, { method: 'POST', body, expect: statuses })
    if (answer.status < 400) throw new Error(`${url}: accepted ${body.slice(0, 60)}`)
    if (!isTyped(answer.text)) throw new Error(`${url}: ${answer.status} without a code: ${answer.text.slice(0, 200)}`)
    return new Refusal(answer.status)
  }
  const breakages: readonly Breakage[] = [
    node => expectStatus(node, `${node.http}/api/orchestrator/tasks`, '{"description": ', [400]),
    node => expectStatus(node, `${node.http}/api/orchestrator/tasks`, '{"a":1,"a":2}', [400]),
    node => expectStatus(node, `${node.app}/api/mutation/add_note`, '{"key": 5}', [400]),
    node => expectStatus(node, `${node.model}/v1/chat/completions`, '{"messages": "none"}', [400, 422]),
    node => expectStatus(node, `${node.http}/api/orchestrator/tasks`, `"${'x'.repeat(OVERSIZE_BYTES)}"`, [413]),
    // The client goes away in the middle of a body.
    async node => {
      const socket = await openSocket(node.ports.app)
      socket.write(`POST /api/mutation/add_note HTTP/1.1\r\nhost: 127.0.0.1:${node.ports.app}\r\n`)
      socket.write('content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"key":')
      await pause(100)
      socket.resetAndDestroy()
      return new Refusal(0)
    },
    // Half a request, and then nothing: the server must close the connection.
    async node => {
      const socket = await openSocket(node.ports.http)
      held.add(socket)
      socket.on('close', () => held.delete(socket))
      socket.write(`GET /health HTTP/1.1\r\nhost: 127.0.0.1:${node.ports.http}\r\nx-half: `)
      const timer = setTimeout(() => socket.destroy(), HALF_OPEN_MS)
      socket.on('close', () => clearTimeout(timer))
      return new Refusal(0)
    },
    async node => {
      const socket = await openSocket(node.ports.http)
      socket.write('\u0016\u0003\u0001\u0000\u0005hello\r\n\r\n')
      await closed(socket)
      return new Refusal(0)
    },
    async node => {
      const socket = await openSocket(node.ports.daemon)
      socket.write('GET / HTTP/1.1\r\n\r\n')
      await closed(socket)
      return new Refusal(0)
    },
    async node => {
      const socket = await openSocket(node.ports.daemon)
      socket.on('data', () => socket.destroy())
      socket.write('{"jsonrpc":"2.0","id":1,"method":\n')
      await closed(socket)
      return new Refusal(0)
    },
    async node => {
      const socket = await openWebSocket(`${node.app.replace('http', 'ws')}/api/live`)
      const answered = new Promise<void>(resolve => {
        socket.on('message', () => resolve())
        socket.on('close', () => resolve())
      })
      socket.send('{"watch": ')
      await Promise.race([answered, pause(30_000)])
      socket.terminate()
      return new Refusal(0)
    },
    // A client that aborts a stream of a model.
    async node => {
      const end = new AbortController()
      const body = JSON.stringify({ messages: [{ role: 'user', content: 'count' }], max_tokens: 64, stream: true })
      try {
        const options = { method: 'POST', body, headers: { 'content-type': 'application/json' }, signal: end.signal }
        const response = await fetch(`${node.model}/v1/chat/completions`, options)
        if (response.status !== 200) throw new Unavailable(`${response.status} ${await response.text()}`)
        await response.body?.getReader().read()
      } catch (error) {
        throw error instanceof Unavailable ? error : new Unavailable(String(error))
      } finally {
        end.abort()
      }
      return new Refusal(0)
    }
  ]
  return {
    name: NAME,
    async run() {
      await repeat(context, 2_500, (node, count) =>
        context.ledger.attempt(NAME, node.name, () => (breakages[count % breakages.length] as Breakage)(node))
      )
      for (const socket of held) socket.destroy()
    }
  }
}

async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', error => reject(new Unavailable(error.message)))
  })
  socket.on('error', () => {})
  return socket
}

/** Resolves once the server has closed the connection. */
async function closed(socket: Socket): Promise<void> {
  socket.resume()
  const isClosed = await Promise.race([
    new Promise<boolean>(resolve => socket.once('close', () => resolve(true))),
    pause(30_000).then(() => false)
  ])
  socket.destroy()
  if (!isClosed) throw new Unavailable('the server did not close a connection with an invalid request')
}
