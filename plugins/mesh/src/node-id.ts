import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { createPrivateFile, readPrivateFile, writePrivateFile } from './private-file.ts'

/**
 * Returns the id of this machine from a file, which is created with a generated id at first use. All processes of a
 * project share the file. Throws `MSP_FILE_UNREADABLE`.
 */
export function storedNodeId(path: string): string {
  const known = validId(readPrivateFile(path))
  if (known !== null) return known
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 40)
  const id = `${host || 'node'}-${randomBytes(6).toString('hex')}`
  const stored = validId(createPrivateFile(path, `${id}\n`))
  if (stored !== null) return stored
  // The file was empty, for example after a full disk.
  writePrivateFile(path, `${id}\n`)
  return id
}

function validId(text: string | null): string | null {
  const id = text?.trim() ?? ''
  return /^[\w.-]{1,256}$/.test(id) ? id : null
}
