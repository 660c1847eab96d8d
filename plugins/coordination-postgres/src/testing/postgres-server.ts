import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freePort } from '../../../../test/free-port.ts'

const PROGRAMS = process.env.SVC_TEST_POSTGRES_BIN ?? '/usr/lib/postgresql/15/bin'
/** Data of a server that never ran, with the time of the version of `initdb` that made them. */
const KEPT = fileURLToPath(new URL('../../../../node_modules/.cache/svc-postgres', import.meta.url))
const USER = 'svc'
const PASSWORD = 'a secret: %/@?#'

/**
 * Reason to skip the tests of this file; false if PostgreSQL is installed. With `SVC_TEST_POSTGRES=required`, the tests
 * fail instead of being skipped.
 */
export const noPostgres: string | false =
  existsSync(join(PROGRAMS, 'initdb')) || process.env.SVC_TEST_POSTGRES === 'required'
    ? false
    : `PostgreSQL is not installed in ${PROGRAMS}`

/** A PostgreSQL server for tests, with its own folder, port and password. It syncs each commit to disk. */
export class PostgresServer {
  readonly port: number
  readonly #folder: string
  readonly #settings: Readonly<Record<string, string>>
  #process: ChildProcess | null = null

  private constructor(folder: string, port: number, settings: Readonly<Record<string, string>> = {}) {
    this.#folder = folder
    this.#settings = settings
    this.port = port
  }

  static async start(
    settings: Readonly<Record<string, string>> = {},
    tls?: { readonly certificate: string; readonly key: string }
  ): Promise<PostgresServer> {
    const folder = makeFolder()
    initialize(folder)
    const server = new PostgresServer(folder, await freePort(), { ...settings, ...enableTls(folder, tls) })
    await server.up()
    return server
  }

