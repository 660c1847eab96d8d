import { once } from 'node:events'
import { readdirSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { FSWatcher } from 'chokidar'

/** Files and directories to watch, as absolute paths. */
export interface WatchSet {
  /** Files, existing or not. */
  readonly files: Iterable<string>
  /** Directories in which folders may appear and disappear. */
  readonly directories: Iterable<string>
}

export interface WatchOptions {
  /**
   * Called with all changed, new or removed paths after a quiet period. Changes during a call are reported by the next
   * one.
   */
  readonly onChange: (paths: readonly string[]) => void | Promise<void>
  readonly onError: (error: unknown) => void
  /** Quiet period in milliseconds; default 15. */
  readonly quietMs?: number
}

/** Members of the watch set in one directory. */
interface Group {
  readonly files: string[]
  /** True if new and removed folders in the directory are reported. */
  folders: boolean
}

interface WatchedDirectory {
  /** Watched paths in the directory: files of the set, or a folder that may be created to contain them. */
  readonly items: Set<string>
  readonly folders: boolean
}

interface Open {
  readonly key: string
  /** Identity of the directory when it was opened. */
  readonly identity: string
  readonly watcher: FSWatcher
}

/** Resolution of file times in milliseconds. */
const CLOCK_TICK_MS = 10
const MISSING = 'missing'
/** Quiet period after which all members of the set are checked. */
const SWEEP_MS = 1_000

/**
 * Watches a set of files through their directories. An editor that saves by renaming replaces the file, and a file or
 * its folder may not exist yet.
 *
 * File-system events only show where to check. Changes are found by comparing times and sizes. Events may be lost while
 * a file is replaced, so all files are checked once more after the last event. That check is too slow to delay the
 * change for it.
 */
export class Watcher {
  readonly #options: WatchOptions
  readonly #open = new Map<string, Open>()
  #set: { readonly files: ReadonlySet<string>; readonly directories: ReadonlySet<string> } = {
    files: new Set(),
    directories: new Set()
  }
  /** Members of the set by directory. */
  #groups: ReadonlyMap<string, Group> = new Map()
  /** Last known identities of files and folders, by directory. */
  readonly #seen = new Map<string, ReadonlyMap<string, string>>()
  /** Directories with events. */
  #touched = new Set<string>()
  /** True if an event may concern any directory. */
  #everywhere = false
  #reporting = false
  /** True if an event arrived during a call of `onChange`. */
  #missed = false
  #timer: NodeJS.Timeout | undefined
  #sweep: NodeJS.Timeout | undefined
  #closed = false
  #turn: Promise<void> = Promise.resolve()

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** Replaces the set. Resolves when all members are watched. Members of both sets are watched without a gap. */
  async update(set: WatchSet): Promise<void> {
    const before = this.#set
    const next = { files: new Set(set.files), directories: new Set(set.directories) }
    if (isSame(before.files, next.files) && isSame(before.directories, next.directories)) return this.#turn
    this.#set = next
    this.#groups = groupsOf(next)
    const stays = (path: string): boolean => {
      if (next.files.has(path)) return before.files.has(path)
      return next.directories.has(dirname(path)) && before.directories.has(dirname(path))
    }
    for (const directory of this.#seen.keys()) if (!this.#groups.has(directory)) this.#seen.delete(directory)
    for (const [directory, group] of this.#groups) {
      const known = [...(this.#seen.get(directory) ?? [])].filter(([path]) => stays(path))
      const isKnown = group.files.every(stays) && (!group.folders || before.directories.has(directory))
      const fresh = isKnown ? [] : [...look(directory, group)].filter(([path]) => !stays(path))
      this.#seen.set(directory, new Map([...fresh, ...known]))
    }
    await this.#inTurn(() => this.#arrange())
    if (this.#touched.size > 0) this.#soon()
  }

  /** Stops watching. Does not wait for a running call of `onChange`, which may itself call `close`. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#sweep)
    await this.#inTurn(async () => {
      await Promise.all([...this.#open.values()].map(each => each.watcher.close()))
      this.#open.clear()
    })
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /**
   * Opens new watchers, then closes old ones. Marks the directories for a check, since changes may have been missed.
   */
  async #arrange(): Promise<void> {
    for (let opened = true; opened && !this.#closed; ) {
      const identities = new Map<string, string>()
      const identityOf = (directory: string): string => {
        const known = identities.get(directory) ?? identity(directory)
        identities.set(directory, known)
        return known
      }
      const places = this.#places(directory => identityOf(directory) !== MISSING)
      const stale: Open[] = []
      const opening = [...places].map(async ([directory, place]) => {
        const current = this.#open.get(directory)
        const key = `${place.folders} ${[...place.items].sort().join()}`
        if ((current?.key === key && current.identity === identityOf(directory)) || this.#closed) return false
        // The watcher of a removed folder does not watch the folder that replaced it.
        if (current !== undefined && current.identity !== identityOf(directory)) await current.watcher.close()
        else if (current !== undefined) stale.push(current)
        const watcher = await this.#watch(directory, place)
        this.#open.set(directory, { key, identity: identityOf(directory), watcher })
        this.#touched.add(directory)
        return true
      })
      // In the meantime, new folders with members of the set may have appeared.
      opened = (await Promise.all(opening)).includes(true)
      for (const [directory, open] of this.#open) {
        if (places.has(directory)) continue
        this.#open.delete(directory)
        stale.push(open)
      }
      await Promise.all(stale.map(each => each.watcher.close()))
    }
  }

  /** Returns the directories to watch: for each member of the set, its parent or the nearest existing ancestor. */
  #places(exists: (directory: string) => boolean): Map<string, WatchedDirectory> {
    const places = new Map<string, WatchedDirectory>()
    const place = (directory: string): WatchedDirectory => {
      const found = places.get(directory) ?? {
        items: new Set(),
        folders: this.#groups.get(directory)?.folders === true
      }
      places.set(directory, found)
      return found
    }
    for (const [directory, { files }] of this.#groups) {
      if (exists(directory)) {
        const { items } = place(directory)
        for (const file of files) items.add(file)
        continue
      }
      let [child, parent] = [directory, dirname(directory)]
      while (!exists(parent) && parent !== dirname(parent)) [child, parent] = [parent, dirname(parent)]
      place(parent).items.add(child)
    }
    return places
  }

  async #watch(directory: string, { items, folders }: WatchedDirectory): Promise<FSWatcher> {
    const { watch } = await import('chokidar')
    const isOurs = (path: string): boolean => items.has(path) || path === directory
    const watcher = watch(directory, { ignoreInitial: true, depth: 0, ignored: path => !isOurs(path) })
    watcher.on('error', this.#options.onError)
    // When the directory itself is removed, `name` is the name of the directory.
    watcher.on('raw', (_event, name) => {
      const path = name && name !== basename(directory) ? join(directory, name) : directory
      if (folders || isOurs(path)) this.#soon(directory, path)
    })
    // Events of chokidar arrive slightly later than raw ones, so they do not restart the timer.
    watcher.on('all', (_event, path) => {
      if (this.#timer === undefined && (folders || isOurs(path))) this.#soon(directory, path)
    })
    await once(watcher, 'ready')
    return watcher
  }

  /** Schedules a check after a quiet period: of a path in a watched directory, or of all directories with events. */
  #soon(directory?: string, path?: string): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#sweep)
    if (this.#closed) return
    if (directory !== undefined && path !== undefined) {
      // If a folder appeared or disappeared, all directories are checked and the watchers updated.
      if (this.#set.files.has(path)) this.#touched.add(directory)
      else this.#everywhere = true
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#report()
    }, this.#options.quietMs ?? 15)
  }

  async #report(): Promise<void> {
    if (this.#reporting) {
      this.#missed = true
      return
    }
    this.#reporting = true
    try {
      const paths = await this.#changed()
      if (paths.length === 0 || this.#closed) return
      await this.#options.onChange(paths)
    } catch (error) {
      this.#options.onError(error)
    } finally {
      this.#reporting = false
      if (this.#missed) this.#soon()
      this.#missed = false
    }
  }

  /** Checks directories with events. Returns the changed paths. */
  async #changed(): Promise<string[]> {
    const isMoved = (directory: string): boolean => identity(directory) !== this.#open.get(directory)?.identity
    const everywhere = this.#everywhere || [...this.#touched].some(isMoved)
    if (everywhere) await this.#inTurn(() => this.#arrange())
    const directories = everywhere ? new Set([...this.#seen.keys(), ...this.#groups.keys()]) : this.#touched
    this.#touched = new Set()
    this.#everywhere = false
    if (!everywhere && !this.#closed) this.#sweepLater()
    return [...directories].flatMap(directory => this.#changedIn(directory)).sort()
  }

  #changedIn(directory: string): string[] {
    const group = this.#groups.get(directory)
    if (group === undefined) return []
    const before = this.#seen.get(directory)
    const now = look(directory, group)
    this.#seen.set(directory, now)
    const paths = new Set([...(before?.keys() ?? []), ...now.keys()])
    return [...paths].filter(path => (before?.get(path) ?? MISSING) !== (now.get(path) ?? MISSING))
  }

  #sweepLater(): void {
    clearTimeout(this.#sweep)
    this.#sweep = setTimeout(() => {
      this.#everywhere = true
      this.#soon()
    }, SWEEP_MS)
  }
}

function groupsOf({ files, directories }: WatchSet): Map<string, Group> {
  const groups = new Map<string, Group>()
  const group = (directory: string): Group => {
    const found = groups.get(directory) ?? { files: [], folders: false }
    groups.set(directory, found)
    return found
  }
  for (const file of files) group(dirname(file)).files.push(file)
  for (const directory of directories) group(directory).folders = true
  return groups
}

function look(directory: string, { files, folders }: Group): Map<string, string> {
  const seen = new Map<string, string>()
  for (const file of files)
    seen.set(
      file,
      identity(file, stats => `${stats.mtimeMs} ${stats.size}`)
    )
  if (folders) for (const folder of foldersOf(directory)) seen.set(folder, identity(folder))
  return seen
}

function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  if (a.size !== b.size) return false
  for (const path of a) if (!b.has(path)) return false
  return true
}

/** Returns a string that differs between two files or folders with the same path. */
function identity(path: string, more: (stats: Stats) => string = () => ''): string {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? MISSING : `${stats.ino} ${stats.birthtimeMs} ${more(stats)}`
}

function foldersOf(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true })
    return entries.filter(entry => !entry.isFile()).map(entry => join(directory, entry.name))
  } catch {
    return []
  }
}

/** True if a file was written or moved at or after a time in milliseconds since the epoch. False if it is missing. */
export function changedSince(file: string, time: number): boolean {
  const changedAt = statSync(file, { throwIfNoEntry: false })?.ctimeMs ?? -Infinity
  return changedAt >= time - CLOCK_TICK_MS
}
