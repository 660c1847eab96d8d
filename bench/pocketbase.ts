import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Running PocketBase with a public collection `books`. */
export interface PocketBase {
  readonly port: number
  readonly version: string
  /** Ids of the initial rows. */
  readonly ids: readonly string[]
  /** Calls a route below `/api/collections` as superuser. */
  ask(path: string, body: unknown): Promise<Record<string, string>>
  stop(): Promise<void>
}

const USER = { email: 'bench@example.org', password: 'a password for a moment' }
const COLLECTION = {
  name: 'books',
  type: 'base',
  listRule: '',
  viewRule: '',
  createRule: '',
  fields: [
    { name: 'title', type: 'text' },
    { name: 'author', type: 'text' },
    { name: 'year', type: 'number' }
  ],
  indexes: ['CREATE INDEX books_by_author ON books (author)']
}

/** Number of authors of the initial rows. */
export const AUTHORS = 50

/** Columns of an initial row; rows count from 1. */
export function bookOf(row: number): { readonly title: string; readonly author: string; readonly year: number } {
  return { title: `Title ${row}`, author: `Author ${row % AUTHORS}`, year: 1900 + (row % 100) }
}

/** Starts a PocketBase program (https://pocketbase.io) on a free port, with `rows` rows. */
export async function openPocketBase(program: string, folder: string, rows: number): Promise<PocketBase> {
  const reported = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim().split(' ').at(-1) ?? ''
  // Builds that are not releases do not report their version.
  const version = process.env.SVC_BENCH_POCKETBASE_VERSION ?? reported
  execFileSync(program, ['superuser', 'upsert', USER.email, USER.password, '--dir', folder], { stdio: 'ignore' })
  const port = await freePort()
  const child = spawn(program, ['serve', '--http', `127.0.0.1:${port}`, '--dir', folder], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  const ask = async (path: string, body: unknown, token = ''): Promise<Record<string, string>> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/collections${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: token },
      body: JSON.stringify(body)
    })
    if (!response.ok) throw new Error(`PocketBase: ${path} ${response.status}: ${await response.text()}`)
    return (await response.json()) as Record<string, string>
  }
  await answering(port)
  const { token } = await ask('/_superusers/auth-with-password', { identity: USER.email, password: USER.password })
  await ask('', COLLECTION, token)
  const ids: string[] = []
  for (let row = 1; row <= rows; row++) {
    const { id } = await ask('/books/records', bookOf(row))
    ids.push(id as string)
  }
  return {
    port,
    version,
    ids,
    ask: (path, body) => ask(path, body, token),
    async stop() {
      child.kill()
      await ended
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function answering(port: number): Promise<void> {
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/api/health`).catch(() => null)
    if (response?.ok) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