  /** Copies a running server as its standby, with streaming replication. */
  static async standbyOf(primary: PostgresServer): Promise<PostgresServer> {
    const folder = makeFolder()
    const data = join(folder, 'data')
    run('pg_basebackup', ['-D', data, '-d', primary.#source(), '-R', '-c', 'fast', '--no-sync'])
    const server = new PostgresServer(folder, await freePort())
    await server.up()
    return server
  }

  /** URL with the password, of a database of this server. */
  url(database = 'postgres'): string {
    return `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.port}/${database}`
  }

  /** URL that leads through a proxy. */
  urlThrough(port: number, database = 'postgres'): string {
    return this.url(database).replace(`:${this.port}/`, `:${port}/`)
  }

  get password(): string {
    return PASSWORD
  }

  /** Starts the server again, after {@link stop} or {@link kill}. Resolves when it accepts connections. */
  async up(): Promise<void> {
    const all = {
      port: this.port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: this.#folder,
      wal_level: 'replica',
      max_wal_senders: '4',
      shared_buffers: '32MB',
      logging_collector: 'off',
      ...this.#settings
    }
    const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const data = join(this.#folder, 'data')
    this.#process = spawn(join(PROGRAMS, 'postgres'), ['-D', data, ...args], { stdio: 'ignore', ...otherUser() })
    const child = this.#process
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the server ended with ${child.exitCode ?? child.signalCode}`)
      try {
        await this.query('select 1')
        return
      } catch {
        await sleep(50)
      }
    }
  }

  /** Runs statements as the superuser. */
  async query(text: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.url(database))
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  /** Creates an empty database, or a copy of another one without connections. Returns its URL. */
  async createDatabase(template = 'template1'): Promise<string> {
    const name = `t${randomUUID().replaceAll('-', '')}`
    await this.query(`create database ${name} template ${template}`)
    return this.url(name)
  }

  /** Copies the data of the running server into a new folder, as a backup. Returns the folder. */
  backup(): string {
    const folder = join(makeFolder(), 'data')
    run('pg_basebackup', ['-D', folder, '-d', this.#source(), '-c', 'fast', '--no-sync'])
    return folder
  }

  /** Replaces all data by a backup, and starts the server. */
  async restore(backup: string): Promise<void> {
    await this.stop()
    const data = join(this.#folder, 'data')
    rmSync(data, { recursive: true })
    cpSync(backup, data, { recursive: true })
    ownAll(data)
    await this.up()
  }

  /** Deletes a backup. */
  forget(backup: string): void {
    rmSync(dirname(dirname(backup)), { recursive: true, force: true })
  }

  #source(): string {
    return `host=127.0.0.1 port=${this.port} user=${USER} password='${PASSWORD}'`
  }

  /** Ends all client connections, as an administrator or a crash of their processes would. */
  async killClients(): Promise<void> {
    await this.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'"
    )
  }

  #signal(signal: NodeJS.Signals): void {
    for (const pid of this.#pids())
      try {
        process.kill(pid, signal)
      } catch (error) {
        // A backend may have ended meanwhile.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
  }

  /** Process ids of the server and its backends. */
  #pids(): number[] {
    const pid = this.#process?.pid as number
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean)
    return [pid, ...children.map(Number)]
  }

  /** Stops all processes of the server without ending them. */
  pause(): void {
    this.#signal('SIGSTOP')
  }

  resume(): void {
    this.#signal('SIGCONT')
  }

  /** Ends the server without a shutdown checkpoint, as a crash would. */
  async crash(): Promise<void> {
    await this.#end('SIGQUIT')
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT')
  }

  /** Resolves when this standby has replayed all that its primary server has written. */
  async caughtUp(primary: PostgresServer): Promise<void> {
    const [row] = await primary.query('select pg_current_wal_lsn() as lsn')
    for (;;) {
      const [state] = await this.query(`select pg_last_wal_replay_lsn() >= '${row?.lsn}'::pg_lsn as done`)
      if (state?.done === true) return
      await sleep(20)
    }
  }

  /** Makes a standby the primary server. */
  async promote(): Promise<void> {
    await this.query('select pg_promote(true, 30)')
  }

  /** Stops the server and deletes its folder. */
  async remove(): Promise<void> {
    if (this.#process !== null) {
      if (this.#process.exitCode === null && this.#process.signalCode === null) this.resume()
      await this.#end('SIGINT')
    }
    rmSync(dirname(this.#folder), { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-postgres-'))
  chmodSync(folder, 0o755)
  const inner = join(folder, 'server')
  mkdirSync(inner, { mode: 0o700 })
  own(inner)
  return inner
}

/** Creates the data of a server. Copies those of an earlier test: `initdb` takes a second of CPU time. */
function initialize(folder: string): void {
  const data = join(folder, 'data')
  const kept = `${KEPT}-${statSync(join(PROGRAMS, 'initdb')).mtimeMs}`
  if (existsSync(kept)) {
    cpSync(kept, data, { recursive: true })
    chmodSync(data, 0o700)
    ownAll(data)
    return
  }
  const password = join(folder, 'password')
  writeFileSync(password, PASSWORD)
  own(password)
  const options = ['-U', USER, '-A', 'scram-sha-256', `--pwfile=${password}`, '-E', 'UTF8', '--locale=C', '--no-sync']
  run('initdb', ['-D', data, ...options])
  const copy = `${kept}.${randomUUID()}`
  cpSync(data, copy, { recursive: true })
  try {
    renameSync(copy, kept)
  } catch {
    // Another process was first.
    rmSync(copy, { recursive: true, force: true })
  }
}

function run(program: string, args: readonly string[]): void {
  execFileSync(join(PROGRAMS, program), args, { stdio: ['ignore', 'ignore', 'pipe'], ...otherUser() })
}

function own(path: string): void {
  const user = otherUser()
  if ('uid' in user) chownSync(path, user.uid, user.gid)
}

/** Copies a certificate to where the server may read it. Returns the settings that use it. */
function enableTls(
  folder: string,
  tls: { readonly certificate: string; readonly key: string } | undefined
): Readonly<Record<string, string>> {
  if (tls === undefined) return {}
  const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')]
  copyFileSync(tls.certificate, certificate)
  copyFileSync(tls.key, key)
  chmodSync(key, 0o600)
  own(certificate)
  own(key)
  return { ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key }
}

function ownAll(folder: string): void {
  const user = otherUser()
  if ('uid' in user) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, folder])
}

/** Another user if this process is root, because PostgreSQL refuses to run as root. */
function otherUser(): { uid: number; gid: number } | Record<string, never> {
  if (process.getuid?.() !== 0) return {}
  const id = (what: string): number => Number(execFileSync('id', [what, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
