import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { WebSocket } from 'ws'
import { Unavailable } from '../ledger.ts'
import type { SvcNode } from '../svc-node.ts'
import { SVC } from '../svc-node.ts'
import { openWebSocket } from './live.ts'
import type { Load, LoadContext } from './load.ts'
import { pause } from './load.ts'

const NAME = 'console'
const WATCHED = [
  'observability.requests.feed',
  'observability.logs.feed',
  'orchestrator.tasks.feed',
  'orchestrator.agents.feed',
  'orchestrator.summary'
]
const MAX_TRIES = 4
/** A page stays open for so long. */
const PAGE_MS = 120_000

interface Session {
  readonly cookie: string
  readonly token: string
}

/** Signs in, loads the page with its files, and follows what open pages follow. */
export function consolePages(context: LoadContext): Load {
  const { ledger, signal } = context
  const follow = async (node: SvcNode): Promise<void> => {
    let session: Session | undefined
    while (!signal.aborted) {
      session ??= await ledger.attempt(NAME, node.name, () => signIn(node))
      const known = session
      if (known !== undefined)
        await ledger.attempt(NAME, node.name, async () => {
          if (await visit(node, known, signal)) return
          session = undefined
          throw new Unavailable('the session of the console has ended')
        })
      await pause(5_000, signal)
    }
  }
  return { name: NAME, run: async () => void (await Promise.all(context.nodes.map(follow))) }
}

async function signIn(node: SvcNode): Promise<Session> {
  let printed = ''
  for (let tries = 1; printed === ''; tries++)
    try {
      const argv = [SVC, 'dashboard', '--print', '--json']
      printed = (await promisify(execFile)(process.execPath, argv, { cwd: node.folder, env: node.env })).stdout
    } catch (error) {
      // The command waits two seconds for the server, which may be short on a busy machine.
      if (tries === MAX_TRIES) throw new Unavailable(String(error))
      await pause(5_000)
    }
  const code = /#code=(.+)$/.exec(JSON.parse(printed).url)?.[1]
  const answer = await node.client.request(`${node.http}/ui/api/session`, { method: 'POST', body: { code } })
  const cookie = (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] as string
  return { cookie, token: JSON.parse(answer.text).token }
}

/** Returns false if the session has ended. */
async function visit(node: SvcNode, { cookie, token }: Session, signal: AbortSignal): Promise<boolean> {
  const page = await node.client.request(`${node.http}/`)
  const files = [...page.text.matchAll(/"(\/ui\/assets\/[^"]+)"/g)].map(match => match[1])
  if (files.length === 0) throw new Error('the page of the console names no files')
  for (const file of files) await node.client.request(`${node.http}${file}`)
  const headers = { cookie, origin: node.http, 'x-svc-token': token }
  const state = await node.client.request(`${node.http}/ui/api/console`, { headers, expect: [401] })
  if (state.status === 401) return false
  const socket = await openWebSocket(`${node.http.replace('http', 'ws')}/ui/stream`, { cookie, origin: node.http })
  try {
    await watch(socket, token, signal)
  } finally {
    socket.terminate()
  }
  return true
}

/** Follows operations until the page closes. A reload of the console closes it with 1012, as pages expect. */
async function watch(socket: WebSocket, token: string, signal: AbortSignal): Promise<void> {
  let frames = 0
  let closed: number | undefined
  let refusal: string | undefined
  socket.on('close', code => {
    closed = code
  })
  socket.on('message', data => {
    frames += 1
    const { t, id, seq, error } = JSON.parse(String(data))
    if (t === 'data') socket.send(JSON.stringify({ t: 'ack', id, seq }))
    if (t === 'ready')
      for (const [index, operation] of WATCHED.entries())
        socket.send(JSON.stringify({ t: 'sub', id: index + 1, operation, input: {} }))
    if (t === 'error') refusal = JSON.stringify(error)
  })
  socket.send(JSON.stringify({ t: 'hello', token }))
  const until = Date.now() + PAGE_MS
  while (closed === undefined && refusal === undefined && Date.now() < until && !signal.aborted)
    await pause(500, signal)
  if (refusal !== undefined) throw new Unavailable(`the stream refused a subscription: ${refusal}`)
  if (closed !== undefined && ![1001, 1012].includes(closed))
    throw new Unavailable(`the stream was closed with ${closed}`)
  if (frames === 0 && closed === undefined && !signal.aborted) throw new Unavailable('the stream sent nothing')
}
