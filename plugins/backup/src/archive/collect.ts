import type { Dirent } from 'node:fs'
import { lstat, open, opendir } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { type BackupPart, REPLACED_FOLDER, RESTORE_FOLDER } from '@svc/contracts'
import { backupErrors } from '../errors.ts'
import type { LeftOut } from './manifest.ts'

const MAX_FILES = 1_000_000
/** Folders of a project that hold no programs. */
const SKIPPED = new Set(['node_modules', 'dist', 'coverage'])
const SQLITE = Buffer.from('SQLite format 3\0', 'latin1')
/** Files next to a database that its copy includes. */
const SQLITE_LOG = /-(?:wal|shm|journal)$/
/** Files that belong to a running process. */
const OF_PROCESS = /\.(?:lock|pid|sock|tmp)$|\.(?:partial|restoring|part)-\d+/
/** Names of files that hold keys although no part names them, such as those of a disabled plugin. */
const LIKE_KEYS = /secret|vault|keyring|credential|token|auth|membership|sessions\.json$|\.(?:key|pem)$/i
const CONFIGURATION = /^svc(?:\.[^/]*)?\.toml$/

export interface SourceFile {
  /** Path in the archive. */
  readonly path: string
  /** Absolute path. */
  readonly file: string
  readonly kind: 'file' | 'sqlite'
  readonly part: string | null
  readonly keys: boolean
  readonly origin: string | null
}

export interface CollectOptions {
  readonly projectRoot: string
  readonly stateRoot: string
  readonly parts: readonly BackupPart[]
  /** Further files and folders of the project. */
  readonly include: readonly string[]
  /** Configuration files that hold literal secrets. */
  readonly secretFiles: ReadonlySet<string>
  readonly withKeys: boolean
  readonly signal: AbortSignal
}

export interface Collected {
  /** Databases first, so that their copies are not newer than the files that their rows name. */
  readonly files: readonly SourceFile[]
  readonly leftOut: readonly LeftOut[]
}

/** Lists everything that belongs to a backup. Links, sockets and other files that are no files are left out. */
export async function collect(options: CollectOptions): Promise<Collected> {
  const collection = new Collection(options)
  await collection.run()
  const isDatabase = ({ kind }: SourceFile): boolean => kind === 'sqlite'
  const { files, leftOut } = collection
  return { files: [...files.filter(isDatabase), ...files.filter(each => !isDatabase(each))], leftOut }
}

interface Owner {
  readonly part: string | null
  readonly kind: BackupPart['kind']
  readonly summary: string
}

const UNOWNED: Owner = { part: null, kind: 'data', summary: '' }

class Collection {
  readonly files: SourceFile[] = []
  readonly leftOut: LeftOut[] = []
  readonly #options: CollectOptions
  readonly #owners = new Map<string, Owner>()
  readonly #taken = new Set<string>()

  constructor(options: CollectOptions) {
    this.#options = options
  }

  async run(): Promise<void> {
    const { projectRoot, stateRoot, parts, include } = this.#options
    const owned: { readonly path: string; readonly owner: Owner }[] = []
    for (const part of parts) {
      const elsewhere = part.elsewhere?.() ?? null
      if (elsewhere !== null) this.leftOut.push({ path: part.name, reason: elsewhere })
      for (const path of (await part.paths?.()) ?? []) {
        const owner = { part: part.name, kind: part.kind, summary: part.summary }
        owned.push({ path: resolve(projectRoot, path), owner })
        this.#owners.set(resolve(projectRoot, path), owner)
      }
    }
    await this.#walk(stateRoot, 'state', UNOWNED, () => true)
    for (const entry of await entriesOf(projectRoot))
      if (entry.isFile() && CONFIGURATION.test(entry.name))
        await this.#take(join(projectRoot, entry.name), `project/${entry.name}`, UNOWNED)
    await this.#walk(projectRoot, 'project', UNOWNED, path => path.endsWith('.vox'), true)
    for (const path of include) {
      const file = resolve(projectRoot, path)
      if (!isInside(projectRoot, file) || isInside(stateRoot, file)) throw outside(path)
      await this.#visit(file, `project/${posix(relative(projectRoot, file))}`, UNOWNED, () => true)
    }
    for (const { path, owner } of owned) {
      if (isInside(stateRoot, path)) continue
      const name = isInside(projectRoot, path)
        ? `project/${posix(relative(projectRoot, path))}`
        : `external/${owner.part}/${basename(path)}`
      await this.#visit(path, name, owner, () => true)
    }
  }

