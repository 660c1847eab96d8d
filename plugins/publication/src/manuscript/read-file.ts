import { constants, type Stats } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { errorMessage } from '@svc/plugin-sdk'
import { MAX_BYTES } from '../content.ts'
import { publicationErrors } from '../errors.ts'

/** Text with front matter in bytes. */
const MAX_FILE_BYTES = MAX_BYTES.body_markdown + 65_536

/** Other files of a project, such as `.env`, must not become publications by a wrong path. */
const MARKDOWN = /\.(?:md|markdown)$/i

export interface ProjectFile {
  readonly text: string
  /** Path relative to the project, with `/`. */
  readonly path: string
}

/** Reads a Markdown file inside of the project, also through links. Throws `PUB_FILE_OUTSIDE` and `PUB_FILE_INVALID`. */
export async function readProjectFile(projectRoot: string, path: string): Promise<ProjectFile> {
  const refuse = (problem: string) =>
    publicationErrors.create('PUB_FILE_INVALID', `${path}: ${problem}`, { at: { file: path } })
  if (path.includes('\0')) throw refuse('the path contains U+0000')
  const root = await realpath(projectRoot)
  const real = await realpath(resolve(projectRoot, path)).catch(error => {
    throw refuse(`it cannot be read (${errorMessage(error)})`)
  })
  const inside = relative(root, real)
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    throw publicationErrors.create('PUB_FILE_OUTSIDE', `${path}: it is outside of the project ${projectRoot}`, {
      at: { file: path },
      hint: 'copy the file into the project'
    })
  if (!MARKDOWN.test(real)) throw refuse('its name does not end with .md or .markdown')
  // A file that became a link or a pipe after the check is not followed and not waited for.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const handle = await open(real, flags).catch(error => {
    throw refuse(`it cannot be read (${errorMessage(error)})`)
  })
  try {
    const bytes = await readAll(handle, await handle.stat(), refuse)
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), path: inside.split(sep).join('/') }
  } catch (error) {
    if (error instanceof TypeError) throw refuse('it is not UTF-8')
    throw error
  } finally {
    await handle.close()
  }
}

async function readAll(handle: FileHandle, info: Stats, refuse: (problem: string) => Error): Promise<Uint8Array> {
  if (!info.isFile()) throw refuse('it is not a regular file')
  if (info.size > MAX_FILE_BYTES) throw refuse(`it has ${info.size} bytes; the limit is ${MAX_FILE_BYTES}`)
  // The file may grow while it is read.
  const buffer = Buffer.alloc(Math.min(info.size + 1, MAX_FILE_BYTES + 1))
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length)
    if (bytesRead === 0) return buffer.subarray(0, length)
    length += bytesRead
  }
  throw refuse('it changes while it is read')
}
