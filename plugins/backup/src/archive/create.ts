import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { lstat, mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { BackupPart } from '@svc/contracts'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { encrypt } from '../age/age.ts'
import type { Locks } from '../age/keys.ts'
import { backupErrors, fileError } from '../errors.ts'
import { collect, type SourceFile } from './collect.ts'
import type { Databases } from './databases.ts'
import {
  type ArchiveFile,
  type ArchiveHeader,
  FORMAT,
  HEADER_FILE,
  type LeftOut,
  MANIFEST_FILE,
  type Manifest
} from './manifest.ts'
import { TAR_END, tarHeader, tarPadding } from './tar.ts'

/** Files up to this size are read at once, so that a change meanwhile does not tear them. */
const SMALL_BYTES = 1_048_576
const READ_BYTES = 262_144
const WORK_FOLDER = /^\.svc-backup-(\d+)-/

export type Progress = (done: {
  readonly files: number
  readonly totalFiles: number
  readonly bytes: number
  readonly path: string
}) => void

export interface CreateOptions {
  /** Absolute path of the archive, which must not exist. */
  readonly file: string
  readonly projectRoot: string
  readonly stateRoot: string
  readonly repositoryId: string
  readonly version: string
  readonly plugins: readonly { readonly name: string; readonly version: string }[]
  readonly parts: readonly BackupPart[]
  readonly include: readonly string[]
  readonly secretFiles: ReadonlySet<string>
  readonly withKeys: boolean
  /** Null: the archive is not encrypted. */
  readonly locks: Locks | null
  readonly databases: Databases
  readonly onProgress: Progress
  readonly signal: AbortSignal
}

export interface Created {
  readonly file: string
  /** Size of the archive. */
  readonly bytes: number
  /** Sum of the sizes of the files in it. */
  readonly content_bytes: number
  readonly files: number
  readonly databases: number
  readonly with_keys: boolean
  readonly encrypted: boolean
  readonly left_out: readonly LeftOut[]
}

/**
 * Writes an archive of everything that the project holds, with constant memory. It has its name only when it is
 * complete and on the disk; nothing stays behind after an error or an abort. Throws `BKP_…`, errors of the database, and
 * the reason of the signal.
 */
export async function createArchive(options: CreateOptions): Promise<Created> {
  const { file, signal } = options
  if ((await lstat(file).catch(() => null)) !== null)
    throw backupErrors.create('BKP_EXISTS', `${file} exists`, { at: { file }, hint: 'name another file' })
  const folder = dirname(file)
  let work: string | null = null
  try {
    makePrivateFolder(folder)
    await removeLeftovers(folder)
    work = await mkdtemp(join(folder, `.svc-backup-${process.pid}-`))
    const archive = new Archive(options, work)
    const partial = join(work, 'archive')
    const compress = createGzip({ level: 6 })
    const output = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true })
    const { locks } = options
    if (locks === null) await pipeline(archive.bytes(), compress, output, { signal })
    else await pipeline(archive.bytes(), compress, source => encrypt(source, locks), output, { signal })
    signal.throwIfAborted()
    const { size } = await stat(partial)
    await rename(partial, file)
    await syncFolder(folder)
    const { files, leftOut, databases, contentBytes } = archive
    return {
      file,
      bytes: size,
      content_bytes: contentBytes,
      files: files.length,
      databases: databases.length,
      with_keys: options.withKeys,
      encrypted: locks !== null,
      left_out: leftOut
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : fileError(error, file)
  } finally {
    if (work !== null) await rm(work, { recursive: true, force: true })
  }
}

