import { once } from 'node:events'
import { dirname } from 'node:path'
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

interface Watched {
  readonly wanted: ReadonlySet<string>
  readonly folders: boolean
  readonly watcher: FSWatcher
}

/**
 * Watches exactly a set of files, through the directories that hold them: an editor that saves by renaming replaces
 * the file, and a file that is missing may appear.
 */
export class Watcher {
  readonly #options: WatchOptions
  readonly #watched = new Map<string, Watched>()
  readonly #changed = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #reporting: Promise<void> | undefined
  #closed = false
  #turn: Promise<void> = Promise.resolve()

  constructor(options: WatchOptions) {
    this.#options = options
  }

  /** Replaces the set; resolves when all of it is watched. What stays in it is watched without a gap. */
  update(set: WatchSet): Promise<void> {
    const turn = this.#turn.then(() => this.#update(set))
    this.#turn = turn.catch(() => {})
    return turn
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#turn
    await Promise.all([...this.#watched.values()].map(each => each.watcher.close()))
    this.#watched.clear()
    await this.#reporting
  }

  async #update(set: WatchSet): Promise<void> {
    const directories = new Set(set.directories)
    const wanted = new Map([...directories].map(directory => [directory, new Set<string>()]))
    for (const file of set.files) {
      const files = wanted.get(dirname(file)) ?? new Set()
      wanted.set(dirname(file), files.add(file))
    }
    const opened = [...wanted].map(([directory, files]) => this.#watch(directory, files, directories.has(directory)))
    const gone = [...this.#watched].filter(([directory]) => !wanted.has(directory))
    for (const [directory, { watcher }] of gone) {
      this.#watched.delete(directory)
      await watcher.close()
    }
    await Promise.all(opened)
  }

  async #watch(directory: string, wanted: ReadonlySet<string>, folders: boolean): Promise<void> {
    const previous = this.#watched.get(directory)
    if (previous !== undefined && previous.folders === folders && isSame(previous.wanted, wanted)) return
    if (this.#closed) return
    const { watch } = await import('chokidar')
    const watcher = watch(directory, {
      ignoreInitial: true,
      depth: 0,
      ignored: (path, stats) => path !== directory && !wanted.has(path) && !(folders && stats?.isFile() !== true)
    })
    watcher.on('error', this.#options.onError)
    watcher.on('all', (event, path) => {
      const folder = event === 'addDir' || event === 'unlinkDir'
      if (path === directory) this.#lost(directory, watcher)
      else if (wanted.has(path) || (folder && folders)) this.#note(path)
    })
    this.#watched.set(directory, { wanted, folders, watcher })
    await once(watcher, 'ready')
    await previous?.watcher.close()
  }

  /** The directory itself vanished: all that was in it did, and the next update begins anew. */
  #lost(directory: string, watcher: FSWatcher): void {
    const watched = this.#watched.get(directory)
    if (watched?.watcher !== watcher) return
    this.#watched.delete(directory)
    for (const file of watched.wanted) this.#note(file)
    this.#note(directory)
    void watcher.close()
  }

  #note(path: string): void {
    this.#changed.add(path)
    clearTimeout(this.#timer)
    if (!this.#closed) this.#timer = setTimeout(() => this.#report(), this.#options.quietMs ?? 15)
  }

  #report(): void {
    if (this.#reporting !== undefined || this.#changed.size === 0 || this.#closed) return
    const paths = [...this.#changed].sort()
    this.#changed.clear()
    this.#reporting = this.#call(paths).finally(() => {
      this.#reporting = undefined
      this.#report()
    })
  }

  async #call(paths: readonly string[]): Promise<void> {
    try {
      await this.#options.onChange(paths)
    } catch (error) {
      this.#options.onError(error)
    }
  }
}

function isSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every(each => other.has(each))
}