  async #walk(
    folder: string,
    path: string,
    owner: Owner,
    isWanted: (path: string) => boolean,
    isSource = false
  ): Promise<void> {
    for (const entry of await entriesOf(folder)) {
      this.#options.signal.throwIfAborted()
      const file = join(folder, entry.name)
      if (file === this.#options.stateRoot && path !== 'state') continue
      if (isSource && (entry.name.startsWith('.') || SKIPPED.has(entry.name))) continue
      await this.#visit(file, `${path}/${entry.name}`, owner, isWanted, isSource)
    }
  }

  async #visit(
    file: string,
    path: string,
    above: Owner,
    isWanted: (path: string) => boolean,
    isSource = false
  ): Promise<void> {
    const found = await lstat(file).catch(() => null)
    if (found === null) return
    const owner = this.#owners.get(file) ?? above
    const name = basename(file)
    if (name === RESTORE_FOLDER || path === `state/${REPLACED_FOLDER}` || name.startsWith('.svc-backup-')) return
    if (owner.kind === 'derived') {
      this.leftOut.push({ path, reason: `${owner.summary}: can be made again` })
      return
    }
    if (found.isDirectory()) return this.#walk(file, path, owner, isWanted, isSource)
    if (!isWanted(path)) return
    if (!found.isFile()) {
      this.leftOut.push({ path, reason: found.isSymbolicLink() ? 'a link' : 'no regular file' })
      return
    }
    await this.#take(file, path, owner)
  }

  async #take(file: string, path: string, owner: Owner): Promise<void> {
    if (this.#taken.has(file) || OF_PROCESS.test(path)) return
    this.#taken.add(file)
    if (SQLITE_LOG.test(file) && (await isDatabase(file.replace(SQLITE_LOG, '')))) return
    const keys =
      owner.kind === 'keys' ||
      this.#options.secretFiles.has(file) ||
      (owner.part === null && path.startsWith('state/') && LIKE_KEYS.test(path))
    if (keys && !this.#options.withKeys) {
      this.leftOut.push({ path, reason: 'holds keys or secrets' })
      return
    }
    if (this.files.length >= MAX_FILES)
      throw backupErrors.create('BKP_FAILED', `the project has more than ${MAX_FILES} files to back up`, {
        hint: 'remove folders from plugins.backup.include, or clean the state folder'
      })
    const kind = (await isDatabase(file)) ? 'sqlite' : 'file'
    const origin = path.startsWith('external/') ? file : null
    this.files.push({ path, file, kind, part: owner.part, keys, origin })
  }
}

async function isDatabase(file: string): Promise<boolean> {
  const handle = await open(file, 'r').catch(() => null)
  if (handle === null) return false
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(SQLITE.length), 0, SQLITE.length, 0)
    return bytesRead === SQLITE.length && buffer.equals(SQLITE)
  } finally {
    await handle.close()
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  const entries: Dirent[] = []
  try {
    for await (const entry of await opendir(folder)) entries.push(entry)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
  }
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1))
}

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || (!isAbsolute(way) && way.split(sep)[0] !== '..')
}

function posix(path: string): string {
  return path.split(sep).join('/')
}

function outside(path: string): Error {
  return backupErrors.create('BKP_OPTIONS', `plugins.backup.include names ${path}, which is outside of the project`, {
    at: { path: 'plugins.backup.include' },
    hint: 'name files and folders of the project; the state folder is always included'
  })
}
