import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { protection } from '@svc/contracts'
import { workspaceErrors } from './errors.ts'

export interface ProjectFile {
  /** Path relative to the project, with forward slashes. */
  readonly path: string
  readonly text: string
}

/**
 * Reads a text file of the project. Throws `WSP_FILE_REFUSED` for a path outside the project after resolving links, a
 * protected or special file, a file that is longer than `maxBytes`, and one that is not UTF-8.
 */
export async function readProjectFile(projectRoot: string, path: string, maxBytes: number): Promise<ProjectFile> {
  const root = await realpath(projectRoot)
  if (path.includes('\0')) throw refused(path, 'the path contains U+0000')
  const file = await realpath(resolve(root, path)).catch(() => {
    throw refused(path, 'the file does not exist')
  })
  const inside = relative(root, file)
  if (inside === '' || isAbsolute(inside) || inside.split(sep)[0] === '..')
    throw refused(path, 'the file is outside the project')
  const shown = inside.split(sep).join('/')
  const reason = protection(shown) ?? protection(path.replaceAll('\\', '/'))
  if (reason !== null) throw refused(path, reason)
  // A named pipe would block a normal open until another process writes.
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(error => {
    throw refused(path, `the file cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  })
  try {
    const { size, ...stat } = await handle.stat().then(found => ({ size: found.size, isFile: found.isFile() }))
    if (!stat.isFile) throw refused(path, 'the path is not a file')
    if (size > maxBytes) throw refused(path, `the file has ${size} bytes; the maximum is ${maxBytes}`)
    return { path: shown, text: new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile()) }
  } catch (error) {
    if (error instanceof TypeError) throw refused(path, 'the file is not UTF-8 text')
    throw error
  } finally {
    await handle.close()
  }
}

function refused(path: string, reason: string): Error {
  return workspaceErrors.create('WSP_FILE_REFUSED', `${path.slice(0, 200)}: ${reason}`, {
    hint: 'name a text file of the project, relative to its root'
  })
}