/** Removes the work folders of processes that were killed. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = Number(WORK_FOLDER.exec(name)?.[1] ?? 0)
    if (pid > 0 && !isAlive(pid)) await rm(join(folder, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}

class Archive {
  readonly files: ArchiveFile[] = []
  readonly databases: Manifest['databases'][number][] = []
  leftOut: LeftOut[] = []
  contentBytes = 0
  readonly #options: CreateOptions
  readonly #work: string
  #written = 0

  constructor(options: CreateOptions, work: string) {
    this.#options = options
    this.#work = work
  }

  /** Yields the bytes of the tar archive. */
  async *bytes(): AsyncGenerator<Buffer> {
    const { projectRoot, repositoryId, version, parts, signal, onProgress, withKeys } = this.#options
    const created = new Date()
    const header: ArchiveHeader = {
      format: FORMAT,
      svc_version: version,
      created_at: created.toISOString(),
      repository_id: repositoryId,
      project: basename(projectRoot)
    }
    yield* this.#json(HEADER_FILE, header, created)
    const { files, leftOut } = await collect(this.#options)
    this.leftOut = [...leftOut]
    const exported = await this.#export(parts.filter(({ kind }) => withKeys || kind !== 'keys'))
    const all = [...files, ...exported]
    for (const source of all) {
      signal.throwIfAborted()
      onProgress({ files: this.#written, totalFiles: all.length, bytes: this.contentBytes, path: source.path })
      yield* source.kind === 'sqlite' ? this.#database(source) : this.#file(source, source.file)
      this.#written += 1
    }
    const manifest: Manifest = {
      ...header,
      plugins: this.#options.plugins,
      databases: this.databases,
      with_keys: withKeys,
      left_out: this.leftOut,
      files: this.files
    }
    yield* this.#json(MANIFEST_FILE, manifest, created)
    yield TAR_END
  }

  async *#json(path: string, value: object, modified: Date): AsyncGenerator<Buffer> {
    const content = Buffer.from(`${JSON.stringify(value, null, 1)}\n`)
    yield tarHeader({ path, bytes: content.length, mode: 0o600, modified: modified.getTime() })
    yield content
    yield tarPadding(content.length)
  }

  /** Returns the files that parts wrote. */
  async #export(parts: readonly BackupPart[]): Promise<SourceFile[]> {
    const files: SourceFile[] = []
    for (const part of parts) {
      if (part.export === undefined) continue
      const folder = join(this.#work, 'parts', part.name)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await part.export(folder, this.#options.signal)
      for (const name of (await readdir(folder, { recursive: true })).sort()) {
        const file = join(folder, name)
        if (!(await lstat(file)).isFile()) continue
        const path = `parts/${part.name}/${name.replaceAll('\\', '/')}`
        files.push({ path, file, kind: 'file', part: part.name, keys: part.kind === 'keys', origin: null })
      }
    }
    return files
  }

  async *#database(source: SourceFile): AsyncGenerator<Buffer> {
    const copy = join(this.#work, 'copy.db')
    const { databases } = this.#options
    try {
      await databases.copy(source.file, copy)
      this.databases.push({ path: source.path, ...(await databases.versions(copy)) })
      yield* this.#file(source, copy)
    } finally {
      for (const suffix of ['', '-wal', '-shm']) await rm(`${copy}${suffix}`, { force: true })
    }
  }

  async *#file({ path, file, kind, part, keys, origin }: SourceFile, content: string): AsyncGenerator<Buffer> {
    const handle = await open(content, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (handle === null) {
      this.leftOut.push({ path, reason: 'removed meanwhile' })
      return
    }
    try {
      const found = await handle.stat()
      const small = found.size <= SMALL_BYTES ? await handle.readFile() : null
      const bytes = small?.length ?? found.size
      const hash = createHash('sha256')
      yield tarHeader({ path, bytes, mode: found.mode & 0o777, modified: found.mtimeMs })
      if (small !== null) {
        hash.update(small)
        yield small
      }
      for (let at = small?.length ?? 0; at < bytes; ) {
        const { bytesRead, buffer } = await handle.read(
          Buffer.allocUnsafe(Math.min(READ_BYTES, bytes - at)),
          0,
          null,
          at
        )
        if (bytesRead === 0)
          throw backupErrors.create('BKP_CHANGED', `${file} became shorter while it was copied`, { hint: 'try again' })
        const piece = buffer.subarray(0, bytesRead)
        hash.update(piece)
        at += bytesRead
        yield piece
      }
      yield tarPadding(bytes)
      this.contentBytes += bytes
      this.files.push({ path, bytes, sha256: hash.digest('hex'), kind, part, keys, origin })
    } finally {
      await handle.close()
    }
  }
}
