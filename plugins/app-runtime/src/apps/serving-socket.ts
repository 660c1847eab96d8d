import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownIdentity, type ProcessIdentity } from '@svc/contracts'
import { defined, isSvcError, type Logger } from '@svc/plugin-sdk'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'

/** A process that serves programs of a project, as its file in the data folder of the plugin says. */
export interface ServingProcess extends ProcessIdentity {
  /** Unix milliseconds. */
  readonly since: number
  /** Path of a unix socket, or of a named pipe. */
  readonly socket: string
  /** Only the user of the process can read it. */
  readonly token: string
}

/** A request to a serving process: one line of JSON. The answer is one, too. */
export interface SocketRequest {
  readonly token: string
  readonly operation: string
  readonly input: unknown
}

export interface SocketAnswer {
  readonly result?: unknown
  readonly error?: SentError
}

export interface SentError {
  readonly code: string
  readonly status: number
  readonly message: string
  readonly hint?: string
  readonly data?: unknown
}

/** First part of the name of the folder of a socket. */
export const SOCKET_FOLDER_PREFIX = 'svc-app-'
/** Maximum characters of a request. */
const MAX_REQUEST = 4 * 2 ** 20
/** Time limit for a client to send its request, in milliseconds. */
const REQUEST_MS = 10_000

export interface ServingSocketOptions {
  /** Folder of the files of serving processes. */
  readonly folder: string
  readonly log: Logger
  /** Runs an operation on served programs. Throws for other operations. */
  readonly perform: (operation: string, input: unknown, signal: AbortSignal) => Promise<unknown>
}

/**
 * Answers the operations on served programs for commands in other processes of this user. Not a port, which web pages and
 * other users could reach. Returns a function that ends it.
 */
export async function openServingSocket({ folder, log, perform }: ServingSocketOptions): Promise<() => Promise<void>> {
  const own = await mkdtemp(join(tmpdir(), SOCKET_FOLDER_PREFIX))
  const socket =
    process.platform === 'win32' ? `\\\\.\\pipe\\${SOCKET_FOLDER_PREFIX}${randomUUID()}` : join(own, 'socket')
  const token = randomBytes(32).toString('base64url')
  const clients = new Set<Socket>()
  const server = createServer(client => {
    clients.add(client)
    client.once('close', () => clients.delete(client))
    client.on('error', () => client.destroy())
    client.setTimeout(REQUEST_MS, () => client.destroy())
    void answer(client, token, perform)
  })
  server.on('error', error => log.warn('the socket for commands on this program failed', { error }))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket, resolve)
  })
  makePrivateFolder(folder)
  const file = join(folder, `${process.pid}-${randomUUID()}.json`)
  const state: ServingProcess = { ...ownIdentity(), since: Date.now(), socket, token }
  await writeFile(`${file}.tmp`, JSON.stringify(state), { mode: 0o600 })
  await rename(`${file}.tmp`, file)
  return async () => {
    await rm(file, { force: true })
    for (const client of clients) client.destroy()
    await new Promise(resolve => server.close(resolve))
    await rm(own, { recursive: true, force: true })
  }
}

async function answer(client: Socket, token: string, perform: ServingSocketOptions['perform']): Promise<void> {
  const left = new AbortController()
  client.once('close', () => left.abort())
  let sent: SocketAnswer
  try {
    const request = JSON.parse(await firstLine(client)) as SocketRequest
    client.setTimeout(0)
    if (!isEqual(String(request.token), token)) {
      client.destroy()
      return
    }
    sent = { result: await perform(String(request.operation), request.input, left.signal) }
  } catch (error) {
    sent = { error: sentError(error) }
  }
  client.end(`${JSON.stringify(sent)}\n`)
}

async function firstLine(client: Socket): Promise<string> {
  let text = ''
  client.setEncoding('utf8')
  // The connection stays open for the answer.
  for await (const chunk of client.iterator({ destroyOnReturn: false })) {
    text += chunk
    const end = text.indexOf('\n')
    if (end >= 0) return text.slice(0, end)
    if (text.length > MAX_REQUEST) break
  }
  throw new Error('the request is not complete')
}

function isEqual(given: string, expected: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(given), hash(expected))
}

function sentError(error: unknown): SentError {
  if (!isSvcError(error)) return { code: 'APP_REQUEST_FAILED', status: 502, message: 'the serving process failed' }
  const { code, status, message, hint, data } = error
  return { code, status, message, ...defined({ hint, data }) }
}
