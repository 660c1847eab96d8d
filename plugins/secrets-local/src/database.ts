import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Client, InStatement, ResultSet } from '@libsql/client/http'
import { vaultErrors } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import type { VaultLocation } from './location.ts'
import { SCHEMA } from './schema.ts'

/** First pause before a locked database is tried again, in milliseconds. It doubles up to {@link MAX_PAUSE_MS}. */
const PAUSE_MS = 5
const MAX_PAUSE_MS = 100

/** Finds a table that does not belong to a vault: the file is the primary database, or one of another program. */
const FOREIGN_TABLE =
  "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'clavis\\_%' ESCAPE '\\' " +
  "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'libsql\\_%' ESCAPE '\\' LIMIT 1"

/** Loads a module at its first use, which takes longer than the activation of the plugin. */
const load = createRequire(import.meta.url)

/** Database of the vault, opened at the first use. All methods throw `SEV_STORE_FAILED`. */
export class VaultDatabase {
  readonly location: VaultLocation
  readonly #timeoutMs: number
  readonly #signal: AbortSignal
  #client: Promise<Client> | null = null
  #hasSchema = false

  constructor(location: VaultLocation, timeoutMs: number, signal: AbortSignal) {
    this.location = location
    this.#timeoutMs = timeoutMs
    this.#signal = signal
  }

  /** Reads rows. A database without the tables, or that does not exist, has none. */
  async read(sql: string, args: readonly (string | number)[]): Promise<ResultSet['rows']> {
    const { location } = this
    if (location.mode === 'local_file' && !existsSync(location.file)) return []
    try {
      return (await this.#retry(client => client.execute({ sql, args: [...args] }), false)).rows
    } catch (error) {
      if (/no such table/i.test(errorMessage(error))) return []
      throw error
    }
  }

  /** Runs all statements or none, and creates the tables before the first of them. */
  async write(statements: readonly InStatement[]): Promise<readonly ResultSet[]> {
    if (!this.#hasSchema) {
      await this.#retry(client => client.batch([...SCHEMA], 'write'), false)
      this.#hasSchema = true
    }
    return this.#retry(client => client.batch([...statements], 'write'), true)
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = null
    await client?.then(
      open => open.close(),
      () => {}
    )
  }

  /** Waits for the locks of other processes without blocking the event loop. */
  async #retry<A>(run: (client: Client) => Promise<A>, writes: boolean): Promise<A> {
    const until = performance.now() + this.#timeoutMs
    for (let pause = PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      try {
        return await run(await this.#open())
      } catch (error) {
        if (isConstraint(error)) throw error
        if (!isBusy(error) || performance.now() + pause > until || this.#signal.aborted)
          throw this.#failure(error, writes)
        await sleep(pause)
      }
    }
  }

  #open(): Promise<Client> {
    this.#client ??= connect(this.location, this.#timeoutMs)
    // A failed attempt is not cached: the file or the server may be available later.
    this.#client.catch(() => {
      this.#client = null
    })
    return this.#client
  }

  #failure(error: unknown, writes: boolean): Error {
    if (isSvcError(error)) return error
    const { mode } = this.location
    const place = mode === 'remote' ? this.location.url : this.location.file
    const unknown = writes && mode === 'remote' ? '; it is unknown whether the change was made' : ''
    return vaultErrors.create('SEV_STORE_FAILED', `the vault ${place}: ${innermost(error)}${unknown}`, {
      hint: mode === 'remote' ? 'check the URL, the token and the network' : 'check the permissions and the free space',
      cause: error
    })
  }
}

/** True for an error of a statement that would violate a key. */
export function isConstraint(error: unknown): boolean {
  return /CONSTRAINT/i.test(`${(error as { code?: unknown }).code} ${errorMessage(error)}`)
}

function isBusy(error: unknown): boolean {
  return /SQLITE_BUSY|database is locked/i.test(`${(error as { code?: unknown }).code} ${errorMessage(error)}`)
}

async function connect(location: VaultLocation, timeoutMs: number): Promise<Client> {
  if (location.mode === 'remote') {
    // This module of the client does not load the native binding.
    const { createClient } = load('@libsql/client/http') as typeof import('@libsql/client/http')
    return createClient({
      url: location.url,
      ...(location.token === undefined ? {} : { authToken: location.token }),
      intMode: 'bigint',
      fetch: (request: Request) => fetch(request, { signal: AbortSignal.timeout(timeoutMs) })
    })
  }
  const { file } = location
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  // SQLite would create the file with the permissions of the umask.
  closeSync(openSync(file, 'a', 0o600))
  const { createClient } = load('@libsql/client/sqlite3') as typeof import('@libsql/client/sqlite3')
  const client = createClient({ url: pathToFileURL(file).href, intMode: 'bigint', timeout: 0 })
  let table: unknown
  try {
    table = (await client.execute(FOREIGN_TABLE)).rows[0]?.name
  } catch (error) {
    client.close()
    throw error
  }
  if (table === undefined) return client
  client.close()
  throw vaultErrors.create('SEV_SHARED_FILE', `the vault ${file} has the table ${table} of another program`, {
    hint: 'set SVC_SECRETS_VAULT_PATH to another file'
  })
}

/** Clients wrap errors; the innermost message is the most specific. */
function innermost(error: unknown): string {
  let message = errorMessage(error)
  for (let at = (error as Error | undefined)?.cause; at instanceof Error; at = at.cause)
    if (at.message !== '') message = at.message
  return message
}
