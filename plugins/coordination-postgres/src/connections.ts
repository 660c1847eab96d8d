import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { coordinationErrors } from '@svc/contracts'
import { errorMessage, isSvcError, type Logger, raceAbort, settlesWithin, withTimeout } from '@svc/plugin-sdk'
import pg from 'pg'
import { type Effect, lost, toConnectFailure, toFailure } from './database-errors.ts'
import type { Host, ServerAddress } from './server-address.ts'
import { beginInstallation, finishInstallation, schemaDigest } from './sql/install.ts'

/** Time limit of a statement on the server. */
const STATEMENT_TIMEOUT_MS = 5_000
const LOCK_TIMEOUT_MS = 1_000
/** Time limit of a call, also if the server does not respond at all. */
const CALL_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2_000
/** Time limit of one attempt to connect, and of the wait for a free connection. */
const CONNECT_TIMEOUT_MS = 5_000
/** Time in which a call that was not sent yet tries to connect, so that a restart of the server is not noticed. */
const RECONNECT_MS = 3_000
const MIN_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 1_000
/** Time limit for the first connection, which installs the schema. */
const INSTALL_TIMEOUT_MS = 70_000
/** How often a call is repeated that had no effect. */
const MAX_REPEATS = 3
const IDLE_MS = 30_000
/** Time limit of an orderly end of all connections; then they are cut. */
const CLOSE_TIMEOUT_MS = 1_000
/** Time after which the system checks whether the peer of an idle connection is alive. */
const KEEP_ALIVE_MS = 30_000
const MIN_VERSION = 130_000
const POOL_BUSY = 'timeout exceeded when trying to connect'

export interface ConnectionsOptions {
  readonly address: ServerAddress
  /** Maximum connections for calls. */
  readonly connections: number
  readonly log: Logger
}

export interface Statement {
  readonly name: string
  readonly text: string
}

type Row = Readonly<Record<string, unknown>>

interface Server extends Host {
  readonly pool: pg.Pool
}

