import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { runErrors } from '../errors.ts'
import { diskFailure } from './blob-store.ts'

/** A complete local file that is not in the blob store yet. */
export interface StagedFile {
  readonly path: string
  readonly size: number
  readonly sha256: string
}

/** Age in milliseconds after which a staged file is left over from a killed process. */
const LEFT_OVER_MS = 86_400_000

/** Receives files in a folder, before they move to the blob store. */
export class Staging {
  readonly #folder: string
  readonly #maxBytes: number

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder
    this.#maxBytes = maxBytes
  }

  /**
   * Writes a stream to a file, and syncs it. Holds one chunk at a time. Throws `RUN_FILE_TOO_LARGE`,
   * `RUN_STORAGE_FULL` and the errors of the stream, and then leaves no file.
   */
  async write(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<StagedFile> {
    const path = join(this.#folder, `${randomUUID()}.part`)
    const hash = createHash('sha256')
    let size = 0
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      const file = await open(path, 'wx', 0o600)
      try {
        for await (const chunk of source) {
          size += chunk.length
          if (size > this.#maxBytes) throw tooLarge(this.#maxBytes)
          hash.update(chunk)
          await file.writeFile(chunk)
        }
        await file.sync()
      } finally {
        await file.close()
      }
      return { path, size, sha256: hash.digest('hex') }
    } catch (error) {
      await rm(path, { force: true })
      const { code = '', syscall } = error as NodeJS.ErrnoException
      throw syscall !== undefined && /^E[A-Z]+$/.test(code) ? diskFailure(error, 'a file could not be stored') : error
    }
  }

  /** Removes files of killed processes. */
  async clean(now: number): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const path = join(this.#folder, name)
      const found = await stat(path).catch(() => null)
      if (found !== null && now - found.mtimeMs > LEFT_OVER_MS) await rm(path, { force: true })
    }
  }
}

function tooLarge(maxBytes: number): Error {
  return runErrors.create('RUN_FILE_TOO_LARGE', `the file is larger than ${maxBytes} bytes`, {
    hint: 'send a smaller file, or raise plugins.app-runtime.files.max_bytes'
  })
}
