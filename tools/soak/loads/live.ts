import { once } from 'node:events'
import { limitedSignal } from '@svc/plugin-sdk'
import { WebSocket } from 'ws'
import { Unavailable } from '../ledger.ts'
import type { SvcNode } from '../svc-node.ts'
import type { Load, LoadContext } from './load.ts'
import { pause, repeat } from './load.ts'
import type { Acknowledged } from './notes.ts'

const NAME = 'live queries'
/** Time for which an event stream is read. */
const READ_MS = 5_000
/** An acknowledged row that is not shown after so long is lost for the page. */
const MAX_DELAY_MS = 30_000

/** Follows a live query of each node over a websocket. Each acknowledged row must be shown. */
export function live(context: LoadContext, acks: Acknowledged): Load {
  const { ledger, signal } = context
  const follow = async (node: SvcNode): Promise<void> => {
    while (!signal.aborted) {
      let shown = ''
      let socket: WebSocket | undefined
      await ledger.attempt(NAME, node.name, async () => {
        socket = await openWebSocket(`${node.app.replace('http', 'ws')}/api/live`)
        socket.send('{"watch":1,"query":"latest"}')
        const opened = socket
        opened.on('message', data => {
          shown = String(data)
        })
        let isClosed = false
        opened.on('close', () => {
          isClosed = true
        })
        while (!signal.aborted && !isClosed) {
          await pause(2_000, signal)
          const { key, time } = acks.newest[node.name]
          if (isClosed || shown === '' || key === '' || Date.now() - time < 1_000) continue
          // Twenty rows are shown, so an older one is there as long as fewer than twenty follow.
          for (const until = time + MAX_DELAY_MS; !isClosed && !signal.aborted && !shown.includes(`"${key}"`); ) {
            if (Date.now() > until) throw new Unavailable(`the row ${key} was not shown within ${MAX_DELAY_MS} ms`)
            await pause(100)
          }
        }
      })
      socket?.terminate()
      await pause(1_000, signal)
    }
  }
  return { name: NAME, run: async () => void (await Promise.all(context.nodes.map(follow))) }
}

/** Opens event streams, reads them for some seconds, and drops them. */
export function eventStreams(context: LoadContext): Load {
  const { ledger, signal } = context
  const name = 'event streams'
  return {
    name,
    run: () =>
      repeat(context, 15_000, (node, count) =>
        ledger.attempt(name, node.name, async () => {
          const url = [`${node.http}/api/orchestrator/events/stream`, `${node.app}/api/live/notes`][count % 2] as string
          const end = limitedSignal(signal, READ_MS)
          try {
            const response = await fetch(url, { headers: { accept: 'text/event-stream' }, signal: end })
            if (response.status !== 200) throw new Unavailable(`${url}: ${response.status} ${await response.text()}`)
            for await (const _ of response.body as ReadableStream<Uint8Array>);
          } catch (error) {
            if (!end.aborted) throw error instanceof Unavailable ? error : new Unavailable(`${url}: ${String(error)}`)
          }
        })
      )
  }
}

/** Throws `Unavailable` if the handshake fails. */
export async function openWebSocket(url: string, headers: Readonly<Record<string, string>> = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers, handshakeTimeout: 60_000 })
  try {
    await once(socket, 'open')
  } catch (error) {
    throw new Unavailable(`${url}: ${error instanceof Error ? error.message : String(error)}`)
  }
  socket.on('error', () => {})
  return socket
}
