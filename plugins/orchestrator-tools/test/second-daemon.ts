import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { DaemonState } from '@svc/contracts'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'

interface Teardown {
  teardown(run: () => unknown): unknown
}

export interface SecondDaemon {
  readonly state: DaemonState
  /** Folder of the daemon's project. */
  readonly root: string
  readonly child: ChildProcess
  kill(): Promise<void>
}

/** Starts a daemon of the same repository in another process. */
export async function secondDaemon(t: Teardown): Promise<SecondDaemon> {
  const child = spawn(process.execPath, [...CHILD_ARGUMENTS, join(import.meta.dirname, 'daemon-child.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  const ended = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  t.teardown(kill)
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(() => Promise.reject(new Error('the daemon ended during its start')))
  ])) as [string]
  const { root, ...state } = JSON.parse(line) as DaemonState & { readonly root: string }
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  return { state, root, child, kill }
}

export interface ScriptedPeer {
  readonly address: string
  /** Called methods, in order. */
  readonly methods: string[]
  close(): Promise<void>
}

/** Starts a peer with scripted results by method; `lost` closes the connection, `junk` sends invalid JSON. */
export async function scriptedPeer(t: Teardown, results: Readonly<Record<string, unknown>>): Promise<ScriptedPeer> {
  const methods: string[] = []
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    createInterface({ input: socket }).on('line', line => {
      const { id, method } = JSON.parse(line) as { id: string; method: string }
      methods.push(method)
      const result = results[method]
      if (result === 'lost') socket.destroy()
      else if (result === 'junk') socket.write('HTTP/1.1 400 Bad Request\n')
      else socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  t.teardown(close)
  const { port } = server.address() as { port: number }
  return { address: `127.0.0.1:${port}`, methods, close }
}
