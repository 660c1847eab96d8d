import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isSvcError } from '@svc/plugin-sdk'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'

export interface LastBackup {
  /** Unix milliseconds. */
  readonly at: number
  readonly file: string
  readonly bytes: number
  readonly files: number
  readonly ms: number
}

export interface LastFailure {
  /** Unix milliseconds. */
  readonly at: number
  readonly code: string
  readonly message: string
  readonly hint: string | null
}

export interface BackupStatus {
  readonly success: LastBackup | null
  readonly failure: LastFailure | null
}

/** Result of the last backup of any process, in a file of the state folder. */
export class StatusFile {
  readonly path: string

  constructor(folder: string) {
    this.path = join(folder, 'status.json')
  }

  /** Returns nothing for a missing or damaged file. */
  async read(): Promise<BackupStatus> {
    try {
      const { success = null, failure = null } = JSON.parse(await readFile(this.path, 'utf8')) as Partial<BackupStatus>
      return { success, failure }
    } catch {
      return { success: null, failure: null }
    }
  }

  async succeeded(success: LastBackup): Promise<void> {
    await this.#write({ success, failure: null })
  }

  async failed(error: unknown, message: string): Promise<void> {
    const { success } = await this.read()
    const [code, hint] = isSvcError(error) ? [error.code, error.hint ?? null] : ['BKP_FAILED', null]
    await this.#write({ success, failure: { at: Date.now(), code, message, hint } })
  }

  async dismiss(): Promise<boolean> {
    const { success, failure } = await this.read()
    if (failure !== null) await this.#write({ success, failure: null })
    return failure !== null
  }

  async #write(status: BackupStatus): Promise<void> {
    makePrivateFolder(dirname(this.path))
    const part = `${this.path}.${randomUUID()}.tmp`
    try {
      await writeFile(part, JSON.stringify(status), { mode: 0o600 })
      await rename(part, this.path)
    } catch (error) {
      await rm(part, { force: true })
      throw error
    }
  }
}
