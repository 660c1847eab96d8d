import { randomBytes } from 'node:crypto'
import { chmodSync, linkSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { secretErrors } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'

/** Bits of a file's mode that give rights to the group or to other users. */
const RIGHTS_OF_OTHERS = 0o077

/** Secrets in files with mode 0600, one file each, so that two processes never overwrite each other's secrets. */
export class FileStore {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  /** Returns a secret; null without one. Throws `SEC_STORE_FAILED`, also for a file that others may read. */
  get(collection: string, account: string): string | null {
    const path = this.#path(collection, account)
    try {
      const { mode } = lstatSync(path)
      if (process.platform !== 'win32' && (mode & RIGHTS_OF_OTHERS) !== 0)
        throw secretErrors.create('SEC_STORE_FAILED', `${path}: other users may read it`, {
          at: { file: path },
          hint: `run: chmod 600 ${path}`
        })
      return readFileSync(path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw failure(path, error)
    }
  }

  set(collection: string, account: string, secret: string): void {
    this.#write(collection, account, secret, (draft, path) => renameSync(draft, path))
  }

  /** Stores a secret unless there is one. Returns the stored one. */
  create(collection: string, account: string, secret: string): string {
    // Unlike a rename, a link never replaces the file of another process.
    this.#write(collection, account, secret, (draft, path) => {
      try {
        linkSync(draft, path)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    })
    return this.get(collection, account) ?? secret
  }

  delete(collection: string, account: string): boolean {
    const path = this.#path(collection, account)
    try {
      rmSync(path)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw failure(path, error)
    }
  }

  #write(collection: string, account: string, secret: string, place: (draft: string, path: string) => void): void {
    const path = this.#path(collection, account)
    const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(draft, secret, { mode: 0o600, flag: 'wx', flush: true })
      // The umask may have removed rights of the owner.
      chmodSync(draft, 0o600)
      place(draft, path)
    } catch (error) {
      throw failure(path, error)
    } finally {
      rmSync(draft, { force: true })
    }
  }

  #path(collection: string, account: string): string {
    return join(this.folder, encodeURIComponent(collection), `${encodeURIComponent(account)}.secret`)
  }
}

function failure(path: string, error: unknown): Error {
  if (isSvcError(error)) return error
  return secretErrors.create('SEC_STORE_FAILED', `${path}: ${errorMessage(error)}`, {
    at: { file: path },
    hint: 'correct the permissions of the file and its folder',
    cause: error
  })
}
