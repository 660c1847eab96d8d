import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { protection } from './protected-path.ts'

export type FileRead =
  | { readonly path: string; readonly text: string; readonly truncated: boolean }
  | { readonly path: string; readonly refused: string }

/** Bytes inspected to detect a binary file. */
const PROBE_BYTES = 8_192

/**
 * Reads a text file of the project for a model, at most `maxBytes`. Returns the reason instead for paths outside the
 * project after resolving links, special files, binary files, and protected names. `path` is relative to the project.
 */
export async function readProjectFile(projectRoot: string, path: string, maxBytes: number): Promise<FileRead> {
  const root = await realpath(projectRoot)
  const shown = inProject(projectRoot, resolve(projectRoot, path)) ?? path
  const refuse = (refused: string): FileRead => ({ path: shown, refused })
  if (path.includes('\0')) return refuse('the path contains U+0000')
  let file: string
  try {
    file = await realpath(resolve(projectRoot, path))
  } catch {
    return refuse('the file does not exist')
  }
  const real = inProject(root, file)
  if (real === null) return refuse('the file is outside the project')
  const reason = protection(shown) ?? protection(real)
  if (reason !== null) return refuse(reason)
  return (await readText(shown, file, maxBytes)) ?? refuse('the file is not a text file')
}

/** Reads a listed file without following links; null if it is missing or not a text file. */
export async function readListedFile(projectRoot: string, path: string, maxBytes: number): Promise<string | null> {
  const read = await readText(path, join(projectRoot, path), maxBytes).catch(() => null)
  return read !== null && 'text' in read ? read.text : null
}

/** Returns a path relative to the project, with forward slashes; null for paths outside, and for the project itself. */
export function inProject(root: string, file: string): string | null {
  const path = relative(root, file)
  if (path === '' || path === '..' || path.startsWith(`..${sep}`) || resolve(root, path) !== file) return null
  return path.split(sep).join('/')
}

async function readText(path: string, file: string, maxBytes: number): Promise<FileRead | null> {
  // The flags prevent following a link that replaced the file meanwhile, and waiting for a pipe.
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (handle === null) return { path, refused: 'the file cannot be read' }
  try {
    const info = await handle.stat()
    if (!info.isFile()) return { path, refused: 'the file is not a regular file' }
    const bytes = Buffer.alloc(Math.min(info.size, maxBytes))
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0)
    const truncated = info.size > bytesRead
    const text = decoded(bytes.subarray(0, bytesRead), truncated)
    return text === null ? null : { path, text, truncated }
  } finally {
    await handle.close()
  }
}

/** Decodes UTF-8; null if the bytes are not text. If `isCut`, drops an incomplete character at the end. */
function decoded(bytes: Uint8Array, isCut: boolean): string | null {
  if (bytes.subarray(0, PROBE_BYTES).includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut })
  } catch {
    return null
  }
}
