import { readdir, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  type BackupPart,
  backupParts,
  type KernelAdmin,
  type KernelPort,
  type PrimaryDatabase,
  withFileLock
} from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import type { Locks } from './age/keys.ts'
import { type Created, createArchive, type Progress } from './archive/create.ts'
import { type Databases, databasesOf } from './archive/databases.ts'
import { readArchiveHeader } from './archive/read.ts'
import { backupErrors } from './errors.ts'
import { locksOf } from './keys-of-command.ts'
import type { Settings } from './settings.ts'
import { StatusFile } from './status.ts'

const NAME = /^svc-backup-.*-(\d{8}T\d{6}Z)\.tar\.gz(?:\.age)?$/

export interface Dependencies {
  readonly kernel: Pick<KernelPort, 'current' | 'projectRoot' | 'stateRoot' | 'repositoryId' | 'version' | 'mask'>
  readonly admin: Pick<KernelAdmin, 'settings'> | undefined
  readonly store: PrimaryDatabase | undefined
  settings(): Settings
}

export interface ListedBackup {
  readonly file: string
  readonly bytes: number
  /** When it was made, ISO 8601. */
  readonly created_at: string
  readonly encrypted: boolean
  /** Version of svc; null for an encrypted archive. */
  readonly svc_version: string | null
  /** Why the archive cannot be used; null if its beginning is readable. */
  readonly problem: string | null
}

/** Writes and lists backups of the project. */
export class Backups {
  readonly status: StatusFile
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.status = new StatusFile(join(dependencies.kernel.stateRoot, 'plugins', 'backup'))
  }

  get folder(): string {
    const { kernel, settings } = this.#dependencies
    return resolve(kernel.projectRoot, settings().folder)
  }

  get parts(): readonly BackupPart[] {
    return this.#dependencies.kernel.current.items(backupParts).map(({ item }) => item)
  }

  get databases(): Databases {
    return databasesOf(this.#dependencies.store)
  }

  /** Returns a new name in the folder of backups. */
  nextFile(encrypted: boolean, now = new Date()): string {
    const name = this.#dependencies.kernel.repositoryId.replace(/[^\w-]+/g, '-').slice(0, 80)
    const time = now.toISOString().replaceAll(/[-:]|\.\d+/g, '')
    return join(this.folder, `svc-backup-${name}-${time}.tar.gz${encrypted ? '.age' : ''}`)
  }

  /** Writes a backup, and records the result for the console. */
  async create(
    given: { readonly file: string | null; readonly locks: Locks | null; readonly withKeys: boolean },
    onProgress: Progress,
    signal: AbortSignal
  ): Promise<Created> {
    const { kernel, settings } = this.#dependencies
    const start = Date.now()
    const file = given.file ?? this.nextFile(given.locks !== null)
    const options = {
      file,
      projectRoot: kernel.projectRoot,
      stateRoot: kernel.stateRoot,
      repositoryId: kernel.repositoryId,
      version: kernel.version,
      plugins: [...kernel.current.units.values()].map(({ name, version }) => ({ name, version })),
      parts: this.parts,
      include: settings().include,
      secretFiles: this.#secretFiles(),
      withKeys: given.withKeys,
      locks: given.locks,
      databases: this.databases,
      onProgress,
      signal
    }
    try {
      const created = await this.#alone(() => createArchive(options))
      const { bytes, files } = created
      await this.status.succeeded({ at: Date.now(), file, bytes, files, ms: Date.now() - start })
      return created
    } catch (error) {
      if (!signal.aborted && !isSvcError(error, 'BKP_BUSY') && !isSvcError(error, 'BKP_EXISTS'))
        // The failure itself is what counts, also on a full disk.
        await this.status.failed(error, kernel.mask(errorMessage(error))).catch(() => {})
      throw error
    }
  }

  /** Writes a backup as the settings say, and removes the oldest ones of the folder. */
  async createScheduled(signal: AbortSignal): Promise<Created> {
    const settings = this.#dependencies.settings()
    const { without_keys } = settings
    const locks = await locksOf({ without_keys, unencrypted: false }, settings, null)
    const created = await this.create({ file: null, locks, withKeys: !without_keys }, () => {}, signal)
    await this.#prune(settings.keep)
    return created
  }

  /** Lists the archives of a folder, newest first. Others' files are left out. */
  async list(folder: string, signal: AbortSignal): Promise<ListedBackup[]> {
    const listed: ListedBackup[] = []
    for (const name of await readdir(folder).catch(() => [])) {
      if (!/\.tar\.gz(?:\.age)?$/.test(name)) continue
      const file = join(folder, name)
      const found = await stat(file).catch(() => null)
      if (found?.isFile() !== true) continue
      const about = { file, bytes: found.size, created_at: createdAt(name) ?? found.mtime.toISOString() }
      try {
        const header = await readArchiveHeader(file, signal)
        listed.push({
          ...about,
          created_at: header?.created_at ?? about.created_at,
          encrypted: header === null,
          svc_version: header?.svc_version ?? null,
          problem: null
        })
      } catch (error) {
        signal.throwIfAborted()
        listed.push({ ...about, encrypted: false, svc_version: null, problem: errorMessage(error) })
      }
    }
    return listed.sort((one, other) => (one.created_at < other.created_at ? 1 : -1))
  }

  /** Removes scheduled backups of this project beyond a number. */
  async #prune(keep: number): Promise<void> {
    const prefix = this.nextFile(false).replace(/\d{8}T\d{6}Z.*$/, '')
    const names = (await readdir(this.folder)).filter(
      name => NAME.test(name) && join(this.folder, name).startsWith(prefix)
    )
    for (const name of names.sort().toReversed().slice(keep)) await rm(join(this.folder, name), { force: true })
  }

  /** Runs one backup at a time. */
  #alone<A>(run: () => Promise<A>): Promise<A> {
    const busy = (): Error =>
      backupErrors.create('BKP_BUSY', 'another process writes a backup of this project', {
        hint: 'wait until it ends'
      })
    return withFileLock(`${this.status.path}.lock`, run, { waitMs: 0, busy })
  }

  /** Returns the configuration files that hold a secret itself, instead of a reference to it. */
  #secretFiles(): Set<string> {
    const { kernel, admin } = this.#dependencies
    const files = new Set<string>()
    for (const { secret, place, value } of admin?.settings() ?? []) {
      if (!secret || place === null || (typeof value === 'string' && value.startsWith('secret://'))) continue
      files.add(resolve(kernel.projectRoot, place.replace(/(?::\d+){1,2}$/, '')))
    }
    return files
  }
}

function createdAt(name: string): string | null {
  const time = NAME.exec(name)?.[1]
  if (time === undefined) return null
  return time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6.000Z')
}
