import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errors } from './errors.ts'

/** Fingerprint of the files of a run directory, computed without reading the weights. */
export interface RunDirectoryState {
  /** SHA-256 over the names, sizes and times of the files, hex. */
  readonly fingerprint: string
  /** Modification time of the newest file. */
  readonly modifiedAt: Date
}

/** Reads the state. Throws `MSV_RUN_DIRECTORY` unless the path is a readable directory. */
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
      hint: 'Set plugins.model-server.model, or --model, to a run directory.'
    })
  }
  return { fingerprint: hash.digest('hex'), modifiedAt: new Date(newest) }
}
