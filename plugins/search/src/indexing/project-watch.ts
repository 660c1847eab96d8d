import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '@svc/plugin-sdk'

/** Time without events after which changes are reported. Editors write a file in several steps. */
const QUIET_MS = 40
/** Longest time that steady events delay a report. */
const MAX_WAIT_MS = 1_000
/** More changed paths are reported as a change of everything. */
const MAX_PATHS = 500

/** Names of files whose changes may change which files are ignored. */
const RULES = /(?:^|\/)\.gitignore$/

export interface ProjectWatchParts {
  readonly root: string
  /**
   * Handles changed paths, relative to the project; null if everything may have changed. Returns folders that are to be
   * watched, too; after null all that are to be watched. Called one at a time. Handles its own errors.
   */
  readonly onChange: (paths: readonly string[] | null) => Promise<readonly string[]>
  /** Called if a folder cannot be watched, for example because the system's limit is reached. */
  readonly onProblem: (reason: string) => void
}

/** Watches folders of the project, not the folders below them, which are watched on their own. */
export class ProjectWatch {
  readonly #parts: ProjectWatchParts
  readonly #watchers = new Map<string, FSWatcher>()
  #paths = new Set<string>()
  #everything = false
  #timer: NodeJS.Timeout | undefined
  #since: number | null = null
  #running: Promise<void> | null = null
  #isClosed = false

  constructor(parts: ProjectWatchParts) {
    this.#parts = parts
  }

  /** Number of watched folders. */
  get size(): number {
    return this.#watchers.size
  }

  /** Watches more folders, relative to the project. Returns those that were not watched before. */
  add(folders: readonly string[]): readonly string[] {
    const added: string[] = []
    for (const folder of folders) {
      if (this.#isClosed || this.#watchers.has(folder)) continue
      try {
        const watcher = watch(join(this.#parts.root, folder), { persistent: false })
        watcher.on('change', (_event, name) => this.#changed(folder, typeof name === 'string' ? name : null))
        watcher.on('error', () => this.#drop(folder, watcher))
        this.#watchers.set(folder, watcher)
        added.push(folder)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code !== 'ENOENT' && code !== 'ENOTDIR')
          this.#parts.onProblem(`the folder ${folder || '.'} cannot be watched: ${errorMessage(error)}`)
      }
    }
    return added
  }

  /** Ends the watchers of all other folders. */
  retain(folders: readonly string[]): void {
    const kept = new Set(folders)
    for (const [folder, watcher] of this.#watchers) if (!kept.has(folder)) this.#drop(folder, watcher)
  }

  /** Ends all watchers, and waits for a change in work. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
    await this.#running
  }

  #changed(folder: string, name: string | null): void {
    const path = name === null ? folder : folder === '' ? name : `${folder}/${name}`
    if (path === '' || RULES.test(path)) this.#everything = true
    else this.#paths.add(path)
    if (this.#paths.size > MAX_PATHS) {
      this.#everything = true
      this.#paths.clear()
    }
    this.#soon()
  }

  #soon(): void {
    if (this.#isClosed) return
    this.#since ??= performance.now()
    clearTimeout(this.#timer)
    const left = MAX_WAIT_MS - (performance.now() - this.#since)
    this.#timer = setTimeout(() => this.#report(), Math.max(0, Math.min(QUIET_MS, left))).unref()
  }

  #report(): void {
    // Paths that change during a report are part of the next one.
    if (this.#running !== null || this.#isClosed) return
    const paths = this.#everything ? null : [...this.#paths]
    this.#everything = false
    this.#paths = new Set()
    this.#since = null
    if (paths !== null && paths.length === 0) return
    for (const path of paths ?? []) this.#dropIfReplaced(path)
    this.#running = this.#handle(paths)
      .catch(() => undefined)
      .then(() => {
        this.#running = null
        if (this.#paths.size > 0 || this.#everything) this.#soon()
      })
  }

  async #handle(paths: readonly string[] | null): Promise<void> {
    let folders = await this.#parts.onChange(paths)
    if (paths === null) this.retain(folders)
    // Files may have appeared in a new folder before it was watched.
    for (let added = this.add(folders); added.length > 0; added = this.add(folders))
      folders = await this.#parts.onChange(added)
  }

  /** A folder that was removed and created again needs a new watcher. */
  #dropIfReplaced(path: string): void {
    for (const [folder, watcher] of this.#watchers)
      if (folder === path || folder.startsWith(`${path}/`)) this.#drop(folder, watcher)
  }

  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close()
    if (this.#watchers.get(folder) === watcher) this.#watchers.delete(folder)
  }
}
