import { randomUUID } from 'node:crypto'
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { digestPrefix, hashFile } from '../digest.ts'
import { inferenceErrors } from '../errors.ts'
import type { PackSink } from './pack.ts'

/** Error codes of an unwritable file system. */
const unwritable = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'ENOTDIR', 'ERR_ACCESS_DENIED'])
const ABANDONED_MS = 24 * 60 * 60 * 1000

/** True for errors that mean the file system cannot be written. */
export function isUnwritable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && unwritable.has(error.code as string)
}

/** Mark at the start of a cached file's trailer; the SHA-256 of the contents follows. */
const MARK = Buffer.from('svc-sha2')
const SEAL_BYTES = MARK.byteLength + 32

/**
 * True if a complete and intact file exists. Files are renamed when complete, so only later changes must be detected:
 * by reading the file, once per path, size, inode and change time.
 */
export async function isCached(file: string, byteLength: number, signal?: AbortSignal): Promise<boolean> {
  try {
    const found = await stat(file)
    if (!found.isFile() || found.size !== byteLength + SEAL_BYTES) return false
    const digest = await digestPrefix(file, byteLength, { cacheDirectory: dirname(file), signal })
    return (await readSeal(file, byteLength)).equals(seal(digest))
  } catch {
    signal?.throwIfAborted()
    return false
  }
}

function seal(digest: string): Buffer {
  return Buffer.concat([MARK, Buffer.from(digest, 'hex')])
}

async function readSeal(file: string, position: number): Promise<Buffer> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(SEAL_BYTES), 0, SEAL_BYTES, position)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/**
 * Writes a file under a temporary name, appends its hash, and renames it. Concurrent processes write equal bytes to
 * different temporary files; the last rename wins, and readers never see a partial file.
 */
export async function writeCached(
  file: string,
  byteLength: number,
  fill: (sink: PackSink) => Promise<void>,
  signal?: AbortSignal
): Promise<void> {
  const folder = dirname(file)
  makePrivateFolder(folder)
  await removeAbandoned(folder)
  const temporary = join(folder, `.${randomUUID()}.partial`)
  let handle: FileHandle | undefined
  try {
    handle = await open(temporary, 'wx', 0o600)
    await fill(fileSink(handle))
    await handle.truncate(byteLength)
    const digest = await hashFile(temporary, signal, () => {}, byteLength)
    await handle.write(seal(digest), 0, SEAL_BYTES, byteLength)
    await handle.sync()
    await handle.close()
    handle = undefined
    await rename(temporary, file)
    await digestPrefix(file, byteLength, { cacheDirectory: folder, known: digest })
  } finally {
    await handle?.close()
    await rm(temporary, { force: true })
  }
}

/** Returns a sink in memory, for a cache that is not writable. Throws `INF_OUT_OF_MEMORY`. */
export function memorySink(byteLength: number): PackSink & { readonly bytes: Uint8Array } {
  let bytes: Uint8Array
  try {
    bytes = new Uint8Array(new ArrayBuffer(byteLength))
  } catch (cause) {
    throw inferenceErrors.create(
      'INF_OUT_OF_MEMORY',
      `Not enough memory for ${byteLength} bytes of converted weights`,
      {
        cause,
        hint: 'Make the cache folder writable: the weights are then mapped from a file.'
      }
    )
  }
  return {
    bytes,
    async write(part, position) {
      bytes.set(part, position)
    }
  }
}

function fileSink(handle: FileHandle): PackSink {
  return {
    async write(bytes, position) {
      let done = 0
      while (done < bytes.byteLength) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.byteLength - done, position + done)
        done += bytesWritten
      }
    }
  }
}

/** Removes temporary files that are older than a day: their processes have crashed. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!/\.(partial|writer)$/.test(name)) continue
    const file = join(folder, name)
    const found = await stat(file).catch(() => null)
    if (found !== null && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(file, { force: true })
  }
}
