import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, readlink, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { withLock } from './lock.ts'

const run = promisify(execFile)
const FLUSH_TIMEOUT_MS = 120_000

/** Installed version. */
export interface Installed {
  /** Name of its folder: tag and the beginning of the digest. */
  readonly directory: string
  readonly tag: string
  readonly version: string
  readonly asset: string
  /** SHA-256 of the archive. */
  readonly sha256: string
  /** ISO 8601. */
  readonly installed_at: string
}

const FACTS = '.svc-install.json'
const PARTIAL = '.partial-'
const MAX_HISTORY = 100

/**
 * Folder with installed versions:
 *
 * - `versions/DIRECTORY`: complete versions, which never change;
 * - `current`: link to the version in use, the only thing that decides it;
 * - `bin/svc`: link to the program of the current version;
 * - `history.json`: versions in the order in which they came into use, for the way back.
 */
export class Toolchain {
  readonly home: string

  constructor(home: string) {
    this.home = home
  }

  get program(): string {
    return join(this.home, 'bin', 'svc')
  }

  path(directory: string): string {
    return join(this.home, 'versions', directory)
  }

  /** Runs work while no other process changes the folder, after removing what killed processes left. */
  async exclusively<A>(run: () => Promise<A>): Promise<A> {
    await mkdir(join(this.home, 'versions'), { recursive: true })
    return withLock(join(this.home, 'lock'), async () => {
      await this.#removeUnfinished()
      return run()
    })
  }

  /** Returns a new, empty folder for a version that is being unpacked. */
  async partial(): Promise<string> {
    const folder = this.path(`${PARTIAL}${randomUUID()}`)
    await mkdir(folder)
    return folder
  }

  /** Path of a new file for a download. */
  async downloadFile(): Promise<string> {
    await mkdir(join(this.home, 'downloads'), { recursive: true })
    return join(this.home, 'downloads', randomUUID())
  }

  async current(): Promise<Installed | null> {
    try {
      return await this.read(basename(await readlink(join(this.home, 'current'))))
    } catch {
      return null
    }
  }

  /** Returns the facts of a complete version; null if there is none. */
  async read(directory: string): Promise<Installed | null> {
    try {
      const facts = JSON.parse(await readFile(join(this.path(directory), FACTS), 'utf8')) as Omit<
        Installed,
        'directory'
      >
      return { ...facts, directory }
    } catch {
      return null
    }
  }

  /** Returns all complete versions. */
  async versions(): Promise<Installed[]> {
    const names = await readdir(join(this.home, 'versions')).catch(() => [])
    const found = await Promise.all(names.filter(name => !name.startsWith('.')).map(name => this.read(name)))
    return found.filter(each => each !== null)
  }

  /** Writes the facts into an unpacked version, and moves it to its place. */
  async place(partial: string, { directory, ...facts }: Installed): Promise<void> {
    await writeFile(join(partial, FACTS), JSON.stringify(facts))
    const target = this.path(directory)
    // Only an incomplete folder can be there, since a complete one would have been used.
    if (existsSync(target)) await rm(target, { recursive: true, force: true })
    await flush(partial)
    await rename(partial, target)
  }

  /** Makes a version the current one, by replacing one link. */
  async switchTo(directory: string): Promise<void> {
    await mkdir(join(this.home, 'bin'), { recursive: true })
    await replaceLink(join('..', 'current', 'bin', 'svc.cjs'), this.program)
    await replaceLink(join('versions', directory), join(this.home, 'current'))
  }

  /** Records the current version as the last one that came into use. */
  async record(): Promise<void> {
    const current = await this.current()
    if (current === null) return
    const history = await this.#history()
    if (history.at(-1) === current.directory) return
    await this.#writeHistory([...history, current.directory].slice(-MAX_HISTORY))
  }

  /** Returns the version that was in use before the current one, if it is still installed. */
  async previous(): Promise<Installed | null> {
    const current = (await this.current())?.directory
    for (const directory of (await this.#history()).toReversed()) {
      const found = directory === current ? null : await this.read(directory)
      if (found !== null) return found
    }
    return null
  }

  /** Removes versions beyond `keep`: never the current, the previous, or the one that runs this process. */
  async prune(keep: number, program: string | undefined = process.argv[1]): Promise<string[]> {
    const used = [await this.current(), await this.previous()].flatMap(each => each?.directory ?? [])
    const versions = await realpath(join(this.home, 'versions')).catch(() => join(this.home, 'versions'))
    const running = program === undefined ? '' : await realpath(program).catch(() => '')
    const all = (await this.versions()).toSorted((a, b) => (a.installed_at < b.installed_at ? 1 : -1))
    const removable = all.filter(
      ({ directory }) => !used.includes(directory) && !running.startsWith(`${join(versions, directory)}/`)
    )
    const removed = removable.slice(Math.max(0, keep - (all.length - removable.length)))
    for (const { directory } of removed) await this.#discard(this.path(directory))
    return removed.map(({ directory }) => directory)
  }

  /** Removes a folder so that it never looks complete meanwhile. */
  async #discard(folder: string): Promise<void> {
    const hidden = this.path(`${PARTIAL}${randomUUID()}`)
    await rename(folder, hidden)
    await rm(hidden, { recursive: true, force: true })
  }

  async #removeUnfinished(): Promise<void> {
    await rm(join(this.home, 'downloads'), { recursive: true, force: true })
    for (const name of await readdir(join(this.home, 'versions')))
      if (name.startsWith(PARTIAL)) await rm(this.path(name), { recursive: true, force: true })
    for (const name of await readdir(this.home))
      if (/^(?:current|history\.json)\.[0-9a-f-]{36}$/.test(name)) await rm(join(this.home, name), { force: true })
    // A process that was killed after its switch did not record it.
    await this.record()
  }

  async #history(): Promise<string[]> {
    try {
      const list: unknown = JSON.parse(await readFile(join(this.home, 'history.json'), 'utf8'))
      return Array.isArray(list) ? list.filter(each => typeof each === 'string') : []
    } catch {
      return []
    }
  }

  async #writeHistory(history: readonly string[]): Promise<void> {
    const file = join(this.home, 'history.json')
    const next = `${file}.${randomUUID()}`
    await writeFile(next, JSON.stringify(history))
    await rename(next, file)
  }
}

/** Writes the files of a folder to the disk, where the system has a program for that. */
async function flush(folder: string): Promise<void> {
  if (process.platform === 'linux') await run('sync', ['-f', folder], { timeout: FLUSH_TIMEOUT_MS }).catch(() => {})
}

async function replaceLink(target: string, path: string): Promise<void> {
  const next = `${path}.${randomUUID()}`
  await symlink(target, next)
  try {
    await rename(next, path)
  } catch (error) {
    await rm(next, { force: true })
    throw error
  }
}
