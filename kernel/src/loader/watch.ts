import { once } from 'node:events'
import { readdirSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { FSWatcher } from 'chokidar'

/** What is watched; absolute paths. */
export interface WatchSet {
  /** Files, whether they exist or not. */
  readonly files: Iterable<string>
  /** Directories in which folders may appear and vanish. */
  readonly directories: Iterable<string>
}

export interface WatchOptions {
  /**
   * Called with everything that changed, appeared or vanished, once it has been quiet for a moment. What happens
   * while a call is under way comes with the next one.
   */
  readonly onChange: (paths: readonly string[]) => void | Promise<void>
  readonly onError: (error: unknown) => void
  /** How long it has to be quiet; milliseconds, default 15. */
  readonly quietMs?: number
}

interface Place {
  /** What to look for in the directory: files of the set, or the folder in which they will be. */
  readonly items: Set<string>
  readonly folders: boolean
}

interface Open {
  readonly key: string
  readonly watcher: FSWatcher
}

const MISSING = 'missing'

/**
 * Watches exactly a set of files, through the directories that hold them: an editor that saves by renaming replaces the
 * file, and a file or its folder may be missing as yet.
 *
 * The system's events only say when to look; what changed is found by comparing times and sizes. Events come in bursts,
 * and some are lost while a file is replaced.
 */
export class Watcher {
  readonly #options: WatchOptions
  readonly #open = new Map<string, Open>()
  /** What was last seen of each file, and of each directory's folders. */
  #seen = new Map<string, string>()
  #set: { readonly files: ReadonlySet<string>; readonly directories: ReadonlySet<string> } = {
    files: new Set(),
    directories: new Set()
  }
  #reporting = false
  /** Whether something happened while a call was under way. */
  #missed = false
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #turn: Promise<void> = Promise.resolve()

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** Replaces the set; resolves when all of it is watched. What stays in it is watched without a gap. */
  async update(set: WatchSet): Promise<void> {
    const before = this.#set
    this.#set = { files: new Set(set.files), directories: new Set(set.directories) }
    const stays = (path: string): boolean => {
      const { files, directories } = this.#set
      if (files.has(path)) return before.files.has(path)
      return directories.has(dirname(path)) && before.directories.has(dirname(path))
    }
    const seen = [...this.#look()].filter(([path]) => !stays(path))
    this.#seen = new Map([...seen, ...[...this.#seen].filter(([path]) => stays(path))])
    await this.#inTurn(() => this.#arrange())
    this.#soon()
  }

  /** Does not wait for a call of `onChange`, which may be the one that closes. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
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

  /** Opens what is not open yet before it closes what is no longer needed. */
  async #arrange(): Promise<void> {
    const places = this.#places()
    const stale: Open[] = []
    const opened = [...places].map(async ([directory, place]) => {
      const key = `${identity(directory)} ${place.folders} ${[...place.items].sort().join()}`
      const current = this.#open.get(directory)
      if (current?.key === key || this.#closed) return
      if (current !== undefined) stale.push(current)
      this.#open.set(directory, { key, watcher: await this.#watch(directory, place) })
    })
    await Promise.all(opened)
    for (const [directory, open] of this.#open) {
      if (places.has(directory)) continue
      this.#open.delete(directory)
      stale.push(open)
    }
    await Promise.all(stale.map(each => each.watcher.close()))
  }

  /** For every path the directory to watch: its own, or the nearest one that exists. */
  #places(): Map<string, Place> {
    const { files, directories } = this.#set
    const places = new Map<string, Place>()
    const place = (directory: string): Place => {
      const found = places.get(directory) ?? { items: new Set(), folders: directories.has(directory) }
      places.set(directory, found)
      return found
    }
    const known = new Map<string, boolean>()
    const exists = (directory: string): boolean => {
      const there = known.get(directory) ?? identity(directory) !== MISSING
      known.set(directory, there)
      return there
    }
    const seek = (item: string): void => {
      let [child, parent] = [item, dirname(item)]
      while (!exists(parent) && parent !== dirname(parent)) [child, parent] = [parent, dirname(parent)]
      place(parent).items.add(child)
    }
    for (const file of files) seek(file)
    for (const directory of directories) exists(directory) ? place(directory) : seek(directory)
    return places
  }

  async #watch(directory: string, { items, folders }: Place): Promise<FSWatcher> {
    const { watch } = await import('chokidar')
    const isOurs = (path: string): boolean => items.has(path) || path === directory
    const watcher = watch(directory, { ignoreInitial: true, depth: 0, ignored: path => !isOurs(path) })
    watcher.on('error', this.#options.onError)
    // Also tells of the directory itself, by its name, when it is removed.
    watcher.on('raw', (_event, name) => {
      const path = name && name !== basename(directory) ? join(directory, name) : directory
      if (folders || isOurs(path)) this.#soon()
    })
    // What chokidar makes of it comes a little later, and need not prolong the wait.
    watcher.on('all', (_event, path) => {
      if (this.#timer === undefined && (folders || isOurs(path))) this.#soon()
    })
    await once(watcher, 'ready')
    return watcher
  }

  #soon(): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
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
      await this.#inTurn(() => this.#arrange())
      const paths = this.#changed()
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

  /** Looks again, and says what is not as it was. */
  #changed(): string[] {
    const before = this.#seen
    this.#seen = this.#look()
    const paths = new Set([...before.keys(), ...this.#seen.keys()])
    return [...paths].filter(path => (before.get(path) ?? MISSING) !== (this.#seen.get(path) ?? MISSING)).sort()
  }

  #look(): Map<string, string> {
    const seen = new Map<string, string>()
    for (const file of this.#set.files)
      seen.set(
        file,
        identity(file, stats => `${stats.mtimeMs} ${stats.size}`)
      )
    for (const directory of this.#set.directories) {
      for (const folder of foldersOf(directory)) seen.set(folder, identity(folder))
    }
    return seen
  }
}

/** Tells a file or folder from another one of its name. */
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
