import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const POSTGRES = process.env.SVC_BENCH_POSTGRES ?? '/usr/lib/postgresql/15/bin'
const REDIS = process.env.SVC_BENCH_REDIS ?? 'redis-server'

export interface Server {
  readonly port: number
  readonly version: string
  stop(): Promise<void>
}

/** Starts a Redis server that syncs each change to disk before it responds. */
export async function startRedis(folder: string): Promise<Server> {
  mkdirSync(folder)
  const port = await freePort()
  const version = /v=(\S+)/.exec(execFileSync(REDIS, ['--version'], { encoding: 'utf8' }))?.[1] ?? ''
  const settings = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'yes', appendfsync: 'always' }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(REDIS, args, { stdio: 'ignore' })
  return serving(child, port, version)
}

/** Starts a PostgreSQL server with more memory. By default, it syncs each commit to disk before it responds. */
export async function startPostgres(folder: string): Promise<Server> {
  mkdirSync(folder)
  const user = otherUser()
  if (user !== null) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const options = { cwd: folder, stdio: 'ignore', ...user } as const
  execFileSync(
    join(POSTGRES, 'initdb'),
    ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C'],
    options
  )
  const port = await freePort()
  const version =
    execFileSync(join(POSTGRES, 'postgres'), ['--version'], { encoding: 'utf8' }).trim().split(' ')[2] ?? ''
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    fsync: 'on',
    synchronous_commit: 'on',
    shared_buffers: '256MB',
    max_wal_size: '2GB'
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(POSTGRES, 'postgres'), ['-D', data, ...args], options)
  return serving(child, port, version)
}

/** Returns another user if this process is root, because PostgreSQL refuses to run as root. */
function otherUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const id = (what: string): number => Number(execFileSync('id', [what, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

async function serving(child: ReturnType<typeof spawn>, port: number, version: string): Promise<Server> {
  const ended = once(child, 'exit')
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`)
    await sleep(50)
  }
  return {
    port,
    version,
    async stop() {
      child.kill('SIGINT')
      await ended
    }
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = createConnection(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
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
