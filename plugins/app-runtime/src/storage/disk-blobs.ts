import { constants, createReadStream } from 'node:fs'
import { access, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { type BlobStore, type ByteRange, diskFailure, fileUnknown } from './blob-store.ts'
import type { StagedFile } from './staging.ts'

/** Keeps content in a folder. */
export class DiskBlobs implements BlobStore {
  readonly #folder: string

  /** The folder must be on the same disk as the files that are put into it. */
  constructor(folder: string) {
    this.#folder = folder
  }

  async put(key: string, { path }: StagedFile): Promise<void> {
    const target = join(this.#folder, key)
    try {
      await mkdir(dirname(target), { recursive: true, mode: 0o700 })
      await rename(path, target)
      // The rename itself is lost in a power failure unless the folder is written.
      await syncFolder(dirname(target))
    } catch (error) {
      throw diskFailure(error, 'a file could not be stored')
    }
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    const path = join(this.#folder, key)
    try {
      const file = await open(path, 'r')
      return createReadStream(path, { fd: file, ...range })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw fileUnknown(key.split('/').at(-1) ?? key)
      throw diskFailure(error, 'a file could not be read')
    }
  }

  async remove(key: string): Promise<void> {
    await rm(join(this.#folder, key), { force: true })
  }

  async *list(prefix: string): AsyncGenerator<{ key: string; storedAt: number }> {
    const folders = await readdir(join(this.#folder, prefix)).catch(() => [])
    for (const folder of folders) {
      const names = await readdir(join(this.#folder, prefix, folder)).catch(() => [])
      for (const name of names) {
        const found = await stat(join(this.#folder, prefix, folder, name)).catch(() => null)
        if (found?.isFile()) yield { key: `${prefix}/${folder}/${name}`, storedAt: found.mtimeMs }
      }
    }
  }

  /** Does nothing: a file arrives by a rename, which leaves no parts of an upload. */
  async clean(): Promise<void> {
    // No parts to remove.
  }

  async check(): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      await access(this.#folder, constants.R_OK | constants.W_OK)
    } catch (error) {
      throw diskFailure(error, 'the folder of stored files cannot be used')
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
