import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type PlannedFile, RemoteFailure, type RemoteFile } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'

/** File of a deposit, on disk or in memory. */
export interface DepositFile extends PlannedFile {
  readonly body: RemoteFile | Uint8Array
  /** Whether the approvals of the publication cover the content. */
  readonly isApproved: boolean
}

/** Hashes of files by the algorithm that an archive reports. Each file is read once. */
export class ArchiveHashes {
  readonly #algorithm: 'md5' | 'sha256'
  readonly #signal: AbortSignal
  readonly #found = new Map<string, Promise<string>>()

  constructor(algorithm: 'md5' | 'sha256', signal: AbortSignal) {
    this.#algorithm = algorithm
    this.#signal = signal
  }

  /**
   * Returns the hash of a file as hex. Throws `RemoteFailure` with code `file_changed` if its content is not the planned
   * one. An upload checks the content again.
   */
  of(file: DepositFile): Promise<string> {
    const found = this.#found.get(file.name) ?? this.#hash(file)
    this.#found.set(file.name, found)
    return found
  }

  /** Returns whether an archive has the complete file. */
  async matches(file: DepositFile, stored: { readonly bytes: number; readonly hash: string | null } | undefined) {
    return stored !== undefined && stored.bytes === file.bytes && stored.hash === (await this.of(file))
  }

  async #hash({ name, sha3_256, body }: DepositFile): Promise<string> {
    const planned = createHash('sha3-256')
    const wanted = createHash(this.#algorithm)
    const chunks = body instanceof Uint8Array ? [body] : createReadStream(body.path, { signal: this.#signal })
    try {
      for await (const chunk of chunks) {
        planned.update(chunk as Uint8Array)
        wanted.update(chunk as Uint8Array)
      }
    } catch (error) {
      this.#signal.throwIfAborted()
      throw new RemoteFailure(`${name}: ${errorMessage(error)}; write the staging folder again`, {
        failureClass: 'config',
        code: 'staging_unreadable'
      })
    }
    if (planned.digest('hex') !== sha3_256)
      throw new RemoteFailure(`${name}: the file changed after it was checked; submit again`, {
        failureClass: 'fatal',
        code: 'file_changed'
      })
    return wanted.digest('hex')
  }
}
