import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { Parser, type ReadEntry } from 'tar'
import { updateErrors } from './errors.ts'

export interface UnpackLimits {
  readonly maxBytes: number
  readonly maxFiles: number
  /** True: all paths begin with the same folder, which is left out. */
  readonly strip: boolean
}

const MAX_PATH = 1_024
const MAX_DEPTH = 64
const FILES = new Set(['File', 'OldFile', 'ContiguousFile'])

/**
 * Unpacks a tar file, compressed or not, into an empty folder. Only files and folders are accepted. Throws
 * `UPD_ARCHIVE_INVALID` for links, devices, paths that leave the folder, two entries with one path, and archives beyond
 * the limits; and errors of the file system.
 */
export async function unpack(
  file: string,
  folder: string,
  { maxBytes, maxFiles, strip }: UnpackLimits,
  signal: AbortSignal
): Promise<void> {
  const seen = new Map<string, 'file' | 'folder'>()
  const folders = new Set<string>()
  let bytes = 0
  let first: unknown
  let top: string | undefined
  let writing: Promise<void> = Promise.resolve()
  const input = createReadStream(file)
  // Ends the write of an entry whose rest never comes.
  const stopped = new AbortController()
  const stop = (error: unknown): void => {
    first ??= error
    input.destroy()
    stopped.abort()
  }
  const abort = (): void => stop(signal.reason)
  signal.throwIfAborted()
  signal.addEventListener('abort', abort, { once: true })

  const write = async (entry: ReadEntry): Promise<void> => {
    const parts = safeParts(entry.path)
    const isFile = FILES.has(entry.type)
    if (!isFile && entry.type !== 'Directory')
      throw invalid(`${shown(entry.path)} is a ${entry.type}; only files and folders are accepted`)
    if (strip) {
      top ??= parts[0]
      if (parts.shift() !== top || (isFile && parts.length === 0))
        throw invalid(`${shown(entry.path)} is outside of the folder ${shown(top ?? '')}`)
    }
    const path = parts.join('/')
    if (path === '') {
      entry.resume()
      return
    }
    // File systems of macOS and Windows do not distinguish case.
    const key = path.toLowerCase()
    const known = seen.get(key)
    if (known === 'file' || (known === 'folder' && isFile)) throw invalid(`${shown(path)} appears twice`)
    for (let above = dirname(key); above !== '.'; above = dirname(above)) {
      if (seen.get(above) === 'file') throw invalid(`${shown(path)} is below a file`)
      seen.set(above, 'folder')
    }
    seen.set(key, isFile ? 'file' : 'folder')
    if (seen.size > maxFiles) throw invalid(`it has more than ${maxFiles} files`)
    bytes += entry.size
    if (bytes > maxBytes) throw invalid(`it has more than ${maxBytes} bytes unpacked`)
    const target = join(folder, path)
    const parent = isFile ? dirname(target) : target
    if (!folders.has(parent)) {
      await mkdir(parent, { recursive: true, mode: 0o755 })
      folders.add(parent)
    }
    if (!isFile) {
      entry.resume()
      return
    }
    const mode = ((entry.mode ?? 0) & 0o111) === 0 ? 0o644 : 0o755
    await pipeline(entry as unknown as Readable, createWriteStream(target, { flags: 'wx', mode }), {
      signal: stopped.signal
    })
  }

  try {
    await new Promise<void>((resolve, reject) => {
      const parser = new Parser({
        strict: true,
        onReadEntry: entry => {
          if (first !== undefined) return
          // One at a time: the parser passes the next small entry before the file of this one is open.
          writing = writing
            .then(() => (first === undefined ? write(entry) : undefined))
            .catch(error => {
              stop(error)
              reject(error)
            })
        }
      })
      parser.on('end', resolve)
      parser.on('error', reject)
      input.on('error', reject)
      input.on('close', () => {
        if (first !== undefined) reject(first)
      })
      input.pipe(parser as unknown as NodeJS.WritableStream)
    })
    await writing
    if (first !== undefined) throw first
    if (seen.size === 0) throw invalid('it is empty')
  } catch (error) {
    stop(error)
    await writing
    throw asInvalid(first ?? error)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Returns the parts of a path. Throws `UPD_ARCHIVE_INVALID` for an unsafe one. */
function safeParts(path: string): string[] {
  const refuse = (problem: string) => invalid(`${shown(path)} ${problem}`)
  if (Buffer.byteLength(path) > MAX_PATH) throw refuse(`is longer than ${MAX_PATH} bytes`)
  if (/[\p{Cc}\\]/u.test(path)) throw refuse('has a character that is not allowed')
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) throw refuse('is an absolute path')
  const parts = path.replace(/^\.\//, '').replace(/\/+$/, '').split('/')
  if (parts.some(part => part === '' || part === '.' || part === '..')) throw refuse('leaves its folder')
  if (parts.length > MAX_DEPTH) throw refuse(`is deeper than ${MAX_DEPTH} folders`)
  return parts
}

function shown(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path)
}

function invalid(problem: string) {
  return updateErrors.create('UPD_ARCHIVE_INVALID', `the archive is refused: ${problem}`, {
    hint: 'nothing was installed; report it to the publisher of the release'
  })
}

/** Errors of the file system stay; those of the decompression and the parser mean a damaged archive. */
function asInvalid(error: unknown): unknown {
  const { code, syscall, name } = error as NodeJS.ErrnoException
  if (isSvcError(error) || syscall !== undefined || name === 'AbortError') return error
  if (code === undefined || code.startsWith('Z_') || code.startsWith('TAR_'))
    return invalid(`it is damaged: ${errorMessage(error)}`)
  return error
}
