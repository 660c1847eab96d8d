import { readdir, readFile, rm, rmdir, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { presenceOf } from '@svc/contracts'
import { defined, isSvcError, SvcError } from '@svc/plugin-sdk'
import { type ServingProcess, SOCKET_FOLDER_PREFIX, type SocketAnswer, type SocketRequest } from './serving-socket.ts'

/** An unfinished file of this age is of a process that was killed while it wrote it. */
const MAX_UNFINISHED_MS = 60_000

/** Result of an operation in another process. */
export interface Found {
  readonly result: unknown
}

/**
 * Runs an operation in the processes that serve programs of the project: in the one that serves the program, or in the newest
 * one. Returns null if none answers. Throws the error of the operation.
 */
export async function askServers(
  folder: string,
  operation: string,
  input: unknown,
  signal: AbortSignal
): Promise<Found | null> {
  let unknown: unknown = null
  for (const server of await runningServers(folder)) {
    try {
      // toestub-ignore(scaling/query-in-loop) - few processes serve one project
      const found = await askServer(server, operation, input, signal)
      if (found !== null) return found
    } catch (error) {
      if (!isSvcError(error, 'APP_UNKNOWN')) throw error
      unknown = error
    }
  }
  if (unknown !== null) throw unknown
  return null
}

/** Runs an operation in all processes that serve programs of the project, and returns the results of those that answer. */
export async function askAllServers(
  folder: string,
  operation: string,
  input: unknown,
  signal: AbortSignal
): Promise<unknown[]> {
  const servers = await runningServers(folder)
  const found = await Promise.all(servers.map(server => askServer(server, operation, input, signal)))
  return found.flatMap(each => (each === null ? [] : [each.result]))
}

/** Returns the processes that serve programs of the project, the newest first, and removes the files of ended ones. */
export async function runningServers(folder: string): Promise<ServingProcess[]> {
  const names = await readdir(folder).catch(() => [])
  const found: ServingProcess[] = []
  for (const name of names.filter(each => each.endsWith('.json'))) {
    const file = join(folder, name)
    const state = await readState(file)
    if (state === null) continue
    if (presenceOf(state) === 'dead') await removeEnded(file, state)
    else found.push(state)
  }
  for (const name of names.filter(each => each.endsWith('.tmp'))) await removeUnfinished(join(folder, name))
  return found.sort((a, b) => b.since - a.since)
}

async function removeEnded(file: string, { socket }: ServingProcess): Promise<void> {
  await rm(file, { force: true })
  const folder = dirname(socket)
  if (!basename(folder).startsWith(SOCKET_FOLDER_PREFIX)) return
  await rm(socket, { force: true })
  await rmdir(folder).catch(() => {})
}

async function removeUnfinished(file: string): Promise<void> {
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
  if (Date.now() - mtimeMs > MAX_UNFINISHED_MS) await rm(file, { force: true })
}

async function readState(file: string): Promise<ServingProcess | null> {
  try {
    const state = JSON.parse(await readFile(file, 'utf8')) as Partial<ServingProcess>
    const isComplete = [state.socket, state.token, state.host].every(each => typeof each === 'string')
    return isComplete && typeof state.pid === 'number' ? (state as ServingProcess) : null
  } catch {
    return null
  }
}

/** Runs an operation in a serving process. Returns null if it does not answer. Throws the error of the operation. */
async function askServer(
  { socket, token }: ServingProcess,
  operation: string,
  input: unknown,
  signal: AbortSignal
): Promise<Found | null> {
  const client = connect(socket)
  const leave = (): void => void client.destroy()
  signal.addEventListener('abort', leave, { once: true })
  let answer: SocketAnswer
  try {
    client.write(`${JSON.stringify({ token, operation, input } satisfies SocketRequest)}\n`)
    answer = JSON.parse(await text(client)) as SocketAnswer
  } catch {
    signal.throwIfAborted()
    return null
  } finally {
    signal.removeEventListener('abort', leave)
    client.destroy()
  }
  const { error, result } = answer
  if (error === undefined) return { result }
  const { code, status, message, hint, data } = error
  throw new SvcError(code, message, { status, ...defined({ hint, data }) })
}
