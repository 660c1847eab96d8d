import { randomUUID } from 'node:crypto'
import { chmod, lstat, mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { inProject, protection } from '@svc/contracts'
import type { SvcError } from '@svc/plugin-sdk'
import { errorMessage } from '@svc/plugin-sdk'
import { assistantErrors } from '../errors.ts'

const EXTENSION = '.vox'

/** Checked target path for a source file. */
export interface SourceTarget {
  readonly file: string
  /** Relative to the project. */
  readonly path: string
}

/**
 * Resolves `path` to a target. Throws `ASI_PATH_REFUSED` for folders, protected names, and paths that are not source
 * files in the project after resolving links.
 */
export async function sourceTarget(projectRoot: string, path: string): Promise<SourceTarget> {
  const file = resolve(projectRoot, path)
  const named = inProject(projectRoot, file)
  if (path.includes('\0') || named === null) throw refused(path, 'the path is outside the project')
  if (!named.endsWith(EXTENSION)) throw refused(path, `the name does not end with ${EXTENSION}`)
  const reason = protection(named)
  if (reason !== null) throw refused(path, reason)
  const root = await realpath(projectRoot)
  const folder = await nearestFolder(dirname(file))
  const real = inProject(root, folder)
  if (real === null && folder !== root) throw refused(path, 'a symbolic link points outside the project')
  const realReason = real === null ? null : protection(real)
  if (realReason !== null) throw refused(path, realReason)
  const info = await lstat(file).catch(() => null)
  if (info !== null && !info.isFile() && !info.isSymbolicLink())
    throw refused(path, 'it exists and is not a regular file')
  return { file, path: named }
}

/**
 * Writes a file atomically and creates missing folders; a symbolic link with that name is replaced, not followed.
 * Checks the target again, since the model may have taken minutes. Returns the number of bytes. Throws
 * `ASI_PATH_REFUSED` and `ASI_FILE_REFUSED`.
 */
export async function writeSource(projectRoot: string, path: string, text: string): Promise<number> {
  const { file } = await sourceTarget(projectRoot, path)
  return writeAtomically(file, path, text)
}

/**
 * Replaces an existing file of the project atomically, and keeps its mode. `path` is relative to the project, without
 * links. Throws `ASI_FILE_REFUSED` and `ASI_PATH_REFUSED`; the old text then stays.
 */
export async function replaceFile(projectRoot: string, path: string, text: string): Promise<number> {
  const file = join(projectRoot, path)
  const info = await lstat(file)
  if (info.isFile()) return writeAtomically(file, path, text, info.mode & 0o777)
  throw assistantErrors.create('ASI_PATH_REFUSED', `${JSON.stringify(path)} is not written: it is a symbolic link`, {
    hint: 'name the file that the link points to'
  })
}

async function writeAtomically(file: string, path: string, text: string, mode?: number): Promise<number> {
  const part = join(dirname(file), `.${randomUUID()}.tmp`)
  const bytes = Buffer.from(text)
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(part, bytes, { flag: 'wx' })
    if (mode !== undefined) await chmod(part, mode)
    await rename(part, file)
  } catch (cause) {
    await rm(part, { force: true })
    const why = errorMessage(cause)
    throw assistantErrors.create('ASI_FILE_REFUSED', `${path} could not be written: ${why}`, {
      cause,
      hint: 'make the folder writable, or name another path'
    })
  }
  return bytes.length
}

/** Returns the folder, or its nearest existing parent, with links resolved. */
async function nearestFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error
    return nearestFolder(dirname(folder))
  }
}

function refused(path: string, why: string): SvcError {
  return assistantErrors.create('ASI_PATH_REFUSED', `${JSON.stringify(path)} is not written: ${why}`, {
    hint: `set output_path to a ${EXTENSION} file in the project`
  })
}