/** Numbers of 64 bits arrive as text. All numbers of the schema are below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser(oid, format) {
    if (oid === pg.types.builtins.INT8 && format !== 'binary') return toSafeInteger
    return pg.types.getTypeParser(oid, format)
  }
}

function toSafeInteger(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error(`the database returned ${text}, which is above 2^53`)
  return value
}

/**
 * Connections to the primary of several PostgreSQL servers.
 *
 * Each call is one statement in its own transaction: a process that stops holds no lock. A call is repeated only if it
 * certainly had no effect. Standbys, and servers with an older timeline than seen before, are refused.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #servers: readonly Server[]
  #current = 0
  #timeline = 0
  #closed = false
  #wasUsed = false
  /** Calls that have not ended. */
  readonly #calls = new Set<Promise<unknown>>()
  readonly #sockets = new Set<Socket>()
  readonly #socketOf = new WeakMap<pg.Client, Socket>()
  readonly #closing = new AbortController()

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.#servers = options.address.hosts.map(host => ({ ...host, pool: this.#openPool(host) }))
  }

  get location(): string {
    return this.#options.address.location
  }

  /** True after the first call. */
  get wasUsed(): boolean {
    return this.#wasUsed
  }

  /** Runs one statement. Throws `CRD_CLOSED`, `CRD_FAILED` and `CRD_UNAVAILABLE`. */
  async call(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    this.#wasUsed = true
    const call = this.#repeat(statement, values)
    this.#calls.add(call)
    try {
      return await call
    } finally {
      this.#calls.delete(call)
    }
  }

  async #repeat(statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    for (let repeats = 0; ; repeats += 1) {
      const { client, index } = await this.#connect()
      let result: pg.QueryResult
      try {
        result = await withTimeout(CALL_TIMEOUT_MS, () => client.query({ ...statement, values: [...values] }), {
          error: () => lost(`no response within ${CALL_TIMEOUT_MS} ms`, this.location).error
        })
      } catch (error) {
        const isTimeout = isSvcError(error)
        const failure = isTimeout ? { error, broken: true, repeat: false } : toFailure(error, this.location)
        client.release(failure.broken)
        // Its other connections would not respond either.
        if (isTimeout) this.#skip(index)
        if (!failure.repeat || repeats >= MAX_REPEATS) throw failure.error
        await this.#pause(repeats)
        continue
      }
      client.release()
      return result.rows as Row[]
    }
  }

  /** Opens a connection outside of the pool. The caller ends it with {@link Connections.end}. */
  async open(): Promise<pg.Client> {
    let failure: Error | undefined
    for (let tried = 0; tried < this.#servers.length; tried += 1) {
      const index = this.#current
      const server = this.#servers[index] as Server
      let socket: Socket | undefined
      const stream = (): Socket => {
        socket = this.#openSocket()
        return socket
      }
      const client = new pg.Client({ ...this.#configuration(server), stream })
      if (socket !== undefined) this.#socketOf.set(client, socket)
      client.on('error', () => {})
      try {
        await raceAbort(this.#closing.signal, client.connect())
        await this.#prepare(client, server)
        return client
      } catch (error) {
        this.#skip(index)
        await this.end(client)
        failure = toConnectFailure(error, locationOf(server)).error
      }
    }
    throw failure
  }

  /** Ends a connection of {@link Connections.open}, also if the server does not respond. */
  async end(client: pg.Client): Promise<void> {
    const ended = client.end().catch(() => {})
    if (await settlesWithin(CLOSE_TIMEOUT_MS, ended)) return
    this.#socketOf.get(client)?.destroy()
  }

  /** Begins an epoch; see `new_epoch_v1`. It may change all items, so the time limit of statements does not apply. */
  async newEpoch(epoch: number | undefined): Promise<number> {
    const client = await this.open()
    try {
      await client.query('set statement_timeout = 0; set lock_timeout = 0')
      const { rows } = await client.query('select svc_coord.new_epoch_v1($1) as epoch', [epoch ?? null])
      return rows[0].epoch
    } catch (error) {
      throw toFailure(error, this.location).error
    } finally {
      await this.end(client)
    }
  }

  /** Waits for running calls, whose time is limited, and closes all connections. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#closing.abort(this.#closedError())
    await Promise.allSettled(this.#calls)
    const ended = Promise.all(this.#servers.map(({ pool }) => pool.end()))
    if (await settlesWithin(CLOSE_TIMEOUT_MS, ended)) return
    for (const socket of this.#sockets) socket.destroy()
    await ended
  }

  async #connect(): Promise<{ readonly client: pg.PoolClient; readonly index: number }> {
    const until = performance.now() + RECONNECT_MS
    for (let attempt = 0; ; attempt += 1) {
      if (this.#closed) throw this.#closedError()
      const index = this.#current
      const server = this.#servers[index] as Server
      try {
        return { client: await server.pool.connect(), index }
      } catch (error) {
        if (this.#closed) throw this.#closedError()
        if (errorMessage(error) === POOL_BUSY) throw this.#busy()
        const failure = toConnectFailure(error, locationOf(server))
        this.#skip(index)
        const tried = attempt + 1
        const everywhere = tried >= this.#servers.length
        if (everywhere && (failure.final || performance.now() >= until)) throw failure.error
        if (tried % this.#servers.length === 0) await this.#pause(tried / this.#servers.length - 1)
      }
    }
  }

  /** Uses the next server, unless another call has changed it already. */
  #skip(index: number): void {
    if (this.#current === index) this.#current = (index + 1) % this.#servers.length
  }

  async #pause(attempt: number): Promise<void> {
    const delay = Math.min(MIN_BACKOFF_MS * 2 ** attempt, MAX_BACKOFF_MS)
    try {
      await sleep(delay * (0.5 + Math.random() / 2), undefined, { signal: this.#closing.signal })
    } catch {
      throw this.#closedError()
    }
  }

  #openPool(host: Host): pg.Pool {
    const pool = new pg.Pool({
      ...this.#configuration(host),
      max: this.#options.connections,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
      onConnect: client => this.#prepare(client as pg.PoolClient, host)
    })
    // A connection that breaks while it is idle is replaced at the next call.
    pool.on('error', () => {})
    pool.on('connect', client => void client.on('error', () => {}))
    return pool
  }

  #configuration({ host, port }: Host): pg.ClientConfig & pg.PoolConfig {
    const { address } = this.#options
    return {
      host,
      port,
      user: address.user,
      database: address.database,
      // A function, because the package would replace a missing password by that of a variable or file.
      password: () => address.password as string,
      ssl: address.tls(host),
      types,
      application_name: 'svc',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      lock_timeout: LOCK_TIMEOUT_MS,
      idle_in_transaction_session_timeout: 10_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      stream: () => this.#openSocket(),
      // All statements find rows by an index, whatever the statistics say, and a commit is always durable. A merge join reads
      // a whole index. A bitmap scan does not mark the entries of removed rows, so that each one reads them again.
      options: [
        'enable_seqscan=off',
        'enable_bitmapscan=off',
        'enable_mergejoin=off',
        'plan_cache_mode=force_generic_plan',
        'jit=off',
        'synchronous_commit=on',
        'default_transaction_isolation=read\\ committed',
        'client_min_messages=warning'
      ]
        .map(setting => `-c ${setting}`)
        .join(' ')
    }
  }

  /** Sockets are known, because a connection to a server that does not respond cannot be ended otherwise. */
  #openSocket(): Socket {
    const socket = new Socket()
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    return socket
  }

  /** Checks a new connection, and installs the schema if it is missing. */
  async #prepare(client: pg.Client | pg.PoolClient, host: Host): Promise<void> {
    const where = locationOf(host)
    const { rows } = await this.#within(CONNECT_TIMEOUT_MS, () => client.query<ServerState>(SERVER_STATE))
    const state = rows[0] as ServerState
    if (state.version < MIN_VERSION)
      throw coordinationErrors.create('CRD_FAILED', `${where} is PostgreSQL ${Math.floor(state.version / 10_000)}`, {
        hint: 'use PostgreSQL 13 or later'
      })
    if (state.encoding !== 'UTF8')
      throw coordinationErrors.create('CRD_FAILED', `the database on ${where} has the encoding ${state.encoding}`, {
        hint: "create a database with: create database NAME encoding 'UTF8' template template0"
      })
    if (state.timeline === null)
      throw refused(`${where} is a standby and accepts no writes`, 'name the primary server in coordination.url, too')
    const timeline = Number.parseInt(state.timeline, 16)
    if (timeline < this.#timeline)
      throw refused(
        `${where} has timeline ${timeline}, but a server with timeline ${this.#timeline} was promoted`,
        'stop the former primary server; restore it as a standby'
      )
    this.#timeline = timeline
    if (state.schema !== null && (await this.#isInstalled(client))) return
    if (await this.#within(INSTALL_TIMEOUT_MS, () => this.#install(client)))
      this.#options.log.info(`installed the schema svc_coord on ${where}`, { digest: schemaDigest })
  }

  /**
   * Installs the schema. Returns false if another connection did so meanwhile: a second installation would lock all tables
   * while the first connection works with them.
   */
  async #install(client: pg.Client | pg.PoolClient): Promise<boolean> {
    await client.query(beginInstallation)
    const { rowCount } = await client.query(VERSIONS)
    const isDone = rowCount === 1 && (await this.#isInstalled(client))
    await client.query(isDone ? 'commit' : finishInstallation)
    return !isDone
  }

  async #isInstalled(client: pg.Client | pg.PoolClient): Promise<boolean> {
    const { rowCount } = await this.#within(CONNECT_TIMEOUT_MS, () =>
      client.query('select from svc_coord.versions where digest = $1', [schemaDigest])
    )
    return rowCount === 1
  }

  /** Waits for a query of a new connection, at most until the store is closed. */
  #within<A>(milliseconds: number, query: () => Promise<A>): Promise<A> {
    return withTimeout(milliseconds, query, { signal: this.#closing.signal })
  }

  #busy(): Error {
    return coordinationErrors.create(
      'CRD_UNAVAILABLE',
      `${this.location}: no connection was free within ${CONNECT_TIMEOUT_MS} ms; nothing was changed`,
      { hint: 'repeat the call later, or raise coordination.connections', data: { effect: 'none' satisfies Effect } }
    )
  }

  #closedError(): Error {
    return coordinationErrors.create('CRD_CLOSED', `The coordination store on ${this.location} is closed.`, {
      hint: 'the plugin was stopped or replaced; use the service of the new one'
    })
  }
}

interface ServerState {
  readonly version: number
  readonly encoding: string
  /** Eight hexadecimal digits; null on a standby. */
  readonly timeline: string | null
  readonly schema: string | null
}

/** Reads the catalogue: the names that the session remembers are those of before it waited for the lock. */
const VERSIONS = `
select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = 'svc_coord' and c.relname = 'versions'`

const SERVER_STATE = `
select current_setting('server_version_num')::integer as version,
  current_setting('server_encoding') as encoding,
  case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline,
  to_regclass('svc_coord.versions')::text as schema`

function refused(message: string, hint: string): Error {
  return coordinationErrors.create('CRD_UNAVAILABLE', message, { hint, data: { effect: 'none' satisfies Effect } })
}

function locationOf({ host, port }: Host): string {
  return `PostgreSQL server ${host.includes(':') ? `[${host}]` : host}:${port}`
}
