import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type KeyringStatus, type SecretKeyring, secretErrors } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { FileStore } from './file-store.ts'

/** Entry of the keyring of the operating system. */
export interface OsEntry {
  getPassword(signal?: AbortSignal): Promise<string | null>
  setPassword(secret: string, signal?: AbortSignal): Promise<void>
  deletePassword(signal?: AbortSignal): Promise<boolean>
}

/** Opens an entry. Throws if this machine has no keyring that keeps secrets. */
export type OpenEntry = (collection: string, account: string) => Promise<OsEntry>

export interface KeyringOptions {
  readonly store: 'auto' | 'os' | 'file'
  readonly folder: string
  readonly timeoutMs: number
  readonly open: OpenEntry
}

const NAMES: Readonly<Record<string, string>> = { darwin: 'Keychain', win32: 'Credential Manager' }
const NAME = NAMES[platform()] ?? 'Secret Service'
/** Marks that the keyring of the operating system has secrets, so that files never hold a second set. */
const MARK = { collection: 'svc', account: 'os-keyring' } as const
const LOCK = { collection: 'svc', account: 'lock' } as const
const LOCK_WAIT_MS = 5_000
const LOCK_PAUSE_MS = 20

/** The keyring of the operating system, or private files on a machine without one. */
export class Keyring implements SecretKeyring {
  readonly #options: KeyringOptions
  readonly #files: FileStore
  #status: Promise<KeyringStatus> | null = null

  constructor(options: KeyringOptions) {
    this.#options = options
    this.#files = new FileStore(options.folder)
  }

  async get(collection: string, account: string): Promise<string | null> {
    const found = (await this.#usesOs())
      ? await this.#os(collection, account, (entry, signal) => entry.getPassword(signal))
      : null
    // Files keep secrets of a time without keyring.
    return found ?? this.#files.get(collection, account)
  }

  async getOrCreate(collection: string, account: string, make: () => string): Promise<string> {
    const known = await this.get(collection, account)
    if (known !== null) return known
    if (!(await this.#usesOs())) return this.#files.create(collection, account, make())
    return this.#locked(async () => {
      const other = await this.get(collection, account)
      if (other !== null) return other
      const secret = make()
      await this.set(collection, account, secret)
      return secret
    })
  }

  async set(collection: string, account: string, secret: string): Promise<void> {
    if (!(await this.#usesOs())) {
      this.#files.set(collection, account, secret)
      return
    }
    this.#files.create(MARK.collection, MARK.account, NAME)
    await this.#os(collection, account, (entry, signal) => entry.setPassword(secret, signal))
    this.#files.delete(collection, account)
  }

  async delete(collection: string, account: string): Promise<boolean> {
    const inOs =
      (await this.#usesOs()) && (await this.#os(collection, account, (entry, signal) => entry.deletePassword(signal)))
    const inFiles = this.#files.delete(collection, account)
    return inOs || inFiles
  }

  status(): Promise<KeyringStatus> {
    this.#status ??= this.#find()
    return this.#status
  }

  async #usesOs(): Promise<boolean> {
    const { kind, reason } = await this.status()
    if (kind === 'os') return true
    const isMarked = this.#files.get(MARK.collection, MARK.account) !== null
    if (this.#options.store !== 'file' && (isMarked || this.#options.store === 'os')) {
      // Asked again at the next use: the user may unlock it.
      this.#status = null
      throw secretErrors.create('SEC_STORE_FAILED', `the keyring ${NAME} cannot be used: ${reason}`, {
        hint: 'unlock the keyring, or set plugins.secrets-keyring.store = "file" to use private files instead'
      })
    }
    return false
  }

  async #find(): Promise<KeyringStatus> {
    const { store, folder } = this.#options
    if (store === 'file') return { kind: 'file', place: folder, reason: 'plugins.secrets-keyring.store is "file"' }
    try {
      await this.#os('svc', 'probe', (entry, signal) => entry.getPassword(signal))
      return { kind: 'os', place: NAME, reason: null }
    } catch (error) {
      return { kind: 'file', place: folder, reason: errorMessage(error) }
    }
  }

  async #os<A>(
    collection: string,
    account: string,
    run: (entry: OsEntry, signal: AbortSignal) => Promise<A>
  ): Promise<A> {
    const { timeoutMs, open } = this.#options
    const signal = AbortSignal.timeout(timeoutMs)
    const late = new Promise<never>((_resolve, reject) => {
      const fail = (): void => reject(new Error(`${NAME} did not answer within ${timeoutMs} ms`))
      signal.addEventListener('abort', fail, { once: true })
    })
    late.catch(() => {})
    try {
      return await Promise.race([open(collection, account).then(entry => run(entry, signal)), late])
    } catch (error) {
      throw secretErrors.create('SEC_STORE_FAILED', `the keyring ${NAME}: ${errorMessage(error)}`, {
        hint: 'unlock the keyring, or set plugins.secrets-keyring.store = "file" to use private files instead',
        cause: error
      })
    }
  }

  /** Runs a function in one process at a time. A lock of a process that ended is removed. */
  async #locked<A>(run: () => Promise<A>): Promise<A> {
    // The random part differs between the calls of one process.
    const own = `${process.pid} ${randomBytes(8).toString('hex')}`
    const until = performance.now() + LOCK_WAIT_MS
    for (;;) {
      const owner = this.#files.create(LOCK.collection, LOCK.account, own)
      if (owner === own) break
      if (!isAlive(Number.parseInt(owner, 10))) this.#files.delete(LOCK.collection, LOCK.account)
      else if (performance.now() > until)
        throw secretErrors.create(
          'SEC_STORE_FAILED',
          `process ${Number.parseInt(owner, 10)} holds the lock of ${this.#options.folder}`,
          {
            hint: 'try again when that process has ended'
          }
        )
      else await sleep(LOCK_PAUSE_MS)
    }
    try {
      return await run()
    } finally {
      this.#files.delete(LOCK.collection, LOCK.account)
    }
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Opens an entry of the operating system's keyring. On Linux only of the Secret Service, since the kernel's keyring is
 * emptied when the machine restarts.
 */
export const openOsEntry: OpenEntry = async (collection, account) => {
  // Without a bus, the client of the Secret Service would start one.
  if (platform() === 'linux' && !hasSessionBus()) throw new Error('no session bus is running')
  const { AsyncEntry } = createRequire(import.meta.url)('@napi-rs/keyring') as typeof import('@napi-rs/keyring')
  const entry = new AsyncEntry(collection, account, { linux: { store: 'secret-service' } })
  return {
    getPassword: async signal => (await entry.getPassword(signal)) ?? null,
    setPassword: (secret, signal) => entry.setPassword(secret, signal),
    deletePassword: signal => entry.deletePassword(signal)
  }
}

function hasSessionBus(): boolean {
  if ((process.env.DBUS_SESSION_BUS_ADDRESS ?? '') !== '') return true
  const runtime = process.env.XDG_RUNTIME_DIR ?? ''
  return runtime !== '' && existsSync(join(runtime, 'bus'))
}
