import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { ownServerPath, ownServerText } from '@svc/contracts'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'

/** File with the address of the server, for commands in other processes. It outlives a reload of this plugin. */
export class AddressFile {
  readonly #path: string
  #url: string | null = null

  constructor(stateRoot: string) {
    this.#path = ownServerPath(stateRoot)
  }

  /** Writes the address, unless the file has it already. Throws errors of the file system. */
  write(url: string): void {
    if (url === this.#url) return
    makePrivateFolder(dirname(this.#path))
    const draft = `${this.#path}.${process.pid}`
    writeFileSync(draft, ownServerText(url), { mode: 0o600 })
    renameSync(draft, this.#path)
    this.#url = url
  }

  /** Removes the file. A file of another server in the same project is kept. */
  remove(): void {
    const url = this.#url
    this.#url = null
    if (url === null) return
    try {
      if (readFileSync(this.#path, 'utf8') === ownServerText(url)) rmSync(this.#path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}
