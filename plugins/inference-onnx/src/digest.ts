import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { fileError } from './files.ts'

export interface DigestOptions {
  /** Folder in which digests of unchanged files are cached. */
  readonly cacheDirectory: string
  readonly signal?: AbortSignal | undefined
  onProgress(fraction: number): void
}

export interface Digest {
  /** SHA-256 over names, sizes and contents, hex. */
  readonly digest: string
  readonly sizeBytes: number
}

/**
 * Computes the SHA-256 over the names (relative to `root`), sizes and contents of files, sorted by name.
 *
 * Contents are read only once: digests are cached by path, size, inode, and modification and change times.
 */
export async function digestFiles(root: string, files: readonly string[], options: DigestOptions): Promise<Digest> {
  const entries = await Promise.all(
    files.map(async file => {
      const { size, ino, mtimeNs, ctimeNs } = await stat(file, { bigint: true }).catch(error =>
        Promise.reject(fileError(error, file))
      )
      const name = relative(root, file).split(sep).join('/')
      return { file, name, size: Number(size), identity: [file, size, ino, mtimeNs, ctimeNs].join('\0') }
    })
  )
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  const sizeBytes = entries.reduce((sum, { size }) => sum + size, 0)
  const total = createHash('sha256')
  let done = 0
  for (const { file, name, size, identity } of entries) {
    const hash = await remembered(options.cacheDirectory, identity, () =>
      hashFile(file, options.signal, bytes => {
        done += bytes
        options.onProgress(Math.min(1, done / sizeBytes))
      })
    )
    total.update(`${name}\0${size}\0${hash}\n`)
  }
  return { digest: total.digest('hex'), sizeBytes }
}

export interface PrefixOptions extends Pick<DigestOptions, 'cacheDirectory' | 'signal'> {
  /** Digest that the caller has just computed; it is cached without reading the file. */
  readonly known?: string
}

/** Computes the SHA-256 over the first `byteLength` bytes of a file, hex; cached as in {@link digestFiles}. */
export async function digestPrefix(file: string, byteLength: number, options: PrefixOptions): Promise<string> {
  const { cacheDirectory, signal, known } = options
  const { size, ino, mtimeNs, ctimeNs } = await stat(file, { bigint: true })
  const identity = [file, size, ino, mtimeNs, ctimeNs, byteLength].join('\0')
  return remembered(cacheDirectory, identity, async () => known ?? hashFile(file, signal, () => {}, byteLength))
}

/** Computes the SHA-256 over a file, or its first bytes, hex. */
export async function hashFile(
  file: string,
  signal: AbortSignal | undefined,
  onBytes: (bytes: number) => void,
  byteLength = Number.POSITIVE_INFINITY
): Promise<string> {
  const hash = createHash('sha256')
  try {
    const options = { highWaterMark: 2 ** 20, end: byteLength - 1, ...(signal && { signal }) }
    for await (const chunk of createReadStream(file, options)) {
      hash.update(chunk as Buffer)
      onBytes((chunk as Buffer).byteLength)
    }
  } catch (error) {
    signal?.throwIfAborted()
    throw fileError(error, file)
  }
  return hash.digest('hex')
}

/** Returns a cached digest, or computes and caches it. Each digest has a separate file, so processes need no lock. */
export async function remembered(folder: string, identity: string, compute: () => Promise<string>): Promise<string> {
  const file = join(folder, 'digests', createHash('sha256').update(identity).digest('hex').slice(0, 32))
  const known = await readFile(file, 'utf8').catch(() => '')
  if (/^[0-9a-f]{64}$/.test(known)) return known
  const hash = await compute()
  try {
    makePrivateFolder(join(folder, 'digests'))
    const temporary = `${file}.${process.pid}`
    await writeFile(temporary, hash, { mode: 0o600 })
    await rename(temporary, file)
  } catch {
    // Without the cache, the digest is only computed again.
  }
  return hash
}
