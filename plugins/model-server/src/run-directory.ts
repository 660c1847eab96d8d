import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errors } from './errors.ts'

/** What tells one state of a run directory from another without reading its weights. */
export interface RunDirectoryState {
  /** SHA-256 over the names, sizes and times of the files, hex. */
  readonly fingerprint: string
  /** When the newest file was written. */
  readonly modifiedAt: Date
}

/** Throws `MSV_RUN_DIRECTORY` when the path is not a directory that can be read. */
export async function runDirectoryState(directory: string): Promise<RunDirectoryState> {
  const hash = createHash('sha256')
  let newest = 0
  try {
    const entries = await readdir(directory, { withFileTypes: true })
    for (const { name } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const { size, mtimeMs } = await stat(join(directory, name))
      hash.update(`${name}\0${size}\0${mtimeMs}\0`)
      newest = Math.max(newest, mtimeMs)
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'does not exist' : code === 'ENOTDIR' ? 'is not a directory' : String(code)
    throw errors.create('MSV_RUN_DIRECTORY', `run directory ${directory} cannot be read: it ${reason}`, {
      cause,
      at: { path: 'plugins.model-server.model' },
      hint: 'Point the setting plugins.model-server.model, or --model, at a run directory.'
    })
  }
  return { fingerprint: hash.digest('hex'), modifiedAt: new Date(newest) }
}
