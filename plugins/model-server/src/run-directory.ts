import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { errors } from './errors.ts'

/** Fingerprint of the files of a run directory or a GGUF model, computed without reading the weights. */
export interface RunDirectoryState {
  /** SHA-256 over the names, sizes and times of the files, hex. */
  readonly fingerprint: string
  /** Modification time of the newest file. */
  readonly modifiedAt: Date
}

/** Name of a GGUF file without the number of its part; the parts of a set have the same name. */
function setName(file: string): string {
  return file.replace(/-\d{5}-of-(\d{5})\.gguf$/, '-of-$1.gguf')
}

/** Reads the state. Throws `MSV_RUN_DIRECTORY` unless the path is a readable directory or a GGUF file. */
export async function runDirectoryState(directory: string): Promise<RunDirectoryState> {
  const hash = createHash('sha256')
  let newest = 0
  try {
    const isFile = directory.endsWith('.gguf') && (await stat(directory)).isFile()
    const folder = isFile ? dirname(directory) : directory
    const entries = await readdir(folder)
    const names = isFile ? entries.filter(name => setName(name) === setName(basename(directory))) : entries
    for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
      const { size, mtimeMs } = await stat(join(folder, name))
      hash.update(`${name}\0${size}\0${mtimeMs}\0`)
      newest = Math.max(newest, mtimeMs)
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'does not exist' : code === 'ENOTDIR' ? 'is not a directory' : String(code)
    throw errors.create('MSV_RUN_DIRECTORY', `run directory ${directory} cannot be read: it ${reason}`, {
      cause,
      at: { path: 'plugins.model-server.model' },
      hint: 'Set plugins.model-server.model, or --model, to a run directory or a GGUF file.'
    })
  }
  return { fingerprint: hash.digest('hex'), modifiedAt: new Date(newest) }
}
